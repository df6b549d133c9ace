"""Counts of one part of the records, made by an engine's worker, where the part is.

Reads: a part's coded blocks.  Gives: numbers of cells with counts, which the engine adds up over all parts.

No record makes a worker raise anything, because engines write their workers' errors into logs: a broken rule is
reported as a cell with a number below zero.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner._checks import IntArray
from residualplanner._version import __version__
from residualplanner.domain import Domain
from residualplanner.errors import DataError
from residualplanner.sources.coding import blocks_of_batches, blocks_of_pandas
from residualplanner.sources.counting import Counts, shape_of_group, zero_tables
from residualplanner.sources.covering import Codes
from residualplanner.sources.records import regrouped
from residualplanner.sources.rules import Block, Breach, data_error_of_breaches
from residualplanner.sources.source import guarded

if TYPE_CHECKING:
    import pandas as pd

#: How many cells a worker counts in tables of its own, 32 MiB in all; counts of larger tables are sent block by block.
WORKER_CELLS = 2**22
_UNREADABLE, _OTHER_VERSION, _FIRST_BREACH = -1, -2, -3
_RULES = ("unknown", "missing")

#: Numbers of cells, (m,), and as many counts; a cell may occur more than once.
Pairs = tuple[IntArray, IntArray]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The work of every worker; it is sent to them, and holds no record.

    Cells are numbered through all tables: table after table, group after group, each table in C order.

    Attributes:
        domain: the schema.
        groups: each (g, k): attribute positions, all of the same shape.
        version: of the library in this process; the workers must have the same.
    """

    domain: Domain
    groups: tuple[IntArray, ...]
    version: str = __version__

    @property
    def offsets(self) -> list[int]:
        """The number of each group's first cell, and at the end how many cells there are."""
        cells = [len(rows) * _table_cells(self.domain, rows) for rows in self.groups]
        return list(accumulate(cells, initial=0))


def count_batches(task: Task, batches: Iterable[Any]) -> Iterator[Pairs]:
    """The pairs of a part that consists of Arrow record batches, its columns in the order of the attributes."""
    return _count(task, lambda: blocks_of_batches(task.domain, batches, by_index=True))


def count_pandas(task: Task, frame: "pd.DataFrame") -> Iterator[Pairs]:
    """The pairs of a part that is a pandas frame."""
    return _count(task, lambda: blocks_of_pandas(task.domain, frame))


def tables_of_pairs(task: Task, pairs: Pairs) -> list[IntArray] | DataError:
    """The tables that the sums of the parts' pairs make up, or the error that the parts found.

    Args:
        task: as it was sent to the workers.
        pairs: each cell at most once; cells that are absent hold no record.

    Returns:
        One int64 array (g, n1, .., nk) per group.

    Example:
        >>> task = Task(Domain({"sex": ["F", "M"], "employed": [False, True]}), (np.array([[0, 1]]), np.array([[1]])))
        >>> task.offsets
        [0, 4, 6]
        >>> [table.tolist() for table in tables_of_pairs(task, (np.array([5, 1, 3]), np.array([9, 2, 7])))]
        [[[[0, 2], [0, 7]]], [[0, 9]]]
    """
    cells, counts = pairs
    problem = _problem(task.domain, cells[cells < 0].tolist())
    if problem is not None:
        return problem
    ascending = np.argsort(cells)
    cells, counts = cells[ascending], counts[ascending]
    offsets = task.offsets
    tables = zero_tables(task.domain.sizes, task.groups)
    borders = np.searchsorted(cells, offsets).tolist()
    for table, offset, first, last in zip(tables, offsets[:-1], borders[:-1], borders[1:], strict=True):
        table.reshape(-1)[cells[first:last] - offset] = counts[first:last]
    return tables


def _problem(domain: Domain, marks: Sequence[int]) -> DataError | None:
    if _OTHER_VERSION in marks:
        return DataError(f"the engine's workers have another version of residualplanner; install {__version__} there")
    if _UNREADABLE in marks:
        return DataError(
            "the records could not be read as a table.  What the engine's workers said is withheld, because it may "
            "quote a record; look at the same columns in the engine to see it"
        )
    broken = [divmod(_FIRST_BREACH - mark, len(_RULES)) for mark in marks]
    return data_error_of_breaches(domain, [(position, _RULES[rule]) for position, rule in broken]) if broken else None


def _count(task: Task, blocks: Callable[[], Iterator[Block]]) -> Iterator[Pairs]:
    if task.version != __version__:
        yield _marks([_OTHER_VERSION])
        return
    held, large = _by_size(task)
    groups = [task.groups[number] for number in held]
    held_counts = Counts(task.domain.sizes, groups)
    breaches: set[Breach] = set()
    stream = regrouped(task.domain, blocks)
    while isinstance(block := guarded(next, stream, None), Block):
        breaches |= block.breaches
        if not breaches:
            held_counts.add(block.codes)
            yield from _sparse(task, large, block.codes)
    if breaches or isinstance(block, DataError):
        unreadable = [_UNREADABLE] if isinstance(block, DataError) else []
        yield _marks(
            [*unreadable, *(_FIRST_BREACH - len(_RULES) * position - _RULES.index(rule) for position, rule in breaches)]
        )
        return
    offsets = task.offsets
    for number, table in zip(held, held_counts.tables, strict=True):
        cells = np.flatnonzero(table)
        yield cells + offsets[number], table.reshape(-1)[cells]


def _by_size(task: Task) -> tuple[list[int], list[int]]:
    """The numbers of the groups whose tables a worker can hold, those of few cells first, and of the others."""
    cells = np.diff(task.offsets)
    ascending = np.argsort(cells, kind="stable")
    held = int((np.cumsum(cells[ascending]) <= WORKER_CELLS).sum())
    return ascending[:held].tolist(), ascending[held:].tolist()


def _sparse(task: Task, numbers: Sequence[int], codes: Codes) -> Iterator[Pairs]:
    """The cells that a block's records fall in, of tables too large to hold."""
    offsets = task.offsets
    for number in numbers:
        rows = task.groups[number]
        shape, size = shape_of_group(task.domain.sizes, rows), _table_cells(task.domain, rows)
        for number_in_group, row in enumerate(rows.tolist()):
            found = np.zeros(codes.shape[1], dtype=np.int64)
            for position, length in zip(row, shape, strict=True):
                found = found * length + codes[position]
            cells, counts = np.unique(found, return_counts=True)
            yield cells + (offsets[number] + number_in_group * size), counts


def _table_cells(domain: Domain, rows: IntArray) -> int:
    return int(np.prod(shape_of_group(domain.sizes, rows), dtype=object))


def _marks(marks: Sequence[int]) -> Pairs:
    return np.array(marks, dtype=np.int64), np.ones(len(marks), dtype=np.int64)
