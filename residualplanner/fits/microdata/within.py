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
from residualplanner.fits.optimizers import Array, interior_step
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
    multipliers: Array  # (b, 2 m + n), > 0: of answers that are too large, too small, and of ``cells >= floor``

    def take(self, rows: IntArray) -> "Inside":
        """That of some draws."""
        return Inside(self.cells[rows], self.bound[rows], self.multipliers[rows])

    def put(self, rows: IntArray, other: "Inside") -> None:
        """Write that of some draws, in place."""
        self.cells[rows], self.bound[rows], self.multipliers[rows] = other.cells, other.bound, other.multipliers


#: What follows from a point, for several draws: the slacks (b, 2 m + n), how far each answer may still rise, and fall,
#: and each cell fall; the slope (b, n) of the objective that multipliers do not balance; that in t, (b,); and the gap
#: (b,): the objective is at most this above the least one.
State = tuple[Array, Array, Array, Array]


def _parts(bounds: Bounds, values: Array) -> list[Array]:
    """Numbers for all bounds (b, 2 m + n) as those for answers that are too large, too small, and for cells."""
    count = bounds.answers.shape[1]
    return np.split(values, [count, 2 * count], axis=1)


def _slacks(bounds: Bounds, cells: Array, bound: Array) -> Array:
    slack, off = bound[:, None] * bounds.std_err, bounds.answered(cells) - bounds.answers
    return np.hstack([slack - off, slack + off, cells - bounds.floor])


def centered_start(bounds: Bounds, cells: Array, bound: Array, *, level: float) -> Inside:
    """Multipliers for a point strictly inside: all products with their slacks are ``level``."""
    return Inside(cells, bound, level / _slacks(bounds, cells, bound))


def objective_of(bounds: Bounds, point: Inside) -> Array:
    """What is minimized, (b,)."""
    if bounds.minimizes_bound:
        return point.bound
    off = bounds.answered(point.cells) - bounds.answers
    found: Array = (bounds.weight * off**2).sum(axis=1) / 2
    return found


def state_of(bounds: Bounds, point: Inside) -> State:
    """What follows from a point.  Source: eq. (86)."""
    slacks, off = _slacks(bounds, point.cells, point.bound), bounds.answered(point.cells) - bounds.answers
    above, below, of_cells = _parts(bounds, point.multipliers)
    exact = bounds.pulled(bounds.weight * off + above - below)
    slope = exact - of_cells
    push = ((above + below) * bounds.std_err).sum(axis=1)
    slope_of_bound = (1 - push) if bounds.minimizes_bound else np.zeros(len(push))
    # Multipliers that balance exactly prove a bound.  Those of cells can be what is left of the slope where that is
    # positive; where a cell lacks force, multipliers of answers are raised, at a cost.
    count = 2 * bounds.answers.shape[1]
    room_above, room_of_cells = slacks[:, : bounds.answers.shape[1]], slacks[:, count:]
    room = (point.multipliers[:, :count] * slacks[:, :count]).sum(axis=1)
    lacking = bounds.repair(np.maximum(-exact, 0), room_above)
    gap = room + (np.maximum(exact, 0) * room_of_cells).sum(axis=1) + lacking + np.abs(slope_of_bound) * point.bound
    return slacks, slope, slope_of_bound, gap


def inside(bounds: Bounds, start: Inside) -> tuple[Inside, Array]:
    """The solution, and for every draw by how much its objective is proved to be above the least, at most."""
    draws = len(start.cells)
    point, current = start.take(np.arange(draws)), start.take(np.arange(draws))
    rows, gap, stuck = np.arange(draws), np.full(draws, np.inf), np.zeros(draws, dtype=np.int64)
    for _ in range(_STEPS):
        some, here = bounds.take(rows), current.take(rows)
        with np.errstate(all="ignore"):
            *_, found = state_of(some, here)
            scale = 1 + objective_of(some, here)
        is_better = found < gap[rows]
        gap[rows[is_better]] = found[is_better]
        point.put(rows[is_better], here.take(np.flatnonzero(is_better)))
        stuck[rows] = np.where(is_better, 0, stuck[rows] + 1)
        goes_on = (found > _GAP * scale) & (stuck[rows] < _PATIENCE)
        rows, here = rows[goes_on], here.take(np.flatnonzero(goes_on))
        if not len(rows):
            break
        with np.errstate(all="ignore"):  # draws that rounding stops are dropped, since their gap is no better
            some = bounds.take(rows)
            state = state_of(some, here)
            step, length = interior_step(_newton(some, here, state), here.multipliers, state[0], near=_NEAR)
            far = length[:, None]
            moved = here.cells + far * step.cells, here.bound + length * step.bound
            current.put(rows, Inside(*moved, here.multipliers + far * step.multipliers))
    return point, gap


def _newton(bounds: Bounds, point: Inside, state: State) -> Callable[[Array], tuple[Inside, Array, Array]]:
    """Newton's equations for any changes of the products of slacks and multipliers.  Source: eq. (87)."""
    slacks, slope, slope_of_bound, _ = state
    stiffness = point.multipliers / slacks
    above, below, of_cells = _parts(bounds, stiffness)
    equations = bounds.equations(bounds.weight + above + below, of_cells)
    # t is one unknown more: its row and column border the equations of the cells, and are eliminated.
    border = bounds.pulled((above - below) * bounds.std_err)
    toward = equations(border) if bounds.minimizes_bound else border
    corner = ((above + below) * bounds.std_err**2).sum(axis=1) - (border * toward).sum(axis=1)

    def solution(products: Array) -> tuple[Inside, Array, Array]:
        wanted = products / slacks
        rising, falling, kept = _parts(bounds, wanted)
        cells = equations(-slope - bounds.pulled(rising - falling) + kept)
        bound = np.zeros(len(cells))
        if bounds.minimizes_bound:
            right_of_bound = ((rising + falling) * bounds.std_err).sum(axis=1) - slope_of_bound
            bound = (right_of_bound + (border * cells).sum(axis=1)) / corner
            cells = cells + bound[:, None] * toward
        moved, slack = bounds.answered(cells), bound[:, None] * bounds.std_err
        drift = np.hstack([slack - moved, slack + moved, cells])
        multipliers = wanted - stiffness * drift
        return Inside(cells, bound, multipliers), multipliers, drift

    return solution


def least_bound(bounds: Bounds, rough: Inside) -> tuple[Inside, Array]:
    """The least largest error by the simplex method; the rough solution where that fails, with a gap that says so."""
    from scipy.optimize import linprog  # takes a fifth of the time to import the package

    rows, errors, near = _rows(bounds), bounds.std_err.T, rough.cells[0]
    cells = rows.shape[1]
    sides = np.vstack([np.hstack([rows, -errors]), np.hstack([-rows, -errors])])
    limits = np.concatenate([bounds.answers[0] - rows @ near, rows @ near - bounds.answers[0]])
    ends = [*((low, None) for low in (bounds.floor[0] - near).tolist()), (0, None)]
    answer = linprog(np.eye(cells + 1)[-1], A_ub=sides, b_ub=limits, bounds=ends, method="highs-ds")
    if answer.x is None:
        return rough, np.array([np.inf])
    forces = np.concatenate([np.maximum(-answer.ineqlin.marginals, 0), answer.lower.marginals[:-1]])
    found = _clipped(bounds, near + answer.x[:-1], forces)
    off = np.abs(bounds.answered(found.cells) - bounds.answers) / bounds.std_err
    found.bound[:] = off.max(axis=1)
    *_, gap = state_of(bounds, _balanced(bounds, rows, found))
    return found, gap


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
    found = _clipped(bounds, near + np.array(answer.x)[:cells], np.maximum(np.array(answer.z)[count:], 0))
    found.bound[:] = rough.bound
    found = _balanced(bounds, rows, found)
    slacks, *_, gap = state_of(bounds, found)
    is_within = (np.minimum(*_parts(bounds, slacks)[:2]) >= -_OUTSIDE * bounds.std_err).all()
    return found, gap if is_within else np.array([np.inf])


def _balanced(bounds: Bounds, rows: Array, point: Inside) -> Inside:
    """The point with multipliers of answers that balance on cells above their floor, up to rounding.

    What is left on a cell counts as often in the gap as the cell may fall, which is millions of times for large counts.
    """
    above, below, of_cells = _parts(bounds, point.multipliers)
    forces = bounds.weight * (bounds.answered(point.cells) - bounds.answers) + above - below
    is_free = (point.cells - bounds.floor > of_cells)[0]
    change = np.linalg.lstsq(rows[:, is_free].T, -bounds.pulled(forces)[0, is_free])[0][None]
    balanced = np.hstack([above + np.maximum(change, 0), below + np.maximum(-change, 0), of_cells])
    return replace(point, multipliers=balanced)


def _rows(bounds: Bounds) -> Array:
    """All answers as rows of one matrix, (m, n)."""
    rows = bounds.sums.rows
    return np.vstack([rows, np.eye(rows.shape[1])]) if bounds.has_cells else rows


def _clipped(bounds: Bounds, cells: Array, multipliers: Array) -> Inside:
    """A point of one draw, no cell below its floor; its bound is still to be written."""
    return Inside(np.maximum(cells, bounds.floor[0])[None], np.zeros(1), multipliers[None])
