"""Tables as Excel workbooks: strings stay strings, numbers keep every digit.  XlsxWriter's home.

Reads: PyArrow tables.  Gives: bytes of .xlsx files, the same for the same table.
"""

import datetime as dt
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from residualplanner.errors import MissingExtraError, WorkloadError
from residualplanner.reconstruction.label_columns import label_columns
from residualplanner.workload import Workload

#: The most rows of a sheet, the first of which holds the names, and the most letters of a cell.
ROW_LIMIT, LETTER_LIMIT = 1_048_576, 32_767
#: Excel holds integers as floating-point numbers: above this they are written as strings.
WHOLE_LIMIT = 2**53
#: The sheet of the table, and the one that describes it.
TABLE_SHEET, ABOUT_SHEET = "table", "about"

#: Characters that XML cannot hold, and the beginning of strings that XlsxWriter reads as tags.
_FORBIDDEN = re.compile("[\ufffe\uffff]|^<r>")
_DATE = dt.datetime(1980, 1, 1)  # a time would make each file differ from the last
_WIDTHS = (10, 40)
_BATCH = 2**14


class _Exact(float):
    """A number that is written in the fewest digits that tell it from all others; XlsxWriter writes 16."""

    def __format__(self, _: str) -> str:
        return float.__repr__(self)


def require_workbooks(workload: Workload) -> None:
    """Raise unless every table of the workload fits a sheet and XlsxWriter is there.

    Raises:
        WorkloadError: a table has too many rows, or a name or label has too many letters, or some that XML cannot hold.
        MissingExtraError: XlsxWriter is not installed.
    """
    _xlsxwriter()
    cells = workload.cells
    if cells.max() >= ROW_LIMIT:
        (query,) = workload.take(np.array([int(cells.argmax())]))
        raise WorkloadError(
            f"the table of {', '.join(query)} has {int(cells.max()):,} cells; a sheet of Excel holds no more than "
            f"{ROW_LIMIT - 1:,} and a row of names; write parquet or csv, or choose coarser bins"
        )
    attributes, kinds = workload.domain.attributes, workload.kinds
    limit = LETTER_LIMIT // (2 * max(1, int(workload.orders.max())))  # for a cell in words: all of them in one
    for position, code in np.argwhere(workload.uses).tolist():
        for name, labels in label_columns(attributes[position], kinds[code]).items():
            _require_texts(name, labels, limit)


def workbook_bytes(table: Any, about: Iterable[Sequence[str]]) -> bytes:
    """A workbook whose first sheet is a table, and whose second describes it.

    Args:
        table: the table, as PyArrow's.
        about: rows of strings for the second sheet.
    """
    stream = io.BytesIO()
    book = _xlsxwriter().Workbook(stream, {"constant_memory": True})
    book.set_properties({"created": _DATE})
    bold = book.add_format({"bold": True})
    _write_table(book.add_worksheet(TABLE_SHEET), table, bold)
    notes = book.add_worksheet(ABOUT_SHEET)
    for row, texts in enumerate(about):
        for column, text in enumerate(texts):
            notes.write_string(row, column, text[:LETTER_LIMIT], None if column else bold)
    book.close()
    return stream.getvalue()


def _write_table(sheet: Any, table: Any, bold: Any) -> None:
    """Write the names of the columns and then row after row, since rows that are done leave memory."""
    writers = [_writer(sheet, column) for column in table.columns]
    for index, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        sheet.set_column(index, index, _width(name, column))
        sheet.write_string(0, index, name, bold)
    row = 0
    for batch in table.to_batches(_BATCH):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row += 1
            for index, value in enumerate(values):
                writers[index](row, index, value)
    sheet.freeze_panes(1, 0)
    sheet.ignore_errors({"number_stored_as_text": f"A2:XFD{ROW_LIMIT}"})


def _writer(sheet: Any, column: Any) -> Callable[[int, int, Any], object]:
    """The function that writes a cell of a column: by its type, never by what a string looks like."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return lambda row, index, value: sheet.write_number(row, index, _Exact(value))
    if pa.types.is_boolean(column.type):
        return sheet.write_boolean  # type: ignore[no-any-return]
    if pa.types.is_integer(column.type):
        least, most = pc.min_max(column).as_py().values()
        if -WHOLE_LIMIT <= least <= most <= WHOLE_LIMIT:
            return sheet.write_number  # type: ignore[no-any-return]
        return lambda row, index, value: sheet.write_string(row, index, str(value))
    return sheet.write_string  # type: ignore[no-any-return]


def _width(name: str, column: Any) -> int:
    """The width of a column in letters, by its name and its labels."""
    import pyarrow as pa

    texts = column.chunk(0).dictionary.to_pylist() if pa.types.is_dictionary(column.type) else []
    least, most = _WIDTHS
    return min(most, max(least, 2 + max(map(len, [name, *texts]))))


def _require_texts(name: str, labels: Sequence[object], limit: int) -> None:
    """Raise WorkloadError where Excel cannot hold a name or one of its labels; `limit` letters are UTF-16's."""
    for text in (name, *(label for label in labels if isinstance(label, str))):
        if _FORBIDDEN.search(text):
            raise WorkloadError(
                f"attribute {name!r} has a name or label that Excel's files cannot hold; write parquet or csv"
            )
        if len(text.encode("utf-16-le")) > 2 * limit:
            raise WorkloadError(
                f"attribute {name!r} has a name or label of more than {limit:,} letters, too long for Excel; write "
                "parquet or csv, or shorten it"
            )


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter  # type: ignore[import-untyped]
    except ImportError:
        message = "workbooks need XlsxWriter: pip install 'residualplanner[report]', or write parquet or csv"
        raise MissingExtraError(message, extra="report") from None
    return xlsxwriter
