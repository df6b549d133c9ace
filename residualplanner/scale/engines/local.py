"""One worker, the process itself, for any records.

Reads: a source of counts.  Gives: Cluster.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import final

from residualplanner.gate.sources.counting import shape_of_group
from residualplanner.gate.sources.source import Progress, Source
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import ResourceError
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines.cluster import CountingTask, Draw

#: How many cells are counted in one pass over the records, 256 MiB in all.
PASS_CELLS = 2**25


@final
class LocalCluster:
    """Records that this process counts, as many tasks in one pass as have `PASS_CELLS` cells together.

    Args:
        source: the records.
        domain: their schema.
        is_read_once: whether they are gone when they have been read.
        progress: called with the number of tasks drawn and their total.
    """

    def __init__(
        self, source: Source, domain: Domain, *, is_read_once: bool = False, progress: Progress | None = None
    ) -> None:
        self._source, self._domain = source, domain
        self._is_read_once, self._progress = is_read_once, progress
        self._counted: dict[int, list[IntArray]] = {}

    def require_ready(self) -> None:
        """ResourceError where the records could not be read again, for another task or after a failure."""
        if self._is_read_once:
            raise ResourceError(
                "the records can be read only once, and are read again for other tasks and after a failure; give a "
                "table or a file.  Nothing was charged or read"
            )

    def check(self, tasks: Sequence[CountingTask], *, is_trusted: bool = False) -> None:
        """Count the tasks of the first pass, which checks every column, and keep the counts for drawing them."""
        del is_trusted
        self._count(next(self._passes(tasks)), later=tasks)

    def draw(self, tasks: Sequence[CountingTask], draw: Draw) -> list[bytes]:
        """Count the tasks of one pass after another, and draw each; DataError where the records do not fit."""
        receipts: list[bytes] = []
        for some in self._passes(tasks):
            if not all(task.number in self._counted for task in some):
                self._count(some)
            for task in some:
                receipts.append(draw(task.number, self._counted.pop(task.number)))
                if self._progress is not None:
                    self._progress(len(receipts), len(tasks))
        return receipts

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> list[bytes]:
        """Call the function with each number."""
        return [function(number) for number in numbers]

    def _count(self, some: Sequence[CountingTask], later: Sequence[CountingTask] = ()) -> None:
        """Count some tasks in one pass, in place of those that were counted before."""
        self._counted.clear()
        groups, others = ([rows for task in each for rows in task.groups] for each in (some, later))
        tables = self._source.count(groups, later=others)
        self._counted |= {task.number: [tables.pop(0) for _ in task.groups] for task in some}

    def _passes(self, tasks: Sequence[CountingTask]) -> Iterator[list[CountingTask]]:
        """The tasks in runs, none of which has more cells than are counted at a time, if it has several tasks."""
        some: list[CountingTask] = []
        room = PASS_CELLS
        for task in tasks:
            cells = sum(self._cells(rows) for rows in task.groups)
            if some and cells > room:
                yield some
                some, room = [], PASS_CELLS
            some.append(task)
            room -= cells
        if some:
            yield some

    def _cells(self, rows: IntArray) -> int:
        return len(rows) * math.prod(shape_of_group(self._domain.sizes, rows))
