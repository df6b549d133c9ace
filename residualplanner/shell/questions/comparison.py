"""Plans side by side: what each costs, and how accurate each makes every query."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.html import ROWS
from residualplanner.ground.margins import require_level
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.pictures import Picture, fairness_figure
from residualplanner.shell.questions.restriction import plan_of_part, restriction

if TYPE_CHECKING:
    import pandas as pd

#: How many queries are printed; the columns of errors that are compared.
_MEASURES = ("std_err", "max_std_err", "moe")


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

    def __str__(self) -> str:
        shown = ["pcost", "rho", "rmse", "max_std_err", "loss"]
        errors = self.queries["std_err"]
        head = "standard error of a cell" + (f", {ROWS} of {len(errors):,} queries" if len(errors) > ROWS else "")
        return f"{self.totals[shown].to_string()}\n\n{head}\n{errors.head(ROWS).to_string()}"

    def __repr__(self) -> str:
        return str(self)

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
    queries = pd.DataFrame(
        {
            (measure, name): table[measure].reindex(range(len(union)))
            for measure in _MEASURES
            for name, table in errors.items()
        }
    )
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
        "neighbors": plan.neighbors.words,
        "meets_targets": plan.meets_targets,
    }
