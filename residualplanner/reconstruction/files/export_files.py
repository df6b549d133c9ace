"""A table as the bytes of a file, in each format.  With `export_rows`, PyArrow's home in this layer.

Reads: PyArrow tables.  Gives: bytes.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from residualplanner._checks import value_text
from residualplanner._words import suggestion
from residualplanner.errors import WorkloadError

#: The formats of the tables' files.
FormatName = Literal["parquet", "csv", "xlsx", "parts"]

FORMATS = ("parquet", "csv", "xlsx")
#: Numbers that hardly repeat, for which a dictionary would only take time.
_DISTINCT = frozenset(("estimate", "ci_low", "ci_high", "E", "query"))


def require_format(name: object) -> None:
    """Raise WorkloadError unless it is one of `FORMATS`."""
    if not isinstance(name, str) or name not in FORMATS:
        raise WorkloadError(f"format must be one of {list(FORMATS)}, got {value_text(name)}{suggestion(name, FORMATS)}")


def parquet_bytes(table: Any) -> Any:
    """A table as Parquet, with dictionaries where values repeat."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = pa.BufferOutputStream()
    repeated = [name for name in table.column_names if name not in _DISTINCT]
    pq.write_table(table, stream, use_dictionary=repeated, write_statistics=False)
    return stream.getvalue()


def csv_bytes(table: Any) -> Any:
    """A table as CSV in UTF-8: text in quotes, numbers in the fewest digits that tell them from all others."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    plain = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    stream = pa.BufferOutputStream()
    pa_csv.write_csv(table.cast(pa.schema(plain)), stream)
    return stream.getvalue()


def write_new(path: Path, pieces: Iterable[Any]) -> str:
    """Write a new file, piece by piece, and return the SHA-256 of its bytes."""
    digest = hashlib.sha256()
    with open(path, "xb", buffering=0) as file:
        for piece in pieces:
            digest.update(piece)
            waiting = memoryview(piece)
            while waiting:  # a system may write less than it was given, as where the disk is nearly full
                waiting = waiting[file.write(waiting) :]
    return digest.hexdigest()
