"""Records in an engine's frame, and the rows that its workers leave of them.

Each partition is read once, however many tables are counted; the counts of each task are added up at one worker, and
nothing follows that.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, final

from residualplanner.gate.sources.coding import names_of_columns, require_columns, require_types_of
from residualplanner.gate.sources.columns import has_categories, type_of_series, type_of_spark
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.gate.sources.source import Progress
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines.cluster import EngineCluster
from residualplanner.scale.engines.partitions import (
    Finish,
    PartitionRow,
    Work,
    finished,
    rows_of_batches,
    rows_of_pandas,
    rows_of_tables,
)
from residualplanner.scale.workers import DaskWorkers, SparkWorkers

if TYPE_CHECKING:
    import pandas as pd

#: How many partitions' counts Dask adds up at a time.
_TOGETHER = 8
#: How Spark has rows, and how many a worker gives to it at a time.
_ROW, _ROWS = "task int, piece int, content binary", 256


@final
class DaskRecords(EngineCluster):
    """A Dask frame; where people's records are limited, all records of a person are brought into one partition.

    Raises:
        DataError: a column is missing, occurs twice, or is of a type that holds no value of its attribute.
    """

    def __init__(
        self, frame: Any, domain: Domain, contributions: Contributions, progress: Progress | None = None
    ) -> None:
        columns = list(frame.columns)
        names = names_of_columns(domain, contributions)
        require_columns(names, columns)
        is_declared = all(
            has_categories(frame[name]._meta) and frame[name].cat.known for name in contributions.columns[1:]
        )
        require_types_of(
            domain, contributions, lambda name: type_of_series(frame[name]._meta), is_order_declared=is_declared
        )
        chosen = frame[names or columns[:1]]
        for person in contributions.columns[:1]:
            chosen = chosen.shuffle(on=person, shuffle_method="tasks")  # other methods write records to disks
        self._frame, self._dask = chosen, DaskWorkers()
        super().__init__(domain, contributions, self._dask, progress)

    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """As `EngineCluster.rows`: counts of some partitions are added up at a time, until there are few."""
        from dask import delayed

        shared = delayed(work, pure=False, traverse=False)
        count, add = delayed(_rows_by_task, pure=False), delayed(_added, pure=False, traverse=False)
        partitions = [count(shared, partition) for partition in self._frame.to_delayed()]
        last = []
        for task in range(len(work.tasks)):
            parts = [partition[task] for partition in partitions]
            while len(parts) > _TOGETHER:
                parts = [
                    add(shared, rows_of_tables, task, *parts[start : start + _TOGETHER])
                    for start in range(0, len(parts), _TOGETHER)
                ]
            last.append(add(shared, finish, task, *parts))
        return [*chain.from_iterable(self._dask.compute(last, progress))]


def _rows_by_task(work: Work, frame: "pd.DataFrame") -> dict[int, list[PartitionRow]]:
    found: dict[int, list[PartitionRow]] = {task: [] for task in range(len(work.tasks))}
    for row in rows_of_pandas(work, frame):
        found[row.task].append(row)
    return found


def _added(work: Work, finish: Finish, task: int, *parts: list[PartitionRow]) -> list[PartitionRow]:
    """What is left of the rows of some partitions; the first row is there where those have none."""
    return [*finished(work, finish, chain([PartitionRow(task, 0, b"")], *parts))]


@final
class SparkRecords(EngineCluster):
    """A PySpark frame, classic or over Spark Connect; arguments and errors as of `DaskRecords`."""

    def __init__(
        self, frame: Any, domain: Domain, contributions: Contributions, progress: Progress | None = None
    ) -> None:
        columns = list(frame.columns)
        wanted = names_of_columns(domain, contributions)
        require_columns(wanted, columns)
        kinds = dict(frame.dtypes)
        require_types_of(domain, contributions, lambda name: type_of_spark(kinds[name]))
        # by position, because Spark reads "A" as "a" and "a.b" as a field of a column "a"
        names = [f"c{position}" for position in range(len(columns))]
        positions = [columns.index(name) for name in wanted] or [0]
        chosen = frame.toDF(*names).select([names[position] for position in positions])
        for person in contributions.columns[:1]:
            chosen = chosen.repartition(names[columns.index(person)])
        self._frame, self._session = chosen, frame.sparkSession
        self._spark = SparkWorkers(self._session)
        super().__init__(domain, contributions, self._spark, progress)

    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """As `EngineCluster.rows`, by two stages with a shuffle between them: partitions, then tasks.

        Spark sorts by task what it has brought together, on disk where it is much: a worker holds one task's tables.
        """
        count = len(work.tasks)
        counted = self._frame.mapInArrow(_counting(work), _ROW)
        # a row for each task, so that there are some where there are no records
        first = self._session.range(0, count, 1, 1).selectExpr(
            "cast(id as int) as task", "0 as piece", "cast('' as binary) as content"
        )
        together = counted.union(first).repartition(count, "task").sortWithinPartitions("task")
        table = self._spark.collect(together.mapInArrow(_finishing(work, finish), _ROW), progress)
        return [*_rows_of_batches(table.to_batches())]


def _counting(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    return lambda batches: _batches_of_rows(rows_of_batches(work, batches))


def _finishing(work: Work, finish: Finish) -> Callable[[Iterable[Any]], Iterator[Any]]:
    return lambda batches: _batches_of_rows(finished(work, finish, _rows_of_batches(batches)))


def _rows_of_batches(batches: Iterable[Any]) -> Iterator[PartitionRow]:
    for batch in batches:
        task, piece, content = (batch.column(number) for number in range(3))
        for row in zip(task, piece, content, strict=True):  # one after another, since they may be many
            yield PartitionRow(*(entry.as_py() for entry in row))


def _batches_of_rows(rows: Iterator[PartitionRow]) -> Iterator[Any]:
    import pyarrow as pa

    types = (pa.int32(), pa.int32(), pa.binary())
    while some := [*islice(rows, _ROWS)]:
        columns = zip(*some, strict=True)
        yield pa.RecordBatch.from_arrays([*map(pa.array, columns, types)], PartitionRow._fields)
