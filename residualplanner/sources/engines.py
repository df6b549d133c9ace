"""Records in an engine's cluster: counted there, in one pass, so that no record comes here.

Reads: PySpark frames, classic or over Spark Connect, and Dask frames.  Gives: Source.

Every worker turns its part of the records into codes and counts all tables in one pass, with the code that counts a
pandas frame, and the engine adds up the parts' counts: narwhals' ``group_by("cell").agg(sum)``.  Grouping the raw
columns, ``group_by(columns).agg(len)`` for every set, would be simpler to write, and is not done, because

- it reads the records once for each set, or makes them longer by a row for each set: here they are read once;
- a column of numbers has as many groups as numbers, which would all be sent here: now one row is sent for each cell
  that is not empty, whatever the records are;
- which values are equal is up to the engine (collations, padded strings, 1 and "1", casts that quote the record they
  fail on): here it is up to the domain, the same in every engine.

The price is that the workers need Python with this library.  narwhals has no function of a part of a lazy frame, so
that step is the engine's own; for Dask so is the sum, since narwhals is about to leave Dask to a plugin.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner._checks import IntArray
from residualplanner.domain import Domain
from residualplanner.errors import DataError, ResourceError
from residualplanner.sources.coding import require_columns
from residualplanner.sources.column_types import require_types, type_of_series, type_of_spark
from residualplanner.sources.parts import Pairs, Task, count_batches, count_pandas, tables_of_pairs
from residualplanner.sources.source import Progress, Source, guarded

if TYPE_CHECKING:
    import pandas as pd

#: Runs a task over all parts and adds up their counts, each cell at most once.
Run = Callable[[Task], Pairs]

_FAILED = (
    "the engine could not count the records.  What it said is withheld, because it may quote a record.  Ask the engine "
    "itself for the number of records in the same frame; and see that its workers run the same Python with "
    "residualplanner (for Spark: PYSPARK_PYTHON)"
)
#: Spark's Python client writes its errors to these, and py4j what passes between Python and Java: all quote values.
_LOGGERS_OF_SPARK = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")
#: Bytes that Spark sends for each cell: its number, its count, and its part of the batch around them.
COUNT_BYTES = 17
_SETTING, _DEFAULT = "spark.driver.maxResultSize", "1g"
_SIZE = re.compile(r"([0-9]+)\s*([kmgtp]?)b?")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}


def source_of_spark(frame: Any, domain: Domain) -> Source:
    """Counts of a PySpark frame, classic or over Spark Connect."""
    columns = list(frame.columns)
    require_columns(domain.names, columns)
    kinds = dict(frame.dtypes)
    require_types(domain, [type_of_spark(kinds[name]) for name in domain.names])
    # by position, because Spark reads "A" as "a" and "a.b" as a field of a column "a"
    names = [f"c{position}" for position in range(len(columns))]
    positions = [columns.index(name) for name in domain.names] or [0]
    chosen = frame.toDF(*names).select([names[position] for position in positions])

    def run(task: Task) -> Pairs:
        import narwhals as nw

        with _spark_unlogged():
            pairs = nw.from_native(chosen.mapInArrow(_arrow_worker(task), "cell long, count long"))
            summed = pairs.group_by("cell").agg(nw.col("count").sum()).collect("pyarrow")
        return summed["cell"].to_numpy(), summed["count"].to_numpy()

    return Source(partial(_count, domain, run))


def require_result_room(data: object, cells: int) -> None:
    """Raise ResourceError where an engine would refuse to send the counts of all cells.

    How many cells are not empty depends on the records, so all cells are counted in.

    Args:
        data: the records; only PySpark frames have such a limit.
        cells: how many there are in all tables that are counted.
    """
    if not any(cls.__module__.startswith("pyspark.sql") for cls in type(data).__mro__):
        return
    limit, needed = spark_limit(data), cells * COUNT_BYTES
    if limit is not None and limit < needed:
        raise ResourceError(
            f"Spark may have to send {cells:,} counts, {needed:,} bytes, and sends at most {limit:,} "
            f"({_SETTING}); nothing was charged or read.  Start the session with {_SETTING}={needed // 2**20 + 1}m or "
            "more, or ask for fewer or smaller tables"
        )


def spark_limit(frame: Any) -> int | None:
    """How many bytes a PySpark frame's session sends to its driver at most; None for no limit, or one not known."""
    try:
        text = frame.sparkSession.conf.get(_SETTING, _DEFAULT)
    except Exception:  # noqa: BLE001 - a session without readable settings reports a limit itself, if it has one
        return None
    return size_of_text(str(text))


def size_of_text(text: str) -> int | None:
    """How many bytes a size is, as Spark writes it; None for 0, which means no limit, and for what is not a size.

    Example:
        >>> size_of_text("1g"), size_of_text("512MB"), size_of_text("100"), size_of_text("0")
        (1073741824, 536870912, 100, None)
    """
    found = _SIZE.fullmatch(text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] or None if found else None


def source_of_dask(frame: Any, domain: Domain) -> Source:
    """Counts of a Dask frame."""
    columns = list(frame.columns)
    require_columns(domain.names, columns)
    require_types(domain, [type_of_series(frame[name]._meta) for name in domain.names])
    chosen = frame[list(domain.names) or columns[:1]]

    def run(task: Task) -> Pairs:
        pairs = chosen.map_partitions(_pandas_pairs, task, meta=_pandas_of_pairs([]))
        summed = pairs.groupby("cell")["count"].sum().compute()
        return summed.index.to_numpy(), summed.to_numpy()

    return Source(partial(_count, domain, run))


def _count(
    domain: Domain, run: Run, groups: Sequence[IntArray], progress: Progress | None
) -> list[IntArray] | DataError:
    """The tables; the engine reads the records once, and ``progress`` is called when it is done."""
    task = Task(domain, tuple(groups))
    pairs = guarded(_run, run, task)
    tables = pairs if isinstance(pairs, DataError) else tables_of_pairs(task, pairs)
    if progress is not None and not isinstance(tables, DataError):
        total = sum(map(len, groups))
        progress(total, total)
    return tables


def _run(run: Run, task: Task) -> Pairs:
    try:
        return run(task)
    except Exception:  # noqa: BLE001 - the text of a foreign error is an output, and may hold a record
        raise DataError(_FAILED) from None


def _arrow_worker(task: Task) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for cells, counts in count_batches(task, batches):
            yield pa.RecordBatch.from_pydict({"cell": cells, "count": counts})

    return work


def _pandas_pairs(frame: "pd.DataFrame", task: Task) -> "pd.DataFrame":
    return _pandas_of_pairs(list(count_pandas(task, frame)))


def _pandas_of_pairs(pairs: Sequence[Pairs]) -> "pd.DataFrame":
    import pandas as pd

    nothing = np.empty(0, dtype=np.int64)
    cells, counts = (np.concatenate([nothing, *parts]) for parts in (zip(*pairs, strict=True) if pairs else ((), ())))
    return pd.DataFrame({"cell": cells, "count": counts})


@contextmanager
def _spark_unlogged() -> Iterator[None]:
    """Spark's Python client logs nothing inside, in all threads."""
    from pyspark.logger import PySparkLogger  # its loggers accept keywords that others do not

    loggers = [*map(PySparkLogger.getLogger, _LOGGERS_OF_SPARK), logging.getLogger("py4j")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
