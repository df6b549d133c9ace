"""Fits within bounds on every answer's error, by an interior-point method for many draws of the noise at once.

Reads: bounds, a point strictly inside.  Gives: Inside, with a proved gap.
Source: eqs. (86) and (87); Mehrotra, SIAM J. Optim. 2 (1992).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.solvers.within import Bounds, Inside, State, objective_of, state_of

#: Steps at most; after how many that do not help one gives up; how near to the boundary they go; the gap to reach.
_STEPS, _PATIENCE, _NEAR, _GAP = 100, 4, 0.995, 1e-9

Array = NDArray[np.float64]


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


def _stepped(bounds: Bounds, point: Inside) -> Inside:
    """A predicted step to the boundary, and a corrected one that stays near the center.  Source: eq. (87)."""
    state = state_of(bounds, point)
    solve = _newton(bounds, point, state)
    count = 2 * bounds.answers.shape[1] + point.cells.shape[1]
    level = state.products / count
    rooms = (state.room_above, state.room_below, state.room_of_cells)
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

    Source: eq. (87).
    """
    stiff_above, stiff_below = point.above / state.room_above, point.below / state.room_below
    equations = bounds.equations(bounds.weight + stiff_above + stiff_below, point.of_cells / state.room_of_cells)
    tilt = (stiff_above - stiff_below) * bounds.std_err
    border = bounds.pulled(tilt)
    toward = equations(border) if bounds.minimizes_bound else border
    corner = ((stiff_above + stiff_below) * bounds.std_err**2).sum(axis=1) - (border * toward).sum(axis=1)

    def solution(above: Array, below: Array, of_cells: Array) -> tuple[Inside, Drift]:
        change_above, change_below = above / state.room_above, below / state.room_below
        right = -state.slope - bounds.pulled(change_above - change_below) + of_cells / state.room_of_cells
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
            (of_cells - point.of_cells * cells) / state.room_of_cells,
        )
        return direction, drift

    return solution


def _length(point: Inside, state: State, direction: Inside, drift: Drift, near: float) -> Array:
    """How far a direction may be followed, (b,), at most 1."""
    found = np.full(len(point.cells), np.inf)
    values = (point.above, point.below, point.of_cells, state.room_above, state.room_below, state.room_of_cells)
    changes = (direction.above, direction.below, direction.of_cells, *drift)
    for value, change in zip(values, changes, strict=True):
        ratio = np.where(change < 0, value / np.where(change < 0, -change, 1), np.inf)
        found = np.minimum(found, ratio.min(axis=1))
    return np.minimum(near * found, 1.0)
