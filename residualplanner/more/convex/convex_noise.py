"""Noise for a convex loss, for either notion of neighbors: the least loss for a cost, or the least cost for a loss."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.method.noise.choice import NoiseChoice
from residualplanner.method.noise.minimax_noise import BOUNDED, joined_ways
from residualplanner.method.noise.noise_problem import NoiseProblem
from residualplanner.method.strategy.costs import LargestCosts, Worst
from residualplanner.method.strategy.variances import variance_matrix
from residualplanner.more.convex.convex import at_higher_cost, minimize_convex_loss
from residualplanner.more.convex.least_cost import costing_more, minimize_privacy_cost
from residualplanner.more.convex.loss_function import ConvexFunction

#: How many rounds of adding ways to differ there are for a convex loss, and how little more than known ends them.
_ROUNDS, _CLOSE = 30, 1e-9
#: The noise of a total that costs nothing, relative to that of the first attribute.
_TIED = 2.0**-60
#: A search for a convex loss, and what a larger cost makes of what it found; see `convex_noise`.
ConvexSearch = Callable[[FloatArray, sparse.csr_array], NoiseChoice]
Payment = Callable[[NoiseChoice, sparse.csr_array, float], NoiseChoice]


def least_convex_loss(problem: NoiseProblem, loss: ConvexFunction, *, pcost: float, solver: str) -> NoiseChoice:
    """The noise with the least loss at a privacy cost.  Source: eqs. (18) and (37)."""
    search = partial(minimize_convex_loss, loss=loss, pcost=pcost, solver=solver)
    return convex_noise(problem, search, partial(at_higher_cost, loss=loss))


def least_convex_cost(problem: NoiseProblem, loss: ConvexFunction, *, at_most: float, solver: str) -> NoiseChoice:
    """The noise with the least privacy cost whose loss is at most this.  Source: eqs. (18) and (37)."""
    return convex_noise(
        problem, partial(minimize_privacy_cost, loss=loss, at_most=at_most, solver=solver), costing_more
    )


def convex_noise(problem: NoiseProblem, search: ConvexSearch, pay: Payment) -> NoiseChoice:
    """The noise of every set (m,) that a search finds: for a privacy cost, or for a loss.

    Where records are replaced, the search is for a few ways in which they may differ; those that cost more are added
    until none does.  Each bound holds for the whole problem, since all it leaves out are constraints.

    Args:
        problem: the queries, and their bases.
        search: from rows of costs (c, f) of the f sets whose noise is free to choose, one for each way to differ, and
            the variances (q, f) of the queries from their noise, each in units of its query's scale.
        pay: from what a search found, the variances, and by what factor its noise costs more than the search knew, the
            same for that cost.

    Source: eqs. (18) and (37).
    """
    closure, costs = problem.workload.closure, problem.costs
    apart = sparse.diags_array(1 / problem.workload.scales**2)
    variance = sparse.csr_array(apart @ variance_matrix(problem.workload, closure, problem.numbers))
    if costs.is_sum:
        return search(costs.rows(), variance)
    total, ways, best = int(closure.offsets[1]), costs.first, None
    tied = sparse.csr_array(([_TIED], ([0], [0])), shape=(total, len(closure) - total))
    noise = sparse.csr_array(sparse.vstack([tied, sparse.eye_array(len(closure), format="csr")[total:, total:]]))
    variance = sparse.csr_array(variance @ noise)
    for _ in range(_ROUNDS):
        found, worst, known = _judged(costs, costs.rows(ways), noise, search, variance)
        paid = pay(found, variance, worst.cost / known)
        bound = found.bound if best is None else max(best.bound, found.bound)
        best = replace(min(paid, best or paid, key=lambda choice: choice.loss), bound=bound)
        more = joined_ways(ways, worst.ways, costs.rows(worst.ways)[:, total:] @ (1 / found.noise_variance) / known)
        if len(more) == len(ways) or worst.cost <= known * (1 + _CLOSE):
            break
        ways = more
    assert best is not None
    if best.gap > problem.gap:
        found, worst, known = _judged(costs, costs.summed, noise, search, variance)
        paid = pay(found, variance, worst.cost / known)
        best = replace(min(paid, best, key=lambda choice: choice.loss), bound=best.bound)
        best = replace(best, status=f"{best.status}, {BOUNDED}")
    return replace(best, noise_variance=frozen(np.asarray(noise @ best.noise_variance)))


def _judged(
    costs: LargestCosts, rows: FloatArray, noise: sparse.csr_array, search: ConvexSearch, variance: sparse.csr_array
) -> tuple[NoiseChoice, Worst, float]:
    """What a search finds for some rows of costs (c, m), what its noise costs, and what the search thinks it does."""
    rows = rows[:, rows.shape[1] - noise.shape[1] :]
    found = search(rows, variance)
    known = float((rows @ (1 / found.noise_variance)).max())
    return found, costs.worst(np.asarray(noise @ found.noise_variance)), known
