"""Queries whose tables take the same shares of noise, where attributes have bases by set.

Reads: a workload, bases by set.  Gives: TablesBySet, TableGroup.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray
from residualplanner.queries import Kind
from residualplanner.strategy.bases_by_set import BasesBySet
from residualplanner.strategy.by_set.axis_shares import AxisShares
from residualplanner.strategy.by_set.table_shares import TableShares
from residualplanner.workload import Closure, Workload, row_numbers

#: How many places are worked on at a time.
_CHUNK = 2**19


@dataclass(frozen=True, eq=False, slots=True)
class TableGroup:
    """Queries that ask the same kinds of attributes with the same bases in all subsets.

    Attributes:
        numbers (m,): of the queries in the workload, ascending.
        attributes (m, k): theirs.
        shares: what each of their tables takes of noise.
    """

    numbers: IntArray
    attributes: NDArray[np.int32]
    shares: TableShares

    def sets(self, closure: Closure) -> IntArray:
        """The numbers of the subsets of each, (m, s)."""
        return self.shares.sets(closure, self.attributes)


@dataclass(frozen=True, eq=False, slots=True)
class TablesBySet:
    """What tables take of noise, each found once.

    Attributes:
        by_set: the bases.
        axes: by the number of a basis, and the kind that is asked.
        tables: by the numbers of the bases of all attributes in all subsets, and the kinds.
    """

    by_set: BasesBySet
    axes: dict[tuple[int, Kind], AxisShares] = field(default_factory=dict)
    tables: dict[tuple[bytes, tuple[Kind, ...]], TableShares] = field(default_factory=dict)

    def shares(self, attributes: NDArray[np.int32], kinds: tuple[Kind, ...]) -> TableShares:
        """The shares of the table of some attributes (k,), ascending: a set of the closure, but for single values."""
        codes = self._codes(attributes[None])[0]
        key = (codes.tobytes(), kinds)
        if key not in self.tables:
            self.tables[key] = TableShares(kinds, self._places(codes.reshape(-1, max(1, len(kinds))), kinds))
        return self.tables[key]

    def groups(self, workload: Workload) -> Iterator[TableGroup]:
        """All queries of the workload whose closure it is."""
        start = 0
        for order, block in enumerate(workload.blocks):
            step = max(1, _CHUNK // ((1 << order) * max(order, 1)))
            for first in range(0, len(block), step):
                attributes, kinds = block.attributes[first : first + step], block.kinds[first : first + step]
                number = row_numbers(np.concatenate([kinds, self._codes(attributes) + 1], axis=1))
                by_number = np.argsort(number, kind="stable")
                for rows in np.split(by_number, np.flatnonzero(np.diff(number[by_number])) + 1):
                    asked = tuple(workload.kinds[code] for code in kinds[rows[0]].tolist())
                    yield TableGroup(start + first + rows, attributes[rows], self.shares(attributes[rows[0]], asked))
            start += len(block)

    def _codes(self, attributes: NDArray[np.int32]) -> IntArray:
        """The number of the basis of each attribute in each subset of the rows ``attributes`` (m, k), (m, 2**k * k).

        It is -1 where the attribute is not in the subset, and where one in the subset has a single value.
        """
        closure, order = self.by_set.closure, attributes.shape[1]
        is_in = np.arange(1 << order)[:, None] & 1 << np.arange(order) > 0
        is_single = (is_in & closure.trivial[attributes][:, None, :]).any(axis=2)
        starts = self.by_set.closure.place_starts[closure.subset_positions(attributes)]
        place = starts[:, :, None] + np.cumsum(is_in, axis=1) - is_in
        is_place = is_in & ~is_single[:, :, None]
        codes = np.full(place.shape, -1, dtype=np.int64)
        codes[is_place] = self.by_set.of_place[place[is_place]]
        return codes.reshape(len(attributes), -1)

    def _places(self, codes: IntArray, kinds: tuple[Kind, ...]) -> dict[tuple[int, int], AxisShares]:
        """Each subset's axes, from the numbers of their bases there (2**k, k)."""
        found = {}
        for bits, axis in np.argwhere(codes >= 0).tolist():
            key = (int(codes[bits, axis]), kinds[axis])
            if key not in self.axes:
                self.axes[key] = AxisShares(self.by_set.bases[key[0]], kinds[axis])
            found[bits, axis] = self.axes[key]
        return found
