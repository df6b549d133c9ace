"""Parquet files, and folders of them.

Reads: a path.  Gives: frames.
"""

from pathlib import Path

from residualplanner.errors import DataError
from residualplanner.sources.folders import frame_of_folder
from residualplanner.sources.frames import Frame, types_of_schema
from residualplanner.sources.parquet_files import batches_of_parquet, schema_of_parquet


def frame_of_path(path: str | Path) -> Frame:
    """The records of a Parquet file or of a folder of them.

    Args:
        path: a Parquet file, or a folder of them.

    Returns:
        Its columns, and a stream of its records.

    Raises:
        DataError: there is no such file, or its name does not end in .csv, .csv.gz or .parquet; a folder that holds
            anything but Parquet files.
    """
    file = Path(path)
    if file.is_dir():
        return frame_of_folder(file)
    if not file.is_file():
        raise DataError(f"there is no file {str(path)!r}")
    if file.suffix.lower() == ".parquet":
        return _parquet(file)
    raise DataError(f"records are read from .csv, .csv.gz and .parquet files, not from {file.name!r}")


def _parquet(file: Path) -> Frame:
    schema = schema_of_parquet(file)
    return Frame(tuple(schema.names), lambda names: batches_of_parquet(file, names), types_of_schema(schema))
