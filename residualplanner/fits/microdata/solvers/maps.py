"""The dual problem with all sums as maps of whole tables: for millions of cells, one draw of the noise at a time.

Reads: a problem.  Gives: MapDual.
Source: eqs. (81) to (83); Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49 (1952).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.solvers.dual import CellProblem, Dual
from residualplanner.fits.microdata.solvers.sums import Sums
from residualplanner.ground.checks import IntArray

#: Conjugate gradients stop where the residual is this part of what it was, or after so many steps.
_PRECISE, _STEPS = 1e-3, 400

Array = NDArray[np.float64]


class MapDual(Dual):
    """All sums as maps of one draw's cells.

    Args:
        problem: of one draw.
    """

    def __init__(self, problem: CellProblem) -> None:
        self.center, self.weight = problem.center, problem.weight
        self.target, self.spread = problem.target, problem.spread
        self._shape = problem.shape
        self._sums = [term.sums for term in problem.terms]
        self._ends = np.cumsum([each.count for each in self._sums]).tolist()

    def take(self, rows: IntArray) -> "MapDual":  # noqa: ARG002 - there is one
        """The same: there is one draw."""
        return self

    def pulled(self, multipliers: Array) -> Array:
        """The transposed map of all sums, (1, n)."""
        found = np.zeros((1, *self._shape))
        for sums, part in self._parts(multipliers):
            found += sums.spread(part)
        return found.reshape(1, -1)

    def answered(self, cells: Array) -> Array:
        """All sums (1, k) of cells (1, n)."""
        table = cells.reshape(1, *self._shape)
        return np.hstack([sums.answer(table) for sums in self._sums])

    def newton_step(self, part: Array, diagonal: Array, residual: Array) -> Array:
        """The solution of the equations, nearly: by conjugate gradients, scaled by the diagonal."""
        table = part.reshape(1, *self._shape)
        scale = diagonal + np.hstack([sums.squares(table) for sums in self._sums])
        step, rest = np.zeros_like(residual), residual.copy()
        scaled = rest / scale
        direction, product = scaled.copy(), float(np.vdot(rest, scaled))
        least = _PRECISE**2 * product
        for _ in range(_STEPS):
            curved = diagonal * direction + self.answered(part * self.pulled(direction))
            length = product / float(np.vdot(direction, curved))
            step += length * direction
            rest -= length * curved
            scaled = rest / scale
            former, product = product, float(np.vdot(rest, scaled))
            if not product > least:
                break
            direction = scaled + (product / former) * direction
        return step

    def _parts(self, multipliers: Array) -> Iterator[tuple[Sums, Array]]:
        start = 0
        for sums, end in zip(self._sums, self._ends, strict=True):
            yield sums, multipliers[:, start:end]
            start = end
