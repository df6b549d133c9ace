"""Plans seen from other queries than those they were made for: which of them they answer, and how accurately."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.losses import DescribedLoss
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, pcost
from residualplanner.method.workload.workload import Workload


def restriction(plan: Plan, queries: Workload) -> IntArray:
    """The numbers of those queries that the plan answers, its own and parts of them in kinds that its bases span, (m,).

    Example:
        >>> from residualplanner import Domain, select
        >>> domain = Domain({"age": 3, "sex": 2, "region": 4})
        >>> plan = select(Workload(domain, [("age", "sex")]), budget=pcost(1))
        >>> restriction(plan, Workload(domain, [("sex",), ("region",), ("age", "sex")])).tolist()
        [0, 2]
    """
    if queries.domain != plan.domain:
        raise WorkloadError("plans can be compared only over the same domain; plan for one domain")
    bases = plan.strategy.of_attributes
    spanned = np.zeros(queries.uses.shape, dtype=np.bool_)
    for attribute, kind in np.argwhere(queries.uses).tolist():
        spanned[attribute, kind] = bases[attribute].spans(queries.kinds[kind])
    found = [
        (plan.closure.positions_of(block.attributes) >= 0) & spanned[block.attributes, block.kinds].all(axis=1)
        for block in queries.blocks
    ]
    numbers: IntArray = np.flatnonzero(np.concatenate(found))
    return numbers


def plan_of_part(plan: Plan, part: Workload) -> Plan:
    """The same noise as a plan for other queries, all of which the plan must answer; it has no targets."""
    noise = plan.noise_variances[plan.closure.positions_of_sets(part.closure)]
    strategy, loss = plan.strategy.part(part.closure), DescribedLoss(f"{plan.loss.words}, of more queries")
    return replace(plan, workload=part, noise_variances=noise, strategy=strategy, loss=loss)


def scaled_plan(plan: Plan, factor: float, *, budget: Budget | None = None) -> Plan:
    """The plan with the privacy cost times ``factor``, and all variances divided by it.

    For losses in proportion to the noise it is what `select` makes of that budget.

    Args:
        plan: a plan for a sum, a maximum or targets.
        factor: more than 0.
        budget: what may be spent; by default the least that covers the noise.

    Example:
        >>> from residualplanner import Domain, select
        >>> plan = select(Workload(Domain({"age": 3}), [("age",)]), budget=pcost(1))
        >>> round(scaled_plan(plan, 4).rmse / plan.rmse, 6)
        0.5
    """
    loose = replace(
        plan,
        noise_variances=plan.noise_variances / factor,
        loss_value=plan.loss_value / plan.loss.stated(factor),
        strategy=plan.strategy.scaled(factor),
        budget=pcost(Fraction(plan.pcost * factor) * 2),
    )
    return replace(loose, budget=budget or pcost(math.nextafter(loose.pcost, math.inf)))
