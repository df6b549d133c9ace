"""From a workload and a budget to a plan: the best noise for a loss, or the least budget for one.

Reads: a workload, a budget, a loss.  Gives: Plan.  Never sees a record.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray, frozen, require_positive
from residualplanner.bases import ResidualNumbers, subtraction_numbers
from residualplanner.errors import BudgetError, WorkloadError
from residualplanner.plan.losses import (
    ConvexLoss,
    Loss,
    MaxVariance,
    SumOfVariances,
    describe_loss,
    importance_of,
    read_loss,
)
from residualplanner.plan.plan import Plan
from residualplanner.plan.variances import cost_upper_bound, variance_matrix, variance_weights
from residualplanner.privacy import Budget, pcost
from residualplanner.selection import (
    NoiseChoice,
    minimize_convex_loss,
    minimize_maximum_variance,
    minimize_privacy_cost,
    minimize_weighted_variance,
)
from residualplanner.workload import Workload, workload_orbits

#: The factor by which a cost is kept from its limit, so that rounding never oversteps it; it costs 1e-11 in accuracy.
_RESERVE = 1 + 1e-11


def select(
    workload: Workload,
    *,
    budget: Budget | None = None,
    at_most: float | None = None,
    loss: Loss = "sum",
    gap: float = 1e-6,
    neighbors: str = "add-remove",
) -> Plan:
    """Choose the noise that makes a loss as small as a budget allows, or the least budget that reaches a loss.

    Args:
        workload: the queries to publish.
        budget: what may be spent, such as ``zcdp(0.5)``; give this or ``at_most``.
        at_most: the largest loss allowed, in counts squared for the built-in losses; the plan spends the least it can.
        loss: "sum" (of all cell variances), "max" (the largest cell variance), `SumOfVariances`, `MaxVariance`, or a
            function from a CVXPY vector of the queries' average cell variances to a convex CVXPY expression.
        gap: for "max", how close to the optimum is close enough, as a fraction.
        neighbors: "add-remove": data sets are neighbors if one has a record more.

    Returns:
        The plan, with its proved gap to the optimum.

    Raises:
        BudgetError: both or neither of ``budget`` and ``at_most``; a number is not positive and finite; no noise
            reaches ``at_most``; the budget is too small or large for floating point; ``neighbors`` is another notion.
        WorkloadError: weights do not fit, or leave noise that no query limits; the closure is too large.
        SolverError: the convex solver gave no usable answer.

    Guarantees: the plan's privacy cost, recomputed and rounded up, is at most the budget.
    Source: spec section 3; paper section 6.

    Example:
        >>> from residualplanner.domain import Domain
        >>> from residualplanner.privacy import pcost
        >>> from residualplanner.workload import marginals
        >>> cps = Domain({"income": 50, "age": 100, "race": 7, "marital": 4, "sex": 2})
        >>> plan = select(marginals(cps, order=2), budget=pcost(1))
        >>> round(plan.rmse, 3)  # spec section 9
        2.035
    """
    _require_one_limit(budget, at_most)
    if neighbors != "add-remove":
        raise BudgetError(f"neighbors must be 'add-remove', got {neighbors!r}")
    if not isinstance(workload, Workload):
        raise WorkloadError(f"select plans for a Workload, got {type(workload).__name__}; make one with marginals()")
    asked, numbers = read_loss(loss), subtraction_numbers(workload.domain.sizes)
    gap = require_positive("gap", gap)
    if isinstance(asked, ConvexLoss):
        return _convex_plan(workload, numbers, asked, budget, at_most)

    choice = _unit_choice(workload, numbers, asked, gap)
    spent = _spendable(budget) if at_most is None else choice.loss / require_positive("at_most", at_most) * _RESERVE
    with np.errstate(over="ignore", under="ignore"):
        noise_variance = choice.noise_variance / spent
    return _plan(workload, numbers, noise_variance, choice, budget, asked, choice.loss / spent)


def _unit_choice(
    workload: Workload, numbers: ResidualNumbers, loss: SumOfVariances | MaxVariance, gap: float
) -> NoiseChoice:
    """The best noise at privacy cost 1; these losses are proportional to noise, so it serves every cost."""
    importance = importance_of(workload, loss.weights)
    if isinstance(loss, MaxVariance):
        return _minimax(workload, numbers, importance, gap)
    weights = variance_weights(workload, numbers, importance)
    _require_limited(workload, weights)
    return minimize_weighted_variance(workload.closure.products(numbers.pcost), weights, pcost=1.0)


def _minimax(workload: Workload, numbers: ResidualNumbers, importance: FloatArray, gap: float) -> NoiseChoice:
    """The least maximum variance, over orbits where the workload is symmetric.

    Noise that is the same on each orbit of sets suffices, by convexity; its cost counts an orbit as often as it has
    sets, and one query of each orbit stands for all.
    """
    cost = workload.closure.products(numbers.pcost)
    orbits = workload_orbits(workload, workload.domain.sizes, importance)
    if orbits is None:
        matrix = variance_matrix(workload, workload.closure, numbers)
        matrix.data *= np.repeat(importance, np.diff(matrix.indptr))
        _require_limited(workload, matrix.T @ np.ones(len(workload)))
        return minimize_maximum_variance(cost, matrix, pcost=1.0, gap=gap)
    matrix = variance_matrix(workload.take(orbits.representative), workload.closure, numbers)
    matrix.data *= np.repeat(importance[orbits.representative], np.diff(matrix.indptr))
    matrix = matrix @ _indicator(orbits.member)
    _require_limited(workload, (matrix.T @ np.ones(len(orbits.query_size)))[orbits.member])
    choice = minimize_maximum_variance(
        np.bincount(orbits.member, weights=cost), matrix, pcost=1.0, gap=gap, start=orbits.query_size
    )
    return replace(choice, noise_variance=frozen(choice.noise_variance[orbits.member]))


def _convex_plan(
    workload: Workload, numbers: ResidualNumbers, loss: ConvexLoss, budget: Budget | None, at_most: float | None
) -> Plan:
    cost = workload.closure.products(numbers.pcost)
    matrix = variance_matrix(workload, workload.closure, numbers)
    if at_most is None:
        spent = _spendable(budget)
        choice = minimize_convex_loss(cost, matrix, loss.function, pcost=spent, solver=loss.solver)
        return _plan(workload, numbers, choice.noise_variance, choice, budget, loss, choice.loss)
    choice = minimize_privacy_cost(cost, matrix, loss.function, at_most=at_most, solver=loss.solver)
    return _plan(workload, numbers, choice.noise_variance, choice, None, loss, at_most)


def _plan(
    workload: Workload,
    numbers: ResidualNumbers,
    noise_variance: FloatArray,
    choice: NoiseChoice,
    budget: Budget | None,
    loss: SumOfVariances | MaxVariance | ConvexLoss,
    loss_value: float,
) -> Plan:
    if not (np.isfinite(noise_variance) & (noise_variance > 0)).all():
        raise BudgetError("the budget or at_most is too small or too large for floating-point noise variances")
    return Plan(
        workload=workload,
        noise_array=noise_variance,
        budget=budget or _least_budget(cost_upper_bound(workload.closure, numbers, noise_variance)),
        loss=describe_loss(loss),
        loss_value=loss_value,
        gap=choice.gap,
        status=choice.status,
    )


def _least_budget(cost: float) -> Budget:
    """A budget that covers ``cost``; one float more, since a budget reads the decimal spelling where it is smaller."""
    return pcost(math.nextafter(cost, math.inf))


def _spendable(budget: Budget | None) -> float:
    """A float a little below the budget's exact privacy cost."""
    assert budget is not None
    try:
        spendable = float(budget.pcost_exact) / _RESERVE
    except OverflowError:
        spendable = math.inf
    return require_positive("the budget's pcost", spendable)


def _require_one_limit(budget: Budget | None, at_most: float | None) -> None:
    if (budget is None) == (at_most is None):
        raise BudgetError("give exactly one of budget= and at_most=")
    if budget is not None and not isinstance(budget, Budget):
        raise BudgetError(f"budget must be one of zcdp, gdp, approx_dp or pcost, such as zcdp(0.5), got {budget!r}")
    if at_most is not None:
        require_positive("at_most", at_most)


def _require_limited(workload: Workload, weights: FloatArray) -> None:
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
