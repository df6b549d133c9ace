"""From the data that people have to a source of counts: each form of records is opened by a module of its own."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from residualplanner.gate.sources.limited_records import Contributions, contributions_of, unlimited
from residualplanner.gate.sources.source import Source, guarded
from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import DataError, ResourceError
from residualplanner.method.domain.domain import Domain

if TYPE_CHECKING:
    from residualplanner.gate.sources.tally import Tally

_COUNTS, _CSV, _FRAMES, _MATRICES = (
    f"gate.sources.{name}" for name in ("ready_counts", "csv_files", "frames", "coding")
)
_ENGINES = "scale.engines.engines"
#: The module that opens each form, by library and class of what is given: names, so that neither a library nor a module
#: is imported that nobody uses.  Paths and mappings are told by what they are; all others are frames, which `frames`
#: knows by name, or an engine's, or none.
_FORMS: dict[tuple[str, str], str] = {("numpy", "ndarray"): _MATRICES, ("residualplanner", "CsvFile"): _CSV}
#: All that `_module` imports.
MODULES = {*_FORMS.values(), _COUNTS, _FRAMES, _ENGINES}
_ACCEPTED = (
    "a pandas DataFrame, a Polars DataFrame or LazyFrame, a PyArrow Table, RecordBatch or RecordBatchReader, a DuckDB "
    "relation, an Ibis table, a Dask or PySpark DataFrame, a path to a CSV or Parquet file, to one of SPSS, Stata or "
    "SAS or to a folder of Parquet files, a CsvFile, LimitedRecords of one of these, a NumPy matrix of integer codes, "
    "or a mapping from tuples of attribute names to counts"
)


def open_source(
    data: object, domain: Domain, *, records_per_person: int = 1, watch: "Tally | None" = None, with_people: bool = True
) -> Source:
    """Open confidential data for counting, and refuse what can be refused before that.

    Names, types and shapes are read, and nothing of the records: what they hold decides nothing before they are
    counted.

    Columns are matched by name; other columns and the order of columns do not matter.  All the domain's columns are
    read and checked, whatever the tables, so a table is the same in every workload.

    Of `LimitedRecords` at most so many count as are protected, ``records_per_person``.  DataError for data of an
    unknown kind; a column that is missing, occurs twice, or is of a type that holds no value of its attribute; a
    missing file; counts of another shape or type.

    A ``watch`` is told what is read in this process, and lines of a CSV file that are no records are then no errors;
    without people all records count.
    """
    outcome = guarded(_open, data, domain, records_per_person, watch, with_people=with_people)
    del data  # the traceback must not lead to the records
    if isinstance(outcome, DataError):
        raise outcome
    return outcome


def columns_of(data: object) -> tuple[object, ...]:
    """The names of the columns of records, none for a matrix of codes and for counts."""
    data = unlimited(data)
    form = _form_of(data)
    return tuple(getattr(data, "columns", ()) if form in (_ENGINES, _COUNTS) else _module(form).names_of(data))


def engines() -> Any:
    """What counts an engine's frames where their records are."""
    return _module(_ENGINES)


def require_several_readings(data: object, why: str) -> None:
    """ResourceError where records are gone when they have been read, and are read several times; ``why`` says why."""
    if ("pyarrow", "RecordBatchReader") in _names_of_classes(unlimited(data)):
        raise ResourceError(
            f"the records can be read only once, and are read several times: {why}; give a table or a file.  Nothing "
            "was charged or read"
        )


def _open(
    given: object, domain: Domain, records_per_person: int, watch: "Tally | None", *, with_people: bool
) -> Source:
    contributions = contributions_of(given, domain, records_per_person) if with_people else Contributions()
    data = unlimited(given)
    if contributions.columns and isinstance(data, np.ndarray | Mapping):
        message = "a matrix of codes or a mapping of counts does not say whose a record is; give a frame or a file"
        raise DataError(message)
    form = _form_of(data)
    if form != _CSV and type(data).__module__.startswith("residualplanner."):
        raise DataError(f"{value_text(data)} of this library holds no records; give {_ACCEPTED}")
    if form == _COUNTS:
        return cast("Source", _module(form).source_of_counts(data, domain))
    if form != _ENGINES:
        return cast("Source", _module(form).source_of(data, domain, contributions, watch))
    cluster = engines().cluster_of_frame(data, domain, contributions)
    if cluster is None:
        raise DataError(f"data of type {type(data).__name__} are not understood; give {_ACCEPTED}")
    return cast("Source", cluster.source())


def _form_of(data: object) -> str:
    if isinstance(data, str | Path):
        is_csv = Path(data).name.lower().endswith((".csv", ".csv.gz")) and not Path(data).is_dir()
        return _CSV if is_csv else _FRAMES
    found = next((_FORMS[name] for name in _names_of_classes(data) if name in _FORMS), None)
    if found is not None or isinstance(data, Mapping):
        return found or _COUNTS
    return _ENGINES if _module(_FRAMES).maker_of(data) is None else _FRAMES


def _module(form: str) -> Any:
    """The one door to what opens records."""
    return import_module(f"residualplanner.{form}")


def _names_of_classes(data: object) -> Iterator[tuple[str, str]]:
    for cls in type(data).__mro__:
        yield cls.__module__.partition(".")[0], cls.__name__
