"""Records in a Dask frame, and Dask's workers, which count them.

Reads: a frame.  Gives: the rows that are left of counts: each partition is counted, the counts of each task are added
up, some partitions' at a time, and nothing follows the last addition.
"""

from itertools import chain
from typing import TYPE_CHECKING, Any, final

from residualplanner.gate.sources.coding import names_of_columns, require_columns, require_types_of
from residualplanner.gate.sources.column_types import has_categories, type_of_series
from residualplanner.gate.sources.persons import Contributions
from residualplanner.gate.sources.source import Progress
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines.partitions import (
    Finish,
    PartitionRow,
    Work,
    finished,
    rows_of_pandas,
    rows_of_tables,
)
from residualplanner.scale.workers import DaskWorkers

if TYPE_CHECKING:
    import pandas as pd

#: How many partitions' counts are added up at a time.
_TOGETHER = 8


@final
class DaskRecords:
    """A Dask frame, each partition of which is read once, however many tables are counted.

    Args:
        frame: the records.
        domain: the schema.
        contributions: which records of a person count; all records of a person are brought into one partition.

    Raises:
        DataError: a column is missing, occurs twice, or is of a type that holds no value of its attribute.
    """

    def __init__(self, frame: Any, domain: Domain, contributions: Contributions) -> None:
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
        self._frame, self.contributions = chosen, contributions
        self.workers = DaskWorkers()

    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """What ``finish`` makes of each task's tables at the worker that has added them up, and nothing else."""
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
        return [*chain.from_iterable(self.workers.compute(last, progress))]


def _rows_by_task(work: Work, frame: "pd.DataFrame") -> dict[int, list[PartitionRow]]:
    found: dict[int, list[PartitionRow]] = {task: [] for task in range(len(work.tasks))}
    for row in rows_of_pandas(work, frame):
        found[row.task].append(row)
    return found


def _added(work: Work, finish: Finish, task: int, *parts: list[PartitionRow]) -> list[PartitionRow]:
    """What is left of the rows of some partitions; the first row is there where those have none."""
    return [*finished(work, finish, chain([PartitionRow(task, 0, b"")], *parts))]
