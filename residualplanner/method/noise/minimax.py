"""The least possible maximum of variances, with a certificate, where cost may be a maximum too.

Source: eqs. (15) to (17) and (37).

With M s the variances and N (1/s) the costs, the product of the largest variance and the largest cost does not change
when all noise is scaled, so the best noise at any budget minimizes it.  For query weights lambda and cost weights mu,
both at least 0 with sum 1, Cauchy and Schwarz give ``(lambda M s) (mu N (1/s)) >= g**2`` with
``g = sum_A sqrt((mu N)_A (lambda M)_A)``, and equality for ``s = sqrt(mu N / lambda M)``: every pair of weights bounds
the optimum from below and proposes noise, which bounds it from above.  g is concave in both together.

The weights are found by a multiplicative update, as for optimal designs of experiments: a query whose variance is above
the current level gains weight, one below loses it, and so do costs.  With an exponent of at most 2 the update never
lowers g.  A query that alone carries its noise has a variance proportional to its weight to the power -1/2, so that
exponent 2 is Newton's step for it; queries that end without weight are driven out by a growing exponent.  A step that
lowers g is taken back and repeated with exponent 2 for all.  Where that is slow, the end is left to Newton steps.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.method.noise.choice import NoiseChoice

_GROWTH = 1.3
_LARGEST_BOOST = 1e3
_LEAST_WEIGHT = 1e-280
#: Sums of weighted variances are at least this, so that all noise is finite.
_LEAST = 1e-300
#: After this many steps Newton steps are tried: rows that depend on the same noise trade weights slowly.
_PATIENCE = 100
#: Up to this many base mechanisms Newton steps are cheap.
_NEWTON_LIMIT = 2000
#: Weights begin no smaller than this, relative to equal ones, and their products with slacks no smaller either.
_FLOOR = 1e-2
#: How much of the way to the nearest bound a step may go.
_REACH = 0.995
_STEPS = 60


def minimize_maximum_variance(
    pcost_coefficient: ArrayLike,
    variance_coefficient: "scipy.sparse.csr_array",
    *,
    pcost: float,
    gap: float = 1e-6,
    start: ArrayLike | None = None,
    steps: int = 20_000,
) -> NoiseChoice:
    """Minimize ``max_Q (M s)_Q`` over ``s > 0`` subject to ``max_D sum_A p_DA / s_A = pcost``.

    ``pcost_coefficient`` (m,) are the costs p at unit noise, or (c, m), a row for each way D in which neighbors may
    differ, at least 0.  ``variance_coefficient`` (q, m) is M, at least 0.  No column of either is 0.  The search begins
    with the weights ``start`` (q,) of the queries, positive, or equal ones, and ends where the loss is proved to be
    within ``gap`` of the optimum, or after so many steps.

    Guarantees: up to rounding, the noise has privacy cost ``pcost``, and none of that cost has a loss below ``bound``.
    Cost: two products with M a step; usually between 5 and 100 steps, then 10 to 20 Newton steps if need be.
    Source: eqs. (15) to (17).
    """
    matrix = scipy.sparse.csr_array(variance_coefficient)
    problem, scale = _problem(pcost_coefficient, matrix)
    weights = np.ones(matrix.shape[0]) if start is None else np.asarray(start, dtype=np.float64)
    ways = len(problem.cost_rows)
    here = problem.at(weights / float(weights.sum()), np.full(ways, 1 / ways))
    found, query_boost, cost_boost = _BestPoints(here, here), 1.0, 1.0
    for step in range(steps):
        if step == _PATIENCE:
            found = problem.finished(found, gap)
        if found.is_within(gap):
            break
        here, query_boost = problem.move_queries(here, query_boost)
        if len(problem.cost_rows) > 1:
            here, cost_boost = problem.move_costs(here, cost_boost)
        found = found.including(here)
    best, bound = found.best, found.bounding.value
    status = "certified" if found.is_within(gap) else f"stopped after {steps} steps"
    noise_variance, weights = frozen(best.noise_variance / pcost), frozen(found.bounding.query_weights)
    return NoiseChoice(noise_variance, best.maximum / pcost * scale, bound / pcost * scale, status, weights)


@dataclass(frozen=True, eq=False, slots=True)
class _WeightedRows:
    """Where the search stands: weights, the noise they imply at cost 1, and both sides of the certificate.

    Ratios are those of each query's variance, and each cost, to the weighted mean of all.
    """

    query_weights: FloatArray
    cost_weights: FloatArray
    noise_variance: FloatArray
    variance_ratio: FloatArray
    cost_ratio: FloatArray
    value: float
    maximum: float


@dataclass(frozen=True, eq=False, slots=True)
class _BestPoints:
    """The point whose noise is best so far, and the one whose value bounds all others most."""

    best: _WeightedRows
    bounding: _WeightedRows

    def including(self, point: _WeightedRows) -> "_BestPoints":
        return _BestPoints(
            point if point.maximum < self.best.maximum else self.best,
            point if point.value > self.bounding.value else self.bounding,
        )

    def is_within(self, gap: float) -> bool:
        """Whether the best noise is proved to be within this fraction of the optimum."""
        return self.best.maximum - self.bounding.value <= gap * self.bounding.value


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
class _RowProblem:
    """Costs and variances as they depend on the noise."""

    cost_rows: FloatArray  # N (c, m)
    sparse_costs: "scipy.sparse.csr_array"  # the same
    variance_rows: "scipy.sparse.csr_array"  # M (q, m)
    variance_columns: "scipy.sparse.csc_array"  # its transpose

    def at(self, query_weights: FloatArray, cost_weights: FloatArray) -> _WeightedRows:
        """Evaluate both sides of the certificate, eqs. (16) and (17)."""
        # g = root_sum: s = sqrt(p / v) has variance and cost of weighted mean g.  g**2 bounds every noise's product
        # of the largest of both from below; this noise, scaled to cost 1, attains the largest ratios times that.
        p, v = cost_weights @ self.cost_rows, np.maximum(self.variance_columns @ query_weights, _LEAST)
        root_sum = float(np.sqrt(p * v).sum())
        noise_variance = np.sqrt(p / v)
        variance_ratio = (self.variance_rows @ noise_variance) / root_sum
        cost_ratio = (self.cost_rows @ (1 / noise_variance)) / root_sum if len(self.cost_rows) > 1 else np.ones(1)
        cost = root_sum * float(cost_ratio.max())
        value, maximum = root_sum**2, root_sum * float(variance_ratio.max()) * cost
        return _WeightedRows(
            query_weights, cost_weights, noise_variance * cost, variance_ratio, cost_ratio, value, maximum
        )

    def move_queries(self, point: _WeightedRows, boost: float) -> tuple[_WeightedRows, float]:
        """One step of the query weights, which never lowers the value, and the boost for the next one."""
        exponent = np.where(point.variance_ratio < 1, 2 * boost, 2.0)
        moved = self.at(_reweighted(point.query_weights, point.variance_ratio, exponent), point.cost_weights)
        if moved.value >= point.value:
            return moved, min(boost * _GROWTH, _LARGEST_BOOST)
        return self.at(_reweighted(point.query_weights, point.variance_ratio, 2.0), point.cost_weights), 1.0

    def move_costs(self, point: _WeightedRows, boost: float) -> tuple[_WeightedRows, float]:
        """One step of the cost weights, likewise.  Costs have most sets in common, so that all exponents grow."""
        while True:
            moved = self.at(point.query_weights, _reweighted(point.cost_weights, point.cost_ratio, 2 * boost))
            if moved.value >= point.value or boost <= 1:
                return moved, boost * _GROWTH
            boost = max(1.0, boost / 4)

    def finished(self, found: _BestPoints, gap: float) -> _BestPoints:
        """Newton steps from the weights found so far, until the gap is reached; where the problem allows them."""
        if self.cost_rows.shape[1] > _NEWTON_LIMIT:
            return found
        start = found.bounding.query_weights, found.bounding.cost_weights
        for weights in interior_weights(self, start):
            found = found.including(self.at(*weights))
            if found.is_within(gap):
                break
        return found

    @property
    def queries(self) -> int:
        """How many variance rows there are."""
        return int(self.variance_rows.shape[0])

    @property
    def groups(self) -> FloatArray:
        """Which rows are of either sort, (q + c, 2)."""
        return np.repeat(np.eye(2), [self.queries, len(self.cost_rows)], axis=0)

    def sums(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``lambda M`` and ``mu N``, (m,) each."""
        return self.variance_columns @ weights[: self.queries], self.sparse_costs.T @ weights[self.queries :]

    def slopes(self, weights: FloatArray) -> FloatArray:
        """The gradient of g, (q + c,)."""
        a, b = self.sums(weights)
        return np.concatenate([self.variance_rows @ np.sqrt(b / a), self.sparse_costs @ np.sqrt(a / b)]) / 2

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
        costs = self.sparse_costs @ scipy.sparse.diags_array(-root / b)
        rows = scipy.sparse.csr_array(
            scipy.sparse.vstack([self.variance_rows @ scipy.sparse.diags_array(root / a), costs])
        )
        # With D = slack / weights the curvature plus D is inverted through the smaller I + R^T D^-1 R (Woodbury).
        stiffness = weights / slack
        inner = (rows.T @ (scipy.sparse.diags_array(stiffness) @ rows)).toarray()
        inner[np.diag_indices_from(inner)] += 1
        factor = scipy.linalg.cho_factor(inner, overwrite_a=True)

        def solved(right: FloatArray) -> FloatArray:
            """Solve with the diagonal ``slack / weights`` plus the curvature, for each column of (q + c, k)."""
            near: FloatArray = stiffness[:, None] * right
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


def _reweighted(weights: FloatArray, ratio: FloatArray, exponent: FloatArray | float) -> FloatArray:
    with np.errstate(over="ignore"):
        raised = np.clip(weights * ratio**exponent, _LEAST_WEIGHT, 1 / _LEAST_WEIGHT)
    return raised / float(raised.sum())


def _problem(pcost_coefficient: ArrayLike, matrix: "scipy.sparse.csr_array") -> tuple[_RowProblem, float]:
    """The problem, with variances near the ends of floating point divided by a power of 16; and that power."""
    p = np.atleast_2d(np.asarray(pcost_coefficient, dtype=np.float64))
    exponent = 192 * round(math.frexp(float(matrix.data.max()))[1] / 256)
    scaled = matrix * math.ldexp(1.0, -exponent) if exponent else matrix
    return _RowProblem(p, scipy.sparse.csr_array(p), scaled, scaled.T), math.ldexp(1.0, exponent)


def interior_weights(
    problem: _RowProblem, start: tuple[FloatArray, FloatArray]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Weights of the variance rows (q,) and of the cost rows (c,), each with sum 1; 10 to 20 steps usually do.

    Newton steps from near ``start``, where many rows M (q, m) compete for the same noise at costs N (c, m).  The
    weights lambda and mu maximize the concave ``g = sum_A sqrt((mu N)_A (lambda M)_A)``, both at least 0 with sum 1.
    At the optimum there are a level for either sort of weights, and slacks z >= 0 with ``level - grad g = z`` and
    ``weight z = 0``, row by row.  With a small number in place of that 0, which shrinks from step to step (Mehrotra's
    predictor and corrector), the equations of Newton's method have as many unknowns as there are rows.  But with ``a =
    lambda M`` and ``b = mu N`` the curvature of g is ``-R diag(sqrt(a b) / 4) R^T`` with R the rows ``M / a`` above
    ``-N / b``, so that all that is factored is a matrix with a row for each base mechanism.  Source: eqs. (16), (17)
    and (37).
    """
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


def _room(values: FloatArray, change: FloatArray) -> float:
    """How far positive values may move by ``change``, at most 1."""
    falling = change < 0
    return min(1.0, _REACH * float((values[falling] / -change[falling]).min(initial=np.inf)))
