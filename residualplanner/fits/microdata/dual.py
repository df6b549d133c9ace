"""Least squares on non-negative cells, of which sums are known with error or exactly: the dual problem, solved.

Minimize ``sum_i d_i (x_i - c_i)**2 / 2 + sum_k w_k (q_k x - a_k)**2 / 2`` over ``x >= 0``, where a weight w_k may be
infinite: then ``q_k x = a_k``.  There are as many multipliers as sums, far fewer than cells, and Newton's method is
exact once the positive cells are found.
Source: eqs. (81) to (83) and (88); Qi and Sun, Math. Programming 58 (1993); Rockafellar, SIAM J. Control Optim. 14
(1976).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from residualplanner.fits.microdata.groups import Sums, Term
from residualplanner.fits.optimizers import Array, conjugate_gradients
from residualplanner.ground.checks import IntArray

#: Conjugate gradients stop where the residual is this part of what it was, or after so many steps.
_PRECISE, _GRADIENTS = 1e-3, 400
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


class Dual:
    """The problem of one draw of the noise: all its sums as maps of its cells, in an array of this shape.

    Of b draws, n cells and k sums it has ``center`` (b, n): c, in counts; ``weight`` (b or 1, n or 1): d > 0, in 1 /
    counts squared; ``target`` (b, k): a; and ``spread`` (b or 1, k): 1 / w.  Terms that are not the same in all draws
    come last.
    """

    def __init__(self, shape: tuple[int, ...], terms: Sequence[Term], *, center: Array, weight: Array) -> None:
        self.center, self.weight, self._shape = center, weight, shape
        self._sums = [term.sums for term in terms]
        self._ends = np.cumsum([each.count for each in self._sums])[:-1]
        self.target = _beside([term.target for term in terms], self._sums, len(center))
        spreads = [term.spread for term in terms]
        self.spread = _beside(spreads, self._sums, max(map(len, spreads), default=1))

    def take(self, rows: IntArray) -> "Dual":  # noqa: ARG002 - there is one
        """That of some draws."""
        return self

    def pulled(self, multipliers: Array) -> Array:
        """The transposed map of all sums, (b, n)."""
        found = np.zeros((1, *self._shape))
        for sums, part in zip(self._sums, np.split(multipliers, self._ends, axis=1), strict=True):
            found += sums.spread(part)
        return found.reshape(1, -1)

    def answered(self, cells: Array) -> Array:
        """All sums (b, k) of cells (b, n)."""
        table = cells.reshape(1, *self._shape)
        return np.hstack([sums.answer(table) for sums in self._sums])

    def newton_step(self, part: Array, diagonal: Array, residual: Array) -> Array:
        """The step (b, k) that solves ``(diag(diagonal) + Q diag(part) Q^T) step = residual``, for parts (b, n).

        Part is 1 / d of the cells that are positive, else 0.  Here nearly: by conjugate gradients, scaled by the
        diagonal.
        """
        table = part.reshape(1, *self._shape)
        scale = diagonal + np.hstack([sums.squares(table) for sums in self._sums])
        goal = _PRECISE**2 * float(np.vdot(residual, residual / scale))

        def curvature(step: Array) -> Array:
            return diagonal * step + self.answered(part * self.pulled(step))

        def is_enough(_: Array, product: float) -> bool:
            return not product > goal

        return conjugate_gradients(curvature, residual.copy(), 1 / scale, most=_GRADIENTS, is_enough=is_enough)

    def cells_of(self, multipliers: Array) -> Array:
        """The best cells for given multipliers (b, k), (b, n).  Source: eq. (81)."""
        cells = self.pulled(multipliers)
        cells /= self.weight
        cells += self.center
        return np.maximum(cells, 0, out=cells)

    def value(self, multipliers: Array, cells: Array) -> Array:
        """The negative dual value (b,), up to a constant: the best multipliers make it least.  Source: eq. (82)."""
        of_cells = np.einsum("bn,bn->b", cells, cells * self.weight)
        of_sums = np.einsum("bk,bk->b", multipliers, multipliers * self.spread - 2 * self.target)
        return np.asarray((of_cells + of_sums) / 2)

    def residual(self, multipliers: Array, cells: Array) -> Array:
        """The gradient of `value`, (b, k): by how much the sums are off, in counts.  Source: eq. (82)."""
        return self.answered(cells) + multipliers * self.spread - self.target


class MatrixDual(Dual):
    """All sums as rows of matrices: those that are the same in all draws, and those that are not."""

    def __init__(self, shape: tuple[int, ...], terms: Sequence[Term], *, center: Array, weight: Array) -> None:
        super().__init__(shape, terms, center=center, weight=weight)
        same, (draws, cells) = [term for term in terms if term.sums.mask is None], center.shape
        self._same = np.vstack([np.empty((0, cells)), *(term.sums.matrix() for term in same)])
        own = terms[len(same) :]
        self._own = np.empty((draws, len(own), cells))  # those that are not the same in all draws
        for number, term in enumerate(own):
            row = np.broadcast_to(term.sums.spread(np.ones((draws, 1))), (draws, *shape))
            self._own[:, number] = row.reshape(draws, -1)
        starts = np.cumsum([0, *(term.sums.count for term in same)]).tolist()
        groups = [(term.sums.count, start) for term, start in zip(same, starts, strict=False) if term.sums.is_disjoint]
        count, start = max(groups, default=(0, 0))
        self._largest = np.arange(start, start + count)
        self._rest = np.setdiff1d(np.arange(len(self._same)), self._largest)
        self._supports = [np.flatnonzero(self._same[row]) for row in self._rest.tolist()]

    def take(self, rows: IntArray) -> "MatrixDual":
        """Those of some draws."""
        part = object.__new__(MatrixDual)
        part.__dict__.update(self.__dict__)
        for name in ("center", "weight", "target", "spread", "_own"):
            array = getattr(self, name)
            setattr(part, name, array[rows] if len(array) > 1 else array)
        return part

    def pulled(self, multipliers: Array) -> Array:
        """By products with the rows."""
        count = len(self._same)
        found: Array = multipliers[:, :count] @ self._same
        if self._own.shape[1]:
            found += np.matmul(multipliers[:, None, count:], self._own)[:, 0]
        return found

    def answered(self, cells: Array) -> Array:
        """By products with the rows."""
        found: Array = cells @ self._same.T
        if self._own.shape[1]:
            found = np.hstack([found, np.matmul(self._own, cells[:, :, None])[:, :, 0]])
        return found

    def newton_step(self, part: Array, diagonal: Array, residual: Array) -> Array:
        """The exact solution: the largest group, with a diagonal block, is eliminated.  Source: eq. (83)."""
        largest = self._largest
        kept = np.concatenate([self._rest, np.arange(len(self._same), diagonal.shape[1])])
        block = part @ self._same[largest].T + diagonal[:, largest]
        rows = self._rows(part)
        border, core = rows[:, :, largest], rows[:, :, kept]
        core[:, np.arange(len(kept)), np.arange(len(kept))] += diagonal[:, kept]
        scaled = border / block[:, None, :]
        core -= np.matmul(scaled, border.transpose(0, 2, 1))
        step = np.empty_like(residual)
        step[:, kept] = _solutions(core, residual[:, kept] - np.matmul(scaled, residual[:, largest, None])[:, :, 0])
        step[:, largest] = residual[:, largest] / block - np.matmul(step[:, None, kept], scaled)[:, 0]
        return step

    def _rows(self, part: Array) -> Array:
        """The rows of ``Q diag(part) Q^T`` of all sums but those of the largest group, (b, r, k)."""
        draws, count, rest, own = len(part), len(self._same), len(self._rest), self._own.shape[1]
        found = np.empty((draws, rest + own, count + own))
        for number, (row, support) in enumerate(zip(self._rest.tolist(), self._supports, strict=True)):
            found[:, number, :count] = (part[:, support] * self._same[row, support]) @ self._same[:, support].T
        if own:
            weighted = self._own * part[:, None, :]
            found[:, rest:, :count] = (weighted.reshape(draws * own, -1) @ self._same.T).reshape(draws, own, -1)
            found[:, rest:, count:] = np.matmul(weighted, self._own.transpose(0, 2, 1))
            found[:, :rest, count:] = found[:, rest:, self._rest].transpose(0, 2, 1)
        return found


def _beside(parts: Sequence[Array], sums: Sequence[Sums], draws: int) -> Array:
    """Numbers for each of some sums, one after the other, in so many draws, (b, k)."""
    rows = (np.broadcast_to(part, (draws, own.count)) for part, own in zip(parts, sums, strict=True))
    return np.hstack([np.empty((draws, 0)), *rows])


def _solutions(matrices: Array, right: Array) -> Array:
    """The solutions (b, k) of systems (b, k, k) of equations; not numbers where one is singular."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        found = np.full_like(right, np.nan)
        if len(matrices) > 1:
            for row in range(len(matrices)):
                found[row] = _solutions(matrices[row : row + 1], right[row : row + 1])
        return found


class CellFit(NamedTuple):
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
    return CellFit(*map(np.concatenate, zip(*parts, strict=True)))


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
    return np.asarray(np.where(has_error, residual**2 / np.where(has_error, dual.spread, 1), 0).sum(axis=1) / 2)


def _scale(dual: Dual) -> Array:
    return np.asarray(1 + np.abs(dual.target).max(axis=1, initial=0.0))


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
    """The cells whose sums are best, where no group has single cells: of all one near 0.  Source: eq. (88)."""
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
        made = found._replace(objective=objective, gap=above / (1 + objective))
        is_nearer = made.gap * (1 + made.objective) < best.gap * (1 + best.objective)
        for name in ("cells", "objective", "gap", "violation"):
            getattr(best, name)[is_nearer] = getattr(made, name)[is_nearer]
        if not is_nearer.any() or (best.gap <= _PROXIMAL_GAP).all():
            break
        # The next problem holds cells to these, and less: it ends at the best cells nearest to the last ones.
        center, multipliers, weight = found.cells, found.multipliers, weight * _LESS
    return best._replace(multipliers=found.multipliers)


def _most_in_total(terms: Sequence[Term], objective: Array) -> Array:
    """No better cells have a larger total than this, (b,).  Source: eq. (88)."""
    found = np.full(len(objective), np.inf)
    for term in terms:
        if term.sums.covers:
            room = np.sqrt(2 * np.maximum(objective, 0) * term.spread.sum(axis=1))
            found = np.minimum(found, term.target.sum(axis=1) + room)
    return np.asarray(np.maximum(found, 0.0))
