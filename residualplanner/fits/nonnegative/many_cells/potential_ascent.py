"""Potentials on the margins of very many cells: ascent in the dual problem of agreement, where few cells are followed.

Reads: margins, unbiased cells.  Gives: multipliers.
Source: eqs. (63), (65) and (99), and what follows these on the page.
"""

from dataclasses import dataclass

import numpy as np

from residualplanner.fits.nonnegative.many_cells.blocks import Array, Margins, Single
from residualplanner.fits.nonnegative.many_cells.followed_cells import followed_cells
from residualplanner.fits.nonnegative.many_cells.limited_memory import LimitedMemory
from residualplanner.fits.nonnegative.problem import Problem

#: After how many steps all cells are looked at again.
_STEPS = 10
#: Cells are followed that become positive where margins move so many times as far as they did between two looks.
_FARTHER, _SLOWER = 2.0, 0.5
#: They move at least so far, in roots of freedoms: what rounding may do.
_LEAST = 1e-7
#: How often a step is halved, and what part of the ascent that its slope promises it must reach.
_HALVINGS, _PROMISE = 12, 1e-4
#: By what part of itself the value may fall: rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """Potentials, and what follows from them.

    Attributes:
        potentials (p,): of the margins of all tables.
        value: of the dual problem, up to a constant.
        gradient (p,): the facets that the shared residuals give, less the margins of the cells that are followed.
    """

    potentials: Array
    value: float
    gradient: Array


class PotentialAscent:
    """Ascent in the dual problem of agreement, in directions from the last steps.

    Args:
        problem: to solve.
        margins: of the tables.
        unbiased (y,): their cells.
        raised_by (p,): by how much potentials raise the cells of each margin, to start with.
        reach (p,): how far margins may move in the first steps.
    """

    def __init__(self, problem: Problem, margins: Margins, unbiased: Single, raised_by: Array, reach: Array) -> None:
        self._problem, self._margins, self._unbiased = problem, margins, unbiased
        self._sharing = np.bincount(margins.facets.cell)[margins.facets.cell]
        self._memory, self._reach = LimitedMemory(), _FARTHER * _STEPS * reach
        self._look(raised_by * margins.over_freedom)

    def advance(self, steps: int) -> None:
        """Take some steps, each halved until the value rises as its slope promises."""
        for first in range(0, steps, _STEPS):
            point, start = self._point, self._point
            for _ in range(first, min(first + _STEPS, steps)):
                point = self._advance(point)
            moved = np.abs(point.potentials - start.potentials)
            moved *= _FARTHER / self._margins.over_freedom
            self._reach *= _SLOWER
            np.maximum(self._reach, moved, out=self._reach)
            self._look(point.potentials)
            if self._point.value < start.value - _rounding(start):  # cells were positive that were not followed
                self._memory = LimitedMemory()
                self._reach *= _FARTHER / _SLOWER
                self._look(start.potentials)

    def multipliers(self) -> Array:
        """Of all cells, (y,).  Source: eq. (65)."""
        found = self._problem.cells(self._problem.start, np.empty(self._problem.tables.size))
        raised_by = self._point.potentials / self._margins.over_freedom
        for block in self._margins.blocks:
            cells = block.raised(found, raised_by)
            np.negative(cells, out=cells)
            np.maximum(cells, 0, out=cells)
            cells /= block.freedom
            block.of(found)[...] = cells
        return found

    def _look(self, potentials: Array) -> None:
        """Look at all cells: follow those that are positive where margins move as far as they may."""
        margins, facets = self._margins, self._margins.facets
        raised_by = potentials / margins.over_freedom
        self._reach += _LEAST / np.sqrt(margins.over_freedom)
        self._followed = followed_cells(margins.blocks, self._unbiased, (raised_by + self._reach).astype(np.float32))
        is_positive = self._followed.cut(raised_by) > 0
        diagonal: Array = self._followed.margins.T @ np.where(is_positive, self._followed.freedoms, 0.0)
        diagonal += facets.curvature[facets.cell] * self._sharing
        self._diagonal = np.maximum(diagonal, 1 / margins.over_freedom, out=diagonal)  # of one positive cell at least
        self._point = self._at(potentials)

    def _at(self, potentials: Array) -> _Point:
        """The value of the dual problem, and its gradient.  Source: eqs. (63) and (64)."""
        margins, facets, followed = self._margins, self._margins.facets, self._followed
        cells = followed.cut(potentials / margins.over_freedom)
        together = np.bincount(facets.cell, potentials, facets.joint.size)
        moved = facets.moved(potentials)
        value = float(together @ (facets.unbiased - moved / 2)) - float(cells @ (cells / followed.freedoms)) / 2
        gradient = (facets.unbiased - moved)[facets.cell]
        gradient -= followed.margins.T @ cells
        return _Point(potentials, value, gradient)

    def _advance(self, point: _Point) -> _Point:
        """The next point; the same where no part of the step ascends."""
        step = self._memory.direction(point.gradient, self._diagonal)
        slope, rounding = float(point.gradient @ step), _rounding(point)
        for _ in range(_HALVINGS if slope > 0 else 0):
            following = self._at(point.potentials + step)
            if following.value >= point.value + _PROMISE * slope - rounding:
                self._memory.keep(step, point.gradient - following.gradient)
                return following
            step, slope = step / 2, slope / 2
        return point


def _rounding(point: _Point) -> float:
    return _ROUNDING * (1 + abs(point.value))
