"""Noise for a convex loss, for either notion of neighbors: the least loss for a cost, or the least cost for a loss.

Source: eqs. (18), (33) and (37).

The least cost is found by planning for one budget after another.  The noise for a budget, made larger or smaller in
proportion until it just reaches the limit, costs at least the least cost; the planes below the loss cost at most it.
The two meet after a few budgets.

Bounds of sums are bounds of the loss.  With g its slopes at the variances v of a plan, no variances that have the loss
of v, or a smaller one, have a smaller sum weighted by g: where they did, the loss would be smaller, by convexity.  So
no mechanism has the loss of the plan at less than the part of its privacy cost that is the bound of that sum, divided
by what it is here.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import BudgetError, SolverError
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.noise.choice import ChosenNoise, NoiseChoice
from residualplanner.method.noise.minimax_noise import BOUNDED, joined_ways
from residualplanner.method.noise.noise_problem import NoiseProblem
from residualplanner.method.strategy.costs import LargestCosts, Worst
from residualplanner.method.strategy.variances import variance_matrix
from residualplanner.more.convex import convex
from residualplanner.more.convex.loss_function import ConvexFunction, read_loss_function

#: How many rounds of adding ways to differ there are for a convex loss, and how little more than known ends them.
_ROUNDS, _CLOSE = 30, 1e-9
#: The noise of a total that costs nothing, relative to that of the first attribute.
_TIED = 2.0**-60
#: A gap at which the search for the least cost ends, and the most budgets that are planned for.
_GAP, _BUDGETS = 1e-8, 40
#: By what factor the next budget is larger where none has reached the limit.
_MORE = 16.0
#: The power of 2 up to which noise is made larger or smaller, and by what part less so that rounding oversteps nothing.
_LARGEST, _RESERVE = 300.0, 1e-11
#: In how many directions, and how far, it is looked whether slopes change by more than this fraction, as at a kink.
_LOOKS, _NEAR, _TURNED = 8, 1e-5, 1e-2
#: A search for a convex loss, and what a larger cost makes of what it found; see `_convex_noise`.
ConvexSearch = Callable[[FloatArray, sparse.csr_array], NoiseChoice]
Payment = Callable[[NoiseChoice, sparse.csr_array, float], NoiseChoice]


def least_convex_loss(problem: NoiseProblem, loss: ConvexFunction, *, pcost: float, solver: str) -> NoiseChoice:
    """The noise with the least loss at a privacy cost.  Source: eqs. (18) and (37)."""

    def pay(choice: NoiseChoice, variance_coefficient: sparse.csr_array, factor: float) -> NoiseChoice:
        if factor <= 1:
            return choice
        noise_variance = frozen(choice.noise_variance * factor)
        function = read_loss_function(loss, variance_coefficient.shape[0])
        value = function.value(variance_coefficient @ noise_variance)
        return replace(choice, noise_variance=noise_variance, loss=value)

    return _convex_noise(problem, partial(convex.minimize_convex_loss, loss=loss, pcost=pcost, solver=solver), pay)


def least_convex_cost(problem: NoiseProblem, loss: ConvexFunction, *, at_most: float, solver: str) -> NoiseChoice:
    """The noise with the least privacy cost whose loss is at most this.  Source: eqs. (18) and (37)."""
    search = partial(minimize_privacy_cost, loss=loss, at_most=at_most, solver=solver)
    return _convex_noise(problem, search, lambda choice, _, factor: replace(choice, loss=choice.loss * factor))


def _convex_noise(problem: NoiseProblem, search: ConvexSearch, pay: Payment) -> NoiseChoice:
    """The noise of every set (m,) that a search finds: for a privacy cost, or for a loss.  Source: eqs. (18) and (37).

    Where records are replaced, the search is for a few ways in which they may differ; those that cost more are added
    until none does.  Each bound holds for the whole problem, since all it leaves out are constraints.  The search is
    given rows of costs (c, f) of the f sets whose noise is free to choose, one for each way to differ, and the
    variances (q, f) of the queries from their noise, each in units of its query's scale; ``pay`` what it found, the
    variances, and by what factor its noise costs more than the search knew, and makes it one for that cost.
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
        best = pay(found, variance, worst.cost / known).or_better(best)
        more = joined_ways(ways, worst.ways, costs.rows(worst.ways)[:, total:] @ (1 / found.noise_variance) / known)
        if len(more) == len(ways) or worst.cost <= known * (1 + _CLOSE):
            break
        ways = more
    assert best is not None
    if best.gap > problem.gap:
        found, worst, known = _judged(costs, costs.summed, noise, search, variance)
        best = replace(pay(found, variance, worst.cost / known), bound=best.bound).or_better(best)
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


def minimize_privacy_cost(
    pcost_coefficient: ArrayLike,
    variance_coefficient: sparse.csr_array,
    loss: ConvexFunction,
    *,
    at_most: float,
    solver: str = "CLARABEL",
) -> NoiseChoice:
    """Minimize ``sum_A p_A / s_A`` over ``s > 0`` subject to ``loss(M s) <= at_most``; else as `minimize_convex_loss`.

    Of the cheapest noise found ``loss`` and ``bound`` are privacy costs.  The bound is a proof as there; it is 0, and
    the gap infinite, where there are no tangents.  Source: eq. (18), the utility-constrained twin.
    """
    problem = convex.convex_problem(pcost_coefficient, variance_coefficient, loss, solver)
    best, cost, bound, status = None, math.inf, 0.0, ""
    # The largest budget whose best noise did not reach the limit, as the solver has it; it guides the search only.
    missed, gap, budget = 0.0, math.inf, _likely_cost(problem, at_most)
    for _ in range(_BUDGETS):
        try:
            solved, said = convex.solved_for(problem, budget)
        except SolverError:
            if best is None:
                raise
            break  # what was found for other budgets, and its bound, are as good as before
        bound = max(bound, solved.least_cost(at_most))
        if bound == math.inf:
            raise BudgetError(f"no noise brings the loss down to at_most={at_most!r}; allow a larger loss")
        if solved.value > at_most:
            missed = max(missed, budget)
        noise_variance = _largest_within(problem, solved.noise_variance, at_most)
        if noise_variance is not None and problem.cost(noise_variance) < cost:
            best, cost, status = noise_variance, problem.cost(noise_variance), said
        before, known = gap, max(bound, missed)
        gap = cost / known - 1 if known > 0 and cost < math.inf else math.inf
        if gap <= _GAP:
            break
        # The cost that was enough; halfway to what was not enough, where that brings little.
        halfway = math.sqrt(cost) * math.sqrt(known) if gap > before / 2 and known else cost
        budget = halfway if cost < math.inf else max(_MORE * budget, bound)
    if best is None:
        raise BudgetError(f"no noise was found that brings the loss down to at_most={at_most!r}; allow a larger loss")
    return NoiseChoice(frozen(best), cost, min(bound, cost), status)


def _likely_cost(problem: convex.ConvexProblem, at_most: float) -> float:
    variance = problem.M @ convex.proportional_noise(problem, 1.0)
    ratio = problem.loss.value(variance) / at_most if at_most else 1.0
    if not 0 < ratio < math.inf:
        return 1.0
    guess = ratio ** (1 / (problem.loss.degree(variance) or 1.0))
    return guess if 0 < guess < math.inf else 1.0


def _largest_within(problem: convex.ConvexProblem, noise_variance: FloatArray, at_most: float) -> FloatArray | None:
    """The largest multiple of this noise whose loss is within the limit; None if there is none."""

    def fits(power: float) -> bool:
        return problem.value(noise_variance * 2.0**power) <= at_most

    # No change first, then ever less noise, then ever more.
    powers = [0.0, *np.arange(-1.0, -_LARGEST, -1.0).tolist(), *np.arange(1.0, _LARGEST, 1.0).tolist()]
    low = next((power for power in powers if fits(power)), None)
    if low is None:
        return None
    high = next((power for power in np.arange(low + 1, _LARGEST + 1) if not fits(power)), None)
    if high is None:
        raise BudgetError(f"at_most={at_most!r} is reached by noise of any size: nothing is to be measured for it")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    within: FloatArray = noise_variance * 2.0**low
    less: FloatArray = within * (1 - _RESERVE)
    return less if problem.value(less) <= at_most else within


def touching_sum(
    problem: NoiseProblem, found: ChosenNoise, loss: ConvexFunction
) -> tuple[SumOfVariances, float] | None:
    """The sum with the slopes of a loss as weights, and what it is for some noise; None at a kink."""
    workload, function = problem.workload, read_loss_function(loss, len(problem.workload))
    variances = problem.average_variances(found)
    moves = 1 + _NEAR * np.random.default_rng(0).standard_normal((_LOOKS, len(variances)))
    slopes = np.array([function.subgradient(variances * each) for each in (np.ones(len(variances)), *moves)])
    value = float(slopes[0] @ variances)
    with np.errstate(all="ignore"):
        turned = np.abs(slopes - slopes[0]) @ variances / value
        weights = slopes[0] / workload.weights
    if not (np.isfinite(weights).all() and weights.min() >= 0 and value > 0 and turned.max() <= _TURNED):
        return None
    return SumOfVariances(weights), value
