"""Bounds on the error of every answer, points inside them, and what is proved of a point.

Reads: answers.  Gives: Bounds, Inside.

Minimize ``t`` or ``sum_q w_q (q x - a_q)**2 / 2`` over ``x >= f`` subject to ``|q x - a_q| <= t s_q`` for all answers.
Cells x are measured from a fit, so that they and the answers a are small however large the counts are; f is minus that
fit.
Source: eqs. (86) and (87).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.solvers.matrices import MatrixDual
from residualplanner.ground.checks import IntArray

#: How often the solution of equations is corrected by what is left of them.
_REFINEMENTS = 1

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Bounds:
    """All answers with their standard errors, for several draws of the noise, b.

    Attributes:
        sums: the maps of the answers of all groups but the one of single cells.
        has_cells: whether single cells were measured, too; their answers come last.
        floor (b, n): f, at most 0.
        answers (b, m): a, in counts.
        std_err (1, m): s, in counts.
        weight (1, m): w of the objective; 0 where the largest error is minimized.
        minimizes_bound: whether t is minimized, or given.
    """

    sums: MatrixDual
    has_cells: bool
    floor: Array
    answers: Array
    std_err: Array
    weight: Array
    minimizes_bound: bool

    def take(self, rows: IntArray) -> "Bounds":
        """Those of some draws."""
        return replace(self, sums=self.sums.take(rows), floor=self.floor[rows], answers=self.answers[rows])

    def answered(self, cells: Array) -> Array:
        """All answers (b, m) of cells (b, n)."""
        found = self.sums.answered(cells)
        return np.hstack([found, cells]) if self.has_cells else found

    def pulled(self, values: Array) -> Array:
        """The transposed map of values (b, m), (b, n)."""
        count = self.sums.spread.shape[1]
        found = self.sums.pulled(values[:, :count])
        return found + values[:, count:] if self.has_cells else found

    def repair(self, lacking: Array, room: Array) -> Array:
        """What it costs, (b,), to raise multipliers of answers so that cells lack no force.  Source: eq. (86).

        Args:
            lacking (b, n): the force that each cell needs, at least 0.
            room (b, m): how far each answer may still rise.
        """
        if self.has_cells:
            cost: Array = (lacking * room[:, -lacking.shape[1] :]).sum(axis=1)
            return cost
        most: Array = lacking.max(axis=1) * room.sum(axis=1)
        return most

    def equations(self, curvature: Array, of_cells: Array) -> Callable[[Array], Array]:
        """The solution of ``(diag(of_cells) + A^T diag(curvature) A) z = right`` for any right side (b, n).

        Source: eq. (87).
        """
        count = self.sums.spread.shape[1]
        part = 1 / (of_cells + curvature[:, count:] if self.has_cells else of_cells)
        inner = self.sums.factored(part, 1 / curvature[:, :count])

        def nearly(right: Array) -> Array:
            scaled = right * part
            return scaled - part * self.sums.pulled(inner(self.sums.answered(scaled)))

        def solution(right: Array) -> Array:
            found = nearly(right)
            for _ in range(_REFINEMENTS):
                found += nearly(right - of_cells * found - self.pulled(curvature * self.answered(found)))
            return found

        return solution


@dataclass(frozen=True, eq=False, slots=True)
class Inside:
    """A point inside all bounds, with multipliers of all of them, for several draws.

    Attributes:
        cells (b, n): above their floor.
        bound (b,): t.
        above, below (b, m): multipliers of answers that are too large, and of those that are too small, > 0.
        of_cells (b, n): multipliers of ``cells >= floor``, > 0.
    """

    cells: Array
    bound: Array
    above: Array
    below: Array
    of_cells: Array

    def take(self, rows: IntArray) -> "Inside":
        """That of some draws."""
        return Inside(*(getattr(self, name)[rows] for name in _PARTS))

    def put(self, rows: IntArray, other: "Inside") -> None:
        """Write that of some draws, in place."""
        for name in _PARTS:
            getattr(self, name)[rows] = getattr(other, name)

    def moved(self, direction: "Inside", length: Array) -> "Inside":
        """The point plus a multiple (b,) of a direction."""
        return Inside(
            *(
                getattr(self, name) + (length if name == "bound" else length[:, None]) * getattr(direction, name)
                for name in _PARTS
            )
        )


_PARTS = ("cells", "bound", "above", "below", "of_cells")


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """What follows from a point, for several draws.

    Attributes:
        room_above, room_below (b, m): how far each answer may still rise, and fall.
        room_of_cells (b, n): how far each cell may still fall.
        slope (b, n): the slope of the objective that multipliers do not balance.
        slope_of_bound (b,): that in t.
        products (b,): of slacks with their multipliers, added up.
        gap (b,): the objective is at most this above the least one.
    """

    room_above: Array
    room_below: Array
    room_of_cells: Array
    slope: Array
    slope_of_bound: Array
    products: Array
    gap: Array


def centered_start(bounds: Bounds, cells: Array, bound: Array, *, level: float) -> Inside:
    """Multipliers for a point strictly inside: all products with their slacks are equal.

    Args:
        bounds: of the answers.
        cells (b, n): above their floor.
        bound (b,): t, above the largest error of the answers of the cells.
        level: the products.
    """
    slack = bound[:, None] * bounds.std_err
    off = bounds.answered(cells) - bounds.answers
    return Inside(cells, bound, *(level / part for part in (slack - off, slack + off, cells - bounds.floor)))


def objective_of(bounds: Bounds, point: Inside) -> Array:
    """What is minimized, (b,)."""
    if bounds.minimizes_bound:
        return point.bound
    off = bounds.answered(point.cells) - bounds.answers
    found: Array = (bounds.weight * off**2).sum(axis=1) / 2
    return found


def state_of(bounds: Bounds, point: Inside) -> State:
    """What follows from a point.  Source: eq. (86)."""
    off = bounds.answered(point.cells) - bounds.answers
    slack = point.bound[:, None] * bounds.std_err
    room_above, room_below, room_of_cells = slack - off, slack + off, point.cells - bounds.floor
    slope = bounds.pulled(bounds.weight * off + point.above - point.below) - point.of_cells
    push = ((point.above + point.below) * bounds.std_err).sum(axis=1)
    slope_of_bound = (1 - push) if bounds.minimizes_bound else np.zeros(len(push))
    room = (point.above * room_above).sum(axis=1) + (point.below * room_below).sum(axis=1)
    products = room + (point.of_cells * room_of_cells).sum(axis=1)
    exact = slope + point.of_cells
    repaired = (
        room + (np.maximum(exact, 0) * room_of_cells).sum(axis=1) + bounds.repair(np.maximum(-exact, 0), room_above)
    )
    gap = repaired + np.abs(slope_of_bound) * point.bound
    return State(room_above, room_below, room_of_cells, slope, slope_of_bound, products, gap)
