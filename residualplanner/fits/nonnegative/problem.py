"""The problem of the nearest tables that are non-negative and keep to known facts, and its dual.

Reads: components, freedoms.  Gives: Problem.
Source: eqs. (49) to (51) and (55).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.reference import ReferenceMap
from residualplanner.fits.nonnegative.table_map import TableMap
from residualplanner.ground.checks import FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimize ``sum (w - start)**2 / freedom / 2`` over components w whose tables have no negative cell.

    Attributes:
        reference: to the components that tables follow from.
        tables: from these to cells, M.
        start (c,): the noisy components; those that are known have their known value.
        freedom (c,): v of each component; 0 where it is known.
        steps (y,): step sizes of the dual ascent.
        lowest (y,): the least multiplier of each cell: 0, and minus infinity where the cell must be 0; or a 0 for all.
        total: about how many records there are, the scale of all counts: at least 0, and 1 where their number is free.
    """

    reference: ReferenceMap
    tables: TableMap
    start: FloatArray
    freedom: FloatArray
    steps: FloatArray
    lowest: FloatArray
    total: float

    def components(self, multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The best components for given multipliers (y,): ``start + freedom * M^T multipliers``.

        Source: eq. (50).
        """
        pulled = self.reference.transposed(self.tables.transposed(multipliers))
        pulled *= self.freedom
        pulled += self.start
        return pulled

    def cells(self, components: NDArray[np.float64], out: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cells of all largest tables, written to ``out`` (y,)."""
        return self.tables.cells(self.reference.apply(components), out)

    def curvature(self, multipliers: NDArray[np.float64], out: NDArray[np.float64]) -> NDArray[np.float64]:
        """``M V M^T`` times multipliers (y,), written to ``out`` (y,)."""
        pulled = self.reference.transposed(self.tables.transposed(multipliers))
        pulled *= self.freedom
        return self.cells(pulled, out)

    def distance(self, components: NDArray[np.float64]) -> float:
        """The objective: half the squared distance from the noisy components, in units of their freedoms."""
        moved = components - self.start
        moved *= moved
        np.divide(moved, self.freedom, out=moved, where=self.freedom > 0)
        return float(moved.sum()) / 2
