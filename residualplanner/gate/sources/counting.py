"""Counts of coded records, table by table: one step per record and table, in the tables' own memory."""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from residualplanner.gate.sources.covering import (
    Codes,
    CoveringTable,
    cover,
    is_worth_it,
    may_be_worth_it,
    tables_from_larger,
)
from residualplanner.gate.sources.multiplicities import Multiplicities
from residualplanner.ground.checks import IntArray

#: How many records are counted at a time, so that they stay in the processor's cache.
BLOCK = 2**16
#: How many codes are converted once, not for each table: to 16 MiB.
_KEPT_CODES = 2**21
#: How many sets of attributes are lists at a time, which take much more memory than arrays.
_ROWS = 2**14


def batch_records(sizes: Sequence[int], itemsize: int) -> int:
    """How many records are coded at a time: many, so that larger tables are counted, but at most 64 MiB of codes."""
    return max(BLOCK, min(2**20, 2**26 // (max(1, len(sizes)) * itemsize)))


def count_groups(
    codes: Codes, sizes: Sequence[int], groups: Sequence[IntArray], multiplicities: Multiplicities | None = None
) -> list[IntArray]:
    """Count coded records in each cell of each table: one int64 array (g, n1, .., nk) per group.

    Args:
        codes (d, records): one row per attribute; entries of row i lie in 0 .. sizes[i]-1, as the caller has checked.
        sizes (d,): how many values each attribute can take.
        groups: each (g, k): g sets of k attribute positions, all of the same shape (n1, .., nk), which is checked.
        multiplicities: how often each record counts; once if not given.

    Cost: one addition and one count per record and table where neighboring rows of a group differ in their last
        position only; memory is that of the tables.
    Source: eq. (1).

    Example:
        >>> codes = np.array([[0, 1, 1], [2, 0, 0]])
        >>> [table.tolist() for table in count_groups(codes, (2, 3), [np.array([[0, 1]]), np.empty((1, 0), int)])]
        [[[[0, 0, 1], [2, 0, 0]]], [3]]
    """
    counts = CountedTables(sizes, groups)
    counts.add(codes, Multiplicities(codes.shape[1]) if multiplicities is None else multiplicities)
    return counts.tables


def zero_tables(sizes: Sequence[int], groups: Sequence[IntArray]) -> list[IntArray]:
    """Tables full of zeros, (g, n1, .., nk) per group; ValueError where a group's sets differ in shape."""
    return [np.zeros((len(rows), *shape_of_group(sizes, rows)), dtype=np.int64) for rows in groups]


def shape_of_group(sizes: Sequence[int], rows: IntArray) -> tuple[int, ...]:
    """The common shape of the tables over each row's attributes; ValueError where there is none."""
    shapes = np.array(sizes, dtype=np.int64)[rows]
    if rows.ndim != 2 or len(rows) == 0 or (shapes != shapes[0]).any():
        raise ValueError("a group must be one or more sets of attributes, (g, k), all of the same shape")
    return tuple(shapes[0].tolist())


class CountedTables:
    """Tables of counts, (g, n1, .., nk) per group of sets (g, k), to which records are added, some at a time."""

    def __init__(self, sizes: Sequence[int], groups: Sequence[IntArray]) -> None:
        self.tables = zero_tables(sizes, groups)
        self._sizes, self._groups = sizes, groups
        self._covers: dict[int, list[CoveringTable]] = {}

    def add(self, codes: Codes, multiplicities: Multiplicities, *, report: Callable[[int], None] | None = None) -> None:
        """Add checked records (d, records), which count together with those before at most as often as int64 holds.

        ``report`` is called now and then with the number of tables done so far.
        """
        done = 0
        for order, numbers in self._by_order().items():
            self._add_order(codes, multiplicities, order, numbers)
            done += sum(len(self._groups[number]) for number in numbers)
            if report is not None:
                report(done)

    def _by_order(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, rows in enumerate(self._groups):
            found.setdefault(rows.shape[1], []).append(number)
        return found

    def _add_order(self, codes: Codes, multiplicities: Multiplicities, order: int, numbers: list[int]) -> None:
        groups = [self._groups[number] for number in numbers]
        sets, records = sum(map(len, groups)), codes.shape[1]
        if may_be_worth_it(len(self._sizes), order, sets, records):
            rows = np.concatenate(groups)
            if order not in self._covers:
                self._covers[order] = cover(self._sizes, rows)
            if is_worth_it(self._covers[order], self._sizes, sets, records):
                stacks = [table for number in numbers for table in self.tables[number]]
                covers = self._covers[order]
                for number, counts in tables_from_larger(codes, self._sizes, rows, covers, multiplicities):
                    stacks[number] += counts
                return
        for number, rows in zip(numbers, groups, strict=True):
            for start in range(0, records, BLOCK):
                some = slice(start, start + BLOCK)
                _add_group(codes[:, some], multiplicities.of(some), rows, self.tables[number])


def _add_group(codes: Codes, multiplicities: Multiplicities, rows: IntArray, stack: IntArray) -> None:
    """Add the counts of one block of records to a stack of equal-shaped tables."""
    order = rows.shape[1]
    if order == 0:
        stack += multiplicities.total
        return
    shape = stack.shape[1:]
    flat = stack.reshape(len(rows), -1)
    leading: list[Codes] = []  # leading[j]: flat codes of the first j+1 attributes, times the size of the next
    previous: list[int] = []
    pieces = (rows[first : first + _ROWS].tolist() for first in range(0, len(rows), _ROWS))
    columns = _columns(codes)
    for row, table in zip(chain.from_iterable(pieces), flat, strict=True):
        del leading[_common_length(row[:-1], previous) :]
        for j in range(len(leading), order - 1):
            leading.append((columns(row[j]) if j == 0 else leading[-1] + columns(row[j])) * shape[j + 1])
        cells = columns(row[-1]) if order == 1 else leading[-1] + columns(row[-1])
        multiplicities.add_to(table, cells)
        previous = row[:-1]


def _columns(codes: Codes) -> Callable[[int], IntArray]:
    """The codes of an attribute, by its position, as int64: each is converted once, where memory allows it."""
    if codes.size <= _KEPT_CODES:
        return codes.astype(np.int64).__getitem__
    return lambda position: codes[position].astype(np.int64)


def _common_length(row: list[int], previous: list[int]) -> int:
    length = 0
    while length < min(len(row), len(previous)) and row[length] == previous[length]:
        length += 1
    return length
