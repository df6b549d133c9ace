"""Fits within bounds on every answer's error, by an interior-point method for many draws of the noise at once.

Reads: a problem, bounds.  Gives: Inside, with a proved gap.

Minimize ``t`` or ``sum_q w_q (q x - a_q)**2 / 2`` over ``x >= 0`` subject to ``|q x - a_q| <= t s_q`` for all answers.
Source: spec eqs. (69) and (70); Mehrotra, SIAM J. Optim. 2 (1992).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray
from residualplanner.microdata.solvers.matrices import MatrixDual

#: Steps at most; after how many that do not help one gives up; how near to the boundary they go; the gap to reach.
_STEPS, _PATIENCE, _NEAR, _GAP = 100, 4, 0.995, 1e-9
#: How often the solution of equations is corrected by what is left of them.
_REFINEMENTS = 1

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Bounds:
    """All answers with their standard errors, for several draws of the noise, b.

    Attributes:
        sums: the maps of the answers of all groups but the one of single cells.
        has_cells: whether single cells were measured, too; their answers come last.
        answers (b, m): a, in counts.
        std_err (1, m): s, in counts.
        weight (1, m): w of the objective; 0 where the largest error is minimized.
        minimizes_bound: whether t is minimized, or given.
    """

    sums: MatrixDual
    has_cells: bool
    answers: Array
    std_err: Array
    weight: Array
    minimizes_bound: bool

    def take(self, rows: IntArray) -> "Bounds":
        """Those of some draws."""
        return replace(self, sums=self.sums.take(rows), answers=self.answers[rows])

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
        """What it costs, (b,), to raise multipliers of answers so that cells lack no force.  Source: spec eq. (69).

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

        Source: spec eq. (70).
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
        cells (b, n): above 0.
        bound (b,): t.
        above, below (b, m): multipliers of answers that are too large, and of those that are too small, > 0.
        of_cells (b, n): multipliers of ``cells >= 0``, > 0.
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
        slope (b, n): the slope of the objective that multipliers do not balance.
        slope_of_bound (b,): that in t.
        products (b,): of slacks with their multipliers, added up.
        gap (b,): the objective is at most this above the least one.
    """

    room_above: Array
    room_below: Array
    slope: Array
    slope_of_bound: Array
    products: Array
    gap: Array


def inside(bounds: Bounds, start: Inside) -> tuple[Inside, Array]:
    """The solution, and for every draw by how much its objective is proved to be above the least, at most.

    Args:
        bounds: of the answers.
        start: strictly inside them.
    """
    draws = len(start.cells)
    point, current = start.take(np.arange(draws)), start.take(np.arange(draws))
    rows, gap, stuck = np.arange(draws), np.full(draws, np.inf), np.zeros(draws, dtype=np.int64)
    for _ in range(_STEPS):
        some, here = bounds.take(rows), current.take(rows)
        with np.errstate(all="ignore"):
            found, scale = state_of(some, here).gap, 1 + objective_of(some, here)
        is_better = found < gap[rows]
        gap[rows[is_better]] = found[is_better]
        point.put(rows[is_better], here.take(np.flatnonzero(is_better)))
        stuck[rows] = np.where(is_better, 0, stuck[rows] + 1)
        goes_on = (found > _GAP * scale) & (stuck[rows] < _PATIENCE)
        rows = rows[goes_on]
        if not len(rows):
            break
        with np.errstate(all="ignore"):  # draws that rounding stops are dropped, since their gap is no better
            current.put(rows, _stepped(bounds.take(rows), here.take(np.flatnonzero(goes_on))))
    return point, gap


def centered_start(bounds: Bounds, cells: Array, bound: Array, *, level: float) -> Inside:
    """Multipliers for a point strictly inside: all products with their slacks are equal.

    Args:
        bounds: of the answers.
        cells (b, n): above 0.
        bound (b,): t, above the largest error of the answers of the cells.
        level: the products.
    """
    slack = bound[:, None] * bounds.std_err
    off = bounds.answered(cells) - bounds.answers
    return Inside(cells, bound, *(level / part for part in (slack - off, slack + off, cells)))


def objective_of(bounds: Bounds, point: Inside) -> Array:
    """What is minimized, (b,)."""
    if bounds.minimizes_bound:
        return point.bound
    off = bounds.answered(point.cells) - bounds.answers
    found: Array = (bounds.weight * off**2).sum(axis=1) / 2
    return found


def state_of(bounds: Bounds, point: Inside) -> State:
    """What follows from a point.  Source: spec eq. (69)."""
    off = bounds.answered(point.cells) - bounds.answers
    slack = point.bound[:, None] * bounds.std_err
    room_above, room_below = slack - off, slack + off
    slope = bounds.pulled(bounds.weight * off + point.above - point.below) - point.of_cells
    push = ((point.above + point.below) * bounds.std_err).sum(axis=1)
    slope_of_bound = (1 - push) if bounds.minimizes_bound else np.zeros(len(push))
    room = (point.above * room_above).sum(axis=1) + (point.below * room_below).sum(axis=1)
    products = room + (point.of_cells * point.cells).sum(axis=1)
    exact = slope + point.of_cells
    repaired = (
        room + (np.maximum(exact, 0) * point.cells).sum(axis=1) + bounds.repair(np.maximum(-exact, 0), room_above)
    )
    gap = repaired + np.abs(slope_of_bound) * point.bound
    return State(room_above, room_below, slope, slope_of_bound, products, gap)


def _stepped(bounds: Bounds, point: Inside) -> Inside:
    """A predicted step to the boundary, and a corrected one that stays near the center.  Source: spec eq. (70)."""
    state = state_of(bounds, point)
    solve = _newton(bounds, point, state)
    count = 2 * bounds.answers.shape[1] + point.cells.shape[1]
    level = state.products / count
    rooms = (state.room_above, state.room_below, point.cells)
    multipliers = (point.above, point.below, point.of_cells)
    straight = tuple(-y * room for y, room in zip(multipliers, rooms, strict=True))
    ahead, drift = solve(*straight)
    length = _length(point, state, ahead, drift, 1.0)
    reached = sum(
        ((y + length[:, None] * dy) * (room + length[:, None] * dr)).sum(axis=1)
        for y, dy, room, dr in zip(multipliers, (ahead.above, ahead.below, ahead.of_cells), rooms, drift, strict=True)
    )
    goal = (level * (reached / state.products) ** 3)[:, None]
    bent = tuple(
        own + goal - dy * dr
        for own, dy, dr in zip(straight, (ahead.above, ahead.below, ahead.of_cells), drift, strict=True)
    )
    direction, drift = solve(*bent)
    return point.moved(direction, _length(point, state, direction, drift, _NEAR))


Drift = tuple[Array, Array, Array]


def _newton(bounds: Bounds, point: Inside, state: State) -> Callable[[Array, Array, Array], tuple[Inside, Drift]]:
    """Newton's equations for any products of slacks and multipliers; the direction, and how slacks change.

    Source: spec eq. (70).
    """
    stiff_above, stiff_below = point.above / state.room_above, point.below / state.room_below
    equations = bounds.equations(bounds.weight + stiff_above + stiff_below, point.of_cells / point.cells)
    tilt = (stiff_above - stiff_below) * bounds.std_err
    border = bounds.pulled(tilt)
    toward = equations(border) if bounds.minimizes_bound else border
    corner = ((stiff_above + stiff_below) * bounds.std_err**2).sum(axis=1) - (border * toward).sum(axis=1)

    def solution(above: Array, below: Array, of_cells: Array) -> tuple[Inside, Drift]:
        change_above, change_below = above / state.room_above, below / state.room_below
        right = -state.slope - bounds.pulled(change_above - change_below) + of_cells / point.cells
        cells = equations(right)
        bound = np.zeros(len(cells))
        if bounds.minimizes_bound:
            right_of_bound = ((change_above + change_below) * bounds.std_err).sum(axis=1) - state.slope_of_bound
            bound = (right_of_bound + (border * cells).sum(axis=1)) / corner
            cells = cells + bound[:, None] * toward
        moved, slack = bounds.answered(cells), bound[:, None] * bounds.std_err
        drift = (slack - moved, slack + moved, cells)
        direction = Inside(
            cells,
            bound,
            change_above - stiff_above * drift[0],
            change_below - stiff_below * drift[1],
            (of_cells - point.of_cells * cells) / point.cells,
        )
        return direction, drift

    return solution


def _length(point: Inside, state: State, direction: Inside, drift: Drift, near: float) -> Array:
    """How far a direction may be followed, (b,), at most 1."""
    found = np.full(len(point.cells), np.inf)
    values = (point.above, point.below, point.of_cells, state.room_above, state.room_below, point.cells)
    changes = (direction.above, direction.below, direction.of_cells, *drift)
    for value, change in zip(values, changes, strict=True):
        ratio = np.where(change < 0, value / np.where(change < 0, -change, 1), np.inf)
        found = np.minimum(found, ratio.min(axis=1))
    return np.minimum(near * found, 1.0)
