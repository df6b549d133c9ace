"""Records, and who counts them and draws noise: this process, or an engine's workers, so that no count leaves them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import final

import numpy as np

from residualplanner.gate.measurement.blocks import filled
from residualplanner.gate.sources.counting import MOST, shape_of_group, zero_tables
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.gate.sources.records import Passes, denominator_of_set, largest_denominator
from residualplanner.gate.sources.source import NOTHING_MERGED, MergedValues, Progress, Source, WantedTables
from residualplanner.gate.spend import WatchedProgress
from residualplanner.ground.checks import IntArray, frozen, untold
from residualplanner.ground.errors import DataError, ResourceError
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines import partitions
from residualplanner.scale.engines.partitions import CountingTask, Finish, PartitionRow, Work
from residualplanner.scale.workers import Workers, is_interrupt

#: Called with a task's number and its tables, one array (g, n_1, .., n_k) for each of its groups; gives a receipt.
Draw = Callable[[int, list[IntArray]], bytes]

#: How many cells this process counts in one pass over the records, 256 MiB in all.
PASS_CELLS = 2**25
#: The most cells of a task whose counts come here, 32 MiB; a larger table is a task of its own.
TASK_CELLS = 2**22
#: What is counted where records are only checked; it stays with the worker that has added it up.
_NOTHING_BUT_A_TOTAL = CountingTask(0, (frozen(np.empty((1, 0), dtype=np.int64)),))
_FAILED = (
    "the engine could not count the records.  What it said is withheld, because it may quote a record; its logs "
    "say it.  Ask the engine itself for the number of records in the same frame"
)
_LOST = (
    "the engine could not count the records, as workers of it were killed or lost, which is mostly for lack of memory "
    "(its logs then have a worker beyond its memory limit, or exit code 137).  Give workers more memory, or fewer "
    "tasks at a time (threads or cores), or the frame more partitions"
)


@final
class LocalCluster:
    """Records that this process counts, as many tasks in one pass as have `PASS_CELLS` cells together.

    ``progress`` is called with the number of tasks drawn and their total.
    """

    def __init__(self, source: Source, domain: Domain, *, progress: Progress | None = None) -> None:
        self._source, self._domain, self._progress = source, domain, progress or untold
        self._counted: dict[int, list[IntArray]] = {}

    def check(self, tasks: Sequence[CountingTask]) -> None:
        """As of `EngineCluster`: count the tasks of the first pass, and keep the counts for drawing them."""
        self._count(next(self._passes(tasks)), later=tasks)

    def draw(self, tasks: Sequence[CountingTask], draw: Draw) -> list[bytes]:
        """As of `EngineCluster`: the tasks of one pass after another."""
        receipts: list[bytes] = []
        for some in self._passes(tasks):
            if not all(task.number in self._counted for task in some):
                self._count(some)
            for task in some:
                receipts.append(draw(task.number, self._counted.pop(task.number)))
                self._progress(len(receipts), len(tasks))
        return receipts

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Iterator[bytes]:
        """As of `EngineCluster`."""
        return map(function, numbers)

    def _count(self, some: Sequence[CountingTask], later: Sequence[CountingTask] = ()) -> None:
        """Count some tasks in one pass, in place of those that were counted before."""
        self._counted.clear()
        groups, others = ([rows for task in each for rows in task.groups] for each in (some, later))
        tables = self._source.count(groups, later=others)
        self._counted |= {task.number: [tables.pop(0) for _ in task.groups] for task in some}

    def _passes(self, tasks: Sequence[CountingTask]) -> Iterator[list[CountingTask]]:
        """The tasks in runs, none of which has more cells than are counted at a time, if it has several tasks."""
        sizes = self._domain.sizes
        cells = [sum(len(rows) * math.prod(shape_of_group(sizes, rows)) for rows in task.groups) for task in tasks]
        numbers = filled(np.array(cells, dtype=np.float64), PASS_CELLS).tolist()
        for _, some in groupby(zip(numbers, tasks, strict=True), key=itemgetter(0)):
            yield [task for _, task in some]


class EngineCluster(ABC):
    """Records in an engine's frame, which its workers count, each partition in one pass.

    What stands in the table of engines says besides, as static methods, ``is_frame(data)``, whether some data is a
    frame of the engine, which is not imported to find out; and ``workers_of(frame)``, the workers that count it.

    ``progress`` is called with the number of the engine's tasks that are done and their total, as far as known.
    """

    def __init__(
        self, domain: Domain, contributions: Contributions, workers: Workers, progress: Progress | None
    ) -> None:
        self._domain, self._contributions, self.workers, self._progress = domain, contributions, workers, progress

    @abstractmethod
    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """What ``finish`` makes of each task's tables at the worker that has added them up, and nothing else."""

    def check(self, tasks: Sequence[CountingTask]) -> None:
        """Raise what counting the tasks would raise for the records' sake: the workers code all columns of all records.

        Called before the ledger is charged.  Workers send no count: only which columns break which rules.
        """
        outcome = self._rows(self._work((_NOTHING_BUT_A_TOTAL,), tasks), _nothing)
        del self  # as below
        if isinstance(outcome, DataError):
            raise outcome

    def draw(self, tasks: Sequence[CountingTask], draw: Draw) -> list[bytes]:
        """Count each task's tables where the records are, add them up at one worker, and call ``draw`` there.

        ``draw`` is pickled, holds no record, raises nothing, and is called only where all records fit the schema; what
        it returned for each task, some hundred bytes, comes back in their order.  Counts stay with the workers, and
        ``draw`` is the last thing that is done with them.  A task may be attempted more than once, one attempt after
        another; when this returns or raises (DataError), the engine has reported every attempt as ended.
        """
        numbers = [task.number for task in tasks]
        outcome = self._rows(self._work(tasks, tasks), partial(_receipt, numbers, draw), self._progress)
        del self  # the traceback must not lead to the records
        if not isinstance(outcome, list):
            raise outcome
        receipts = {row.task: row.content for row in outcome}
        return [receipts[task] for task in range(len(tasks))]

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Iterator[bytes]:
        """As `Workers.map`, at the workers that count: post-processing, which reads no record."""
        return self.workers.map(function, numbers)

    def source(self) -> Source:
        """Counts that are added up at the workers and then come to this process."""
        return Source(partial(self._count, Passes()))

    def _work(
        self, tasks: Sequence[CountingTask], later: Sequence[CountingTask], merged: MergedValues = NOTHING_MERGED
    ) -> Work:
        most = MOST // largest_denominator(self._domain, [rows for task in later for rows in task.groups])
        return Work(self._domain, tuple(tasks), self._contributions, merged, most)

    def _rows(
        self, work: Work, finish: Finish, progress: Progress | None = None
    ) -> list[PartitionRow] | DataError | ResourceError:
        """What is left of the counts of each task, or what is wrong with the records or the engine."""
        watched = WatchedProgress(progress)
        try:
            rows = self.rows(work, finish, watched.report) if work.tasks else []
        except Exception as error:
            if error is watched.raised:  # only what progress raises, and interrupts, pass
                raise
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            if isinstance(error, DataError):
                return error
            return ResourceError(_LOST) if self.workers.were_lost(error) else DataError(_FAILED)
        problems = b"".join(row.content for row in rows if row.piece == partitions.PROBLEMS)
        return partitions.error_of_problems(work.domain, problems) if problems else rows

    def _count(self, passes: Passes, wanted: WantedTables) -> list[IntArray] | DataError | ResourceError:
        """The tables; the engine reads the records once, and ``progress`` is called when it is done."""
        groups, merged, progress, later = wanted
        sizes = merged.of_domain(self._domain).sizes
        runs = runs_of_tasks(sizes, groups)
        tasks = [CountingTask(task, tuple(groups[group][some] for group, some in run)) for task, run in enumerate(runs)]
        work = self._work(tasks, [*tasks, CountingTask(len(tasks), tuple(later))], merged)
        rows = self._rows(work, partitions.rows_of_tables)
        if not isinstance(rows, list):
            return rows
        stacks = zero_tables(sizes, groups)
        for task, total in partitions.sums_of_rows(work, rows):
            for (group, some), tables in zip(runs[task], total.tables, strict=True):
                stacks[group][some] = tables
        number = sum(map(len, groups))
        (progress or untold)(number, number)
        # how often all records count together, as the first table says
        met = [int(stacks[0][0].sum()) // denominator_of_set(self._domain, groups[0][0].tolist())] if groups else []
        return passes.compare(tuple(met)) or stacks


#: Records, and the workers that count them.
Cluster = LocalCluster | EngineCluster


def _nothing(_task: int, _tables: list[IntArray]) -> Iterator[PartitionRow]:
    yield from ()


def _receipt(numbers: Sequence[int], draw: Draw, task: int, tables: list[IntArray]) -> Iterator[PartitionRow]:
    yield PartitionRow(task, 0, draw(numbers[task], tables))


def runs_of_tasks(
    sizes: Sequence[int], groups: Sequence[IntArray], most: int = TASK_CELLS
) -> list[list[tuple[int, slice]]]:
    """The tables of all groups, in their order, as tasks of at most so many cells, or of one table."""
    tasks: list[list[tuple[int, slice]]] = []
    room = 0
    for group, rows in enumerate(groups):
        cells, first = math.prod(shape_of_group(sizes, rows)), 0
        while first < len(rows):
            if room < cells:
                tasks.append([])
                room = max(most, cells)
            last = min(len(rows), first + room // cells)
            tasks[-1].append((group, slice(first, last)))
            room -= cells * (last - first)
            first = last
    return tasks
