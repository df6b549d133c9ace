"""How often each record counts: once, or as often as an integer says.

Sums are those of int64 integers and exact: floats are nowhere, and what int64 cannot hold is refused before it is
added.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError

#: The most that all records together may count: what int64 holds.
MOST = 2**63 - 1
Selected = slice | NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Multiplicities:
    """How often each of some records counts: once where no integers are given.

    Source: eq. (100).
    """

    records: int  # how many there are
    integers: IntArray | None = None  # (records,): int64, none negative; `several` checks their sum

    def __len__(self) -> int:
        return self.records

    @property
    def entries(self) -> NDArray[np.integer[Any]]:
        """The integers, or ones: a block has fewer than ``2**31`` records."""
        return np.ones(self.records, dtype=np.int32) if self.integers is None else self.integers

    @property
    def total(self) -> int:
        """How often all records count together."""
        return self.records if self.integers is None else exact_total(self.integers)

    def of(self, records: Selected) -> "Multiplicities":
        """Those of these records."""
        if self.integers is not None:
            return _given(self.integers[records])
        if isinstance(records, slice):
            return Multiplicities(len(range(*records.indices(self.records))))
        return Multiplicities(int(records.sum()))

    def times(self, integers: IntArray) -> "Multiplicities":
        """The products; DataError where int64 does not hold their sum."""
        return several(integers) if self.integers is None else _given(_product(self.integers, integers))

    def add_to(self, counts: IntArray, cells: IntArray) -> None:
        """Add to the cell of each record how often it counts."""
        if self.integers is None and counts.size <= 4 * cells.size:
            np.add(counts, np.bincount(cells, minlength=counts.size), out=counts)
        else:
            np.add.at(counts, cells, 1 if self.integers is None else self.integers)


def joined_multiplicities(parts: Sequence[Multiplicities]) -> Multiplicities:
    """Those of all records of several parts, in their order."""
    if all(part.integers is None for part in parts):
        return Multiplicities(sum(map(len, parts)))
    return _given(np.concatenate([part.entries for part in parts], dtype=np.int64))


def exact_total(entries: IntArray) -> int:
    """The sum of integers that are not negative, however large it is."""
    high, low = entries >> 32, entries & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())


def several(entries: IntArray) -> Multiplicities:
    """Multiplicities from integers (records,) that are not negative; DataError where int64 does not hold their sum."""
    if exact_total(entries) > MOST:
        raise too_many()
    return _given(entries)


def _given(entries: IntArray) -> Multiplicities:
    return Multiplicities(len(entries), entries)


def too_many() -> DataError:
    """The error for records that count more often together than int64 holds."""
    return DataError(
        "all records together count more than 64-bit integers hold; declare a larger unit, or smaller maxima"
    )


def _product(left: IntArray, right: IntArray) -> IntArray:
    """Products of integers that are not negative; DataError where int64 does not hold the sum of all."""
    if int(left.max(initial=0)) * int(right.max(initial=0)) * max(1, left.size) <= MOST:
        return left * right
    exact = left.astype(object) * right
    if exact.sum() > MOST:
        raise too_many()
    return exact.astype(np.int64)
