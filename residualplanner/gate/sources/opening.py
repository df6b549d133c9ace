"""From the data that people have to a source of counts."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from residualplanner.gate.sources.coding import (
    blocks_of_batches,
    blocks_of_matrix,
    blocks_of_pandas,
    names_of_columns,
    require_columns,
    require_types_of,
)
from residualplanner.gate.sources.column_types import has_categories, type_of_series
from residualplanner.gate.sources.csv_files import CsvFile, names_of_csv, source_of_csv
from residualplanner.gate.sources.frames import (
    Frame,
    frame_of_arrow_reader,
    frame_of_arrow_table,
    frame_of_duckdb,
    frame_of_ibis,
    frame_of_lazy_polars,
    frame_of_path,
    frame_of_polars,
)
from residualplanner.gate.sources.limited_records import contributions_of, unlimited
from residualplanner.gate.sources.persons import AllRecords, Contributions
from residualplanner.gate.sources.ready_counts import source_of_counts
from residualplanner.gate.sources.records import source_of_blocks
from residualplanner.gate.sources.source import Source, guarded
from residualplanner.gate.sources.tally import NOT_WATCHED, Watch
from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.domain import Domain

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
_IN_THIS_PROCESS = (
    "records are checked in this process, and these are an engine's: give a frame that it collects (of Dask "
    "frame.compute(), of PySpark frame.toPandas()), a part of it if it is large, or the Parquet files that it reads"
)


def open_source(data: object, domain: Domain, *, records_per_person: int = 1) -> Source:
    """Open confidential data for counting, and refuse what can be refused before that.

    Names, types and shapes are read, and nothing of the records: what they hold decides nothing before they are
    counted.

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
            of its attribute; a missing file; counts of another shape or type.

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


def watched_source(
    data: object, domain: Domain, watch: Watch, *, records_per_person: int = 1, with_people: bool = True
) -> Source:
    """A source that tells a watch what it reads, in this process; it checks the columns of the domain alone.

    Raises:
        DataError: as by `open_source`, but for lines of a CSV file.
    """
    contributions = contributions_of(data, domain, records_per_person) if with_people else AllRecords()
    return _open(unlimited(data), domain, contributions, watch)


def columns_of(data: object) -> tuple[object, ...]:
    """The names of the columns of records, none for a matrix of codes and for counts."""
    data = unlimited(data)
    file = _csv_of(data)
    if file is not None:
        return names_of_csv(file)
    frame = _frame_of(data)
    return tuple(getattr(data, "columns", ())) if frame is None else frame.columns


def engines() -> Any:
    """The door to the engines' frames, whose records are counted where they are; it is opened where data are given."""
    from residualplanner.scale.engines import engines

    return engines


def require_here(data: object) -> None:
    """DataError where records are an engine's, and are not read in this process."""
    if engines().is_of_engine(unlimited(data)):
        raise DataError(_IN_THIS_PROCESS)


def is_read_once(data: object) -> bool:
    """Whether records are gone when they have been read."""
    return ("pyarrow", "RecordBatchReader") in _names_of_classes(unlimited(data))


def _open_limited(data: object, domain: Domain, records_per_person: int) -> Source:
    return _open(unlimited(data), domain, contributions_of(data, domain, records_per_person))


def _open(data: object, domain: Domain, contributions: Contributions, watch: Watch = NOT_WATCHED) -> Source:
    _require_persons(data, contributions)
    if isinstance(data, np.ndarray):
        return source_of_blocks(domain, blocks_of_matrix(data, domain, watch=watch))
    file = _csv_of(data)
    if file is not None:
        return source_of_csv(file, domain, contributions, watch=watch)
    if type(data).__module__.startswith("residualplanner."):
        raise DataError(f"{value_text(data)} of this library holds no records; give {_ACCEPTED}")
    if isinstance(data, Mapping):
        return source_of_counts(data, domain)
    if ("pandas", "DataFrame") in _names_of_classes(data):
        return _pandas_source(cast("pd.DataFrame", data), domain, contributions, watch)
    frame = _frame_of(data)
    if frame is not None:
        return _frame_source(frame, domain, contributions, watch)
    source = engines().source_of_frame(data, domain, contributions)
    if source is None:
        raise DataError(f"data of type {type(data).__name__} are not understood; give {_ACCEPTED}")
    return cast("Source", source)


def _require_persons(data: object, contributions: Contributions) -> None:
    """DataError where persons are asked for and the data cannot name any."""
    if contributions.columns and isinstance(data, np.ndarray | Mapping):
        raise DataError(
            "a matrix of codes or a mapping of counts does not say whose a record is; give a frame or a file"
        )


def _csv_of(data: object) -> CsvFile | None:
    """A CSV file, however it is named; None for anything else."""
    if isinstance(data, str | Path) and Path(data).name.lower().endswith((".csv", ".csv.gz")):
        return None if Path(data).is_dir() else CsvFile(data)
    return data if isinstance(data, CsvFile) else None


def _frame_of(data: Any) -> Frame | None:
    """Records that are read as Arrow batches; None for anything else."""
    import narwhals as nw

    if isinstance(data, str | Path):
        return frame_of_path(data)
    if nw.dependencies.is_ibis_table(data):  # it looks at no library that is not imported already
        return frame_of_ibis(data)
    found = next((name for name in _names_of_classes(data) if name in _FRAMES), None)
    return None if found is None else _FRAMES[found](data)


def _names_of_classes(data: object) -> Iterator[tuple[str, str]]:
    """Library and name of the data's class and of the classes it extends."""
    for cls in type(data).__mro__:
        yield cls.__module__.partition(".")[0], cls.__name__


def _frame_source(frame: Frame, domain: Domain, contributions: Contributions, watch: Watch) -> Source:
    names = names_of_columns(domain, contributions)
    require_columns(names, frame.columns)
    if names:
        for types in frame.types(names):
            type_of = dict(zip(names, types, strict=True)).__getitem__
            require_types_of(domain, contributions, type_of, is_order_declared=frame.is_order_declared)
    names = names or [str(name) for name in frame.columns[:1]]  # some column must say how many records there are
    return source_of_blocks(domain, lambda: blocks_of_batches(domain, contributions, frame.batches(names), watch=watch))


def _pandas_source(frame: "pd.DataFrame", domain: Domain, contributions: Contributions, watch: Watch) -> Source:
    names = names_of_columns(domain, contributions)
    require_columns(names, tuple(frame.columns))
    is_declared = all(has_categories(frame[name]) for name in contributions.columns[1:])
    require_types_of(domain, contributions, lambda name: type_of_series(frame[name]), is_order_declared=is_declared)
    return source_of_blocks(domain, lambda: blocks_of_pandas(domain, contributions, frame, watch=watch))
