"""Counts of one partition of the records, made by an engine's worker, and the sums of such counts.

A partition's coded blocks become rows, which the engine brings together task by task.

Grouping the raw columns in the engine, ``group_by(columns).agg(len)`` for every set, would be simpler to write, and is
not done, because

- it reads the records once for each set, or makes them longer by a row for each set: here they are read once;
- a column of numbers has as many groups as numbers, which would all be sent: now what is sent is at most the tables,
  whatever the records are;
- which values are equal is up to the engine (collations, padded strings, 1 and "1", casts that quote the record they
  fail on): here it is up to the domain, the same in every engine.

The price is that the workers need Python with this library.  No record makes a worker raise anything, because engines
write their workers' errors into logs: what is wrong with a partition is reported to every task, as a row of its own.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residualplanner.gate.sources.coding import batches_of_pandas, blocks_of_batches, names_of_columns
from residualplanner.gate.sources.counting import MOST, exact_total, shape_of_group, too_many
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.gate.sources.records import RecordCounts, denominator_of_set, merged_block, regrouped
from residualplanner.gate.sources.rules import RULES, Breach, CodedBlock, data_error_of_breaches
from residualplanner.gate.sources.source import NOTHING_MERGED, MergedValues, guarded
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.ground.version import __version__
from residualplanner.method.domain.domain import Domain

if TYPE_CHECKING:
    import pandas as pd

#: The piece of a row that says what is wrong with a partition.
PROBLEMS = -1
_UNREADABLE, _OTHER_VERSION, _TOO_MANY, _FIRST_BREACH = 0, 1, 2, 3
#: How many cells are packed together.  Spark hands thousands of rows to Python at a time, so that each must be short.
PIECE_CELLS = 2**13
#: How they are compressed: fast, since most are zero or small.
_CODEC = "lz4"


@dataclass(frozen=True, eq=False, slots=True)
class CountingTask:
    """Some tables that one worker adds up; it is sent to the workers, and holds no record.

    A plan's tasks follow from the plan alone.  All tables of a task, and those that are summed down from them, have at
    most ``2**22`` cells together; a larger table is a task of its own.
    """

    number: int  # from 0
    groups: tuple[IntArray, ...]  # each (g, k): g sets of k ascending attribute positions, of one shape (n_1, .., n_k)


class PartitionRow(NamedTuple):
    """What a worker sends."""

    task: int  # its position among those of the work
    piece: int  # the number of some of its cells, or `PROBLEMS`
    content: bytes  # their packed counts, or int64 numbers of what is wrong


#: Makes rows of the position of a task and its tables: all that leaves the worker that added them up.
Finish = Callable[[int, list[IntArray]], Iterable[PartitionRow]]


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """The work of every worker; it is sent to them, and holds no record."""

    domain: Domain
    tasks: tuple[CountingTask, ...]  # counted one after the other
    #: Which records of a person count; all records of a person are then in one partition.
    contributions: Contributions = Contributions()  # noqa: RUF009 - frozen
    merged: MergedValues = NOTHING_MERGED  # which values share a cell
    most: int = MOST  # that all records together may count, in these tables or in later ones
    version: str = __version__  # of the library in the process that asks; the workers must have the same
    codes_bytes: int = 2**28  # of codes that a worker keeps while it counts one task after another

    @property
    def counted(self) -> Domain:
        """The domain whose sizes the tables have."""
        return self.merged.of_domain(self.domain)


def rows_of_batches(work: Work, batches: Iterable[Any]) -> Iterator[PartitionRow]:
    """The rows of a partition of Arrow record batches, whose columns are in the order of the domain's."""
    keys = range(len(names_of_columns(work.domain, work.contributions)))
    return rows_of_blocks(work, lambda: blocks_of_batches(work.domain, work.contributions, batches, keys=keys))


def rows_of_pandas(work: Work, frame: "pd.DataFrame") -> Iterator[PartitionRow]:
    """The rows of a partition that is a pandas frame."""
    return rows_of_blocks(work, lambda: blocks_of_batches(work.domain, work.contributions, batches_of_pandas(frame)))


def sums_of_rows(work: Work, rows: Iterable[PartitionRow]) -> "Iterator[tuple[int, PartialSum]]":
    """The position and the sum of each task, whose rows of all partitions follow one another; one sum at a time."""
    for task, of_task in groupby(rows, key=lambda row: row.task):
        total = PartialSum(work, task)
        for row in of_task:
            total.add(row)
        yield task, total


def finished(work: Work, finish: Finish, rows: Iterable[PartitionRow]) -> Iterator[PartitionRow]:
    """What is left of the rows of all partitions, one task after another: what ``finish`` makes of their tables."""
    for task, total in sums_of_rows(work, rows):
        yield from [PartitionRow(task, PROBLEMS, total.problems)] if total.problems else finish(task, total.tables)


def rows_of_tables(task: int, tables: Sequence[IntArray]) -> Iterator[PartitionRow]:
    """Rows that add up to the tables of a task."""
    flat = tables[0].reshape(-1) if len(tables) == 1 else np.concatenate([table.reshape(-1) for table in tables])
    for piece, start in enumerate(range(0, len(flat), PIECE_CELLS)):
        counts = flat[start : start + PIECE_CELLS]
        if counts.any():
            yield PartitionRow(task, piece, packed(counts))


def error_of_problems(domain: Domain, content: bytes) -> DataError:
    """The error that workers found."""
    marks = set(np.frombuffer(content, np.int64).tolist())
    if _OTHER_VERSION in marks:
        return DataError(f"the engine's workers have another version of residualplanner; install {__version__} there")
    if _UNREADABLE in marks:
        return DataError(
            "the records could not be read as a table.  What the engine's workers said is withheld, because it may "
            "quote a record; look at the same columns in the engine to see it"
        )
    broken = [divmod(mark - _FIRST_BREACH, len(RULES)) for mark in sorted(marks - {_TOO_MANY})]
    if not broken:
        return too_many()
    return data_error_of_breaches(domain, [(position, RULES[rule]) for position, rule in broken])


class PartialSum:
    """The sum of the rows of one task, which has this position."""

    def __init__(self, work: Work, task: int) -> None:
        groups = work.tasks[task].groups
        self._shapes = [(len(rows), *shape_of_group(work.counted.sizes, rows)) for rows in groups]
        self._ends = [*accumulate(map(math.prod, self._shapes))]
        self._counts = np.zeros(self._ends[-1], dtype=np.int64)
        self._problems: set[int] = set()
        self._denominator, self._most = denominator_of_set(work.domain, groups[0][0].tolist()), work.most

    def add(self, row: PartitionRow) -> None:
        """Add a row of this task."""
        if row.piece == PROBLEMS:
            self._problems.update(np.frombuffer(row.content, np.int64).tolist())
        else:
            start = row.piece * PIECE_CELLS
            counts = self._counts[start : start + PIECE_CELLS]
            add_packed(row.content, counts)
            if (counts < 0).any():  # the sum of two integers that are not negative, neither of which int64 lacks
                self._problems.add(_TOO_MANY)

    @property
    def tables(self) -> list[IntArray]:
        """One int64 array (g, n_1, .., n_k) for each group; meaningless where there are problems."""
        tables = np.split(self._counts, self._ends[:-1])
        return [table.reshape(shape) for table, shape in zip(tables, self._shapes, strict=True)]

    @property
    def problems(self) -> bytes:
        """The content of a row that says what is wrong with the records; nothing if nothing is."""
        is_too_many = not self._problems and exact_total(self.tables[0][0]) // self._denominator > self._most
        return _content(self._problems | ({_TOO_MANY} if is_too_many else set()))


def rows_of_blocks(work: Work, blocks: Callable[[], Iterator[CodedBlock]]) -> Iterator[PartitionRow]:
    """The rows of one partition: its codes are kept, and counted for one task after another."""
    if work.version != __version__:
        yield from _problem_rows(work, {_OTHER_VERSION})
        return
    breaches: set[Breach] = set()
    kept: list[CodedBlock] = []
    total, most = 0, work.most
    stream = regrouped(work.domain, blocks)
    while isinstance(block := guarded(next, stream, None), CodedBlock):
        breaches |= block.breaches
        total += block.total
        kept.append(block)
        is_wrong = bool(breaches) or total > most
        if is_wrong or sum(block.codes.nbytes for block in kept) >= work.codes_bytes:
            if not is_wrong:
                yield from _counted(work, kept)
            kept = []
    if breaches or total > most or isinstance(block, DataError):
        problems = {_UNREADABLE} if isinstance(block, DataError) else set()
        problems |= {_TOO_MANY} if total > most else set()
        broken = {_FIRST_BREACH + len(RULES) * position + RULES.index(rule) for position, rule in breaches}
        yield from _problem_rows(work, problems | broken)
    else:
        yield from _counted(work, kept)


def _counted(work: Work, kept: Sequence[CodedBlock]) -> Iterator[PartitionRow]:
    domain, blocks = work.counted, [merged_block(each, work.merged) for each in kept]
    for task, of_task in enumerate(work.tasks):
        counts = RecordCounts(domain, of_task.groups)
        for block in blocks:
            counts.add(block)
        yield from rows_of_tables(task, counts.tables)


def _problem_rows(work: Work, problems: set[int]) -> Iterator[PartitionRow]:
    return (PartitionRow(task, PROBLEMS, _content(problems)) for task in range(len(work.tasks)))


def _content(problems: set[int]) -> bytes:
    return np.array(sorted(problems), dtype=np.int64).tobytes()


def packed(counts: IntArray) -> bytes:
    """Counts (cells,), none negative: how many bytes the largest needs, and then all, compressed."""
    import pyarrow as pa

    width = np.min_scalar_type(counts.max(initial=0)).itemsize
    return bytes([width]) + bytes(pa.compress(counts.astype(f"<u{width}"), _CODEC, asbytes=True))


def add_packed(content: bytes, counts: IntArray) -> None:
    """Add packed counts to those of the same cells, (cells,); nothing if there is no content."""
    import pyarrow as pa

    if content:
        width = content[0]
        plain = pa.decompress(content[1:], width * len(counts), _CODEC, asbytes=True)
        counts += np.frombuffer(plain, f"<u{width}").astype(np.int64)
