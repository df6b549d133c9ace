"""One Parquet file, in little memory: what it holds, and its records as a stream.

Reads: a file, by PyArrow.  Gives: its schema, and record batches.

Not by DuckDB, which takes a path for a pattern and "A" for "a", and fails on text that is not valid UTF-8.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from residualplanner.sources.counting import BLOCK

#: How much of each column is read at a time, in bytes.
_BUFFER = 2**20


def schema_of_parquet(path: Path) -> Any:
    """The Arrow schema of a file, from its footer."""
    from pyarrow import parquet

    return parquet.read_schema(path)


def batches_of_parquet(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """Record batches with the named columns, and maybe others; where none is named, columns of nulls, as long."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        if names:
            yield from file.iter_batches(BLOCK, columns=list(names), use_threads=False)
            return
        records = file.metadata.num_rows
    for start in range(0, records, BLOCK):
        yield pa.RecordBatch.from_arrays([pa.nulls(min(BLOCK, records - start))], names=[""])
