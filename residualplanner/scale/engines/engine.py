"""An engine's workers as a cluster, and as a source whose tables come to this process.

Reads: an engine's records.  Gives: Cluster, Source.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol, final

import numpy as np

from residualplanner.gate.sources.counting import shape_of_group, zero_tables
from residualplanner.gate.sources.persons import Contributions
from residualplanner.gate.sources.records import Passes, largest_denominator, records_of_tables
from residualplanner.gate.sources.source import MergedValues, Progress, Source
from residualplanner.ground.checks import IntArray, frozen
from residualplanner.ground.errors import DataError, ResourceError
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines.cluster import CountingTask, Draw
from residualplanner.scale.engines.partitions import (
    PROBLEMS,
    Finish,
    PartitionRow,
    Work,
    error_of_problems,
    rows_of_tables,
    sums_of_rows,
)
from residualplanner.scale.workers import Workers, is_interrupt

#: What is counted where records are only checked; it stays with the worker that has added it up.
_NOTHING_BUT_A_TOTAL = CountingTask(0, (frozen(np.empty((1, 0), dtype=np.int64)),))
#: The most cells of a task, 32 MiB of counts; a larger table is a task of its own.
TASK_CELLS = 2**22
_FAILED = (
    "the engine could not count the records.  What it said is withheld, because it may quote a record; its logs "
    "say it.  Ask the engine itself for the number of records in the same frame"
)
_LOST = (
    "the engine could not count the records, as workers of it were killed or lost, which is mostly for lack of memory "
    "(its logs then have a worker beyond its memory limit, or exit code 137).  Give workers more memory, or fewer "
    "tasks at a time (threads or cores), or the frame more partitions"
)


class EngineRecords(Protocol):
    """Records in an engine's frame."""

    @property
    def contributions(self) -> Contributions:
        """Which records of a person count."""
        ...

    @property
    def workers(self) -> Workers:
        """What counts them."""
        ...

    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """What ``finish`` makes of each task's tables at the worker that has added them up, and nothing else.

        ``progress`` is called with the number of the engine's tasks that are done and their total, as far as known.
        """
        ...


class _Run(NamedTuple):
    """Some consecutive tables of one group: ``first`` up to, but not including, ``last``."""

    group: int
    first: int
    last: int


@final
class EngineCluster:
    """Records that an engine's workers count, each partition in one pass.

    Args:
        records: the engine's.
        domain: the schema.
        progress: called with the number of the engine's tasks that are done and their total.
    """

    def __init__(self, records: EngineRecords, domain: Domain, progress: Progress | None = None) -> None:
        self._records, self._domain, self._progress = records, domain, progress

    def require_ready(self) -> None:
        """An engine's records can be read again."""

    def check(self, tasks: Sequence[CountingTask], *, is_trusted: bool = False) -> None:
        """Have the workers code all columns of all records; DataError where they do not fit, or the engine failed."""
        outcome = [] if is_trusted else _rows(self._records, self._work((_NOTHING_BUT_A_TOTAL,), tasks), _nothing)
        del self  # as below
        if isinstance(outcome, DataError):
            raise outcome

    def draw(self, tasks: Sequence[CountingTask], draw: Draw) -> list[bytes]:
        """Count and draw at the workers; DataError where the records do not fit the schema, or the engine failed."""
        numbers = [task.number for task in tasks]
        outcome = _rows(self._records, self._work(tasks, tasks), partial(_receipt, numbers, draw), self._progress)
        del self  # the traceback must not lead to the records
        if not isinstance(outcome, list):
            raise outcome
        receipts = {row.task: row.content for row in outcome}
        return [receipts[task] for task in range(len(tasks))]

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> list[bytes]:
        """Call the function with each number, at the workers; ResourceError if the engine fails."""
        return list(self._records.workers.run(function, numbers))

    def _work(self, tasks: Sequence[CountingTask], later: Sequence[CountingTask]) -> Work:
        finest = largest_denominator(self._domain, [rows for task in later for rows in task.groups])
        return Work(self._domain, tuple(tasks), self._records.contributions, finest=finest)


def source_of_engine(records: EngineRecords, domain: Domain) -> Source:
    """Counts of an engine's records, which are added up at its workers and then come to this process."""
    return Source(partial(_count, records, domain, Passes()))


def _rows(
    records: EngineRecords, work: Work, finish: Finish, progress: Progress | None = None
) -> list[PartitionRow] | DataError | ResourceError:
    """What is left of the counts of each task, or what is wrong with the records or the engine."""
    rows = _rows_of_engine(records, work, finish, progress)
    if not isinstance(rows, list):
        return rows
    problems = b"".join(row.content for row in rows if row.piece == PROBLEMS)
    return error_of_problems(work.domain, problems) if problems else rows


def _rows_of_engine(
    records: EngineRecords, work: Work, finish: Finish, progress: Progress | None
) -> list[PartitionRow] | DataError | ResourceError:
    """What the engine returns, or the error to raise; only interrupts, and what ``progress`` raises, pass."""
    raised: list[BaseException] = []

    def report(done: int, total: int) -> None:
        assert progress is not None
        try:
            progress(done, total)
        except BaseException as error:
            raised.append(error)
            raise

    try:
        return records.rows(work, finish, None if progress is None else report) if work.tasks else []
    except Exception as error:
        if error in raised:
            raise
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        if isinstance(error, DataError):
            return error
        return ResourceError(_LOST) if records.workers.were_lost(error) else DataError(_FAILED)


def _nothing(_task: int, _tables: list[IntArray]) -> Iterator[PartitionRow]:
    yield from ()


def _receipt(numbers: Sequence[int], draw: Draw, task: int, tables: list[IntArray]) -> Iterator[PartitionRow]:
    yield PartitionRow(task, 0, draw(numbers[task], tables))


def _count(
    records: EngineRecords,
    domain: Domain,
    passes: Passes,
    groups: Sequence[IntArray],
    merged: MergedValues,
    progress: Progress | None,
    later: Sequence[IntArray],
) -> list[IntArray] | DataError | ResourceError:
    """The tables; the engine reads the records once, and ``progress`` is called when it is done."""
    sizes = merged.of_domain(domain).sizes
    runs = _runs_of_tasks(sizes, groups)
    tasks = [
        CountingTask(number, tuple(groups[run.group][run.first : run.last] for run in of_task))
        for number, of_task in enumerate(runs)
    ]
    work = Work(domain, tuple(tasks), records.contributions, merged, largest_denominator(domain, [*groups, *later]))
    rows = _rows(records, work, rows_of_tables)
    if not isinstance(rows, list):
        return rows
    stacks = zero_tables(sizes, groups)
    for task, total in sums_of_rows(work, rows):
        for run, tables in zip(runs[task], total.tables, strict=True):
            stacks[run.group][run.first : run.last] = tables
    if progress is not None:
        number = sum(map(len, groups))
        progress(number, number)
    return passes.compare(records_of_tables(domain, groups, stacks)) or stacks


def _runs_of_tasks(sizes: Sequence[int], groups: Sequence[IntArray]) -> list[list[_Run]]:
    """Divide the tables of all groups, in their order, into tasks of at most `TASK_CELLS` cells, or of one table."""
    tasks: list[list[_Run]] = []
    room = 0
    for group, rows in enumerate(groups):
        cells, first = math.prod(shape_of_group(sizes, rows)), 0
        while first < len(rows):
            if room < cells:
                tasks.append([])
                room = max(TASK_CELLS, cells)
            last = min(len(rows), first + room // cells)
            tasks[-1].append(_Run(group, first, last))
            room -= cells * (last - first)
            first = last
    return tasks
