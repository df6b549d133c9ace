"""What more tables cost: accuracy of the others, or the budget that leaves the others as they are."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.ground.checks import IntArray, require_positive, require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import listed, rounded_up
from residualplanner.method.losses import LossLike, Targets, read_loss
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import Bases, select
from residualplanner.method.workload.query import QueryLike
from residualplanner.method.workload.workload import Workload, query_numbers
from residualplanner.shell.questions.comparison import plan_of_part, restriction, scaled_plan

if TYPE_CHECKING:
    import pandas as pd

#: So much more is spent than needed, so that rounding makes no variance larger than it is now.
_RESERVE = 1 + 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class CostOfMore:
    """What queries cost that are added to a plan.

    Attributes:
        before: the plan without them.
        same_budget: the best plan for all queries at the same budget.
        same_accuracy: a plan for all queries with which none of those that were there is less accurate, and its budget.
        queries: a row for each query: ``query``, ``kinds``, ``cells``, ``is_new``; the standard error of the cell with
            the largest variance ``before`` (NaN where the plan does not answer it), at the ``same_budget`` and at the
            ``same_accuracy``; and ``growth``, how many times as large as before it is at the same budget.
    """

    before: Plan
    same_budget: Plan
    same_accuracy: Plan
    queries: "pd.DataFrame"

    @property
    def budget_factor(self) -> float:
        """How many times the privacy cost of before has to be spent, so that no query that was there gets worse."""
        return self.same_accuracy.pcost / self.before.pcost

    @property
    def extra_pcost(self) -> float:
        """The privacy cost that the added queries take, if no query that was there is to get worse."""
        return self.same_accuracy.pcost - self.before.pcost

    def __str__(self) -> str:
        is_new = self.queries["is_new"].to_numpy()
        old, new = self.queries.loc[~is_new], self.queries.loc[is_new]
        growth = old["growth"].to_numpy()
        worst = old["query"].iloc[int(growth.argmax())]
        at_budget, at_accuracy = (f"{float(new[name].max()):.4g}" for name in ("same_budget", "same_accuracy"))
        costs = self.before.budget.pcost_exact, self.same_accuracy.pcost, self.extra_pcost
        before, then, more = (rounded_up(cost / 2) for cost in costs)
        return (
            f"Added: {listed(new['query'], 3)}\n"
            f"Same budget, rho {before}: standard errors grow by factors of {growth.min():.4g} "
            f"to {growth.max():.4g}, most for {worst}; added {at_budget}\n"
            f"Same accuracy: {self.budget_factor:.4g} times the budget, rho {then}, "
            f"{more} more; added {at_accuracy}"
        )


def cost_of_more(
    plan: Plan,
    queries: Iterable[QueryLike] | Workload,
    *,
    moe: float | None = None,
    level: float = 0.95,
    loss: LossLike | None = None,
    gap: float = 1e-6,
) -> CostOfMore:
    """What it costs to publish more queries: in accuracy at the same budget, or in budget at the same accuracy.

    At the same budget, all queries are planned for together with the plan's loss.  At the same accuracy, no query that
    was there has a cell of larger variance than its largest is now.  Without ``moe`` that is the plan at the same
    budget, scaled up: the added queries are as accurate as the loss makes them.  With ``moe`` it is the least budget
    with which that holds and no cell of the added queries has a larger margin of error.

    Args:
        plan: what is planned so far.
        queries: what is to be added, a list as for `Workload`, or a workload.
        moe: the margin of error that the added queries are to have, in counts.
        level: the confidence level of ``moe``, between 0 and 1.
        loss: the plan's loss, for all queries, where the plan does not have it in full: if it was planned with weights
            that were given one by one.
        gap: how close to the optimum is close enough, as for `select`.

    Raises:
        WorkloadError: a query is in the plan already; the loss must be given, or is a function.
        DomainError: a query names an attribute that is not in the domain.
        BudgetError: ``moe`` or ``level`` is out of range.

    Cost: one `select` for all queries, or with ``moe`` two.
    Source: eqs. (14) to (17).

    Example:
        >>> from residualplanner import Domain, zcdp
        >>> plan = select(Workload(Domain({"age": 9, "sex": 2}), [("age",), ("sex",)]), budget=zcdp("0.5"), loss="max")
        >>> print(cost_of_more(plan, [("age", "sex")]))
        Added: age × sex
        Same budget, rho 0.5: standard errors grow by factors of 1.071 to 1.071, most for age; added 1.441
        Same accuracy: 1.147 times the budget, rho 0.5734, 0.07337 more; added 1.345
    """
    require_type("cost_of_more", "plan", plan, Plan, "write cost_of_more(plan, queries)")
    added = queries if isinstance(queries, Workload) else Workload(plan.domain, queries)
    known = query_numbers(plan.workload, added)
    if (known >= 0).any():
        query = next(iter(added.take([int(np.flatnonzero(known >= 0)[0])])))
        raise WorkloadError(f"{query!r} is in the plan already; name queries that are not")
    whole = plan.workload + added
    old, new = query_numbers(whole, plan.workload), query_numbers(whole, added)
    variances = np.full(len(whole), math.nan)
    if moe is not None:
        variances[new] = (require_positive("moe", moe) / margin_factor(level)) ** 2
    goal = plan.loss.with_more(old, variances) if loss is None else read_loss(loss)
    if loss is not None and not goal.is_proportional:
        raise WorkloadError("cost_of_more is for sums, maxima and targets; compare plans for a function of your own")
    notion, most = plan.neighbors.notion, plan.neighbors.records_per_person
    planned = partial(select, whole, gap=gap, neighbors=notion, records_per_person=most)
    same_budget = planned(budget=plan.budget, loss=goal, bases=_bases(plan))
    if moe is None:
        # all variances fall alike as the budget grows: the query that lost most says how much is needed
        factor = float((same_budget.max_variances[old] / plan.max_variances).max())
        same_accuracy = scaled_plan(same_budget, factor * _RESERVE)
    else:
        variances[old] = plan.max_variances
        targets = Targets(np.sqrt(variances) * margin_factor(level), level)
        plans = [planned(loss=targets, bases=bases) for bases in _all_bases(plan, whole)]
        same_accuracy = min(plans, key=lambda found: found.pcost)
    return CostOfMore(plan, same_budget, same_accuracy, _table(plan, same_budget, same_accuracy, new))


def _bases(plan: Plan) -> Bases:
    given = {name: basis for name, basis in plan.bases.items() if basis.family == "given"}
    if given:
        return given
    if plan.strategy.varying.any():
        return "optimal_by_set"
    return "orthogonal" if "orthogonal" in plan.basis_summary else "optimal"


def _all_bases(plan: Plan, whole: Workload) -> list[Bases]:
    """Bases chosen anew, and those of the plan where they can be kept; the cheaper ones are used."""
    anew, bases = _bases(plan), plan.strategy.of_attributes
    planned = {attribute for attribute, _ in plan.workload.attribute_kinds}
    is_spanned = all(bases[i].spans(kind) for i, kind in whole.attribute_kinds if i in planned)
    if set(plan.basis_summary) == {"subtraction"} or not is_spanned:
        return [anew]
    return [anew, {plan.domain.names[attribute]: bases[attribute] for attribute in planned}]


def _table(before: Plan, same_budget: Plan, same_accuracy: Plan, new: IntArray) -> "pd.DataFrame":
    whole = same_budget.workload
    table = same_budget.errors()[["query", "kinds", "cells"]]
    table["is_new"] = np.isin(np.arange(len(whole)), new)
    numbers = restriction(before, whole)
    std_errs = np.full(len(whole), math.nan)
    std_errs[numbers] = np.sqrt(plan_of_part(before, whole.take(numbers)).max_variances)
    table["before"], table["same_budget"] = std_errs, np.sqrt(same_budget.max_variances)
    table["growth"] = table["same_budget"] / table["before"]
    table["same_accuracy"] = np.sqrt(same_accuracy.max_variances)
    return table
