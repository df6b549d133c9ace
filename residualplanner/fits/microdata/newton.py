"""Newton's method for the dual problem of fits: exact once the positive cells are found.

Source: eqs. (81) to (83) and (88); Qi and Sun, Math. Programming 58 (1993); Rockafellar, SIAM J. Control Optim. 14
(1976).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from residualplanner.fits.microdata.dual import Dual, MatrixDual, Term
from residualplanner.fits.optimizers import Array

#: Newton steps at most; halvings of one; how much of the slope a step must gain; rounding of the dual value.
_STEPS, _HALVINGS, _GAIN, _ROUNDING = 200, 40, 1e-4, 1e-13
#: Up to so many sums beside the largest group, and entries of their matrix, matrices are formed.
_FEW_SUMS, _FEW_ENTRIES = 300, 20_000_000
#: Fits are solved as well as rounding allows: the gap, and the sums that are off, relative to the largest.
_GAP, _OFF = 1e-13, 1e-11
#: How many cells of all draws are worked on at a time.
_AT_ONCE = 100_000
#: How much is added to the diagonal where sums are exact, as a part of it, at most.
_RIDGE = 1e-2
#: How much cells are held at first, beside the sums, and each time; how often at most; the gap to reach.
_FIRST, _LESS, _TIMES, _PROXIMAL_GAP = 1e-2, 0.1, 12, 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class CellFit:
    """The cells of all draws, and what is proved of them."""

    cells: Array  # (b, n): at least 0
    multipliers: Array  # (b, k): of all sums
    objective: Array  # (b,): of the cells, at sums that have errors
    gap: Array  # (b,): the objective is at most this fraction (of itself plus 1) above the least one
    violation: Array  # (b,): by how much sums that must be equal to their targets are off, at most, in counts


def solve(
    shape: tuple[int, ...], terms: Sequence[Term], *, center: Array, weight: Array, start: Array | None = None
) -> CellFit:
    """The solution of a problem, as of `Dual`, for several draws, from multipliers (b, k), which are 0 unless given."""
    count, groups = sum(term.sums.count for term in terms), [term.sums for term in terms if term.sums.is_disjoint]
    largest = max((sums.count for sums in groups), default=0)
    if count - largest <= _FEW_SUMS and count * center.shape[1] <= _FEW_ENTRIES:
        return _solved(MatrixDual(shape, terms, center=center, weight=weight), start)
    parts = []
    for rows in np.split(np.arange(len(center)), len(center)):
        own = weight if len(weight) == 1 else weight[rows]
        dual = Dual(shape, [term.take(rows) for term in terms], center=center[rows], weight=own)
        parts.append(_solved(dual, None if start is None else start[rows]))
    return parts[0] if len(parts) == 1 else together(parts)


def _solved(dual: Dual, start: Array | None) -> CellFit:
    """The solution for all draws, some at a time, so that arrays stay in the processor's cache."""
    draws, cells = dual.center.shape
    count = min(draws, max(1, draws * cells // _AT_ONCE))
    parts = []
    for rows in np.array_split(np.arange(draws), count):
        part = dual if count == 1 else dual.take(rows)
        multipliers = np.zeros(part.target.shape) if start is None else start[rows].copy()
        found = part.cells_of(multipliers)
        _descend(part, multipliers, found)
        parts.append(_certified(part, multipliers, found, part.residual(multipliers, found)))
    return parts[0] if count == 1 else together(parts)


def together(parts: Sequence[CellFit]) -> CellFit:
    """The solutions of some draws, and of others after them, as one."""
    names = ("cells", "multipliers", "objective", "gap", "violation")
    return CellFit(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _descend(dual: Dual, multipliers: Array, cells: Array) -> None:
    """Newton steps for all draws, in place, until each has its solution."""
    rows = np.arange(len(multipliers))
    for _ in range(_STEPS):
        part = dual.take(rows)
        residual = part.residual(multipliers[rows], cells[rows])
        proved = _certified(part, multipliers[rows], cells[rows], residual)
        is_rough = ~((proved.violation <= _OFF * _scale(part)) & (proved.gap <= _GAP))
        rows = rows[is_rough]
        if not len(rows):
            break
        part = dual.take(rows)
        multipliers[rows], cells[rows] = _stepped(part, multipliers[rows], cells[rows], residual[is_rough])


def _certified(dual: Dual, multipliers: Array, cells: Array, residual: Array) -> CellFit:
    """What the dual value proves of cells (b, n), whose sums are off by the residual.  Source: eq. (82)."""
    off = dual.answered(cells) - dual.target
    objective = _above(dual, off) + (dual.weight * (cells - dual.center) ** 2).sum(axis=1) / 2
    violation = np.abs(np.where(dual.spread == 0, residual, 0)).max(axis=1, initial=0.0)
    return CellFit(cells, multipliers, objective, _above(dual, residual) / (1 + objective), violation)


def _above(dual: Dual, residual: Array) -> Array:
    """How far the objective of each draw is above the dual value, where sums have errors.  Source: eq. (82)."""
    has_error = dual.spread > 0
    found: Array = np.where(has_error, residual**2 / np.where(has_error, dual.spread, 1), 0).sum(axis=1) / 2
    return found


def _scale(dual: Dual) -> Array:
    found: Array = 1 + np.abs(dual.target).max(axis=1, initial=0.0)
    return found


def _stepped(dual: Dual, multipliers: Array, cells: Array, residual: Array) -> tuple[Array, Array]:
    """The best multiple of a Newton step, of 1, 1/2, 1/4 and so on.  Source: eq. (83)."""
    part = np.where(cells > 0, 1 / dual.weight, 0)
    step = -dual.newton_step(part, _diagonal(dual, part, residual), residual)
    slope = np.einsum("bk,bk->b", step, residual)
    value = dual.value(multipliers, cells)
    bound = value + _ROUNDING * (1 + np.abs(value))
    rows, length = np.arange(len(step)), 1.0
    multipliers, cells = multipliers.copy(), cells.copy()
    for _ in range(_HALVINGS):
        some = dual.take(rows)
        tried = multipliers[rows] + length * step[rows]
        found = some.cells_of(tried)
        is_good = some.value(tried, found) <= bound[rows] + _GAIN * length * slope[rows]
        good = rows[is_good]
        multipliers[good], cells[good] = tried[is_good], found[is_good]
        rows, length = rows[~is_good], length / 2
        if not len(rows):
            break
    return multipliers, cells


def _diagonal(dual: Dual, part: Array, residual: Array) -> Array:
    """1 / w, with a little more where sums are exact: their equations may be singular."""
    is_exact = dual.spread == 0
    if not is_exact.any():
        return np.broadcast_to(dual.spread, residual.shape)
    off = np.abs(np.where(is_exact, residual, 0)).max(axis=1, keepdims=True) / _scale(dual)[:, None]
    typical = (
        np.maximum(part.sum(axis=1, keepdims=True), part.max(axis=1, keepdims=True, initial=0.0)) / residual.shape[1]
    )
    typical = np.where(typical > 0, typical, (1 / dual.weight).mean(axis=1, keepdims=True))
    return dual.spread + np.where(is_exact, np.clip(off, 1e-10, _RIDGE) * typical, 0)


def solve_without_cells(shape: tuple[int, ...], terms: Sequence[Term]) -> CellFit:
    """The cells whose sums are best, where no group has single cells: of all solutions one that is near 0.

    Source: eq. (88).
    """
    draws, count = max(len(term.target) for term in terms), math.prod(shape)
    spreads = np.concatenate([term.spread.ravel() for term in terms])
    center, one = np.zeros((draws, count)), np.ones((1, 1))
    if not (spreads > 0).any():
        return solve(shape, terms, center=center, weight=one)
    weight = _FIRST / float(np.median(spreads[spreads > 0]))
    none = np.zeros(draws)
    best, multipliers = CellFit(np.zeros((draws, count)), none, none.copy(), none + np.inf, none.copy()), None
    for _ in range(_TIMES):
        found = solve(shape, terms, center=center, weight=weight * one, start=multipliers)
        # The same cells in the problem in which none are held: what held them is no part of the objective, and the
        # gap grows by at most the pull of the center on cells of as large a total.
        moved = found.cells - center
        objective = found.objective - weight * (moved**2).sum(axis=1) / 2
        most = found.cells.sum(axis=1) + _most_in_total(terms, objective)
        above = found.gap * (1 + found.objective) + weight * np.abs(moved).max(axis=1) * most
        made = replace(found, objective=objective, gap=above / (1 + objective))
        is_nearer = made.gap * (1 + made.objective) < best.gap * (1 + best.objective)
        for name in ("cells", "objective", "gap", "violation"):
            getattr(best, name)[is_nearer] = getattr(made, name)[is_nearer]
        if not is_nearer.any() or (best.gap <= _PROXIMAL_GAP).all():
            break
        # The next problem holds cells to these, and less: it ends at the best cells nearest to the last ones.
        center, multipliers, weight = found.cells, found.multipliers, weight * _LESS
    return replace(best, multipliers=found.multipliers)


def _most_in_total(terms: Sequence[Term], objective: Array) -> Array:
    """No better cells have a larger total than this, (b,).  Source: eq. (88)."""
    found = np.full(len(objective), np.inf)
    for term in terms:
        if term.sums.covers:
            room = np.sqrt(2 * np.maximum(objective, 0) * term.spread.sum(axis=1))
            found = np.minimum(found, term.target.sum(axis=1) + room)
    most: Array = np.maximum(found, 0.0)
    return most
