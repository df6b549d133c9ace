"""Fits within bounds on every answer's error, by an interior-point method for many draws of the noise at once.

Minimize ``t`` or ``sum_q w_q (q x - a_q)**2 / 2`` over ``x >= f`` subject to ``|q x - a_q| <= t s_q`` for all answers.
Cells x are measured from a fit, so that they and the answers a are small however large the counts are; f is minus that
fit.  Source: eqs. (86) and (87); Mehrotra, SIAM J. Optim. 2 (1992).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from residualplanner.fits.microdata.dual import MatrixDual
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import IntArray

#: How often the solution of equations is corrected by what is left of them.
_REFINEMENTS = 1
#: Steps at most; after how many that do not help one gives up; how near to the boundary they go; the gap to reach.
_STEPS, _PATIENCE, _NEAR, _GAP = 100, 4, 0.995, 1e-9
#: How far beyond its bounds an answer may be, in standard errors; what is proved holds within them.
_OUTSIDE = 1e-7


@dataclass(frozen=True, eq=False, slots=True)
class Bounds:
    """All answers with their standard errors, for several draws of the noise, b."""

    sums: MatrixDual  # the maps of the answers of all groups but the one of single cells
    has_cells: bool  # whether single cells were measured, too; their answers come last
    floor: Array  # (b, n): f, at most 0
    answers: Array  # (b, m): a, in counts
    std_err: Array  # (1, m): s, in counts
    weight: Array  # (1, m): w of the objective; 0 where the largest error is minimized
    minimizes_bound: bool  # whether t is minimized, or given

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
        """What it costs, (b,), to raise multipliers of answers by the force (b, n) that each cell lacks.

        Source: eq. (86).
        """
        if self.has_cells:
            cost: Array = (lacking * room[:, -lacking.shape[1] :]).sum(axis=1)
            return cost
        most: Array = lacking.max(axis=1) * room.sum(axis=1)
        return most

    def equations(self, curvature: Array, of_cells: Array) -> Callable[[Array], Array]:
        """Solves ``(diag(of_cells) + A^T diag(curvature) A) z = right`` for any right side (b, n).

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
    """A point inside all bounds, with multipliers of all of them, for several draws."""

    cells: Array  # (b, n): above their floor
    bound: Array  # (b,): t
    # above, below (b, m): multipliers of answers that are too large, and of those that are too small, > 0
    above: Array
    below: Array
    of_cells: Array  # (b, n): multipliers of ``cells >= floor``, > 0

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
    """What follows from a point, for several draws."""

    # room_above, room_below (b, m): how far each answer may still rise, and fall
    room_above: Array
    room_below: Array
    room_of_cells: Array  # (b, n): how far each cell may still fall
    slope: Array  # (b, n): the slope of the objective that multipliers do not balance
    slope_of_bound: Array  # (b,): that in t
    products: Array  # (b,): of slacks with their multipliers, added up
    gap: Array  # (b,): the objective is at most this above the least one


def centered_start(bounds: Bounds, cells: Array, bound: Array, *, level: float) -> Inside:
    """Multipliers for a point strictly inside: all products with their slacks are ``level``."""
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


def inside(bounds: Bounds, start: Inside) -> tuple[Inside, Array]:
    """The solution, and for every draw by how much its objective is proved to be above the least, at most."""
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


def least_bound(bounds: Bounds, rough: Inside) -> tuple[Inside, Array]:
    """The least largest error by the simplex method; the rough solution where that fails, with a gap that says so."""
    from scipy.optimize import linprog  # takes a fifth of the time to import the package

    rows, errors, near = _rows(bounds), bounds.std_err.T, rough.cells[0]
    count, cells = rows.shape
    sides = np.vstack([np.hstack([rows, -errors]), np.hstack([-rows, -errors])])
    limits = np.concatenate([bounds.answers[0] - rows @ near, rows @ near - bounds.answers[0]])
    ends = [*((low, None) for low in (bounds.floor[0] - near).tolist()), (0, None)]
    answer = linprog(np.eye(cells + 1)[-1], A_ub=sides, b_ub=limits, bounds=ends, method="highs-ds")
    if answer.x is None:
        return rough, np.array([np.inf])
    forces = np.maximum(-answer.ineqlin.marginals, 0)
    found = _clipped(bounds, near + answer.x[:-1], forces[:count], forces[count:], answer.lower.marginals[:-1])
    off = np.abs(bounds.answered(found.cells) - bounds.answers) / bounds.std_err
    found.bound[:] = off.max(axis=1)
    return found, state_of(bounds, _balanced(bounds, rows, found)).gap


def least_squares_within(bounds: Bounds, rough: Inside) -> tuple[Inside, Array]:
    """Least squares of one draw within the bound of a rough solution, by Clarabel's interior-point method."""
    import clarabel

    rows, limit, near = _rows(bounds), (rough.bound[:, None] * bounds.std_err)[0], rough.cells[0]
    count, cells = rows.shape
    unit, none, answers = np.eye(count), np.zeros((count, cells)), bounds.answers[0] - rows @ near
    squares = sparse.csc_matrix(np.diag(np.concatenate([np.zeros(cells), bounds.weight[0]])))
    signs = np.hstack([-np.eye(cells), np.zeros((cells, count))])
    blocks = [np.hstack([rows, -unit]), np.hstack([none, unit]), np.hstack([none, -unit]), signs]
    sides = sparse.csc_matrix(np.vstack(blocks))
    right = np.concatenate([answers, limit, limit, near - bounds.floor[0]])
    cones = [clarabel.ZeroConeT(count), clarabel.NonnegativeConeT(2 * count + cells)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    answer = clarabel.DefaultSolver(squares, np.zeros(cells + count), sides, right, cones, settings).solve()
    forces = np.maximum(np.array(answer.z)[count:], 0)
    found = _clipped(bounds, near + np.array(answer.x)[:cells], *np.split(forces, [count, 2 * count]))
    found.bound[:] = rough.bound
    found = _balanced(bounds, rows, found)
    state = state_of(bounds, found)
    is_within = (np.minimum(state.room_above, state.room_below) >= -_OUTSIDE * bounds.std_err).all()
    return found, state.gap if is_within else np.array([np.inf])


def _balanced(bounds: Bounds, rows: Array, point: Inside) -> Inside:
    """The point with multipliers of answers that balance on cells above their floor, up to rounding.

    What is left on a cell counts as often in the gap as the cell may fall, which is millions of times for large counts.
    """
    forces = bounds.weight * (bounds.answered(point.cells) - bounds.answers) + point.above - point.below
    is_free = (point.cells - bounds.floor > point.of_cells)[0]
    change = np.linalg.lstsq(rows[:, is_free].T, -bounds.pulled(forces)[0, is_free])[0][None]
    return replace(point, above=point.above + np.maximum(change, 0), below=point.below + np.maximum(-change, 0))


def _rows(bounds: Bounds) -> Array:
    """All answers as rows of one matrix, (m, n)."""
    rows = bounds.sums.rows
    return np.vstack([rows, np.eye(rows.shape[1])]) if bounds.has_cells else rows


def _clipped(bounds: Bounds, cells: Array, above: Array, below: Array, of_cells: Array) -> Inside:
    """A point of one draw, no cell below its floor; its bound is still to be written."""
    return Inside(np.maximum(cells, bounds.floor[0])[None], np.zeros(1), above[None], below[None], of_cells[None])
