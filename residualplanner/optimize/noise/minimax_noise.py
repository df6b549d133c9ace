"""Minimax problems over the noise of a closure at privacy cost 1, for either notion of neighbors.

Reads: rows of which the largest is to be small, unit costs.  Gives: NoiseChoice.
Source: spec eqs. (15) to (17) and (37).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from residualplanner._checks import FloatArray, frozen
from residualplanner.optimize.noise.choice import NoiseChoice
from residualplanner.optimize.noise.minimax import minimize_maximum_variance
from residualplanner.strategy import CornerCosts, UnitCosts, with_token_cost
from residualplanner.workload import Orbits

#: How many rounds of adding ways to differ, and how many are added at a time.
_ROUNDS = 60
_ADDED = 16


@dataclass(frozen=True, eq=False, slots=True)
class MinimaxProblem:
    """A minimax problem over orbits of closure sets.

    Attributes:
        costs: of the sets at unit noise.
        variance (q, orbits): the rows of which the largest is minimized.
        start (q,): positive weights of the rows to begin from, such as how many queries each stands for.
        orbits: of the sets.
        steps: how many steps a search may take.
    """

    costs: UnitCosts
    variance: sparse.csr_array
    start: FloatArray
    orbits: Orbits
    steps: int = 20_000


def least_maximum_row(problem: MinimaxProblem, gap: float) -> NoiseChoice:
    """The noise of every set (m,), at cost 1, whose largest row is least."""
    costs = problem.costs
    if not costs.is_sum:
        return _least_over_corners(problem, costs, gap)
    choice = _solved(problem, costs.rows(costs.every), gap)
    return replace(choice, status=choice.status + costs.remark)


def _least_over_corners(problem: MinimaxProblem, costs: CornerCosts, gap: float) -> NoiseChoice:
    """Solve for a few ways to differ, add those that cost more, and repeat until none does.

    A problem with fewer ways to differ bounds the whole one from below; the noise found, scaled to the largest cost
    over all of them, bounds it from above.
    """
    corners, best = costs.first, None
    for _ in range(_ROUNDS):
        choice = _solved(problem, costs.rows(corners), gap / 4)
        every = costs.of_every_way(choice.noise_variance)
        worst = float(every.max())
        bound = choice.bound if best is None else max(best.bound, choice.bound)
        scaled = replace(choice, noise_variance=frozen(choice.noise_variance * worst), loss=choice.loss * worst)
        best = replace(min(scaled, best or scaled, key=lambda found: found.loss), bound=bound)
        if best.gap <= gap:
            return replace(best, status="certified")
        order = np.argsort(every)[::-1][:_ADDED]
        added = np.setdiff1d(order[every[order] > 1], corners)
        if not len(added):
            break
        corners = np.concatenate([corners, added])
    assert best is not None
    return replace(best, status=f"stopped with {len(corners)} ways to differ")


def _solved(problem: MinimaxProblem, rows: FloatArray, gap: float) -> NoiseChoice:
    """Solve for costs ``rows`` (c, m).

    The bound is one for free noise being free: the root sum loses at most the parts of the token costs.
    """
    costs, variance = problem.orbits.sum_sets(with_token_cost(rows)), problem.variance
    choice = minimize_maximum_variance(costs, variance, pcost=1.0, gap=gap, start=problem.start, steps=problem.steps)
    free = np.flatnonzero(problem.orbits.sum_sets(rows).max(axis=0) <= 0)
    token = np.sqrt(costs[:, free].max(axis=0) * variance[:, free].max(axis=0).toarray()).sum()
    bound = max(math.sqrt(choice.bound) - float(token), 0.0) ** 2
    return replace(choice, noise_variance=frozen(choice.noise_variance[problem.orbits.member]), bound=bound)
