"""The figures of a report on budget, fairness and targets: each a picture, its caption, and its data.

Cell fairness is how the accuracy of a table's cells depends on its size, for this plan and for other weightings.
Source: paper section 6.2, figures 1 to 3.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from residualplanner.ground.errors import ResidualPlannerError
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import count_text, number_text, percent_text
from residualplanner.method.domain.domain import omission_of
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.publish.pictures.drawing import svg_of
from residualplanner.publish.pictures.plots import draw_budget, draw_targets, fairness_figure
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import decimals_for, level_text, ratio_text, table_names

if TYPE_CHECKING:
    import pandas as pd

#: How many tables are named in a picture, and in that of targets.
_NAMED, _NAMED_TARGETS = 15, 30
#: The most tables in the data of their picture; the error table holds all.
_KEPT = 1_000
#: The weightings of the paper's figures 1, 2 and 3, and their descriptions in a report.
WEIGHTINGS: Mapping[Literal["equal", "cells", "sqrt"], str] = {
    "equal": "every table counts the same",
    "cells": "every cell counts the same",
    "sqrt": "between the two",
}
#: The most sets for which planning takes about a second; where records are replaced there is no closed form.
_SETS, _SETS_REPLACED = 200_000, 500


@dataclass(frozen=True, eq=False)
class Chart:
    """A picture of a report."""

    name: str  # of its files, in lower-case words
    title: str  # above it
    caption: str  # what it shows
    svg: str  # the file


@dataclass(frozen=True, eq=False)
class Figure(Chart):
    """A picture with files of its own, and its numbers."""

    data: "pd.DataFrame"  # all that is drawn, and more that there was no room for
    head: tuple[str, ...]  # the headings of the small table with the numbers of the picture
    rows: list[tuple[str, ...]]
    texts: int = 1  # how many of the first entries of a row are no numbers


def figures_of(subject: Subject) -> Iterator[Figure]:
    """The figures on budget, fairness and targets."""
    yield _budget_by_order(subject)
    yield _budget_by_query(subject)
    yield _fairness(subject)
    if len(subject.with_targets):
        yield _targets(subject)


def total_texts(subject: Subject) -> tuple[str, str, str] | None:
    """The number of records where a release has the table of it: what it is, the number, a remark."""
    rows = np.flatnonzero(np.equal(subject.plan.workload.orders, 0) & subject.has_table).tolist()
    table = subject.read_table(rows[0]) if rows else None
    if table is None or np.isnan(table.estimates[0]):
        return None
    weighted = subject.plan.domain.weight.unit_name
    records = f"Total of {weighted}" if weighted else "Records"
    records += " that are not left out" if omission_of(subject.plan.domain) and not weighted else ""
    number, percent = f"{table.estimates[0]:,.{0 if subject.product.is_rounded else 1}f}", level_text(subject.level)
    if subject.plan.neighbors.has_public_total:
        return f"{records} (public)", f"{table.estimates[0]:,.0f}", "the same before and after a change of records"
    if subject.product.is_unbiased:
        return f"{records} (estimate)", number, f"± {number_text(float(table.margins[0]))} ({percent})"
    low, high = (float(end[0]) for end in subject.interval(rows[0])) if subject.has_intervals else (np.nan, np.nan)
    if low == high:
        known, remark = f"{low:,.{0 if low == int(low) else 1}f}", "from elsewhere, as public; not protected"
        is_as_shown = round(low, 1) == round(float(table.estimates[0]), 1)
        return f"{records} (known)", known, remark if is_as_shown else f"{remark}; {number} in the tables"
    if not subject.has_intervals and subject.product.facts:  # it may be known, which intervals would say
        return records, number, ""
    remark = "" if np.isnan(low) else f"between {low:,.1f} and {high:,.1f} ({percent})"
    return f"{records} (estimate)", number, remark


def _order_text(order: int) -> str:
    return "0: the total" if order == 0 else count_text(order, "attribute")


def spread_rows(data: "pd.DataFrame") -> list[tuple[str, ...]]:
    """For each order its tables, and the least, median and largest standard error of a cell, as strings."""
    rows = spread_by_order(data)
    numbers = [number for row in rows for number in row[2:]]
    decimals = decimals_for(np.array(numbers, dtype=np.float64))
    texts = (f"{number:,.{decimals}f}" for number in numbers)
    return [(_order_text(row[0]), number_text(row[1]), *islice(texts, 3)) for row in rows]


def _budget_by_order(subject: Subject) -> Figure:
    groups = subject.errors.groupby("order", as_index=False)
    data = groups.agg(tables=("query", "size"), cells=("cells", "sum"), privacy_share=("privacy_share", "sum"))
    names, parts = [_order_text(order) for order in data["order"]], data["privacy_share"].tolist()
    largest = int(np.argmax(parts))
    return Figure(
        name="budget-by-order",
        title="Budget by order",
        caption=f"Tables of {names[largest]} use the most: {percent_text(parts[largest])} of the privacy budget. "
        "The cost of noise that several tables have in common is split in proportion to its variance in each.",
        svg=svg_of(partial(draw_budget, names, parts)),
        data=data,
        head=("Order", "Tables", "Cells", "Share of budget"),
        rows=[
            (name, number_text(tables), number_text(cells), percent_text(part))
            for name, tables, cells, part in zip(names, data["tables"], data["cells"], parts, strict=True)
        ],
    )


def _budget_by_query(subject: Subject) -> Figure:
    every = subject.errors["privacy_share"].to_numpy()
    first = np.argsort(-every, kind="stable")
    top = subject.errors.iloc[first[:_NAMED]]
    names, parts = table_names(top), top["privacy_share"].tolist()
    first_ones = f"The {len(parts)} tables of {len(every):,} that use the most"
    return Figure(
        name="budget-by-query",
        title="Budget by table",
        caption=f"{first_ones}, together {percent_text(sum(parts))} of the privacy budget."
        if len(parts) < len(every)
        else "The tables in the order of their shares of the privacy budget.",
        svg=svg_of(partial(draw_budget, names, parts)),
        data=subject.errors.iloc[first[:_KEPT]][["query", "kinds", "order", "cells", "privacy_share"]],
        head=("Table", "Cells", "Share of budget"),
        rows=list(zip(names, map(number_text, top["cells"]), map(percent_text, parts), strict=True)),
    )


def _fairness(subject: Subject) -> Figure:
    data = fairness_of(subject)
    titles = {"plan": f"this plan: {subject.plan.loss.words}"}
    titles |= {name: f"weights {name}: {words}" for name, words in WEIGHTINGS.items()}
    plan = data["plan"]["std_err"]
    names = table_names(subject.errors.loc[[plan.idxmin(), plan.idxmax()]])
    low, high = (f"{number_text(end)} for {name}" for end, name in zip((plan.min(), plan.max()), names, strict=True))
    in_units = "Of sums it is in units of the largest amount. " if subject.plan.workload.has_sums else ""
    others = [f"{ratio_text(spread(frame))} times with weights “{name}”" for name, frame in data.items()][1:]
    wide = data["plan"][["query", "order", "cells"]].assign(
        **{f"std_err_{name}": frame["std_err"].to_numpy() for name, frame in data.items()}
    )
    together = " and ".join(filter(None, (", ".join(others[:-1]), *others[-1:])))
    beside = (
        f"For the same budget these would be {together}."
        if others
        else "Other weightings were not planned here: that would take long, or bases vary between sets."
    )
    return Figure(
        name="fairness",
        title="Cell fairness",
        caption=f"The standard error of a cell ranges from {low} to {high}; the largest is "
        f"{ratio_text(spread(data['plan']))} times the least. {in_units}{beside} "
        "A slope downwards means that large tables are favored, upwards that small ones are.",
        svg=svg_of(partial(fairness_figure, data, titles, unit=subject.plan.domain.unit)),
        data=wide,
        head=("Weights", "Order", "Tables", "Least", "Median", "Largest standard error"),
        rows=[(name.replace("plan", "this plan"), *row) for name, frame in data.items() for row in spread_rows(frame)],
    )


def _targets(subject: Subject) -> Figure:
    targets = subject.with_targets
    targets = targets.assign(margin=margin_factor(subject.target_level) * targets["max_std_err"])
    ratio = (targets["margin"] / targets["target"]).to_numpy()
    targets = targets.iloc[np.argsort(-ratio, kind="stable")]
    shown = targets.iloc[:_NAMED_TARGETS]
    met = shown["meets_target"].to_numpy(dtype=np.bool_)
    names = table_names(shown)
    margins, limits = (shown[name].to_numpy(dtype=np.float64) for name in ("margin", "target"))
    nearest = f" Shown are the {len(shown)} that come nearest to their target or miss it by most."
    return Figure(
        name="targets",
        title="Error against targets",
        caption=f"{int(targets['meets_target'].sum()):,} of {count_text(len(targets), 'table')} with a target "
        f"{'meets' if len(targets) == 1 else 'meet'} it: the {level_text(subject.target_level)} margin of error "
        "of the worst cell is no larger." + (nearest if len(shown) < len(targets) else ""),
        svg=svg_of(partial(draw_targets, names, margins, limits, met)),
        data=targets[["query", "kinds", "cells", "margin", "target", "meets_target"]],
        head=("Table", "Margin of the worst cell", "Target", "Met"),
        rows=[
            (name, number_text(margin), number_text(limit), "yes" if fits else "no")
            for name, margin, limit, fits in zip(names, margins, limits, met, strict=True)
        ],
    )


def fairness_data(plan: Plan) -> "pd.DataFrame":
    """The standard error of a cell of every table beside its size, as ``query``, ``order``, ``cells`` and ``std_err``.

    Source: paper section 6.2; of sums eq. (107).
    """
    return comparable(plan.errors())


def comparable(errors: "pd.DataFrame") -> "pd.DataFrame":
    """The standard errors of an error table, those of sums in units of the largest amount.  Source: eq. (107)."""
    scaled = errors.assign(std_err=errors["std_err"] / errors.get("scale", 1.0))
    return scaled[["query", "order", "cells", "std_err"]]


def fairness_of(subject: Subject) -> dict[str, "pd.DataFrame"]:
    """The standard errors of a report's subject, under "plan", and of other weightings, where planning is cheap.

    Where records are replaced their number is public, and left out: its noise is as small as floating point allows.
    """
    is_secret = np.greater(subject.plan.workload.orders, 0) | (not subject.plan.neighbors.has_public_total)
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


def _other_plan(plan: Plan, weights: Literal["equal", "cells", "sqrt"]) -> Plan | None:
    """The plan for the same tables, budget and bases with other weights; None where it would take long, or fails.

    How far it is from the best of all mechanisms is not shown, and is not computed.
    """
    most = _SETS_REPLACED if plan.neighbors.has_public_total else _SETS
    if plan.strategy.varying.any() or len(plan.closure) > most:
        return None
    neighbors: Any = plan.neighbors
    how = {"neighbors": neighbors.notion, "records_per_person": neighbors.records_per_person}
    try:
        return select(plan.workload, budget=plan.budget, loss=SumOfVariances(weights), bases=plan.bases, time=0, **how)
    except ResidualPlannerError:
        return None
