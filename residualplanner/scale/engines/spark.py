"""Records in a PySpark frame, classic or over Spark Connect, and Spark's workers, which count them.

Reads: a frame.  Gives: the rows that are left of counts, by two stages: in the first each partition is counted, in the
second, after a shuffle, the counts of each task are added up, and nothing follows.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, final

from residualplanner.gate.sources.coding import names_of_columns, require_columns, require_types_of
from residualplanner.gate.sources.column_types import type_of_spark
from residualplanner.gate.sources.persons import Contributions
from residualplanner.gate.sources.source import Progress
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines.partitions import Finish, PartitionRow, Work, finished, rows_of_batches
from residualplanner.scale.workers import SparkWorkers

#: How Spark has rows.
_ROW = "task int, piece int, content binary"
#: How many rows a worker gives to Spark at a time.
_ROWS = 256


@final
class SparkRecords:
    """A PySpark frame, each partition of which is read once, however many tables are counted.

    Args:
        frame: the records.
        domain: the schema.
        contributions: which records of a person count; all records of a person are brought into one partition.

    Raises:
        DataError: a column is missing, occurs twice, or is of a type that holds no value of its attribute.
    """

    def __init__(self, frame: Any, domain: Domain, contributions: Contributions) -> None:
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
        self._frame, self.contributions = chosen, contributions
        self._session = frame.sparkSession
        self.workers = SparkWorkers(self._session)

    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """What ``finish`` makes of each task's tables at the worker that has added them up, and nothing else.

        Spark sorts by task what it has brought together, on disk where it is much: a worker holds one task's tables.
        """
        count = len(work.tasks)
        counted = self._frame.mapInArrow(_counting(work), _ROW)
        # a row for each task, so that there are some where there are no records
        first = self._session.range(0, count, 1, 1).selectExpr(
            "cast(id as int) as task", "0 as piece", "cast('' as binary) as content"
        )
        together = counted.union(first).repartition(count, "task").sortWithinPartitions("task")
        table = self.workers.collect(together.mapInArrow(_finishing(work, finish), _ROW), progress)
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
