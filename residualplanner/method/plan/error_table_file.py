"""The error table of a plan as a file, without holding all of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from residualplanner.ground.atomic import PathLike, write_atomically
from residualplanner.ground.errors import FileFormatError
from residualplanner.method.plan.error_table import ErrorTable

#: The formats of error tables, which are the endings of their files.
ErrorFormat = Literal["csv", "parquet"]


def error_format(path: PathLike) -> ErrorFormat:
    """The format of an error table, by the ending of its file.

    Raises:
        FileFormatError: it is neither ".csv" nor ".parquet".

    Example:
        >>> error_format("census.errors.parquet")
        'parquet'
    """
    match Path(path).suffix:
        case ".csv":
            return "csv"
        case ".parquet":
            return "parquet"
    raise FileFormatError(f"{path} is not the name of an error table; end it in .csv or .parquet")


def save_error_table(table: ErrorTable, path: PathLike) -> None:
    """Write all rows to a file, whole or not at all; errors as in `Plan.save_errors`."""
    file_format = error_format(path)
    with write_atomically(path) as file:
        write_error_table(table, file, file_format)


def write_error_table(table: ErrorTable, file: IO[bytes], file_format: ErrorFormat) -> None:
    """Write all rows to an open file: as CSV with strings in quotes, or as Parquet."""
    import pyarrow as pa

    pieces = (pa.Table.from_pandas(frame, preserve_index=False) for frame in table.frames())
    first = next(pieces)
    with _writer(file, first.schema, file_format) as write:
        write(first)
        for piece in pieces:
            write(piece)


@contextmanager
def _writer(file: IO[bytes], schema: Any, file_format: ErrorFormat) -> Iterator[Callable[[Any], None]]:
    """What writes one table of this schema after another."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if file_format == "parquet":
        with pyarrow.parquet.ParquetWriter(file, schema) as parquet:
            yield parquet.write_table
        return
    categories = [field for field in schema if pa.types.is_dictionary(field.type)]
    for field in categories:
        schema = schema.set(schema.get_field_index(field.name), pa.field(field.name, field.type.value_type))
    with pyarrow.csv.CSVWriter(file, schema) as writer:
        yield lambda table: writer.write_table(table.cast(schema))
