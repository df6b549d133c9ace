"""Counts of coded records, table by table: one step per record and table, in the tables' own memory.

Where many smaller tables are parts of larger ones, these are counted once, and the smaller ones follow by sums: fewer
passes over the records.  The counts are the same integers, since every record falls in one cell of every table, as
often as it counts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, permutations, takewhile
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError

Codes = NDArray[np.integer[Any]]

#: How many records are counted at a time, so that they stay in the processor's cache.
BLOCK = 2**16
#: How many codes are converted once, not for each table: to 16 MiB.
_KEPT_CODES = 2**21
#: How many sets of attributes are lists at a time, which take much more memory than arrays.
_ROWS = 2**14
#: A larger table has at most so many cells: more do not stay in the processor's cache.
MOST_CELLS = 2**17
#: What is not worth it: a map of more sets than this, fewer sets, fewer records at a time.
_MOST_SETS, _LEAST_SETS, _LEAST_RECORDS = 2**25, 16, 2**15
#: About how long it takes to count a record in a set of its own, and in a larger table, and to sum a cell of that.
_OWN, _LARGER, _CELL = 1.6, 1.8, 2.5
#: How many records are counted in larger tables at a time, which bounds memory; of how many the cells are computed, so
#: that they stay in the processor's cache.
_RECORDS, _CHUNK = 2**21, 2**16
#: Tables that follow one another often have their first attributes in common, so many of which are taken once for all.
_FIRST = 2
#: A table that is counted for the sake of others: positions of attributes, in the order of its axes, and the numbers of
#: the sets that are summed down from it.
CoveringTable = tuple[tuple[int, ...], tuple[int, ...]]


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
    """Tables of counts, (g, n1, .., nk) per group of sets (g, k), to which records are added.  Source: eq. (1)."""

    def __init__(self, sizes: Sequence[int], groups: Sequence[IntArray]) -> None:
        self.tables = zero_tables(sizes, groups)
        self._sizes, self._groups = sizes, groups
        self._covers: dict[int, list[CoveringTable]] = {}

    def add(
        self, codes: Codes, often: IntArray | None, *, report: Callable[[int], None] | None = None, done: int = 0
    ) -> None:
        """Add checked records (d, records), which count so often, or once each.

        All together, with those before, count at most as often as int64 holds.
        ``report`` is called now and then with the number of tables done so far, of which some were ``done`` before.
        """
        by_order = dict[int, list[int]]()
        for number, rows in enumerate(self._groups):
            by_order.setdefault(rows.shape[1], []).append(number)
        for order, numbers in by_order.items():
            self._add_order(codes, often, order, numbers)
            done += sum(len(self._groups[number]) for number in numbers)
            if report is not None:
                report(done)

    def _add_order(self, codes: Codes, often: IntArray | None, order: int, numbers: list[int]) -> None:
        groups = [self._groups[number] for number in numbers]
        sets, records = sum(map(len, groups)), codes.shape[1]
        if may_be_worth_it(len(self._sizes), order, sets, records):
            rows = np.concatenate(groups)
            if order not in self._covers:
                self._covers[order] = cover(self._sizes, rows)
            if is_worth_it(self._covers[order], self._sizes, sets, records):
                stacks = [table for number in numbers for table in self.tables[number]]
                covers = self._covers[order]
                for number, counts in tables_from_larger(codes, self._sizes, rows, covers, often):
                    stacks[number] += counts
                return
        for number, rows in zip(numbers, groups, strict=True):
            for start in range(0, records, BLOCK):
                some = slice(start, start + BLOCK)
                _add_group(codes[:, some], None if often is None else often[some], rows, self.tables[number])


def _add_group(codes: Codes, often: IntArray | None, rows: IntArray, stack: IntArray) -> None:
    order = rows.shape[1]
    if order == 0:
        stack += codes.shape[1] if often is None else exact_total(often)
        return
    shape = stack.shape[1:]
    flat = stack.reshape(len(rows), -1)
    leading: list[Codes] = []  # leading[j]: flat codes of the first j+1 attributes, times the size of the next
    previous: list[int] = []
    pieces = (rows[first : first + _ROWS].tolist() for first in range(0, len(rows), _ROWS))
    columns = _columns(codes)
    for row, table in zip(chain.from_iterable(pieces), flat, strict=True):
        common = sum(takewhile(bool, map(eq, row[:-1], previous)))
        del leading[common:]
        for j in range(len(leading), order - 1):
            leading.append((columns(row[j]) if j == 0 else leading[-1] + columns(row[j])) * shape[j + 1])
        cells = columns(row[-1]) if order == 1 else leading[-1] + columns(row[-1])
        if often is None and table.size <= 4 * cells.size:
            np.add(table, np.bincount(cells, minlength=table.size), out=table)
        else:
            np.add.at(table, cells, 1 if often is None else often)
        previous = row[:-1]


def _columns(codes: Codes) -> Callable[[int], IntArray]:
    """The codes of an attribute, by its position, as int64: each is converted once, where memory allows it."""
    if codes.size <= _KEPT_CODES:
        return codes.astype(np.int64).__getitem__
    return lambda position: codes[position].astype(np.int64)


def cover(sizes: Sequence[int], rows: IntArray, *, most_cells: int = MOST_CELLS) -> list[CoveringTable]:
    """Larger tables such that each set is part of one: greedily those that hold the most sets not yet in another.

    The sets (m, k) are ascending, all of one order; one may be there several times, and one of more cells is alone.
    """
    lengths, order = np.array(sizes, dtype=np.float64), rows.shape[1]
    distinct, index, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    equal = np.split(np.argsort(index.ravel(), kind="stable"), np.cumsum(counts)[:-1])
    number_of = np.full((len(sizes),) * order, -1, dtype=np.int32)
    for axes in permutations(range(order)):
        number_of[tuple(distinct[:, axes].T)] = np.arange(len(distinct))
    found = []
    for row in distinct.tolist():
        if number_of[tuple(row)] < 0:
            continue
        attributes = _extended(row, lengths, number_of, most_cells)
        numbers = [int(number_of[some]) for some in combinations(attributes, order)]
        number_of[np.ix_(*(attributes,) * order)] = -1
        sets = [equal[number].tolist() for number in numbers if number >= 0]
        found.append((tuple(attributes), tuple(chain(*sets))))
    return found


def is_worth_it(larger: Sequence[CoveringTable], sizes: Sequence[int], sets: int, records: int) -> bool:
    """Whether counting larger tables takes less time than each of so many sets by itself."""
    cells = [math.prod(sizes[i] for i in attributes) for attributes, _ in larger]
    is_faster = _LARGER * len(larger) * records + _CELL * sum(cells) < _OWN * sets * records
    return is_faster and max(cells) <= np.iinfo(np.int32).max


def may_be_worth_it(attribute_count: int, order: int, sets: int, records: int) -> bool:
    """Whether a cover is worth looking for: there are many sets and records, and a map of all sets is small."""
    is_small = attribute_count**order <= _MOST_SETS
    return order > 1 and is_small and sets >= _LEAST_SETS and records >= _LEAST_RECORDS


def tables_from_larger(
    codes: Codes, sizes: Sequence[int], rows: IntArray, larger: Sequence[CoveringTable], often: IntArray | None
) -> Iterator[tuple[int, NDArray[np.integer[Any]]]]:
    """Tables of counts with the numbers of their sets; a set's tables, one for each part of the records, add up to its.

    Codes (d, records) are checked: ValueError where one is not in 0 .. sizes[i]-1, as SciPy counts in any cell, inside
    the table or not.  The sets (m, k) are ascending.
    """
    if (codes.max(axis=1, initial=0) >= sizes).any() or (codes.min(axis=1, initial=0) < 0).any():
        raise ValueError("codes must lie in 0 .. size-1 of their attribute")
    for start in range(0, codes.shape[1], _RECORDS):
        some = slice(start, start + _RECORDS)
        part = codes[:, some]
        entries = np.ones(part.shape[1], dtype=np.int32) if often is None else often[some]
        found = _larger_tables(part, sizes, larger, entries)
        for (attributes, numbers), counts in zip(larger, found, strict=True):
            sets = [(number, tuple(rows[number].tolist())) for number in numbers]
            yield from _summed(counts, attributes, sets)


def _larger_tables(
    codes: Codes, sizes: Sequence[int], larger: Sequence[CoveringTable], entries: NDArray[np.integer[Any]]
) -> Iterator[NDArray[np.integer[Any]]]:
    """The counts of some records in each larger table; ``entries`` (records,) say how often each counts."""
    leading, cells = np.empty((2, codes.shape[1]), dtype=np.int32)
    known = None
    for attributes, _ in larger:
        shape = tuple(sizes[i] for i in attributes)
        first, step = attributes[:_FIRST], math.prod(shape[_FIRST:])
        if known != (first, step):
            known = (first, step)
            for part, numbers in _numbers_by_chunk(codes, first, shape[:_FIRST]):
                np.multiply(numbers, np.int32(step), out=leading[part], casting="unsafe")
        for part, numbers in _numbers_by_chunk(codes, attributes[_FIRST:], shape[_FIRST:]):
            np.add(leading[part], numbers, out=cells[part], casting="unsafe")
        # A sparse matrix adds entries that stand in the same place, in their type: in two thirds of the time of
        # np.add.at and of np.bincount, which need 64-bit numbers besides.
        ends = np.array([0, len(cells)], dtype=np.int32)
        one_row = sparse.csr_array((entries, cells, ends), shape=(1, math.prod(shape)))
        yield np.asarray(one_row.toarray()[0]).reshape(shape)


def _extended(row: list[int], lengths: NDArray[np.float64], number_of: NDArray[np.int32], most_cells: int) -> list[int]:
    """A set with more attributes, each the one that brings in the most sets not in another table, up to the limit."""
    order, attributes = len(row), list(row)
    cells = float(lengths[row].prod())
    gain = np.zeros(len(lengths), dtype=np.int64)
    for some in combinations(row, order - 1):
        gain += number_of[some] >= 0
    while True:
        gain[attributes] = 0
        allowed = np.where(cells * lengths <= most_cells, gain, 0)
        best = int(allowed.argmax())
        if not allowed[best]:
            return attributes
        for some in combinations(attributes, order - 2):
            gain += number_of[(*some, best)] >= 0
        attributes.append(best)
        cells *= float(lengths[best])


def _numbers_by_chunk(
    codes: Codes, attributes: Sequence[int], shape: Sequence[int]
) -> Iterator[tuple[slice, NDArray[np.integer[Any]]]]:
    """In which cell of the table of some attributes (k,) each record falls; a chunk lasts until the next."""
    types = [np.min_scalar_type(count) for count in np.cumprod(shape, dtype=np.int64)]  # the narrowest that do
    space = {kind: np.empty(_CHUNK, dtype=kind) for kind in types}
    for start in range(0, codes.shape[1], _CHUNK):
        part = slice(start, start + _CHUNK)
        numbers = codes[attributes[0], part] if attributes else np.zeros(1, dtype=np.uint8)
        for attribute, size, kind in zip(attributes[1:], shape[1:], types[1:], strict=True):
            target = space[kind][: len(numbers)]
            np.multiply(numbers, kind.type(size), out=target, casting="unsafe")
            numbers = np.add(target, codes[attribute, part], out=target, casting="unsafe")
        yield part, numbers


def _summed(
    counts: NDArray[np.integer[Any]], attributes: tuple[int, ...], sets: list[tuple[int, tuple[int, ...]]]
) -> Iterator[tuple[int, NDArray[np.integer[Any]]]]:
    """The tables of some sets of a table's attributes, by number; sums that several of them need are made once."""
    for axis, attribute in enumerate(attributes):
        without = [(number, members) for number, members in sets if attribute not in members]
        sets = [(number, members) for number, members in sets if attribute in members]
        if without:
            others = attributes[:axis] + attributes[axis + 1 :]
            # several times as fast as `np.sum`, which takes wider integers
            as_three = counts.reshape(math.prod(counts.shape[:axis]), counts.shape[axis], -1)
            summed = np.einsum("ijk->ik", as_three).reshape(counts.shape[:axis] + counts.shape[axis + 1 :])
            yield from _summed(np.asarray(summed), others, without)
    if sets:
        in_order = counts.transpose(np.argsort(attributes))
        yield from ((number, in_order) for number, _ in sets)


# How often a record counts, where it is not once, is an integer that is not negative.  Floats are nowhere, and what
# int64 cannot hold is refused before it is added.
#: The most that all records together may count: what int64 holds.
MOST = 2**63 - 1


def exact_total(entries: IntArray) -> int:
    """The sum of integers that are not negative, however large it is."""
    high, low = entries >> 32, entries & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())


def too_many() -> DataError:
    """The error for records that count more often together than int64 holds."""
    message = "all records together count more than 64-bit integers hold; declare a larger unit, or smaller maxima"
    return DataError(message)


def products(often: IntArray | None, integers: IntArray) -> IntArray:
    """How often records count by two rules; DataError where int64 does not hold the sum of all.  Source: eq. (100)."""
    if often is None or int(often.max(initial=0)) * int(integers.max(initial=0)) <= MOST:
        found = integers if often is None else often * integers
        if exact_total(found) <= MOST:
            return found
    elif (exact := often.astype(object) * integers).sum() <= MOST:
        return exact.astype("int64")
    raise too_many()
