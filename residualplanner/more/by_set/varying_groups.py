"""Which queries have the same table over their varying attributes, each such table made once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.cells import CellTable, ConstantTable
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.strategy.table_accuracy import Axis
from residualplanner.method.workload.attribute_sets import row_numbers
from residualplanner.more.by_set.varying_tables import VaryingTable


@dataclass(frozen=True, eq=False, slots=True)
class VaryingTables:
    """The tables over varying attributes, each found once.

    Attributes:
        strategy: the bases.
        axes: by the number of a basis, and the kind of query.
        tables: by order, the numbers of the bases of all varying factors in all subsets, and their kinds.
    """

    strategy: Strategy
    axes: dict[tuple[int, Kind], Axis] = field(default_factory=dict)
    tables: dict[tuple[int, bytes, tuple[Kind, ...]], VaryingTable] = field(default_factory=dict)

    def numbered(
        self, attributes: NDArray[np.int32], kinds: NDArray[np.int16], names: Sequence[Kind]
    ) -> tuple[IntArray, Sequence[CellTable]]:
        """The tables of some queries, see `CellTables`."""
        varies = self.strategy.varying[attributes]
        numbers = self._numbers(attributes)
        keys = np.concatenate([np.where(varies, kinds, -1) + 1, numbers.reshape(len(attributes), -1) + 1], axis=1)
        group = row_numbers(keys)
        firsts = np.unique(group, return_index=True)[1].tolist()
        tables = [self.table(attributes[row], [names[code] for code in kinds[row].tolist()]) for row in firsts]
        return group, tables

    def table(self, attributes: NDArray[np.int32], kinds: Sequence[Kind]) -> CellTable:
        """The table of one query."""
        numbers, varies = self._numbers(attributes[None])[0], self.strategy.varying[attributes]
        axes = tuple(np.flatnonzero(varies).tolist())
        if not axes:
            return ConstantTable(len(attributes))
        own = tuple(kinds[axis] for axis in axes)
        key = (len(attributes), numbers.tobytes(), own)
        if key not in self.tables:
            factors = {
                (bits, axis): self._axis(int(numbers[bits, axis]), kinds[axis])
                for bits, axis in np.argwhere(numbers >= 0).tolist()
            }
            self.tables[key] = VaryingTable(len(attributes), axes, own, factors)
        return self.tables[key]

    def _numbers(self, attributes: NDArray[np.int32]) -> IntArray:
        """The number of the basis of each varying attribute in each subset, (m, 2**k, k); -1 where it is not in it."""
        order = attributes.shape[1]
        is_in = np.arange(1 << order)[:, None] & 1 << np.arange(order) > 0
        is_factor = is_in & self.strategy.varying[attributes][:, None, :]
        starts = self.strategy.varying_starts[self.strategy.closure.subset_positions(attributes)]
        factor = starts[:, :, None] + np.cumsum(is_factor, axis=2) - 1
        numbers = np.full(factor.shape, -1, dtype=np.int64)
        numbers[is_factor] = self.strategy.of_factor[factor[is_factor]]
        return numbers

    def _axis(self, number: int, kind: Kind) -> Axis:
        if (number, kind) not in self.axes:
            self.axes[number, kind] = Axis(self.strategy.bases[number], kind)
        return self.axes[number, kind]
