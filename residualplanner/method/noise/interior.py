"""Newton steps towards the best weights of a minimax problem, where many rows compete for the same noise.

Source: eqs. (16), (17) and (37).

Weights lambda of the queries and mu of the costs maximize the concave ``g = sum_A sqrt((mu N)_A (lambda M)_A)``, both
at least 0 with sum 1.  At the optimum there are a level for either sort of weights, and slacks z >= 0 with
``level - grad g = z`` and ``weight z = 0``, row by row.  With a small number in place of that 0, which shrinks from
step to step (Mehrotra's predictor and corrector), the equations of Newton's method have as many unknowns as there are
rows.  But with ``a = lambda M`` and ``b = mu N`` the curvature of g is ``-R diag(sqrt(a b) / 4) R^T`` with R the rows
``M / a`` above ``-N / b``, so that all that is factored is a matrix with a row for each base mechanism.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray

#: Weights begin no smaller than this, relative to equal ones, and their products with slacks no smaller either.
_FLOOR = 1e-2
#: How much of the way to the nearest bound a step may go.
_REACH = 0.995
_STEPS = 60


def interior_weights(
    cost_rows: FloatArray, variance_rows: sparse.csr_array, start: tuple[FloatArray, FloatArray]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Weights of the variance rows (q,) and of the cost rows (c,), each with sum 1; 10 to 20 steps usually do.

    Args:
        cost_rows (c, m): N, every column with a positive entry.
        variance_rows (q, m): M, every column with a positive entry.
        start (q,), (c,): positive weights to begin near.

    Cost: a product of M with itself and a dense factorization, O(m**3), each.
    Source: eqs. (16), (17) and (37).
    """
    problem = _BarrierProblem(variance_rows, sparse.csr_array(cost_rows))
    state = problem.begin(start)
    for _ in range(_STEPS):
        queries, costs = np.split(state.weights, [problem.queries])
        yield queries / queries.sum(), costs / costs.sum()
        with np.errstate(all="ignore"):
            try:
                state = problem.step(state)
            except (scipy.linalg.LinAlgError, ValueError):
                return
        if not (np.isfinite(state.weights) & (state.weights > 0) & (state.slack > 0)).all():
            return


@dataclass(frozen=True, eq=False, slots=True)
class _State:
    """Where the search stands, or a direction: weights and slacks of all rows, the two levels."""

    weights: FloatArray
    slack: FloatArray
    levels: FloatArray

    @property
    def complementarity(self) -> float:
        """The mean product of a weight and its slack."""
        return float(self.weights @ self.slack) / len(self.weights)

    def moved(self, by: "_State") -> "_State":
        """As far in a direction as weights and slacks stay positive, and no further than the whole step."""
        length = min(_room(self.weights, by.weights), _room(self.slack, by.slack))
        return _State(
            self.weights + length * by.weights, self.slack + length * by.slack, self.levels + length * by.levels
        )


@dataclass(frozen=True, eq=False, slots=True)
class _BarrierProblem:
    """Variance rows and cost rows, (q, m) and (c, m)."""

    variance: sparse.csr_array
    cost: sparse.csr_array

    @property
    def queries(self) -> int:
        """How many variance rows there are."""
        return int(self.variance.shape[0])

    @property
    def groups(self) -> NDArray[np.float64]:
        """Which rows are of either sort, (q + c, 2)."""
        return np.repeat(np.eye(2), [self.queries, self.cost.shape[0]], axis=0)

    def sums(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``lambda M`` and ``mu N``, (m,) each."""
        return self.variance.T @ weights[: self.queries], self.cost.T @ weights[self.queries :]

    def slopes(self, weights: FloatArray) -> FloatArray:
        """The gradient of g, (q + c,)."""
        a, b = self.sums(weights)
        return np.concatenate([self.variance @ np.sqrt(b / a), self.cost @ np.sqrt(a / b)]) / 2

    def begin(self, start: tuple[FloatArray, FloatArray]) -> _State:
        """A beginning near ``start`` but away from all bounds."""
        parts = [np.maximum(part, _FLOOR / len(part)) for part in start]
        weights = np.concatenate([part / part.sum() for part in parts])
        slopes = self.slopes(weights)
        levels = np.array([slopes[: self.queries].max(), slopes[self.queries :].max()])
        least = 10 * _FLOOR * float(weights @ slopes) / len(weights)
        return _State(weights, np.maximum(self.groups @ levels - slopes, least / weights), levels)

    def step(self, state: _State) -> _State:
        """One predictor and corrector."""
        weights, slack, groups = state.weights, state.slack, self.groups
        missed = groups @ state.levels - self.slopes(weights) - slack
        a, b = self.sums(weights)
        root = np.sqrt(np.sqrt(a * b) / 4)
        rows = sparse.vstack([self.variance @ sparse.diags_array(root / a), self.cost @ sparse.diags_array(-root / b)])
        rows, stiffness = sparse.csr_array(rows), weights / slack
        inner = (rows.T @ (sparse.diags_array(stiffness) @ rows)).toarray()
        inner[np.diag_indices_from(inner)] += 1
        factor = scipy.linalg.cho_factor(inner, overwrite_a=True)

        def solved(right: NDArray[np.float64]) -> NDArray[np.float64]:
            """Solve with the diagonal ``slack / weights`` plus the curvature, for each column of (q + c, k)."""
            near: NDArray[np.float64] = stiffness[:, None] * right
            near -= stiffness[:, None] * (rows @ scipy.linalg.cho_solve(factor, rows.T @ near))
            return near

        to_level = solved(groups)
        schur = groups.T @ to_level
        lacking = 1 - groups.T @ weights

        def direction(target: FloatArray | float) -> _State:
            """Towards products of weights and slacks equal to ``target``."""
            free = solved((target / weights - slack - missed)[:, None])[:, 0]
            levels: FloatArray = scipy.linalg.solve(schur, groups.T @ free - lacking)
            change = free - to_level @ levels
            return _State(change, (target - slack * change) / weights - slack, levels)

        ahead = direction(0.0)
        left = state.moved(ahead).complementarity / state.complementarity
        return state.moved(direction(state.complementarity * left**3 - ahead.weights * ahead.slack))


def _room(values: FloatArray, change: FloatArray) -> float:
    """How far positive values may move by ``change``, at most 1."""
    falling = change < 0
    return min(1.0, _REACH * float((values[falling] / -change[falling]).min(initial=np.inf)))
