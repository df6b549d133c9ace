"""Plans, measurements and releases in words: what they answer, what they cost, how accurate they are."""

import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.fits.synthesis.records import SyntheticRecords
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import (
    COUNTS,
    JOIN,
    count_text,
    is_plain,
    listed,
    number_text,
    rounded_up,
    table_text,
)
from residualplanner.method.domain.domain import clipping_of, omission_of
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import Bases
from residualplanner.method.privacy import PrivacyClaim, claim_of_budget
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.file_names import BOOK_FORMAT, PARTS_FORMAT, statistics_in_parts
from residualplanner.publish.files.sidecar import STATISTICS
from residualplanner.release.means import mean_std_err_of_query
from residualplanner.release.release import Release
from residualplanner.release.statistic_forms import kinds_of_statistics, rows_of_statistics
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.steps import say_sizes

if TYPE_CHECKING:
    import pandas as pd

#: How readers find the tables of a folder, by its format, where each does not have a file.
_WHICH = {PARTS_FORMAT: "tables.parquet says which part holds", BOOK_FORMAT: "index.csv says which sheet is"}
#: How many rows of an error table are printed.
_ROWS = 10
#: How many records the groups have whose means are told of, and how many tables of means.
_RECORDS, _MEANS = 1000, 10


def say_workload(workload: Workload, output: Output, *, memory: int | None = None, bases: Bases | None = None) -> None:
    """Say how many tables and cells a workload has, and what it needs, if that is much."""
    cells = number_text(float(workload.cells.sum()))
    text = f"{count_text(len(workload), 'table')} with {cells} cells in all"
    output.fact("Workload", text, tables=len(workload), cells=float(workload.cells.sum()))
    say_sizes(workload, output, memory=memory, bases=bases)


def say_plan(plan: Plan, output: Output) -> None:
    """Say what a plan costs, what that promises, what is measured, and how accurate its tables will be."""
    claim = claim_of_budget(plan.budget, plan.neighbors)
    output.fact("Budget", claim.summary, claim.promise, **_privacy_facts(plan, claim))
    say_caution(claim, output)
    text = f"pcost {rounded_up(plan.pcost)} of {rounded_up(plan.budget.pcost_exact)}, spent when measured"
    output.fact("Cost", text, pcost=plan.pcost, budget_pcost=plan.budget.pcost)
    say_omission(plan, output)
    if set(plan.basis_summary) != {"subtraction"}:
        families: dict[str, list[str]] = {}
        for position in np.flatnonzero(plan.workload.uses.any(axis=1)).tolist():
            family = plan.strategy.of_attributes[position].family.replace("_", " ")
            families.setdefault(family, []).append(plan.domain.names[position])
        texts = (f"{family} for {listed(names, 5)}" for family, names in sorted(families.items()))
        output.fact("Bases", "; ".join(texts))
    rmse, worst, unit = plan.rmse, math.sqrt(plan.max_variance), plan.domain.unit
    sums = "; errors of sums in units of the largest amount" if plan.workload.has_sums else ""
    text = f"typical error (rmse) {number_text(rmse)} {unit}, worst cell {number_text(worst)} {unit}{sums}"
    output.fact("Accuracy", text, rmse=rmse, max_std_err=worst)
    if plan.targets is not None:
        output.fact("Targets", _targets_text(plan))
    value = f"{number_text(plan.loss_value)}{plan.loss.unit.replace(COUNTS, unit)}"
    numbers = {name: getattr(plan, name) for name in ("loss_value", "gap", "suboptimality")}
    text = f"{plan.loss.words}: {value} ({plan.status}); {plan.optimality}"
    output.fact("Minimized", text, loss=plan.loss.words, **numbers)


def say_caution(claim: PrivacyClaim, output: Output) -> None:
    """Say that a budget is beyond reason; nothing of others."""
    if claim.caution:
        output.fact("Caution", claim.caution)


def say_spending(measurement: Measurement, output: Output) -> None:
    """Say what has been spent, and what the noise guarantees."""
    plan = measurement.plan
    claim = claim_of_budget(plan.budget, plan.neighbors)
    output.fact("Spent", f"{claim.summary}; measuring again spends it again", **_privacy_facts(plan, claim))
    say_caution(claim, output)
    output.fact("Guarantee", measurement.noise.guarantee)


def say_measured(noise: NoiseRecord, output: Output) -> None:
    """Say that several measurements are averaged, and what may be claimed for all of them; nothing of one."""
    if noise.measured:
        output.fact("Measurements", f"{len(noise.measured)}, averaged; {noise.guarantee}", count=len(noise.measured))


def say_omission(plan: Plan, output: Output) -> None:
    """Say which records are in no table, and what to write in the spec to count them; and how they are weighted."""
    omission, weights, clipping = omission_of(plan.domain), plan.domain.weight.sentence, clipping_of(plan.domain)
    if weights:
        output.fact("Weights", weights)
    if clipping:
        output.fact("Limits", clipping)
    if omission:
        remedy = 'write a label in place of "drop", such as missing = "Not stated" or unknown = "Other"'
        output.fact("Left out", omission, f"to count them, {remedy}")


def say_release(
    release: Release, folder: Path, output: Output, *, file_format: str, comparisons: int, options: Sequence[str]
) -> None:
    """Say what has been written to a folder of tables, what their numbers are, and how to make a page with options."""
    product, in_parts = release.product, file_format == PARTS_FORMAT
    if product.mark:
        lines = (f"{product.mark}; standard errors are those of the unbiased estimates", product.elsewhere)
        output.fact("Numbers", *filter(None, lines), product=product.name, facts=list(product.facts))
    found = _WHICH.get(file_format, "index.csv says which file is")
    errors = "it also says" if in_parts else "errors.csv"
    errors = f"{errors} how accurate each is, manifest.json how they were made and at what cost"
    words = list(kinds_of_statistics(release.plan.workload))
    places = {PARTS_FORMAT: " and ".join(map(statistics_in_parts, words)), BOOK_FORMAT: "a sheet after its table"}
    where = places.get(file_format, f"{STATISTICS}/")
    statistics = f"{where} has the {' and the '.join(words)}" if words else ""
    compared = f"comparison-*.csv have {count_text(comparisons, 'comparison')}" if comparisons else ""
    more = "; ".join(filter(None, (statistics, compared)))
    written = (f": {count_text(len(release), 'table')}; {found} which,", errors + ";" * bool(more), more)
    output.wrote(folder, f"\n{'':<12}".join(filter(None, written)))
    output.next((command_text("report", folder, *options), "a page to read and pass on"))


def say_errors(errors: "pd.DataFrame", output: Output) -> None:
    """Print some rows of an error table in their order: the first ones, half of them of kinds but the identity."""
    kinds = errors["kinds"].cat
    has_identities = np.array([is_plain(words) for words in kinds.categories])[kinds.codes]
    plain, others = np.flatnonzero(has_identities), np.flatnonzero(~has_identities)
    others = others[: max(_ROWS // 2, _ROWS - len(plain))]
    head = errors.iloc[np.sort(np.concatenate([plain[: _ROWS - len(others)], others]))]
    level = f"{head['conf_level'].iloc[0]:.0%}"
    first = "first " if head.index[-1] == len(head) - 1 else ""
    shown = f"{first}{len(head)} of {len(errors):,} tables" if len(errors) > len(head) else "all tables"
    output.say(f"\nAccuracy of a cell, known before any data are read ({shown}):")
    margin = f"margin of error ({level})"
    columns = {
        "table": [table_text(*names) for names in zip(head["query"], head["kinds"], strict=True)],
        "cells": [number_text(cells) for cells in head["cells"]],
        "standard error": [number_text(std_err) for std_err in head["std_err"]],
        margin: [f"± {number_text(moe)}" for moe in head["moe"]],
    }
    if "unit" in head:
        columns["unit"] = head["unit"].tolist()
    if "target" in head:
        columns["target"] = ["" if math.isnan(target) else f"± {number_text(target)}" for target in head["target"]]
    if (head["max_std_err"] > head["std_err"] * (1 + 1e-4)).any():
        worst = head["moe"] * head["max_std_err"] / head["std_err"]
        columns["of the worst cell"] = [f"± {number_text(moe)}" for moe in worst]
    units = ["unit"] if "unit" in head else []
    names = ["query", "kinds", "cells", *units, "std_err", "max_std_err", "moe", "conf_level"]
    facts = [{name: row[name] for name in names} for _, row in head.iterrows()]
    output.table(list(columns), list(zip(*columns.values(), strict=True)), event="accuracy-of-table", facts=facts)


def say_means(plan: Plan, level: float, output: Output) -> None:
    """Say how accurate means are, in the unit of their amounts; nothing where no table is for means."""
    margins, lines = [], []
    for row in islice(rows_of_statistics(plan.workload), _MEANS):
        found = mean_std_err_of_query(plan, row, records=_RECORDS)
        if found is not None:
            std_err, unit = found
            margins.append(margin_factor(level) * float(std_err.max()))
            words = plan.workload.query_at(row).words(plan.domain)
            lines.append(f"{words}: ± {number_text(margins[-1])} {unit}")
    if not margins:
        return
    output.fact(
        "Means",
        f"the errors above are those of the answers that means are computed from.  The mean of {_RECORDS:,} records",
        f"has at most the following margin of error ({level:.0%}), and that of {_RECORDS // 10:,} ten times as much:",
        *lines,
        records=_RECORDS,
        moe=margins,
    )


def _targets_text(plan: Plan) -> str:
    assert plan.targets is not None
    ratios = plan.targets.ratios(plan.workload, plan.max_variances)
    ratios = ratios[~np.isnan(ratios)]
    level, worst, missed = f"at level {plan.targets.level:.15g}", float(ratios.max()), int((ratios > 1).sum())
    tables = "the table that has one" if len(ratios) == 1 else f"the {len(ratios):,} tables that have one"
    if not missed:
        return f"met by {tables}, {level}"
    tables = tables if len(ratios) == 1 else f"{missed:,} of {tables}"
    needed = rounded_up(plan.pcost * worst**2 / 2)
    return f"missed by {tables}, {level}, by a factor of up to {number_text(worst)}; rho {needed} would do"


def _privacy_facts(plan: Plan, claim: PrivacyClaim) -> dict[str, Any]:
    return claim.facts | {"neighbors": plan.neighbors.notion, "records_per_person": plan.neighbors.records_per_person}


def say_records(people: SyntheticRecords, output: Output) -> None:
    """Say what records are, what nothing was measured about, how they fit, and which tables noise does not explain."""
    lines = [
        "synthetic: none is that of a person; what they say beyond the tables is a model's assumption; standard errors "
        "computed from them are too small"
    ]
    if people.facts:
        lines.append(f"public facts from other sources, not protected by this release: {'; '.join(people.facts)}")
    output.fact("Records", *lines, records=len(people), method=people.method, seed=people.seed)
    if people.caution:
        output.fact("Caution", people.caution, signal=people.signal)
    if people.unmeasured:
        names = ", ".join(people.unmeasured)
        words = f"{names}: all values are equally frequent, and independent of the others, as nothing was measured"
        output.fact("Uniform", words, attributes=list(people.unmeasured))
    quality = people.quality
    freedom, distance = int(quality.freedoms.sum()), float(quality.distances.sum())
    ratio = number_text(distance / freedom) if freedom else "0"
    text = f"the model's tables are {ratio} times as far from what was measured as noise explains, in squares"
    also = f"{len(quality.worse):,} of {len(quality.names):,} sets of attributes fit worse than noise explains"
    output.fact("Fit", text, also, distance=distance, freedom=freedom, worse=len(quality.worse))
    ratios = dict(zip(quality.names, (quality.distances / np.maximum(quality.freedoms, 1)).tolist(), strict=True))
    worst = [(names, ratios[names]) for names in quality.worse[:_ROWS]]
    if worst:
        rows = [(JOIN.join(names), number_text(ratio)) for names, ratio in worst]
        facts = [{"query": list(names), "ratio": ratio} for names, ratio in worst]
        output.table(["fits worst", "times the noise"], rows, event="fit-of-table", facts=facts)
