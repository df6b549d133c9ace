"""Larger tables that are counted once, so that many smaller ones follow by sums: fewer passes over the records.

Reads: sets of attribute positions, coded records.  Gives: which larger tables to count, and counts.  Counts are the
same integers as those of each set by itself, since every record falls in one cell of every table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, groupby, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray

Codes = NDArray[np.integer[Any]]

#: A larger table has at most so many cells: more do not stay in the processor's cache.
MOST_CELLS = 2**17
#: What is not worth it: a map of more sets than this, fewer sets, fewer records at a time.
_MOST_SETS, _LEAST_SETS, _LEAST_RECORDS = 2**25, 16, 2**16
#: About how long it takes to count a record in a set of its own, and in a larger table, and to sum a cell of that.
_OWN, _LARGER, _CELL = 1.7, 3.3, 5.0
#: How many codes are computed at a time, so that they stay in the processor's cache.
_CHUNK = 2**16
#: Tables that follow one another often have their first attributes in common, so many of which are coded once for all.
_FIRST = 2


@dataclass(frozen=True, slots=True)
class Larger:
    """A table that is counted for the sake of others.

    Attributes:
        attributes: positions, in the order of its axes.
        sets: the numbers of the sets that are summed down from it.
    """

    attributes: tuple[int, ...]
    sets: tuple[int, ...]


def cover(sizes: Sequence[int], rows: IntArray) -> list[Larger]:
    """Larger tables such that each set is part of one: greedily those that hold the most sets not yet in another.

    Args:
        sizes (d,): how many values each attribute can take.
        rows (m, k): the sets, each ascending, all of one order; one may be there several times.

    Example:
        >>> cover((2, 2, 2, 2), np.array([[0, 1], [0, 2], [1, 2], [2, 3]]))
        [Larger(attributes=(0, 1, 2, 3), sets=(0, 1, 2, 3))]
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
        attributes = _extended(row, lengths, number_of)
        numbers = [int(number_of[some]) for some in combinations(attributes, order)]
        number_of[np.ix_(*(attributes,) * order)] = -1
        sets = [equal[number].tolist() for number in numbers if number >= 0]
        found.append(Larger(tuple(attributes), tuple(chain(*sets))))
    return found


def is_worth_it(larger: Sequence[Larger], sizes: Sequence[int], sets: int, records: int) -> bool:
    """Whether counting larger tables takes less time than each of so many sets by itself."""
    cells = sum(math.prod(sizes[i] for i in table.attributes) for table in larger)
    return _LARGER * len(larger) * records + _CELL * cells < _OWN * sets * records


def may_be_worth_it(attribute_count: int, order: int, sets: int, records: int) -> bool:
    """Whether a cover is worth looking for: there are many sets and records, and a map of all sets is small."""
    is_small = attribute_count**order <= _MOST_SETS
    return order > 1 and is_small and sets >= _LEAST_SETS and records >= _LEAST_RECORDS


def tables_from_larger(
    codes: Codes, sizes: Sequence[int], rows: IntArray, larger: Sequence[Larger]
) -> Iterator[tuple[int, NDArray[np.integer[Any]]]]:
    """The counts of some records in each set's table, with the set's number.

    Args:
        codes (d, records): one row per attribute, checked.
        sizes (d,): how many values each attribute can take.
        rows (m, k): the sets, each ascending.
        larger: a cover of them.
    """
    records = codes.shape[1]
    most = max(math.prod(sizes[i] for i in table.attributes) for table in larger)
    cells, counts = np.empty(records, dtype=np.int64), np.empty(most, dtype=np.int32)
    for first, tables in groupby(larger, key=lambda table: table.attributes[:_FIRST]):
        leading = _codes_of(codes, first, sizes)
        for table in tables:
            shape = [sizes[i] for i in table.attributes]
            _write_cells(codes, leading, table.attributes, shape, cells)
            found = counts[: math.prod(shape)]
            found[...] = 0
            np.add.at(found, cells, np.int32(1))  # faster than a bincount, which makes an array and looks for negatives
            sets = [(number, tuple(rows[number].tolist())) for number in table.sets]
            yield from _summed(found.reshape(shape), table.attributes, sets)


def _extended(row: list[int], lengths: NDArray[np.float64], number_of: NDArray[np.int32]) -> list[int]:
    """A set with more attributes, each the one that brings in the most sets not in another table, up to the limit."""
    order, attributes = len(row), list(row)
    cells = float(lengths[row].prod())
    gain = np.zeros(len(lengths), dtype=np.int64)
    for some in combinations(row, order - 1):
        gain += number_of[some] >= 0
    while True:
        gain[attributes] = 0
        allowed = np.where(cells * lengths <= MOST_CELLS, gain, 0)
        best = int(allowed.argmax())
        if not allowed[best]:
            return attributes
        for some in combinations(attributes, order - 2):
            gain += number_of[(*some, best)] >= 0
        attributes.append(best)
        cells *= float(lengths[best])


def _codes_of(codes: Codes, attributes: tuple[int, ...], sizes: Sequence[int]) -> NDArray[Any]:
    """In which cell of the table of some attributes each record falls, in the narrowest integers."""
    shape = [sizes[i] for i in attributes]
    found = np.zeros(codes.shape[1], dtype=np.min_scalar_type(math.prod(shape)))
    for attribute, size in zip(attributes, shape, strict=True):
        found *= found.dtype.type(size)
        np.add(found, codes[attribute], out=found, casting="unsafe")
    return found


def _write_cells(
    codes: Codes, leading: NDArray[Any], attributes: Sequence[int], shape: Sequence[int], cells: IntArray
) -> None:
    """Write in which cell of a table each record falls, in C order; in narrow integers as long as they hold it.

    Args:
        codes (d, records): one row per attribute.
        leading (records,): in which cell of the table of the first attributes.
        attributes (k,): of the table.
        shape (k,): their sizes.
        cells (records,): where to write.
    """
    narrow, wide = np.empty(_CHUNK, dtype=np.uint16), np.empty(_CHUNK, dtype=np.uint32)
    for start in range(0, len(cells), _CHUNK):
        part = slice(start, start + _CHUNK)
        reached = math.prod(shape[:_FIRST])
        running: NDArray[Any] = (narrow if reached <= 2**16 else wide)[: len(cells[part])]
        running[...] = leading[part]
        for attribute, size in zip(attributes[_FIRST:], shape[_FIRST:], strict=True):
            reached *= size
            if reached > 2**16 and running.dtype == narrow.dtype:
                wide[: len(running)] = running
                running = wide[: len(running)]
            running *= running.dtype.type(size)
            np.add(running, codes[attribute, part], out=running, casting="unsafe")
        cells[part] = running


def _summed(
    counts: NDArray[np.integer[Any]], attributes: tuple[int, ...], sets: list[tuple[int, tuple[int, ...]]]
) -> Iterator[tuple[int, NDArray[np.integer[Any]]]]:
    """The tables of some sets of a table's attributes, by number; sums that several of them need are made once."""
    for axis, attribute in enumerate(attributes):
        without = [(number, members) for number, members in sets if attribute not in members]
        sets = [(number, members) for number, members in sets if attribute in members]
        if without:
            others = attributes[:axis] + attributes[axis + 1 :]
            yield from _summed(counts.sum(axis=axis), others, without)
    if sets:
        in_order = counts.transpose(np.argsort(attributes))
        yield from ((number, in_order) for number, _ in sets)
