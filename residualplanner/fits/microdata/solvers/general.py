"""Fits within bounds on every answer's error for one draw of the noise, by general solvers.

Reads: bounds of one draw, which rounding kept others from.  Gives: Inside, with a proved gap.
Source: eq. (86).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.fits.microdata.solvers.within import Bounds, Inside, state_of

#: How far beyond its bounds an answer may be, in standard errors; what is proved holds within them.
_OUTSIDE = 1e-7

Array = NDArray[np.float64]


def least_bound(bounds: Bounds, rough: Inside) -> tuple[Inside, Array]:
    """The least largest error by the simplex method; the rough solution where that fails, with a gap that says so.

    Args:
        bounds: of one draw.
        rough: a solution that is not good enough.
    """
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
    """Least squares within bounds by Clarabel's interior-point method.

    Args:
        bounds: of one draw.
        rough: a solution that is not good enough, with the bound to keep to.
    """
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
