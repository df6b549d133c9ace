"""The accelerated ascent where there are very many cells: in single precision, each step from the tables' margins.

Reads: a problem, facets.  Gives: what margins raise the cells by, from which multipliers follow.
Source: eqs. (53) and (99).
"""

import math

import numpy as np

from residualplanner.fits.nonnegative.facets import Facets
from residualplanner.fits.nonnegative.many_cells.blocks import Array, Block, Margins, Single, center
from residualplanner.fits.nonnegative.many_cells.potential_ascent import PotentialAscent
from residualplanner.fits.nonnegative.problem import Problem


class MarginAscent:
    """Accelerated ascent in the dual problem, from multipliers of 0.

    Multipliers are held in counts: times the freedom of their table.

    Args:
        problem: to solve.
        facets: of its tables.
    """

    def __init__(self, problem: Problem, facets: Facets) -> None:
        self._problem, self._margins = problem, Margins.of(problem, facets)
        self._blocks = self._margins.blocks
        self._unbiased = problem.cells(problem.start, np.empty(problem.tables.size)).astype(np.float32)
        self._multipliers, self._ahead = np.zeros_like(self._unbiased), np.zeros_like(self._unbiased)
        self._means, self._momentum = np.zeros(len(facets.cell)), 1.0

    def advance(self, steps: int) -> None:
        """Take some steps.  The momentum is dropped where it points downhill.  Source: eqs. (53) and (99)."""
        for _ in range(steps):
            moved = self._raised_by().astype(np.float32)
            downhill = sum(self._step(block, moved) for block in self._blocks)
            self._momentum = 1.0 if downhill > 0 else self._momentum
            grown = (1 + math.sqrt(1 + 4 * self._momentum**2)) / 2
            for block in self._blocks:
                self._look_ahead(block, (self._momentum - 1) / grown)
            self._momentum = grown

    def multipliers(self) -> Array:
        """Of all cells, (y,)."""
        found = self._multipliers.astype(np.float64)
        for block in self._blocks:
            view = found[block.cells].reshape(block.shape)
            view /= block.freedom
        return found

    def followed(self) -> PotentialAscent:
        """The ascent that goes on from here, and follows few of the cells.  This one ends."""
        ahead = self._raised_by()
        for block in self._blocks:
            block.of(self._ahead)[...] = 0
            self._look_ahead(block, 0.0)
        reach = np.abs(ahead - self._raised_by())
        return PotentialAscent(self._problem, self._margins, self._unbiased, ahead, reach)

    def _raised_by(self) -> Array:
        """By how much multipliers raise the cells beyond themselves: a number for each cell of a margin, (p,)."""
        return self._margins.raised_by(self._means)

    def _step(self, block: Block, moved: Single) -> float:
        """Step from the point ahead, which is overwritten by the change; how far that is downhill."""
        multipliers, ahead = block.of(self._multipliers), block.of(self._ahead)
        following = block.raised(self._unbiased, moved)
        np.negative(following, out=following)
        np.maximum(following, 0, out=following)
        ahead -= following
        np.subtract(following, multipliers, out=multipliers)
        downhill = np.einsum("bi,bi->b", ahead.reshape(len(ahead), -1), multipliers.reshape(len(ahead), -1))
        ahead[...] = multipliers
        multipliers[...] = following
        return float((downhill / block.freedom.ravel()).sum())

    def _look_ahead(self, block: Block, momentum: float) -> None:
        """The point ahead, from the change, and its means along each axis."""
        ahead = block.of(self._ahead)
        ahead *= np.float32(momentum)
        ahead += block.of(self._multipliers)
        for axis, size in enumerate(block.shape[1:]):
            view = block.margin(self._means, axis)
            np.divide(np.add.reduce(ahead, axis=axis + 1), size, out=view)
            center(view, axis)
