"""Parquet files, streamed by PyArrow, and folders of them.

Reads: a path.  Gives: frames.

PyArrow and not DuckDB, because DuckDB's names do not tell "A" from "a", and its paths may be patterns.
"""

from pathlib import Path

from residualplanner.errors import DataError
from residualplanner.sources.counting import BLOCK
from residualplanner.sources.folders import frame_of_folder
from residualplanner.sources.frames import Frame, types_of_schema


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
    from pyarrow import dataset

    records = dataset.dataset(file, format="parquet")
    # counting is slower than reading, so what is read ahead only waits, in memory
    lazily = dataset.ParquetFragmentScanOptions(pre_buffer=False)
    ahead = {"batch_size": BLOCK, "batch_readahead": 1, "fragment_readahead": 1, "fragment_scan_options": lazily}
    return Frame(
        tuple(records.schema.names),
        lambda names: records.to_batches(columns={name: dataset.field(name) for name in names}, **ahead),
        types_of_schema(records.schema),
    )
