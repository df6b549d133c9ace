"""Potentials on the margins of very many cells: once most cells are surely 0, what follows needs no others.

Source: eqs. (63), (65) and (99), and what follows these on the page; the formula of Broyden, Fletcher, Goldfarb and
Shanno as in Nocedal, Math. Comp. 35 (1980).
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from residualplanner.fits.nonnegative.many_cells.blocks import Array, Margins, Single, TableBlock
from residualplanner.fits.nonnegative.potentials import cell_columns
from residualplanner.fits.nonnegative.problem import DualProblem

#: How many steps are kept.
_KEPT = 5
#: A step is kept whose change of the gradient is not lost in rounding, as a part of the product of both lengths.
_LEAST_CHANGE = 1e-10
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
class FollowedCells:
    """Cells that may be positive."""

    unbiased: Array  # (f,): their estimates
    freedoms: Array  # (f,): of their tables
    margins: sparse.csr_matrix  # (f, p): a row for each: 1 for each margin that it is part of

    def cut(self, raised_by: Array) -> Array:
        """What is positive of them, raised by numbers for margins (p,)."""
        found: Array = self.margins @ raised_by
        found += self.unbiased
        return np.maximum(found, 0, out=found)


def followed_cells(blocks: tuple[TableBlock, ...], unbiased: Single, raised_by: Single) -> FollowedCells:
    """The cells that are positive where margins raise their cells (y,) so far, (p,)."""
    cells, freedoms, columns, orders = [], [], [], []
    for block in blocks:
        raised = block.raised(unbiased, raised_by).ravel()
        numbers = np.flatnonzero(raised > 0)
        cells.append(block.of(unbiased).ravel()[numbers])
        freedoms.append(block.freedom.ravel()[numbers // (raised.size // len(block.freedom))])
        starts = tuple(margin.start for margin in block.margins)
        columns.append(cell_columns(block.shape, starts, numbers).ravel().astype(np.int32))
        orders.append(np.full(len(numbers), len(starts)))
    entries = np.concatenate(columns)
    rows = np.concatenate([[0], np.cumsum(np.concatenate(orders))]).astype(np.int32)
    matrix = sparse.csr_matrix((np.ones(len(entries)), entries, rows), shape=(len(rows) - 1, len(raised_by)))
    return FollowedCells(np.concatenate(cells).astype(np.float64), np.concatenate(freedoms), matrix)


class LimitedMemory:
    """The last steps (p,), with the change of the gradient over each."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Array, Array, float]] = []

    def keep(self, step: Array, lowered: Array) -> None:
        """Keep a step, and by how much it lowered the gradient; the oldest of too many is forgotten."""
        curved = float(step @ lowered)
        if curved > _LEAST_CHANGE * float(np.linalg.norm(step)) * float(np.linalg.norm(lowered)):
            self._pairs = [*self._pairs[1 - _KEPT :], (step, lowered, curved)]

    def direction(self, gradient: Array, diagonal: Array) -> Array:
        """The step to the top, as far as is known: ``gradient / diagonal``, about the curvature, with no step kept."""
        found, parts = gradient.copy(), []
        for step, lowered, curved in reversed(self._pairs):
            parts.append(float(step @ found) / curved)
            found -= parts[-1] * lowered
        found /= diagonal
        if self._pairs:
            _, lowered, curved = self._pairs[-1]
            found *= curved / float(lowered @ (lowered / diagonal))
        for (step, lowered, curved), part in zip(self._pairs, reversed(parts), strict=True):
            found += (part - float(lowered @ found) / curved) * step
        return found


@dataclass(frozen=True, eq=False, slots=True)
class _FollowedPoint:
    """Potentials, and what follows from them."""

    potentials: Array  # (p,): of the margins of all tables
    value: float  # of the dual problem, up to a constant
    gradient: Array  # (p,): the facets that the shared residuals give, less the margins of the cells that are followed


class PotentialAscent:
    """Ascent in the dual problem of agreement, in directions from the last steps.

    It starts where potentials raise the cells of each margin by ``raised_by`` (p,), and in the first steps follows
    cells that are positive where margins move by ``reach`` (p,).
    """

    def __init__(
        self, problem: DualProblem, margins: Margins, unbiased: Single, raised_by: Array, reach: Array
    ) -> None:
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

    def _at(self, potentials: Array) -> _FollowedPoint:
        """The value of the dual problem, and its gradient.  Source: eqs. (63) and (64)."""
        margins, facets, followed = self._margins, self._margins.facets, self._followed
        cells = followed.cut(potentials / margins.over_freedom)
        together = np.bincount(facets.cell, potentials, facets.joint.size)
        moved = facets.moved(potentials)
        value = float(together @ (facets.unbiased - moved / 2)) - float(cells @ (cells / followed.freedoms)) / 2
        gradient = (facets.unbiased - moved)[facets.cell]
        gradient -= followed.margins.T @ cells
        return _FollowedPoint(potentials, value, gradient)

    def _advance(self, point: _FollowedPoint) -> _FollowedPoint:
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


def _rounding(point: _FollowedPoint) -> float:
    return _ROUNDING * (1 + abs(point.value))
