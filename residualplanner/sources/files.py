"""Files of records, streamed by PyArrow, and folders of them.

Reads: CSV as text, nothing guessed, and Parquet.  Gives: frames.

PyArrow and not DuckDB, because DuckDB's names do not tell "A" from "a", its paths may be patterns, and its CSV reader
looks at the records to decide how to read them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from residualplanner.errors import DataError
from residualplanner.sources.counting import BLOCK
from residualplanner.sources.folders import frame_of_folder
from residualplanner.sources.frames import Frame

_CSV_BLOCK_BYTES = 2**24  # also the longest record


def frame_of_path(path: str | Path) -> Frame:
    """The records of a file.

    Args:
        path: a Parquet file, or a CSV file in UTF-8 with commas, double quotes and a header line, maybe gzipped.  All
            of CSV is text, so "01" survives; an empty field is missing, every other field is what it says.  Or a folder
            of Parquet files.

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
    if file.name.lower().endswith((".csv", ".csv.gz")):
        return _csv(file)
    if file.suffix.lower() == ".parquet":
        return _parquet(file)
    raise DataError(f"records are read from .csv, .csv.gz and .parquet files, not from {file.name!r}")


def _csv(file: Path) -> Frame:
    import pyarrow as pa
    from pyarrow import csv

    def reader(names: Sequence[str]) -> Any:
        text = pa.dictionary(pa.int32(), pa.string())
        convert = csv.ConvertOptions(
            include_columns=list(names),
            column_types=dict.fromkeys(names, text),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        )
        return csv.open_csv(
            file,
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=convert,
        )

    with reader([]) as header:
        columns = tuple(header.schema.names)

    def batches(names: Sequence[str]) -> Iterator[Any]:
        with reader(names) as records:
            yield from records

    return Frame(columns, batches)


def _parquet(file: Path) -> Frame:
    from pyarrow import dataset

    records = dataset.dataset(file, format="parquet")
    # counting is slower than reading, so what is read ahead only waits, in memory
    lazily = dataset.ParquetFragmentScanOptions(pre_buffer=False)
    ahead = {"batch_size": BLOCK, "batch_readahead": 1, "fragment_readahead": 1, "fragment_scan_options": lazily}
    return Frame(
        tuple(records.schema.names),
        lambda names: records.to_batches(columns={name: dataset.field(name) for name in names}, **ahead),
    )
