"""One table from the bytes of a file, in each format, with every bit of its numbers.  openpyxl's home."""

import io
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.ground.errors import FileFormatError, MissingExtraError
from residualplanner.ground.stores import AnyPath
from residualplanner.publish.files.export_files import cell_indices
from residualplanner.publish.files.sidecar import INTEGER, NUMBER, TEXT, TRUTH
from residualplanner.publish.files.workbook import TABLE_SHEET

if TYPE_CHECKING:
    import pandas as pd

#: How many bytes of a CSV file are read at a time; a row must fit.
_BLOCK = 2**24
#: The limits of an unpacked file: this many bytes plus this many times its size; and rows for each of its bytes.
_TEXT_ROOM, _EXPANSION, _ROWS_PER_BYTE = 2**24, 64, 4
#: How Excel writes a letter that XML cannot hold.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def read_columns(
    content: bytes,
    path: AnyPath,
    types: Mapping[str, str],
    cells: int,
    axes: Sequence[Mapping[str, Sequence[object]]] = (),
    *,
    optional: Collection[str] = (),
    sheet: str = TABLE_SHEET,
) -> dict[str, Any]:
    """The columns of a table of a release, by name, as PyArrow arrays.

    Args:
        content: the bytes of its file.
        path: of the file; its ending says the format.
        types: the type of each column, in their order.
        cells: the number of rows that there must be.
        axes: for each axis the labels that there must be in its columns, in C order: the last axis changes fastest.
        optional: the names of columns that may have nothing in a row.
        sheet: of a workbook.

    Raises:
        FileFormatError: it is another table, or not a table.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    if path.suffix == ".xlsx":
        columns = _workbook_columns(content, path, types, cells, sheet)
    else:
        table = (
            csv_table(content, path, types) if path.suffix == ".csv" else _parquet_table(content, path, types, cells)
        )
        if table.column_names != list(types) or table.num_rows != cells:
            raise _not_the_table(path)
        columns = {name: table[name] for name in types}
    arrays = {name: _typed(columns[name], _arrow_type(word), path) for name, word in types.items()}
    if any(array.null_count for name, array in arrays.items() if name not in optional):
        raise _not_the_table(path)
    shape = tuple(len(next(iter(columns.values()))) for columns in axes)
    for axis, columns_of_axis in enumerate(axes):
        for name, expected in columns_of_axis.items():
            if not _are_labels(arrays[name], expected, shape, axis):
                raise _not_the_table(path)
    return arrays


def csv_table(content: bytes, path: AnyPath, types: Mapping[str, str]) -> Any:
    """A CSV file as a PyArrow table; columns without a type have that of their values."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    declared = {name: _arrow_type(word) for name, word in types.items()}
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(content),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            read_options=pa_csv.ReadOptions(block_size=_BLOCK),
            convert_options=pa_csv.ConvertOptions(column_types=declared, strings_can_be_null=False),
        )
        _ = table.column_names  # which are decoded only here
    except (pa.ArrowException, UnicodeDecodeError):
        raise _not_the_table(path) from None
    return table


def _parquet_table(content: bytes, path: AnyPath, types: Mapping[str, str], cells: int) -> Any:
    """A Parquet file as a PyArrow table, strings as dictionaries; one that would be too large is not read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [name for name, word in types.items() if word == TEXT]
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.schema_arrow.names != list(types) or not _is_plausible(file.metadata, len(content), cells):
            raise _not_the_table(path)
        table = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read()
        if any(_text_size(table[name]) > _TEXT_ROOM + _EXPANSION * len(content) for name in texts):
            raise _not_the_table(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise _not_the_table(path) from None
    return table


def _is_plausible(metadata: Any, size: int, cells: int) -> bool:
    """Whether a Parquet file of ``size`` bytes can hold ``cells`` rows, packed as this library packs them.

    Snappy makes nothing smaller than a twentieth, so a row of at least one number of 8 bytes takes at least 0.4.
    The metadata of columns are not read: where these are damaged, PyArrow ends the process.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return (
        metadata.num_rows == cells <= _ROWS_PER_BYTE * size
        and all(0 <= group.num_rows <= cells for group in groups)
        and all(0 <= group.total_byte_size <= _TEXT_ROOM + _EXPANSION * size for group in groups)
    )


def _text_size(column: Any) -> int:
    """How many bytes the strings of a dictionary-encoded column take when they are written out."""
    import pyarrow.compute as pc

    sizes = [pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0 for chunk in column.chunks]
    return sum(sizes)


def _workbook_columns(
    content: bytes, path: AnyPath, types: Mapping[str, str], cells: int, name: str
) -> dict[str, list[Any]]:
    """The columns of a sheet of a workbook; integers that are too large for Excel are strings in it."""
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError:
        message = "workbooks are read with openpyxl: pip install 'residualplanner[report]'"
        raise MissingExtraError(message, extra="report") from None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
        if unpacked > _TEXT_ROOM + _EXPANSION * len(content):
            raise _not_the_table(path)
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, keep_links=False)
        sheet = book[name]
        rows = list(islice(sheet.iter_rows(max_col=len(types) + 1, values_only=True), cells + 2))
        book.close()
    except Exception:  # noqa: BLE001 - openpyxl raises whatever its parsers stumble over; all of it means one thing
        raise _not_the_table(path) from None
    width = len(types)
    if len(rows) != cells + 1 or any(len(row) < width or any(row[width:]) for row in rows):
        raise _not_the_table(path)
    if _converted(rows[0][:width], TEXT, path) != list(types):
        raise _not_the_table(path)
    columns = zip(types, zip(*(row[:width] for row in rows[1:]), strict=True), strict=True)
    return {name: _converted(column, types[name], path) for name, column in columns}


def _converted(values: tuple[Any, ...], word: str, path: AnyPath) -> list[Any]:
    try:
        if word == TEXT:
            return [_text(value) for value in values]
        if word == TRUTH:
            return [{True: True, False: False}[value] for value in values]
        return [None if value is None else (int if word == INTEGER else float)(value) for value in values]
    except (TypeError, ValueError, KeyError):
        raise _not_the_table(path) from None


def _text(value: Any) -> str:
    """The string in a cell; an empty one is read as None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("a string was expected")
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)


def _typed(column: Any, arrow_type: Any, path: AnyPath) -> Any:
    """A column of one type, as a PyArrow chunked array."""
    import pyarrow as pa

    try:
        if not isinstance(column, pa.ChunkedArray):
            column = pa.chunked_array([pa.array(column, arrow_type)])
        column = column.cast(arrow_type)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        raise _not_the_table(path) from None
    return column


def _are_labels(column: Any, labels: Sequence[object], shape: tuple[int, ...], axis: int) -> bool:
    """Whether a column holds the labels of one axis of a table, cell by cell in C order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(labels, column.type))
    first = {label: index for index, label in reversed(list(enumerate(labels)))}  # several may have one meaning
    expected = np.array([first[label] for label in labels])[cell_indices(shape, axis)]
    return not found.null_count and np.array_equal(found.to_numpy(), expected)


def frame_of_columns(columns: Mapping[str, Any]) -> "pd.DataFrame":
    """The columns as a data frame, of the types that `Table.to_frame` gives."""
    import pandas as pd

    return pd.DataFrame({name: column.to_pandas().array for name, column in columns.items()})


def _arrow_type(word: str) -> Any:
    import pyarrow as pa

    return {TEXT: pa.string(), INTEGER: pa.int64(), TRUTH: pa.bool_(), NUMBER: pa.float64()}[word]


def _not_the_table(path: AnyPath) -> FileFormatError:
    return FileFormatError(
        f"{path} is not the table that the index says it is; copy the folder again, or save the release again"
    )
