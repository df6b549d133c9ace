"""From the data that people have to a source of counts.

Reads: frames, files, code matrices, counts.  Gives: Source.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from residualplanner._checks import value_text
from residualplanner.domain import Domain
from residualplanner.errors import DataError
from residualplanner.sources.clusters.engine import source_of_engine
from residualplanner.sources.coding import (
    blocks_of_batches,
    blocks_of_matrix,
    blocks_of_pandas,
    names_of_columns,
    require_columns,
    require_types_of,
)
from residualplanner.sources.column_types import has_categories, type_of_values
from residualplanner.sources.csv_files import CsvFile, source_of_csv
from residualplanner.sources.engines import records_of_engine
from residualplanner.sources.frames import (
    Frame,
    frame_of_arrow_reader,
    frame_of_arrow_table,
    frame_of_duckdb,
    frame_of_ibis,
    frame_of_lazy_polars,
    frame_of_polars,
)
from residualplanner.sources.parquet import frame_of_path
from residualplanner.sources.people import Contributions, contributions_of, unlimited
from residualplanner.sources.ready_counts import source_of_counts
from residualplanner.sources.records import source_of_blocks
from residualplanner.sources.source import Source, guarded

if TYPE_CHECKING:
    import pandas as pd

#: Library and class of each frame that is read as Arrow batches; by name, so that no library need be imported.
_FRAMES: dict[tuple[str, str], Callable[[Any], Frame]] = {
    ("pyarrow", "Table"): frame_of_arrow_table,
    ("pyarrow", "RecordBatch"): frame_of_arrow_table,
    ("pyarrow", "RecordBatchReader"): frame_of_arrow_reader,
    ("polars", "DataFrame"): frame_of_polars,
    ("polars", "LazyFrame"): frame_of_lazy_polars,
    ("duckdb", "DuckDBPyRelation"): frame_of_duckdb,
    ("_duckdb", "DuckDBPyRelation"): frame_of_duckdb,
}
_ACCEPTED = (
    "a pandas DataFrame, a Polars DataFrame or LazyFrame, a PyArrow Table, RecordBatch or RecordBatchReader, a DuckDB "
    "relation, an Ibis table, a Dask or PySpark DataFrame, a path to a CSV or Parquet file or to a folder of Parquet "
    "files, a CsvFile, LimitedRecords of one of these, a NumPy matrix of integer codes, or a mapping from tuples of "
    "attribute names to counts"
)


def open_source(data: object, domain: Domain, *, records_per_person: int = 1) -> Source:
    """Open confidential data for counting, and refuse what can be refused before that.

    Names and types of columns are read, and nothing of the records, with two exceptions: a CSV file is searched for
    lines that are not records where those are an error, and ready counts are compared with each other.

    Columns are matched by name; other columns and the order of columns do not matter.  All the domain's columns are
    read and checked, whatever the tables, so a table is the same in every workload.

    Args:
        data: a frame, a path, a matrix of codes (records, d), or counts; the error's message lists them all.
        domain: the schema the data must fit.
        records_per_person: how many records of a person are protected: of `LimitedRecords` at most so many count.

    Returns:
        A source that counts.

    Raises:
        DataError: data of an unknown kind; a column that is missing, occurs twice, or is of a type that holds no value
            of its attribute; a missing file; lines of a CSV file that are not records; counts that are not counts, or
            contradict each other.

    Example:
        >>> records = np.array([[0, 1], [1, 1], [1, 0]])
        >>> source = open_source(records, Domain({"sex": ["F", "M"], "employed": [False, True]}))
        >>> source.count([np.array([[0, 1]])])[0].tolist()
        [[[0, 1], [1, 1]]]
    """
    outcome = guarded(_open_limited, data, domain, records_per_person)
    del data  # the traceback must not lead to the records
    if isinstance(outcome, DataError):
        raise outcome
    return outcome


def is_read_once(data: object) -> bool:
    """Whether records are gone when they have been read."""
    return ("pyarrow", "RecordBatchReader") in _names_of_classes(unlimited(data))


def _open_limited(data: object, domain: Domain, records_per_person: int) -> Source:
    return _open(unlimited(data), domain, contributions_of(data, domain, records_per_person))


def _open(data: object, domain: Domain, contributions: Contributions) -> Source:
    _require_persons(data, contributions)
    if isinstance(data, np.ndarray):
        return source_of_blocks(domain, blocks_of_matrix(data, domain))
    if isinstance(data, CsvFile):
        return source_of_csv(data, domain, contributions)
    if type(data).__module__.startswith("residualplanner."):
        raise DataError(f"{value_text(data)} of this library holds no records; give {_ACCEPTED}")
    if isinstance(data, Mapping):
        return source_of_counts(data, domain)
    if isinstance(data, str | Path):
        return _file_source(data, domain, contributions)
    for library, word in _names_of_classes(data):
        if (library, word) == ("pandas", "DataFrame"):
            return _pandas_source(cast("pd.DataFrame", data), domain, contributions)
        if (library, word) in _FRAMES:
            return _frame_source(_FRAMES[library, word](data), domain, contributions)
    source = _engine_source(data, domain, contributions)
    if source is not None:
        return source
    raise DataError(f"data of type {type(data).__name__} are not understood; give {_ACCEPTED}")


def _require_persons(data: object, contributions: Contributions) -> None:
    """DataError where persons are asked for and the data cannot name any."""
    if contributions.columns and isinstance(data, np.ndarray | Mapping):
        raise DataError(
            "a matrix of codes or a mapping of counts does not say whose a record is; give a frame or a file"
        )


def _engine_source(data: object, domain: Domain, contributions: Contributions) -> Source | None:
    """A source for a frame that narwhals recognizes as an engine's; None for anything else."""
    import narwhals as nw

    if nw.dependencies.is_ibis_table(data):  # it looks at no library that is not imported already
        return _frame_source(frame_of_ibis(data), domain, contributions)
    records = records_of_engine(data, domain, contributions)
    return None if records is None else source_of_engine(records, domain)


def _names_of_classes(data: object) -> Iterator[tuple[str, str]]:
    """Library and name of the data's class and of the classes it extends."""
    for cls in type(data).__mro__:
        yield cls.__module__.partition(".")[0], cls.__name__


def _file_source(path: str | Path, domain: Domain, contributions: Contributions) -> Source:
    is_csv = Path(path).name.lower().endswith((".csv", ".csv.gz")) and not Path(path).is_dir()
    if is_csv:
        return source_of_csv(CsvFile(path), domain, contributions)
    return _frame_source(frame_of_path(path), domain, contributions)


def _frame_source(frame: Frame, domain: Domain, contributions: Contributions) -> Source:
    names = names_of_columns(domain, contributions)
    require_columns(names, frame.columns)
    if names:
        for types in frame.types(names):
            type_of = dict(zip(names, types, strict=True)).__getitem__
            require_types_of(domain, contributions, type_of, is_order_declared=frame.is_order_declared)
    names = names or [str(name) for name in frame.columns[:1]]  # some column must say how many records there are
    return source_of_blocks(domain, lambda: blocks_of_batches(domain, contributions, frame.batches(names)))


def _pandas_source(frame: "pd.DataFrame", domain: Domain, contributions: Contributions) -> Source:
    names = names_of_columns(domain, contributions)
    require_columns(names, tuple(frame.columns))
    is_declared = all(has_categories(frame[name]) for name in contributions.columns[1:])
    require_types_of(domain, contributions, lambda name: type_of_values(frame[name]), is_order_declared=is_declared)
    return source_of_blocks(domain, lambda: blocks_of_pandas(domain, contributions, frame))
