"""Cell fairness: how the accuracy of a table's cells depends on its size, for this plan and for other weightings.

Reads: plans.  Gives: data frames.
Source: paper section 6.2, figures 1 to 3.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from residualplanner.ground.errors import ResidualPlannerError
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.publish.report.subject import Subject

if TYPE_CHECKING:
    import pandas as pd

#: The weightings of the paper's figures 1, 2 and 3, and their descriptions in a report.
WEIGHTINGS: Mapping[Literal["equal", "cells", "sqrt"], str] = {
    "equal": "every table counts the same",
    "cells": "every cell counts the same",
    "sqrt": "between the two",
}
#: The most sets for which planning takes about a second; where records are replaced there is no closed form.
_SETS, _SETS_REPLACED = 200_000, 500


def fairness_data(plan: Plan) -> "pd.DataFrame":
    """The standard error of a cell of every table, beside the table's size.

    Returns:
        Columns ``query``, ``order`` (how many attributes it has), ``cells`` and ``std_err`` (the root of the average
        cell variance, in counts; of sums of amounts in units of the largest amount, so that tables can be compared),
        a row for each query of the workload, in its order.

    Source: paper section 6.2; of sums eq. (107).

    Example:
        >>> from residualplanner import Domain, marginals, pcost
        >>> plan = select(marginals(Domain({"age": 3, "sex": 2}), up_to=1), budget=pcost(1))
        >>> fairness_data(plan)[["query", "order", "cells"]].values.tolist()
        [['(total)', 0, 1], ['age', 1, 3], ['sex', 1, 2]]
    """
    return comparable(plan.errors())


def comparable(errors: "pd.DataFrame") -> "pd.DataFrame":
    """The standard errors of an error table in counts, those of sums in units of the largest amount.

    Source: eq. (107).
    """
    scaled = errors.assign(std_err=errors["std_err"] / errors.get("scale", 1.0))
    return scaled[["query", "order", "cells", "std_err"]]


def fairness_of(subject: Subject) -> dict[str, "pd.DataFrame"]:
    """The standard errors of a report's subject, under "plan", and those of the weightings, where planning is cheap.

    The weighting that the plan itself has is not planned again.  Where records are replaced their number is public, and
    left out: its noise is as small as floating point allows.
    """
    is_secret = ~(subject.is_total & subject.plan.neighbors.has_public_total)
    if not is_secret.any():
        is_secret = ~is_secret
    found = {"plan": comparable(subject.errors)[is_secret]}
    for weights in WEIGHTINGS:
        if subject.plan.loss.words != SumOfVariances(weights).words:
            other = _other_plan(subject.plan, weights)
            if other is None:
                return {"plan": found["plan"]}
            found[weights] = fairness_data(other)[is_secret]
    return found


def spread_by_order(data: "pd.DataFrame") -> list[tuple[int, int, float, float, float]]:
    """For each order: the order, how many tables, and the least, median and largest standard error of a cell."""
    return [
        (int(str(order)), len(rows), float(rows.min()), float(rows.median()), float(rows.max()))
        for order, rows in data.groupby("order")["std_err"]
    ]


def spread(data: "pd.DataFrame") -> float:
    """How many times as large as the least standard error the largest one is."""
    return float(data["std_err"].max() / data["std_err"].min())


def wide_table(data: Mapping[str, "pd.DataFrame"]) -> "pd.DataFrame":
    """All standard errors in one table: ``query``, ``order``, ``cells``, and ``std_err_NAME`` for each plan."""
    wide = data["plan"][["query", "order", "cells"]].copy()
    for name, frame in data.items():
        wide[f"std_err_{name}"] = np.asarray(frame["std_err"])
    return wide


def _other_plan(plan: Plan, weights: Literal["equal", "cells", "sqrt"]) -> Plan | None:
    """The plan for the same tables, budget and bases with other weights; None where it would take long, or fails."""
    most = _SETS_REPLACED if plan.neighbors.has_public_total else _SETS
    if plan.strategy.varying.any() or len(plan.closure) > most:
        return None
    try:
        return select(
            plan.workload,
            budget=plan.budget,
            loss=SumOfVariances(weights),
            bases=plan.bases,
            neighbors=plan.neighbors.notion,
            records_per_person=plan.neighbors.records_per_person,
        )
    except ResidualPlannerError:
        return None
