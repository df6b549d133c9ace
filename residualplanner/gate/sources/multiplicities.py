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
@dataclass(frozen=True, slots=True)
class Once:
    """Each record counts once."""

    total: int  # how many records there are

    def __len__(self) -> int:
        return self.total

    @property
    def entries(self) -> NDArray[np.integer[Any]]:
        """Ones: a block has fewer than ``2**31`` records."""
        return np.ones(self.total, dtype=np.int32)

    def of(self, records: Selected) -> "Once":
        """As many ones as there are such records."""
        if isinstance(records, slice):
            return Once(len(range(*records.indices(self.total))))
        return Once(int(records.sum()))

    def times(self, other: "Multiplicities") -> "Multiplicities":
        """The others."""
        return other

    def times_entries(self, entries: IntArray) -> "Multiplicities":
        """The integers."""
        return several(entries)

    def add_to(self, counts: IntArray, cells: IntArray) -> None:
        """Add 1 to the cell of each record."""
        if counts.size > 4 * cells.size:
            np.add.at(counts, cells, 1)
        else:
            np.add(counts, np.bincount(cells, minlength=counts.size), out=counts)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """Each record counts as often as its integer says.

    Source: eq. (100).
    """

    entries: IntArray  # (records,): int64, none negative; `several` checks their sum

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def total(self) -> int:
        """The sum of all."""
        return exact_total(self.entries)

    def of(self, records: Selected) -> "Several":
        """The integers of these records."""
        return Several(self.entries[records])

    def times(self, other: "Multiplicities") -> "Multiplicities":
        """The products."""
        return other.times_entries(self.entries)

    def times_entries(self, entries: IntArray) -> "Multiplicities":
        """The products."""
        return Several(_product(self.entries, entries))

    def add_to(self, counts: IntArray, cells: IntArray) -> None:
        """Add each record's integer to its cell."""
        np.add.at(counts, cells, self.entries)


#: How often each of some records counts.
Multiplicities = Once | Several


def joined_multiplicities(parts: Sequence[Multiplicities]) -> Multiplicities:
    """Those of all records of several parts, in their order."""
    if all(isinstance(part, Once) for part in parts):
        return Once(sum(part.total for part in parts))
    return Several(np.concatenate([part.entries for part in parts]))


def exact_total(entries: IntArray) -> int:
    """The sum of integers that are not negative, however large it is."""
    high, low = entries >> 32, entries & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())


def several(entries: IntArray) -> Several:
    """Multiplicities from integers (records,) that are not negative; DataError where int64 does not hold their sum."""
    if exact_total(entries) > MOST:
        raise too_many()
    return Several(entries)


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
