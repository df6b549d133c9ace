"""From a workload and a budget to a plan: the best noise for a loss, or the least budget for one.

Reads: a workload, a budget, a loss.  Gives: Plan.  Never sees a record.
"""

import math

import numpy as np

from residualplanner._checks import FloatArray, require_positive
from residualplanner.bases import ResidualNumbers, subtraction_numbers
from residualplanner.errors import BudgetError, WorkloadError
from residualplanner.plan.convex_noise import least_convex, least_cost
from residualplanner.plan.costs import cost_upper_bound, require_public_total
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
from residualplanner.plan.unit_noise import least_maximum, least_sum
from residualplanner.privacy import Budget, Neighbors, Notion, pcost
from residualplanner.selection import NoiseChoice
from residualplanner.workload import Workload

#: The factor by which a cost is kept from its limit, so that rounding never oversteps it; it costs 1e-11 in accuracy.
_RESERVE = 1 + 1e-11


def select(
    workload: Workload,
    *,
    budget: Budget | None = None,
    at_most: float | None = None,
    loss: Loss = "sum",
    gap: float = 1e-6,
    neighbors: Notion = "add-remove",
    records_per_person: int = 1,
) -> Plan:
    """Choose the noise that makes a loss as small as a budget allows, or the least budget that reaches a loss.

    Args:
        workload: the queries to publish.
        budget: what may be spent, such as ``zcdp(0.5)``; give this or ``at_most``.
        at_most: the largest loss allowed, in counts squared for the built-in losses; the plan spends the least it can.
        loss: "sum" (of all cell variances), "max" (the largest cell variance), `SumOfVariances`, `MaxVariance`, or a
            function from a CVXPY vector of the queries' average cell variances to a convex CVXPY expression.
        gap: how close to the optimum is close enough, as a fraction; for "max", and where records are replaced for all
            built-in losses.
        neighbors: "add-remove": data sets are neighbors if one has a record more; "replace": if a record has other
            values, the number of records being public.
        records_per_person: the most records one person contributes, all of which may change; a promise about the data.

    Returns:
        The plan, with its proved gap to the optimum.

    Raises:
        BudgetError: both or neither of ``budget`` and ``at_most``; a number is not positive and finite; no noise
            reaches ``at_most``; the budget is too small or large for floating point; ``neighbors`` is another notion;
            records are replaced, and an attribute drops some or there is nothing but their number to protect.
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
    notion = Neighbors(neighbors, records_per_person)
    if not isinstance(workload, Workload):
        raise WorkloadError(f"select plans for a Workload, got {type(workload).__name__}; make one with marginals()")
    require_public_total(workload.domain, notion)
    if notion.notion == "replace" and len(workload.closure) == 1:
        raise BudgetError("when records are replaced their number is public: this workload has nothing to protect")
    asked, numbers = read_loss(loss), subtraction_numbers(workload.domain.sizes)
    gap = require_positive("gap", gap)
    if isinstance(asked, ConvexLoss):
        return _convex_plan(workload, numbers, asked, budget, at_most, notion)

    least = least_maximum if isinstance(asked, MaxVariance) else least_sum
    choice = least(workload, numbers, importance_of(workload, asked.weights), notion, gap=gap)
    spent = _spendable(budget) if at_most is None else choice.loss / require_positive("at_most", at_most) * _RESERVE
    with np.errstate(over="ignore", under="ignore"):
        noise_variance = choice.noise_variance / spent
    return _plan(workload, notion, noise_variance, choice, budget, asked, choice.loss / spent)


def _convex_plan(
    workload: Workload,
    numbers: ResidualNumbers,
    loss: ConvexLoss,
    budget: Budget | None,
    at_most: float | None,
    neighbors: Neighbors,
) -> Plan:
    if at_most is None:
        choice = least_convex(workload, numbers, loss, neighbors, pcost=_spendable(budget))
        return _plan(workload, neighbors, choice.noise_variance, choice, budget, loss, choice.loss)
    choice = least_cost(workload, numbers, loss, neighbors, at_most=at_most)
    return _plan(workload, neighbors, choice.noise_variance, choice, None, loss, at_most)


def _plan(
    workload: Workload,
    neighbors: Neighbors,
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
        budget=budget or _least_budget(workload, neighbors, noise_variance),
        loss=describe_loss(loss),
        loss_value=loss_value,
        gap=choice.gap,
        status=choice.status,
        neighbors=neighbors,
    )


def _least_budget(workload: Workload, neighbors: Neighbors, noise_variance: FloatArray) -> Budget:
    """A budget that covers this noise; a float more, as a budget reads the decimal spelling where that is smaller."""
    numbers = subtraction_numbers(workload.domain.sizes)
    return pcost(math.nextafter(cost_upper_bound(workload.closure, numbers, noise_variance, neighbors), math.inf))


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
