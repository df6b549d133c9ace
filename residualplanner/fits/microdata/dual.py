"""Least squares on non-negative cells, of which sums are known with error or exactly, and its dual problem.

Minimize ``sum_i d_i (x_i - c_i)**2 / 2 + sum_k w_k (q_k x - a_k)**2 / 2`` over ``x >= 0``, where a weight w_k may be
infinite: then ``q_k x = a_k``.  There are as many multipliers as sums, far fewer than cells.
Source: eqs. (81) to (83).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.fits.microdata.sums import Sums
from residualplanner.fits.optimizers import Array, conjugate_gradients
from residualplanner.ground.checks import IntArray

#: Conjugate gradients stop where the residual is this part of what it was, or after so many steps.
_PRECISE, _STEPS = 1e-3, 400


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """Sums that are near, or equal to, targets."""

    sums: Sums  # of which cells
    target: Array  # (b, k): a, in counts
    spread: Array  # (b or 1, k): 1 / w, in counts squared; 0 where the sum is equal to its target

    def take(self, rows: IntArray) -> "Term":
        """That of some draws."""
        spread = self.spread if len(self.spread) == 1 else self.spread[rows]
        return Term(self.sums.take(rows), self.target[rows], spread)


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
            image: Array = diagonal * step + self.answered(part * self.pulled(step))
            return image

        def is_enough(_: Array, product: float) -> bool:
            return not product > goal

        return conjugate_gradients(curvature, residual.copy(), 1 / scale, most=_STEPS, is_enough=is_enough)

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
        found: Array = (of_cells + of_sums) / 2
        return found

    def residual(self, multipliers: Array, cells: Array) -> Array:
        """The gradient of `value`, (b, k): by how much the sums are off, in counts.  Source: eq. (82)."""
        return self.answered(cells) + multipliers * self.spread - self.target


class MatrixDual(Dual):
    """All sums as rows of matrices: those that are the same in all draws, and those that are not."""

    def __init__(self, shape: tuple[int, ...], terms: Sequence[Term], *, center: Array, weight: Array) -> None:
        super().__init__(shape, terms, center=center, weight=weight)
        same, (draws, cells) = [term for term in terms if not term.sums.differs_by_draw], center.shape
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
        """The solution of the equations, exact up to rounding: the largest group, with a diagonal block, is eliminated.

        Source: eq. (83).
        """
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
        solutions: Array = np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0], dtype=np.float64)
        return solutions
    except np.linalg.LinAlgError:
        found = np.full_like(right, np.nan)
        if len(matrices) > 1:
            for row in range(len(matrices)):
                found[row] = _solutions(matrices[row : row + 1], right[row : row + 1])
        return found
