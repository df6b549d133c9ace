"""Plans side by side: what each costs, how accurate each makes every query, and what other budgets would buy."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import BudgetError, WorkloadError
from residualplanner.ground.margins import margin_factor, require_level
from residualplanner.ground.notebooks import ROWS
from residualplanner.method.losses import DescribedLoss, LossLike, read_loss
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select, spendable
from residualplanner.method.privacy import Budget, pcost
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.pictures.drawing import Picture
from residualplanner.publish.pictures.plots import fairness_figure

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Comparison:
    """Plans side by side.

    Attributes:
        totals: a row for each plan, by its name: ``queries`` it was made for, ``pcost``, ``rho``, ``rmse``,
            ``max_std_err``, ``loss`` in words, ``loss_value``, ``gap``, ``neighbors`` in words, ``meets_targets``.
        queries: a row for each query that one of the plans was made for, by its name, kinds and number of cells.
            Columns have two levels: ``std_err``, ``max_std_err`` or ``moe``, as in ``Plan.errors``, then the plan.  NaN
            where a plan does not answer the query; parts of its own queries it does.
        orders: how many attributes the table of each of these queries has.
    """

    totals: "pd.DataFrame"
    queries: "pd.DataFrame"
    orders: tuple[int, ...]

    def __repr__(self) -> str:
        shown = ["pcost", "rho", "rmse", "max_std_err", "loss"]
        errors = self.queries["std_err"]
        head = "standard error of a cell" + (f", {ROWS} of {len(errors):,} queries" if len(errors) > ROWS else "")
        return f"{self.totals[shown].to_string()}\n\n{head}\n{errors.head(ROWS).to_string()}"

    def _repr_html_(self) -> str:
        return f"{self.totals.to_html(escape=True)}{self.queries['std_err'].head(ROWS).to_html(escape=True)}"

    def plot(self) -> Picture:
        """The standard error of a cell of every table against the size of the table, a panel for each plan.

        Tables that a plan does not answer are left out of its panel.
        """
        index = self.queries.index.to_frame(index=False)
        frames = {}
        for name in self.totals.index:
            frame = index.assign(order=self.orders, std_err=self.queries["std_err", name].to_numpy())
            frames[str(name)] = frame.dropna(subset=["std_err"])
        return Picture("standard errors by size of table, by plan", lambda: fairness_figure(frames))


def compare(plans: Mapping[str, Plan] | Sequence[Plan], level: float = 0.95) -> Comparison:
    """Put plans side by side: their totals, and the accuracy of every query that one of them was made for.

    Args:
        plans: by name, or a list of them, called "plan 1", "plan 2" and so on.
        level: the confidence level of the margins of error, between 0 and 1.

    Raises:
        WorkloadError: there are none, one is not a plan, or they are not over the same domain.
        BudgetError: ``level`` is not between 0 and 1.

    Example:
        >>> from residualplanner import Domain, marginals, select, zcdp
        >>> workload = marginals(Domain({"age": 9, "sex": 2}), up_to=2)
        >>> plans = {loss: select(workload, budget=zcdp("0.5"), loss=loss) for loss in ("sum", "max")}
        >>> compare(plans).queries["std_err"].round(2).reset_index(["kinds", "cells"], drop=True).T.to_dict()["sex"]
        {'sum': 1.95, 'max': 1.55}
    """
    import pandas as pd

    every = plans if isinstance(plans, Iterable) else ()
    named = dict(every) if isinstance(every, Mapping) else {f"plan {i}": plan for i, plan in enumerate(every, 1)}
    if not named or not all(isinstance(plan, Plan) for plan in named.values()):
        raise WorkloadError("compare takes plans: a mapping from names to plans, or a list of plans")
    domain = next(iter(named.values())).domain
    if any(plan.domain != domain for plan in named.values()):
        raise WorkloadError("plans can be compared only over the same domain; plan for one domain")
    require_level(level)
    union = reduce(Workload.__add__, [plan.workload for plan in named.values()])
    errors = {}
    for name, plan in named.items():
        numbers = restriction(plan, union)
        errors[name] = plan_of_part(plan, union.take(numbers)).errors(level).set_index(numbers)
    rows, pairs = range(len(union)), product(("std_err", "max_std_err", "moe"), errors)
    queries = pd.DataFrame({(measure, name): errors[name][measure].reindex(rows) for measure, name in pairs})
    texts = [table[["query", "kinds", "cells", "order"]].astype({"kinds": object}) for table in errors.values()]
    index = reduce(pd.DataFrame.combine_first, texts)
    queries.index = pd.MultiIndex.from_frame(index[["query", "kinds", "cells"]].astype({"cells": union.cells.dtype}))
    totals = pd.DataFrame([_totals(plan) for plan in named.values()], index=list(named))
    return Comparison(totals, queries, tuple(index["order"].astype(int)))


def _totals(plan: Plan) -> dict[str, object]:
    return {
        "queries": len(plan.workload),
        "pcost": plan.pcost,
        "rho": plan.pcost / 2,
        "rmse": plan.rmse,
        "max_std_err": math.sqrt(plan.max_variance),
        "loss": plan.loss.words,
        "loss_value": plan.loss_value,
        "gap": plan.gap,
        "suboptimality": plan.suboptimality,
        "neighbors": plan.neighbors.words,
        "meets_targets": plan.meets_targets,
    }


def sweep(
    workload: Workload,
    budgets: Sequence[Budget],
    losses: LossLike | Sequence[LossLike] | Mapping[str, LossLike] = "sum",
    *,
    level: float = 0.95,
    **options: Any,
) -> "pd.DataFrame":
    """The accuracy of the best plan for every loss at every budget, one row each.

    Args:
        workload: the queries to publish.
        budgets: such as ``[zcdp("0.1"), zcdp("1")]``.
        losses: one, a list, or by the names that are to stand in the table.
        level: the confidence level of the margins of error, between 0 and 1.
        options: as for `select`: ``bases``, ``gap``, ``neighbors``, ``records_per_person``.

    Returns:
        Columns ``loss``, ``budget`` as stated, ``pcost``, ``rho``, ``rmse``, ``max_std_err``, ``median_moe`` (over
        queries, of a cell of average variance), ``max_moe`` (of the cell with the largest variance) and
        ``loss_value``; for targets ``meets_targets``.

    Raises:
        BudgetError: there are no budgets, or one is none; or as `select`.
        WorkloadError: there are no losses; or as `select`.

    Cost: one `select` for each loss, since the noise is the same at each budget but for its scale; for a function of
        CVXPY one for each budget too.
    Source: eqs. (14) to (18).

    Example:
        >>> from residualplanner import Domain, marginals, zcdp
        >>> workload = marginals(Domain({"age": 9, "sex": 2}), up_to=2)
        >>> table = sweep(workload, [zcdp("0.125"), zcdp("0.5")], ["sum", "max"])
        >>> table.pivot(index="rho", columns="loss", values="rmse").round(2).to_numpy().tolist()
        [[3.1, 2.62], [1.55, 1.31]]
    """
    import pandas as pd

    budgets = tuple(budgets) if isinstance(budgets, Sequence) else ()
    if not budgets or not all(isinstance(budget, Budget) for budget in budgets):
        raise BudgetError('budgets must be a list such as [zcdp("0.1"), zcdp("1")]')
    factor = margin_factor(level)
    rows = []
    for name, loss in _named(losses).items():
        plan = None
        for budget in budgets:
            if plan is None or not plan.loss.is_proportional:
                plan = select(workload, budget=budget, loss=loss, **options)
            else:
                plan = scaled_plan(plan, spendable(budget) / spendable(plan.budget), budget=budget)
            rows.append({"loss": name, "budget": plan.budget.statement} | _row(plan, factor))
    return pd.DataFrame(rows)


def _row(plan: Plan, factor: float) -> dict[str, float]:
    row = {
        "pcost": plan.pcost,
        "rho": plan.budget.rho,
        "rmse": plan.rmse,
        "max_std_err": math.sqrt(plan.max_variance),
        "median_moe": factor * float(np.median(np.sqrt(plan.average_variances))),
        "max_moe": factor * math.sqrt(plan.max_variance),
        "loss_value": plan.loss_value,
    }
    return row if plan.targets is None else row | {"meets_targets": plan.meets_targets}


def _named(losses: LossLike | Sequence[LossLike] | Mapping[str, LossLike]) -> dict[str, LossLike]:
    """Losses by name: the given ones, the words they are given as, or what they are in words, made distinct."""
    if isinstance(losses, Mapping):
        given = {str(name): loss for name, loss in losses.items()}
    else:
        is_list = isinstance(losses, Sequence) and not isinstance(losses, str)
        listed = cast("list[LossLike]", list(losses) if is_list else [losses])  # type: ignore[arg-type]
        given = {}
        for loss in listed:
            words = loss if isinstance(loss, str) else read_loss(loss).words
            given[words if words not in given else f"{words} ({len(given) + 1})"] = loss
    if not given:
        raise WorkloadError('losses must be one loss or a list of them, such as ["sum", "max"]')
    return given


def restriction(plan: Plan, queries: Workload) -> IntArray:
    """The numbers (m,) of queries that the plan answers: its own, and parts of them in kinds that its bases span."""
    bases = plan.strategy.of_attributes
    spanned = np.zeros(queries.uses.shape, dtype=np.bool_)
    for attribute, kind in np.argwhere(queries.uses).tolist():
        spanned[attribute, kind] = bases[attribute].spans(queries.kinds[kind])
    found = [
        (plan.closure.positions_of(block.attributes) >= 0) & spanned[block.attributes, block.kinds].all(axis=1)
        for block in queries.blocks
    ]
    return np.flatnonzero(np.concatenate(found)).astype(np.int64)


def plan_of_part(plan: Plan, part: Workload) -> Plan:
    """The same noise as a plan for other queries, all of which the plan must answer; it has no targets."""
    noise = plan.noise_variances[plan.closure.positions_of_sets(part.closure)]
    strategy, loss = plan.strategy.part(part.closure), DescribedLoss(f"{plan.loss.words}, of more queries")
    unproved = replace(plan, suboptimality=math.inf, dual_weights=None)
    return replace(unproved, workload=part, noise_variances=noise, strategy=strategy, loss=loss)


def scaled_plan(plan: Plan, factor: float, *, budget: Budget | None = None) -> Plan:
    """The plan with the privacy cost times ``factor``, and all variances divided by it; by default the least budget."""
    # its cost is known only once it is made, so a budget that is surely enough stands in for the least one
    loose = replace(
        plan,
        noise_variances=plan.noise_variances / factor,
        loss_value=plan.loss_value / plan.loss.stated(factor),
        strategy=plan.strategy.scaled(factor),
        budget=pcost(Fraction(plan.pcost * factor) * 2),
    )
    return replace(loose, budget=budget or pcost(math.nextafter(loose.pcost, math.inf)))
