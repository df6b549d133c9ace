"""One table from the bytes of a file, in each format, with every bit of its numbers.  openpyxl's home.

Reads: bytes whose hash has been compared.  Gives: pandas DataFrames, or FileFormatError, which names the file.
"""

import io
import re
import zipfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residualplanner.errors import FileFormatError, MissingExtraError
from residualplanner.reconstruction.sidecar import NUMBER, TEXT, TRUTH, WHOLE
from residualplanner.reconstruction.workbook import TABLE_SHEET

if TYPE_CHECKING:
    import pandas as pd

#: How many bytes of a CSV file are read at a time; a row must fit.
_BLOCK = 2**24
#: How Excel writes a letter that XML cannot hold.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def read_table(content: bytes, path: Path, types: Mapping[str, str], cells: int) -> "pd.DataFrame":
    """A table of a release.

    Args:
        content: the bytes of its file.
        path: where they are from; its ending says the format.
        types: for each column its type, in their order.
        cells: how many rows there must be.

    Raises:
        FileFormatError: it is another table, or none.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    if path.suffix == ".xlsx":
        columns = _workbook_columns(content, path, types, cells)
    else:
        table = csv_table(content, path, types) if path.suffix == ".csv" else _parquet_table(content, path)
        if table.column_names != list(types) or table.num_rows != cells:
            raise _another(path)
        columns = {name: table[name] for name in types}
    return _frame(columns, types, path)


def csv_table(content: bytes, path: Path, types: Mapping[str, str]) -> Any:
    """A CSV file as a PyArrow table; columns without a type have that of their values."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    asked = {name: _arrow_type(word) for name, word in types.items()}
    try:
        return pa_csv.read_csv(
            pa.BufferReader(content),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            read_options=pa_csv.ReadOptions(block_size=_BLOCK),
            convert_options=pa_csv.ConvertOptions(column_types=asked, strings_can_be_null=False),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        raise _another(path) from None


def _parquet_table(content: bytes, path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError):
        raise _another(path) from None


def _workbook_columns(content: bytes, path: Path, types: Mapping[str, str], cells: int) -> dict[str, list[Any]]:
    """The columns of a workbook's first sheet; whole numbers that are too large for Excel stand there as text."""
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError:
        message = "workbooks are read with openpyxl: pip install 'residualplanner[report]'"
        raise MissingExtraError(message, extra="report") from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True)
        sheet = book[TABLE_SHEET]
        rows = list(islice(sheet.iter_rows(max_col=len(types) + 1, values_only=True), cells + 2))
        book.close()
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError, OSError):
        raise _another(path) from None
    width = len(types)
    if len(rows) != cells + 1 or any(len(row) < width or any(row[width:]) for row in rows):
        raise _another(path)
    if _converted(rows[0][:width], TEXT, path) != list(types):
        raise _another(path)
    columns = zip(types, zip(*(row[:width] for row in rows[1:]), strict=True), strict=True)
    return {name: _converted(column, types[name], path) for name, column in columns}


def _converted(values: tuple[Any, ...], word: str, path: Path) -> list[Any]:
    try:
        if word == TEXT:
            return [_text(value) for value in values]
        if word == TRUTH:
            return [{True: True, False: False}[value] for value in values]
        return [(int if word == WHOLE else float)(value) for value in values]
    except (TypeError, ValueError, KeyError):
        raise _another(path) from None


def _text(value: Any) -> str:
    """A cell's text; an empty one is read as None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("a text was expected")
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)


def _frame(columns: Mapping[str, Any], types: Mapping[str, str], path: Path) -> "pd.DataFrame":
    """The columns as `Table.to_frame` has them."""
    import pandas as pd
    import pyarrow as pa

    found: dict[str, Any] = {}
    for name, word in types.items():
        column = columns[name]
        if not isinstance(column, pa.ChunkedArray):
            column = pa.chunked_array([pa.array(column, _arrow_type(word))])
        try:
            column = column.cast(_arrow_type(word))
        except pa.ArrowException:
            raise _another(path) from None
        if column.null_count:
            raise _another(path)
        found[name] = column.to_pandas().array
    return pd.DataFrame(found)


def _arrow_type(word: str) -> Any:
    import pyarrow as pa

    return {TEXT: pa.string(), WHOLE: pa.int64(), TRUTH: pa.bool_(), NUMBER: pa.float64()}[word]


def _another(path: Path) -> FileFormatError:
    return FileFormatError(
        f"{path} is not the table that the index says it is; copy the folder again, or save the release again"
    )
