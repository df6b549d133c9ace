"""Minimax problems over the noise of a closure at privacy cost 1, for either notion of neighbors.

Reads: rows of which the largest is to be small, the numbers of attributes, neighbors.  Gives: NoiseChoice.
Source: spec eqs. (15) to (17) and (37).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray, frozen
from residualplanner.bases import ResidualNumbers
from residualplanner.optimize.noise.choice import NoiseChoice
from residualplanner.optimize.noise.minimax import minimize_maximum_variance
from residualplanner.privacy import Neighbors
from residualplanner.strategy import (
    CORNER_LIMIT,
    FOR_THE_BOUND,
    corner_costs,
    corner_rows,
    has_corners,
    occurring,
    safe_row,
    with_token_cost,
)
from residualplanner.workload import Closure

#: How many rounds of adding ways to differ, and how many are added at a time.
_ROUNDS = 60
_ADDED = 16


@dataclass(frozen=True, eq=False, slots=True)
class MinimaxProblem:
    """A minimax problem over classes of closure sets.

    Attributes:
        closure: the sets.
        numbers: of the attributes.
        neighbors: who must not be told apart.
        variance (q, classes): the rows of which the largest is minimized.
        start (q,): positive weights of the rows to begin from, such as how many queries each stands for.
        member (m,): the class of every set of the closure.
        steps: how many steps a search may take.
    """

    closure: Closure
    numbers: ResidualNumbers
    neighbors: Neighbors
    variance: sparse.csr_array
    start: FloatArray
    member: NDArray[np.int64]
    steps: int = 20_000

    def summed(self, rows: FloatArray) -> FloatArray:
        """Add up the columns (c, m) of each class, (c, classes)."""
        if self.variance.shape[1] == len(self.member):
            return rows
        added: FloatArray = rows @ indicator(self.member)
        return added


def least_maximum_row(problem: MinimaxProblem, gap: float) -> NoiseChoice:
    """The noise of every set (m,), at cost 1, whose largest row is least."""
    closure, factor = problem.closure, problem.neighbors.cost_factor
    if problem.neighbors.notion == "add-remove":
        return _solved(problem, closure.products(problem.numbers.pcost)[None, :] * factor, gap)
    if has_corners(closure, problem.numbers, CORNER_LIMIT):
        return _least_over_corners(problem, gap)
    choice = _solved(problem, safe_row(closure, problem.numbers)[None, :] * factor, gap)
    return replace(choice, status=f"{choice.status} {FOR_THE_BOUND}")


def _least_over_corners(problem: MinimaxProblem, gap: float) -> NoiseChoice:
    """Solve for a few ways to differ, add those that cost more, and repeat until none does.

    A problem with fewer ways to differ bounds the whole one from below; the noise found, scaled to the largest cost
    over all of them, bounds it from above.
    """
    closure, sizes, factor = problem.closure, problem.numbers.sizes, problem.neighbors.cost_factor
    count = len(occurring(closure))
    corners = np.unique(np.array([(1 << count) - 1, *(1 << np.arange(count))], dtype=np.int64))
    best = None
    for _ in range(_ROUNDS):
        choice = _solved(problem, corner_rows(closure, sizes, corners) * factor, gap / 4)
        precision = 1 / choice.noise_variance
        precision[: int(closure.offsets[1])] = 0.0
        costs = corner_costs(closure, sizes, precision) * factor
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


def _solved(problem: MinimaxProblem, rows: FloatArray, gap: float) -> NoiseChoice:
    """Solve for costs ``rows`` (c, m).

    The bound is one for free noise being free: the root sum loses at most the shares of the token costs.
    """
    costs = problem.summed(with_token_cost(rows))
    choice = minimize_maximum_variance(
        costs, problem.variance, pcost=1.0, gap=gap, start=problem.start, steps=problem.steps
    )
    free = np.flatnonzero(problem.summed(rows).max(axis=0) <= 0)
    token = np.sqrt(costs[:, free].max(axis=0) * problem.variance[:, free].max(axis=0).toarray()).sum()
    bound = max(math.sqrt(choice.bound) - float(token), 0.0) ** 2
    return replace(choice, noise_variance=frozen(choice.noise_variance[problem.member]), bound=bound)


def indicator(group: NDArray[np.int64]) -> sparse.csr_array:
    """The matrix that adds up the columns of each group, (m, groups)."""
    ones, rows = np.ones(len(group)), np.arange(len(group) + 1)
    return sparse.csr_array((ones, group, rows), shape=(len(group), int(group.max()) + 1))
