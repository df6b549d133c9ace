"""The best noise at privacy cost 1 for losses that are proportional to it, so that one answer serves every budget.

Reads: a workload, the importance of its queries, neighbors.  Gives: NoiseChoice.
Source: spec eqs. (14) to (17) and (37).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray, frozen
from residualplanner.bases import ResidualNumbers
from residualplanner.errors import WorkloadError
from residualplanner.plan.neighbor_costs import (
    CORNER_LIMIT,
    FOR_THE_BOUND,
    corner_costs,
    corner_rows,
    occurring,
    safe_row,
    with_token_cost,
)
from residualplanner.plan.variances import variance_matrix, variance_weights
from residualplanner.privacy import Neighbors
from residualplanner.selection import NoiseChoice, minimize_maximum_variance, minimize_weighted_variance
from residualplanner.workload import Workload, workload_orbits

#: How many rounds of adding ways to differ, and how many are added at a time.
_ROUNDS = 60
_ADDED = 16


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
    """A minimax problem over classes of closure sets.

    Attributes:
        variance (q, classes): the rows of which the largest is minimized.
        start (q,): how many queries each row stands for.
        member (m,): the class of every set of the closure.
    """

    variance: sparse.csr_array
    start: FloatArray
    member: NDArray[np.int64]

    def summed(self, rows: FloatArray) -> FloatArray:
        """Add up the columns (c, m) of each class, (c, classes)."""
        if self.variance.shape[1] == len(self.member):
            return rows
        added: FloatArray = rows @ _indicator(self.member)
        return added


def least_sum(
    workload: Workload, numbers: ResidualNumbers, importance: FloatArray, neighbors: Neighbors, *, gap: float
) -> NoiseChoice:
    """The least sum of average cell variances weighted by ``importance`` (q,), at privacy cost 1.

    It is a closed form, or where records are replaced a search like that of `least_maximum`, over one row.

    Raises:
        WorkloadError: some noise matters to no query of positive importance.

    Source: spec eq. (14); for "replace" eq. (37).
    """
    weights = variance_weights(workload, numbers, importance)
    require_limited(workload, weights)
    if neighbors.notion == "add-remove":
        cost = workload.closure.products(numbers.pcost) * neighbors.cost_factor
        return minimize_weighted_variance(cost, weights, pcost=1.0)
    orbits = workload_orbits(workload, workload.domain.sizes, importance)
    row, member = sparse.csr_array(weights[None, :]), np.arange(len(weights))
    if orbits is not None:
        row, member = row @ _indicator(orbits.member), orbits.member
    problem = _Problem(row, np.ones(1), member)
    return _least_maximum(workload, numbers, problem, neighbors, gap)


def least_maximum(
    workload: Workload, numbers: ResidualNumbers, importance: FloatArray, neighbors: Neighbors, *, gap: float
) -> NoiseChoice:
    """The least maximum of average cell variances times ``importance`` (q,), at privacy cost 1.

    Noise that is the same on each orbit of sets suffices, by convexity, where the workload is symmetric; one query of
    each orbit stands for all.

    Raises:
        WorkloadError: some noise matters to no query of positive importance.

    Source: spec eqs. (15) to (17); for "replace" eq. (37).
    """
    orbits = workload_orbits(workload, workload.domain.sizes, importance)
    chosen = np.arange(len(workload)) if orbits is None else orbits.representative
    queries = workload if orbits is None else workload.take(chosen)
    matrix = variance_matrix(queries, workload.closure, numbers)
    matrix.data *= np.repeat(importance[chosen], np.diff(matrix.indptr))
    if orbits is None:
        problem = _Problem(matrix, np.ones(len(chosen)), np.arange(len(workload.closure)))
    else:
        problem = _Problem(matrix @ _indicator(orbits.member), orbits.query_size.astype(np.float64), orbits.member)
    require_limited(workload, (problem.variance.T @ np.ones(len(chosen)))[problem.member])
    return _least_maximum(workload, numbers, problem, neighbors, gap)


def _least_maximum(
    workload: Workload, numbers: ResidualNumbers, problem: _Problem, neighbors: Neighbors, gap: float
) -> NoiseChoice:
    closure = workload.closure
    if neighbors.notion == "add-remove":
        return _solved(problem, closure.products(numbers.pcost)[None, :] * neighbors.cost_factor, gap)
    if len(occurring(closure)) <= CORNER_LIMIT:
        return _least_over_corners(workload, numbers, problem, neighbors, gap)
    choice = _solved(problem, safe_row(closure, numbers.sizes)[None, :] * neighbors.cost_factor, gap)
    return replace(choice, status=f"{choice.status} {FOR_THE_BOUND}")


def _least_over_corners(
    workload: Workload, numbers: ResidualNumbers, problem: _Problem, neighbors: Neighbors, gap: float
) -> NoiseChoice:
    """Solve for a few ways to differ, add those that cost more, and repeat until none does.

    A problem with fewer ways to differ bounds the whole one from below; the noise found, scaled to the largest cost
    over all of them, bounds it from above.
    """
    closure, factor = workload.closure, neighbors.cost_factor
    count = len(occurring(closure))
    corners = np.unique(np.array([(1 << count) - 1, *(1 << np.arange(count))], dtype=np.int64))
    best = None
    for _ in range(_ROUNDS):
        choice = _solved(problem, corner_rows(closure, numbers.sizes, corners) * factor, gap / 4)
        precision = 1 / choice.noise_variance
        precision[: int(closure.offsets[1])] = 0.0
        costs = corner_costs(closure, numbers.sizes, precision) * factor
        worst = float(costs.max())
        bound = choice.bound if best is None else max(best.bound, choice.bound)
        scaled = replace(choice, noise_variance=frozen(choice.noise_variance * worst), loss=choice.loss * worst)
        best = replace(min(scaled, best or scaled, key=lambda found: found.loss), bound=bound)
        if best.gap <= gap:
            return replace(best, status="certified")
        order = np.argsort(costs)[::-1][:_ADDED]
        added = np.setdiff1d(order[costs[order] > 1], corners)
        if not len(added):
            break
        corners = np.concatenate([corners, added])
    assert best is not None
    return replace(best, status=f"stopped with {len(corners)} ways to differ")


def _solved(problem: _Problem, rows: FloatArray, gap: float) -> NoiseChoice:
    """Solve for costs ``rows`` (c, m).

    The bound is one for free noise being free: the root sum loses at most the shares of the token costs.
    """
    costs = problem.summed(with_token_cost(rows))
    choice = minimize_maximum_variance(costs, problem.variance, pcost=1.0, gap=gap, start=problem.start)
    free = np.flatnonzero(problem.summed(rows).max(axis=0) <= 0)
    token = np.sqrt(costs[:, free].max(axis=0) * problem.variance[:, free].max(axis=0).toarray()).sum()
    bound = max(math.sqrt(choice.bound) - float(token), 0.0) ** 2
    return replace(choice, noise_variance=frozen(choice.noise_variance[problem.member]), bound=bound)


def require_limited(workload: Workload, weights: FloatArray) -> None:
    """Refuse a loss that leaves some noise unlimited: queries of weight 0 would be answered with infinite noise."""
    unlimited = np.flatnonzero(~(weights > 0))
    if len(unlimited):
        names = tuple(workload.domain.names[position] for position in workload.closure[int(unlimited[0])])
        raise WorkloadError(
            f"every query that contains {names!r} has weight 0, so nothing limits its noise; "
            "give one of them a positive weight, or leave them out"
        )


def _indicator(group: NDArray[np.int64]) -> sparse.csr_array:
    """The matrix that adds up the columns of each group, (m, groups)."""
    ones, rows = np.ones(len(group)), np.arange(len(group) + 1)
    return sparse.csr_array((ones, group, rows), shape=(len(group), int(group.max()) + 1))
