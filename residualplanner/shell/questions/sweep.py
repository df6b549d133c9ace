"""What budgets buy: the accuracy of the best plan for each of several losses and budgets."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from residualplanner.ground.errors import BudgetError, WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.method.losses import LossLike, read_loss
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import Bases, select, spendable
from residualplanner.method.privacy import Budget, Notion
from residualplanner.method.workload.workload import Workload
from residualplanner.shell.questions.restriction import scaled_plan

if TYPE_CHECKING:
    import pandas as pd


def sweep(
    workload: Workload,
    budgets: Sequence[Budget],
    losses: LossLike | Sequence[LossLike] | Mapping[str, LossLike] = "sum",
    *,
    level: float = 0.95,
    bases: Bases = "optimal",
    gap: float = 1e-6,
    neighbors: Notion = "add-remove",
    records_per_person: int = 1,
) -> "pd.DataFrame":
    """The accuracy of the best plan for every loss at every budget, one row each.

    Args:
        workload: the queries to publish.
        budgets: such as ``[zcdp("0.1"), zcdp("1")]``.
        losses: one, a list, or by the names that are to stand in the table.
        level: the confidence level of the margins of error, between 0 and 1.
        bases: as for `select`, and so are the others.
        gap: how close to the optimum is close enough.
        neighbors: "add-remove" or "replace".
        records_per_person: the most records one person contributes.

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
    planned = partial(
        select, workload, bases=bases, gap=gap, neighbors=neighbors, records_per_person=records_per_person
    )
    rows = []
    for name, loss in _named(losses).items():
        plan = None
        for budget in budgets:
            if plan is None or not plan.loss.is_proportional:
                plan = planned(budget=budget, loss=loss)
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
