"""The least largest error of answers, and least squares within bounds on every error, with what is proved of both.

One draw of the noise at a time, by Clarabel's interior-point method.  Answers are in standard errors.  Cells x are
measured from a fit, so that they and the answers are small however large the counts are.
Source: eqs. (86) and (87).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.fits.optimizers import Array

#: To what accuracy Clarabel solves; from which gap on multipliers are balanced; how far beyond its bounds an error is.
_ACCURATE, _ROUGH, _OUTSIDE = 1e-11, 1e-8, 1e-7


def sides_of(rows: sparse.csc_array) -> sparse.csc_matrix:
    """The constraints on cells x, errors e and the largest error t: A x - e = a, e, -e <= t, x >= f, t <= a limit."""
    answers, cells = rows.shape
    one, ones = sparse.eye_array(answers), sparse.csc_array(np.ones((answers, 1)))
    blocks: list[list[Any]] = [
        [rows, -one, None],
        [None, one, -ones],
        [None, -one, -ones],
        [-sparse.eye_array(cells), None, None],
        [None, None, sparse.eye_array(1)],
    ]
    return sparse.csc_matrix(sparse.block_array(blocks))


@dataclass(frozen=True, eq=False, slots=True)
class Answers:
    """The answers of one draw."""

    rows: sparse.csc_array  # (m, n): A, over the standard errors
    sides: sparse.csc_matrix  # of these rows, as `sides_of` gives them
    values: Array  # (m,): a
    floor: Array  # (n,): of the cells, at most 0
    raises: Array  # (m,): multipliers of answers that together push every cell by 1 or more

    def least_largest(self, most: float) -> tuple[Array, float, float]:
        """The cells (n,) whose largest error is the least, this error, and its gap; some have at most ``most``."""
        cells, above, below, of_cells = self._solved(most, is_of_bound=True)
        bound = float(np.abs(self.rows @ cells - self.values).max())
        return cells, bound, self._gap(cells, bound, above, below, of_cells, is_of_bound=True)

    def least_squares(self, bound: float) -> tuple[Array, float, float]:
        """The cells (n,) with the least squares among those whose errors are within a bound; half the squares; the gap.

        The gap is infinite where errors are not within the bound.
        """
        cells, above, below, of_cells = self._solved(bound, is_of_bound=False)
        off = self.rows @ cells - self.values
        gap = self._gap(cells, bound, above, below, of_cells, is_of_bound=False)
        return cells, float(off @ off) / 2, gap if np.abs(off).max() <= bound + _OUTSIDE else np.inf

    def _solved(self, most: float, *, is_of_bound: bool) -> tuple[Array, Array, Array, Array]:
        """Cells, and multipliers: of errors that are too large and too small, (m,), and of the floor of cells, (n,)."""
        import clarabel  # takes a tenth of the time to import the package

        answers, cells = self.rows.shape
        right = np.concatenate([self.values, np.zeros(2 * answers), -self.floor, [most]])
        squares = np.repeat([0.0, 0.0 if is_of_bound else 1.0, 0.0], [cells, answers, 1])
        linear = np.zeros(cells + answers + 1)
        linear[-1] = float(is_of_bound)
        cones = [clarabel.ZeroConeT(answers), clarabel.NonnegativeConeT(len(right) - answers)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURATE
        objective = sparse.csc_matrix(sparse.diags_array(squares)), linear
        found = clarabel.DefaultSolver(*objective, self.sides, right, cones, settings).solve()
        ends = np.cumsum([answers, answers, answers, cells])
        _, above, below, of_cells, _ = np.split(np.maximum(np.array(found.z), 0), ends)
        return np.maximum(np.array(found.x)[:cells], self.floor), above, below, of_cells

    def _gap(
        self, cells: Array, bound: float, above: Array, below: Array, of_cells: Array, *, is_of_bound: bool
    ) -> float:
        """By how much what these cells have is above the least, at most.  Source: eq. (87)."""
        off = self.rows @ cells - self.values
        slope = np.zeros_like(off) if is_of_bound else off

        def proved(above: Array, below: Array) -> float:
            lacking = max(0.0, -float((self.rows.T @ (slope + above - below)).min()))
            raised = above + lacking * self.raises
            forces = np.maximum(self.rows.T @ (slope + raised - below), 0)
            gap = float(raised @ (bound - off) + below @ (bound + off) + forces @ (cells - self.floor))
            return gap + abs(1 - float((raised + below).sum())) * bound if is_of_bound else gap

        first = proved(above, below)
        if first <= _ROUGH * (1 + bound):
            return first
        # What is left on a cell counts as often as the cell may fall, which is millions of times for large counts: of
        # cells that are above their floor the forces are made 0, up to rounding.
        forces = self.rows.T @ (slope + above - below)
        is_free = (cells - self.floor > of_cells) | (forces < 0)
        change = np.linalg.lstsq(self.rows.toarray()[:, is_free].T, -forces[is_free])[0]
        return min(first, proved(above + np.maximum(change, 0), below + np.maximum(-change, 0)))
