"""Tables as Parquet."""

from collections.abc import Mapping
from typing import Any

from residualplanner.ground.stores import AnyPath
from residualplanner.publish.files.columns import not_the_table
from residualplanner.publish.files.sidecar import TEXT

#: Columns whose values hardly repeat, for which a dictionary would only cost time.
_ESTIMATES = ("estimate", "estimate_nonneg", "estimate_unbiased", "E", "E_nonneg", "E_unbiased")
_DISTINCT = frozenset((*_ESTIMATES, "ci_low", "ci_high", "query", "cv"))
#: The limits of an unpacked file of either format that packs: this many bytes plus this many times its size; and how
#: many rows there can be for each of its bytes.
TEXT_ROOM, EXPANSION, _ROWS_PER_BYTE = 2**24, 64, 4


def write(table: Any) -> Any:
    """A table as Parquet, with dictionaries where values repeat."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = pa.BufferOutputStream()
    # Where estimates are left out, standard errors are written in full: readers expect some bytes of each row.
    has_gaps = any(column.null_count for column in table.columns)
    is_short = {name: pa.types.is_dictionary(table[name].type) or not has_gaps for name in table.column_names}
    repeated = [name for name in table.column_names if is_short[name] and name not in _DISTINCT]
    pq.write_table(table, stream, use_dictionary=repeated, write_statistics=False)
    return stream.getvalue()


def read(content: bytes, path: AnyPath, types: Mapping[str, str], cells: int) -> Any:
    """A file as a PyArrow table, strings as dictionaries; one that is not of so many cells is not unpacked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [name for name, word in types.items() if word == TEXT]
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.schema_arrow.names != list(types) or not _is_plausible(file.metadata, len(content), cells):
            raise not_the_table(path)
        table = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read()
        if any(_text_size(table[name]) > TEXT_ROOM + EXPANSION * len(content) for name in texts):
            raise not_the_table(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise not_the_table(path) from None
    return table


def _is_plausible(metadata: Any, size: int, cells: int) -> bool:
    """Whether a file of ``size`` bytes can hold ``cells`` rows, packed as `write` packs them.

    Snappy makes nothing smaller than a twentieth, so a row of at least one number of 8 bytes takes at least 0.4.
    The metadata of columns are not read: where these are damaged, PyArrow ends the process.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return (
        metadata.num_rows == cells <= _ROWS_PER_BYTE * size
        and all(0 <= group.num_rows <= cells for group in groups)
        and all(0 <= group.total_byte_size <= TEXT_ROOM + EXPANSION * size for group in groups)
    )


def _text_size(column: Any) -> int:
    """How many bytes the strings of a dictionary-encoded column take when they are written out."""
    import pyarrow.compute as pc

    sizes = [pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0 for chunk in column.chunks]
    return sum(sizes)
