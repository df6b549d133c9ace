"""Exact counts of the prespecified tables, kept where memory allows and counted anew where it does not.

Reads: confidential counts, through a source.  Gives: Counts, for this room alone.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray
from residualplanner.relaxed_projection.threshold_table import ThresholdTable
from residualplanner.sources import Source

Answers = NDArray[np.int64]


class Counts(Protocol):
    """The exact answers of all tables."""

    def tables(self, numbers: Sequence[int]) -> Iterator[tuple[int, Answers]]:
        """The number of each table and its exact answers, which must not leave this room."""


class KeptCounts:
    """All tables at once."""

    def __init__(self, source: Source, thresholds: Sequence[ThresholdTable]) -> None:
        self._tables = list(_counted(source, thresholds))

    def tables(self, numbers: Sequence[int]) -> Iterator[tuple[int, Answers]]:
        """Each table in turn."""
        yield from ((number, self._tables[number]) for number in numbers)


class RecountedCounts:
    """Some tables at a time; the records are read again for each request."""

    def __init__(self, source: Source, thresholds: Sequence[ThresholdTable], cells: int) -> None:
        self._source, self._thresholds, self._cells = source, thresholds, cells

    def tables(self, numbers: Sequence[int]) -> Iterator[tuple[int, Answers]]:
        """Each table in turn."""
        for batch in batches(numbers, [each.cells for each in self._thresholds], self._cells):
            counted = _counted(self._source, [self._thresholds[number] for number in batch])
            yield from zip(batch, counted, strict=True)


def batches(numbers: Sequence[int], sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Consecutive numbers, as many together as have sizes of at most ``most``; each alone if it has more.

    Example:
        >>> list(batches([0, 1, 2, 3], [3, 1, 5, 9], 4))
        [[0, 1], [2], [3]]
    """
    batch: list[int] = []
    size = 0
    for number in numbers:
        if batch and size + sizes[number] > most:
            yield batch
            batch, size = [], 0
        batch.append(number)
        size += sizes[number]
    if batch:
        yield batch


def count_records(source: Source) -> int:
    """The number of records, which is confidential unless neighbors have equally many."""
    total: IntArray = source.count([np.empty((1, 0), dtype=np.int64)])[0]
    return int(total[0])


def _counted(source: Source, thresholds: Sequence[ThresholdTable]) -> Iterator[Answers]:
    """The answers of some tables, counted in one pass over the records."""
    groups = [np.array([each.positions], dtype=np.int64).reshape(1, -1) for each in thresholds]
    counted = source.count(groups)
    for number, threshold in enumerate(thresholds):
        yield threshold.answers(counted[number][0])
        counted[number] = _NOTHING


_NOTHING: IntArray = np.empty(0, dtype=np.int64)
