"""The command compare: plans side by side, without data."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import number_text, rounded_up, table_text
from residualplanner.method.plan.files import load_plan
from residualplanner.method.plan.plan import Plan
from residualplanner.shell.cli.failures import telling_outputs
from residualplanner.shell.cli.output import Output
from residualplanner.shell.questions import Comparison, compare

#: How many tables are shown: those that the plans treat most differently.
_ROWS = 10


def run_compare(paths: Sequence[Path], path: Path | None, level: float, output: Output) -> None:
    """Say what plans cost and how accurate they are, and write the accuracy of every table to ``path``."""
    if len(paths) < 2 or len(set(paths)) < len(paths):
        raise WorkloadError("compare takes two or more different plans, such as: compare one.plan other.plan")
    names = [each.stem for each in paths]
    if max(Counter(names).values()) > 1:
        names = [str(each) for each in paths]
    plans = dict(zip(names, map(load_plan, paths), strict=True))
    with output.progress("comparing"):
        comparison = compare(plans, level)
    _say_totals(plans, comparison, output)
    _say_tables(comparison, level, output)
    if path is not None:
        import pyarrow as pa
        import pyarrow.csv

        with telling_outputs(path):
            queries = comparison.queries.copy()
            queries.columns = queries.columns.map(":".join)  # such as moe:even
            table = pa.Table.from_pandas(queries.reset_index(), preserve_index=False)
            kinds = table.schema.get_field_index("kinds")
            with write_atomically(path) as file:
                pyarrow.csv.write_csv(table.set_column(kinds, "kinds", table["kinds"].cast(pa.string())), file)
            output.wrote(path, ": the error of every table under each plan.")


def _say_totals(plans: dict[str, Plan], comparison: Comparison, output: Output) -> None:
    facts = [
        {"plan": name, **{str(key): value for key, value in total.items()}}
        for name, total in zip(plans, comparison.totals.to_dict("records"), strict=True)
    ]
    rows = [
        (
            name,
            plan.loss.words,
            number_text(len(plan.workload)),
            rounded_up(plan.pcost / 2),
            number_text(plan.rmse),
            number_text(math.sqrt(plan.max_variance)),
        )
        for name, plan in plans.items()
    ]
    columns = ["plan", "minimized", "tables", "rho", "typical error", "worst cell"]
    output.table(columns, rows, texts=2, event="plan", facts=facts)


def _say_tables(comparison: Comparison, level: float, output: Output) -> None:
    """Say the margins of error of the tables that the plans treat most differently."""
    margins = comparison.queries["moe"]
    values = margins.to_numpy()
    order = np.argsort(-np.nanmax(values, axis=1) / np.nanmin(values, axis=1), kind="stable")[:_ROWS]
    shown = f"the {len(order)} of {len(values):,} tables that differ most" if len(order) < len(values) else "all tables"
    output.say(f"Margin of error of a cell ({level:.0%}), {shown}:", event="heading")
    names = [str(name) for name in margins.columns]
    rows, facts = [], []
    for number in order.tolist():
        query, kinds, cells = margins.index[number]
        given = values[number].tolist()
        texts = ["–" if math.isnan(margin) else f"± {number_text(margin)}" for margin in given]
        rows.append((table_text(query, kinds), number_text(cells), *texts))
        facts.append({"query": query, "kinds": kinds, "cells": int(cells), "plans": names, "moe": given})
    output.table(["table", "cells", *names], rows, event="margins-of-table", facts=facts)
