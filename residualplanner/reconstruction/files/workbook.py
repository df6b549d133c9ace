"""Tables as Excel workbooks: strings stay strings, numbers keep every digit.  XlsxWriter's home.

Reads: PyArrow tables.  Gives: bytes of .xlsx files, the same for the same table.
"""

import datetime as dt
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from residualplanner.errors import MissingExtraError, WorkloadError
from residualplanner.reconstruction.label_columns import label_columns
from residualplanner.workload import Workload

#: The most rows of a sheet, the first of which holds the names, and the most letters of a cell.
ROW_LIMIT, LETTER_LIMIT = 1_048_576, 32_767
#: Excel holds integers as floating-point numbers: above this they are written as strings.
WHOLE_LIMIT = 2**53
#: The sheet of the table, and the one that describes it; in a workbook of many tables, the list of these.
TABLE_SHEET, ABOUT_SHEET, INDEX_SHEET = "table", "about", "index"
#: The most tables of one workbook: each is a file until the workbook is complete, and systems limit open files.
MOST_SHEETS = 200

#: Characters that XML cannot hold, and the beginning of strings that XlsxWriter reads as tags.
_FORBIDDEN = re.compile("[\ufffe\uffff]|^<r>")
_DATE = dt.datetime(1980, 1, 1)  # a time would make each file differ from the last
_WIDTHS, _TEXT_WIDTH, _INDEX_WIDTHS = (10, 40), 20, (32, 40, 30, 12)
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


def require_one_workbook(workload: Workload) -> None:
    """Raise WorkloadError if there are too many tables for one workbook; errors else as in `require_workbooks`."""
    if len(workload) > MOST_SHEETS:
        raise WorkloadError(
            f"{len(workload):,} tables are too many for one workbook, which holds up to {MOST_SHEETS}; write "
            'format="xlsx", a workbook for each table, or parquet or csv'
        )
    require_workbooks(workload)


@dataclass(frozen=True, eq=False, slots=True)
class Book:
    """A workbook as it is written, sheet after sheet.

    Attributes:
        formats: by the name of a column of numbers how they are shown.
        stream: the bytes of the workbook, once it is closed.
    """

    formats: Mapping[str, str]
    stream: io.BytesIO = field(init=False, default_factory=io.BytesIO)
    _book: Any = field(init=False)
    _styles: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        book = _xlsxwriter().Workbook(self.stream, {"constant_memory": True})
        book.set_properties({"created": _DATE})
        object.__setattr__(self, "_book", book)
        self._styles["bold"] = book.add_format({"bold": True})
        self._styles["link"] = book.get_default_url_format()
        for style in set(self.formats.values()):
            self._styles[style] = book.add_format({"num_format": style})

    def add_table(self, name: str, table: Any) -> None:
        """Add a sheet with a table, as PyArrow's: row after row, since rows that are done leave memory."""
        sheet = self._book.add_worksheet(name)
        writers = [_writer(sheet, column) for column in table.columns]
        for index, (title, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
            style = self._styles.get(self.formats.get(title, ""))
            sheet.set_column(index, index, _width(title, column), style)
            sheet.write_string(0, index, title, self._styles["bold"])
        row = 0
        for batch in table.to_batches(_BATCH):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                row += 1
                for index, value in enumerate(values):
                    if value is not None:
                        writers[index](row, index, value)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, row, len(writers) - 1)
        sheet.ignore_errors({"number_stored_as_text": f"A2:XFD{ROW_LIMIT}"})

    def add_texts(self, name: str, rows: Iterable[Sequence[str]]) -> None:
        """Add a sheet with rows of strings, the first of each in bold."""
        sheet = self._book.add_worksheet(name)
        sheet.set_column(0, 0, _TEXT_WIDTH)
        for row, texts in enumerate(rows):
            for column, text in enumerate(texts):
                sheet.write_string(row, column, text[:LETTER_LIMIT], None if column else self._styles["bold"])

    def add_index(self, heads: Sequence[str], rows: Iterable[tuple[str, str, str, int]]) -> None:
        """Add the sheet with the list of the tables: of each its sheet, which is linked, its query, kinds and cells."""
        sheet = self._book.add_worksheet(INDEX_SHEET)
        for column, (head, width) in enumerate(zip(heads, _INDEX_WIDTHS, strict=True)):
            sheet.set_column(column, column, width)
            sheet.write_string(0, column, head, self._styles["bold"])
        row = 0
        for row, (name, query, kinds, cells) in enumerate(rows, start=1):
            sheet.write_url(row, 0, f"internal:'{name}'!A1", self._styles["link"], name)
            sheet.write_string(row, 1, query[:LETTER_LIMIT])
            sheet.write_string(row, 2, kinds[:LETTER_LIMIT])
            sheet.write_number(row, 3, cells)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, row, len(heads) - 1)

    def close(self) -> bytes:
        """The bytes of the workbook, to which nothing more is added."""
        self._book.close()
        return self.stream.getvalue()


def workbook_bytes(table: Any, about: Iterable[Sequence[str]], formats: Mapping[str, str] | None = None) -> bytes:
    """A workbook whose first sheet is a table, and whose second describes it.

    Args:
        table: the table, as PyArrow's.
        about: rows of strings for the second sheet.
        formats: by the name of a column of numbers how they are shown.
    """
    book = Book(formats or {})
    book.add_table(TABLE_SHEET, table)
    book.add_texts(ABOUT_SHEET, about)
    return book.close()


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
