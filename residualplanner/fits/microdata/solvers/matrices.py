"""The dual problem with all sums as rows of matrices: many draws of the noise at once, for few sums.

Reads: a problem.  Gives: MatrixDual.
Source: eqs. (81) to (83).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.solvers.dual import CellProblem, Dual, Term
from residualplanner.ground.checks import IntArray

Array = NDArray[np.float64]


class MatrixDual(Dual):
    """All sums as rows of matrices: those that are the same in all draws, and those that are not.

    Args:
        problem: with few sums, or few cells.
    """

    def __init__(self, problem: CellProblem) -> None:
        same = [term for term in problem.terms if not term.sums.differs_by_draw]
        self.center, self.weight = problem.center, problem.weight
        self.target, self.spread = problem.target, problem.spread
        self._same = np.vstack([np.empty((0, problem.cells)), *(term.sums.matrix() for term in same)])
        self._own = _own_rows(problem, problem.terms[len(same) :])
        self._largest = _largest_group(same)
        self._rest = np.setdiff1d(np.arange(len(self._same)), self._largest)
        self._supports = [np.flatnonzero(self._same[row]) for row in self._rest.tolist()]

    @property
    def rows(self) -> Array:
        """The sums that are the same in all draws, (k, n)."""
        return self._same

    def take(self, rows: IntArray) -> "MatrixDual":
        """Those of some draws."""
        part = object.__new__(MatrixDual)
        part.__dict__.update(self.__dict__)
        for name in ("center", "weight", "target", "spread", "_own"):
            array = getattr(self, name)
            setattr(part, name, array[rows] if len(array) > 1 else array)
        return part

    def pulled(self, multipliers: Array) -> Array:
        """The transposed map of all sums, (b, n)."""
        count = len(self._same)
        found: Array = multipliers[:, :count] @ self._same
        if self._own.shape[1]:
            found += np.matmul(multipliers[:, None, count:], self._own)[:, 0]
        return found

    def answered(self, cells: Array) -> Array:
        """All sums (b, k) of cells (b, n)."""
        found: Array = cells @ self._same.T
        if self._own.shape[1]:
            found = np.hstack([found, np.matmul(self._own, cells[:, :, None])[:, :, 0]])
        return found

    def newton_step(self, part: Array, diagonal: Array, residual: Array) -> Array:
        """The solution of the equations, exact up to rounding."""
        return self.factored(part, diagonal)(residual)

    def factored(self, part: Array, diagonal: Array) -> Callable[[Array], Array]:
        """The equations of `newton_step` for any right side: the largest group, whose block is diagonal, is eliminated.

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

        def solution(residual: Array) -> Array:
            right = residual[:, kept] - np.matmul(scaled, residual[:, largest, None])[:, :, 0]
            step = np.empty_like(residual)
            step[:, kept] = _solutions(core, right)
            step[:, largest] = residual[:, largest] / block - np.matmul(step[:, None, kept], scaled)[:, 0]
            return step

        return solution

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


def _own_rows(problem: CellProblem, terms: Sequence[Term]) -> Array:
    """The rows of the sums that are not the same in all draws, (b, j, n)."""
    draws = len(problem.center)
    found = np.empty((draws, len(terms), problem.cells))
    for number, term in enumerate(terms):
        row = np.broadcast_to(term.sums.spread(np.ones((draws, 1))), (draws, *problem.shape))
        found[:, number] = row.reshape(draws, -1)
    return found


def _largest_group(terms: Sequence[Term]) -> IntArray:
    """The numbers of the sums of the largest group of disjoint ones."""
    starts = np.cumsum([0, *(term.sums.count for term in terms)]).tolist()
    groups = [(term.sums.count, start) for term, start in zip(terms, starts[:-1], strict=True) if term.sums.is_disjoint]
    count, start = max(groups, default=(0, 0))
    return np.arange(start, start + count)
