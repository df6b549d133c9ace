"""The plan of several measurements of the same records together: their noise combined, their costs added up.

Reads: plans over one domain.  Gives: Plan.  Never sees a record.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import BudgetError, WorkloadError
from residualplanner.ground.words import decimal_text_up
from residualplanner.method.bases.basis import basis_codes
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, zcdp
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.strategy.costs import cost_upper_bound
from residualplanner.method.strategy.strategy import Strategy, constant_strategy
from residualplanner.method.workload.closure import Closure
from residualplanner.method.workload.workload import Workload

_REMEDY = (
    "answers in different bases are not averages of one another; plan the second measurement with bases= of the first"
)
#: How far apart the losses of equal plans may be where they are computed on different machines, relative.
_LOSS_ROUNDING = 1e-9


def combined_plan(plans: Sequence[Plan]) -> Plan:
    """The plan whose noise is what remains when the answers of several measurements are averaged.

    A residual that several of them measure gets the average of its answers, weighted by their precisions, which is the
    best linear unbiased estimate: its precision is the sum of theirs.  A residual that only one measures keeps its
    noise.

    Args:
        plans: of measurements of the same records, each with noise of its own.

    Returns:
        A plan for the queries of all, whose cost is the sum of their costs, up to rounding, and whose budget is the
        sum of their budgets.  How far its sum of variances is above the least one is not known: its ``gap`` is
        infinite.

    Raises:
        WorkloadError: they are over different domains, or measure an attribute in different bases.
        BudgetError: they protect different changes of the records, cost more together than any budget can allow, or
            have noise so large that the sum of variances is not finite.

    Source: eq. (8), and docs/mathematics.md section 7 on several measurements.

    Example:
        >>> from residualplanner.method.domain.domain import Domain
        >>> from residualplanner.method.plan.select import select
        >>> from residualplanner.method.privacy import pcost
        >>> from residualplanner.method.workload.families import marginals
        >>> domain = Domain({"sex": 2, "age": 5})
        >>> first, second = (select(marginals(domain, order=order), budget=pcost(1)) for order in (1, 2))
        >>> both = combined_plan([first, second])
        >>> len(both.workload), round(both.pcost, 9)
        (3, 2.0)
    """
    first, *others = plans
    for other in others:
        if other.domain != first.domain:
            raise WorkloadError("measurements are combined over one domain; these have different attributes or values")
        if other.neighbors != first.neighbors:
            raise BudgetError(
                "measurements are combined where they protect the same change of the records; these protect "
                f"{first.neighbors.words} and {other.neighbors.words}"
            )
    workload: Workload = reduce(add, (plan.workload for plan in plans))
    strategy = _combined_strategy(workload.closure, plans)
    loss = SumOfVariances()
    with np.errstate(over="ignore", invalid="ignore"):
        noise = 1 / combined_precision(workload.closure, plans)
        loss_value = loss.value(workload, Accuracy(workload, strategy, noise))
    if not math.isfinite(loss_value):
        raise BudgetError("the noise of these measurements is too large: the sum of its variances is no finite number")
    return Plan(
        workload=workload,
        noise_variances=noise,
        strategy=strategy,
        neighbors=first.neighbors,
        budget=_combined_budget(plans, cost_upper_bound(strategy, noise, first.neighbors)),
        loss=loss,
        loss_value=loss_value,
        gap=math.inf,
        status=f"combined from {len(plans)} plans",
    )


def is_combined_from(plan: Plan, plans: Sequence[Plan]) -> bool:
    """Whether a plan is that of several measurements together: what is measured and its noise bit for bit.

    Raises:
        WorkloadError, BudgetError: as `combined_plan` does.
    """
    true = combined_plan(plans)
    is_near = math.isclose(plan.loss_value, true.loss_value, rel_tol=_LOSS_ROUNDING)
    return is_near and plan_hash(plan) == plan_hash(replace(true, loss_value=plan.loss_value))


def _combined_budget(plans: Sequence[Plan], cost: float) -> Budget:
    """The sum of the budgets as zCDP, which holds for every kind of noise, rounded up to six digits.

    Raises:
        BudgetError: the cost is infinite.
    """
    if not math.isfinite(cost):
        raise BudgetError("these measurements cost more together than any budget can allow")
    allowed = sum((plan.budget.pcost_exact for plan in plans), Fraction(0))
    return zcdp(decimal_text_up(max(allowed, Fraction(cost)) / 2))


def combined_precision(closure: Closure, plans: Sequence[Plan]) -> FloatArray:
    """The sum of the precisions with which plans measure each set of a closure, (m,); 0 where none does."""
    total = np.zeros(len(closure))
    for plan in plans:
        total[closure.positions_of_sets(plan.closure)] += 1 / plan.noise_variances
    return total


def _combined_strategy(closure: Closure, plans: Sequence[Plan]) -> Strategy:
    """What is measured by all plans together.

    Raises:
        WorkloadError: an attribute is measured in different bases.
    """
    if any(plan.strategy.varying.any() for plan in plans):
        return _same_strategy(plans)
    domain = plans[0].domain
    bases = [subtraction_basis(size) for size in domain.sizes]
    for attribute, name in enumerate(domain.names):
        measured = [plan.strategy.of_attributes[attribute] for plan in plans if plan.workload.uses[attribute].any()]
        if len(np.unique(basis_codes(measured))) > 1:
            raise WorkloadError(f"{name!r} is measured in different bases; {_REMEDY}")
        bases[attribute : attribute + 1] = measured[:1] or [bases[attribute]]
    return constant_strategy(closure, bases)


def _same_strategy(plans: Sequence[Plan]) -> Strategy:
    """The strategy that all plans have, where bases vary by set; the messages of (41) add up as the costs do."""
    first, *others = (plan.strategy for plan in plans)
    for other in others:
        if not (first.closure.has_sets_of(other.closure) and _have_equal_bases(first, other)):
            raise WorkloadError(f"bases vary by set, and are not the same in all plans; {_REMEDY}")
    return replace(first, messages=np.sum([plan.strategy.messages for plan in plans], axis=0))


def _have_equal_bases(left: Strategy, right: Strategy) -> bool:
    """Whether all factors of one closure have the same bases in both."""
    codes = basis_codes([*left.bases, *right.bases])
    mine, theirs = codes[left.factor_bases], codes[len(left.bases) + right.factor_bases]
    return bool((mine == theirs).all() and (left.varying == right.varying).all())
