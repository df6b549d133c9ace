"""The page of a report: one HTML file that needs nothing else."""

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from residualplanner.ground.margins import margin_factor
from residualplanner.ground.version import __version__
from residualplanner.ground.words import count_text, number_text, rounded_up
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import clipping_of, remarks_of
from residualplanner.method.domain.labels import label_text
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import labels_in_words
from residualplanner.more.classifications.hierarchy import origins_of
from residualplanner.publish.report import words
from residualplanner.publish.report.figures import Figure, comparable, spread_rows, total_texts
from residualplanner.publish.report.privacy import Promise, budget_json, notions_of, promise_of
from residualplanner.publish.report.statistics import comparisons_of, statistics_of
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.tables import ErrorRows, PageTables, rows_json, tables_json
from residualplanner.release.statistic_forms import kinds_of_statistics

#: How many rows of the error table are shown at a time, and at most in print.
_PAGE_ROWS, _PRINT_ROWS = 25, 1_000
#: How many files are listed for readers without scripts, too.
_LISTED = 5_000
#: Labels of a row that have no more letters together are not broken.
_UNBROKEN = 48
#: How many labels of an attribute are named.
_LABELS = 6


def page_of(
    subject: Subject, rows: ErrorRows, tables: PageTables, figures: Mapping[str, tuple[Figure, ...]], folder: str
) -> str:
    """The page as HTML: ``figures`` on budget and errors, ``estimates``, ``maps``; its folder has the name given."""
    plan, scripts = subject.plan, ("page.js", *(("another_budget.js",) if subject.tables is None else ()))
    script = "\n".join(words.source(name).strip() for name in scripts)
    promise, total, about = promise_of(subject), total_texts(subject), subject.publication.to_json()
    return words.html_of(
        "page.html.jinja",
        title=subject.publication.title or f"Accuracy and privacy of {subject.name}",
        script=script,
        script_hash=words.script_hash(script),
        data=rows_json(rows),
        cells=tables_json(tables),
        options=json.dumps({"page": _PAGE_ROWS, "print": _PRINT_ROWS, "unbroken": _UNBROKEN}),
        link="./" + quote(folder, safe=""),
        rows=rows,
        first_rows=[rows.texts(row) for row in range(min(_PAGE_ROWS, rows.count))],
        page=tables,
        shown_table=_shown_table(tables),
        # for readers without scripts, too, unless they are too many for a list
        files=[pair for pair in zip(rows.values["query"], rows.links, strict=False) if pair[1]]
        if len(rows.links) <= _LISTED
        else [],
        **{**figures, "figures": {figure.name: figure for figure in figures["figures"]}},
        subject=subject,
        budget=budget_json(subject, promise) if subject.tables is None else None,
        notions=notions_of(subject),
        # by headings; the title is above them
        publication=[(word.capitalize(), text) for word, text in about.items() if word != "title"],
        statistics=statistics_of(subject),
        comparisons=comparisons_of(subject),
        has_statistics=bool(kinds_of_statistics(plan.workload)),
        clipping=clipping_of(plan.domain),
        omission=subject.tables.noise.omission if subject.tables else remarks_of(plan.domain),
        promise=promise,
        facts=_facts(subject, promise) + ([total] if total else []),
        **_workload(subject),
        level=words.level_text(subject.level),
        print_rows=_PRINT_ROWS,
        version=__version__,
        plan_sha256=plan_hash(plan),
    )


def _shown_table(page: PageTables) -> dict[str, Any]:
    if not page.tables:
        return {}
    table = page.tables[page.first]
    return {
        "number": page.first,
        "name": table.name,
        "cells": table.cells,
        "axes": len(table.axes),
        "short": _UNBROKEN // max(1, len(table.axes)),
        "heads": [
            *((name, False) for name in table.heads),
            *((each.label, each.form != "text") for each in page.columns),
        ],
        "rows": page.texts(table, _PAGE_ROWS),
    }


def _facts(subject: Subject, promise: Promise) -> list[tuple[str, str, str]]:
    of = "" if subject.product.is_unbiased else " of the unbiased estimates"
    rho = f"rho-zCDP with rho at most {rounded_up(subject.plan.budget.pcost_exact / 2)}"
    worst = f"± {number_text(margin_factor(subject.level) * math.sqrt(subject.plan.max_variance))}"
    facts = [
        ("Tables", number_text(len(subject.errors)), count_text(float(subject.plan.workload.cells.sum()), "cell")),
        ("Privacy budget", promise.statement, rho),
        ("Typical error", number_text(subject.plan.rmse), f"root mean square over all cells{of}, {subject.unit}"),
        ("Worst margin", worst, f"{words.level_text(subject.level)}, least accurate cell{of}, {subject.unit}"),
    ]
    targets = subject.with_targets
    if len(targets):
        met = f"{targets['meets_target'].sum():,} of {len(targets):,}"
        facts.append(("Targets met", met, f"{words.level_text(subject.target_level)} margin of the worst cell"))
    return facts


def _workload(subject: Subject) -> dict[str, Any]:
    plan, errors = subject.plan, subject.errors
    cells = errors.groupby("order")["cells"].sum()
    spreads = zip(spread_rows(comparable(errors)), cells, strict=True)
    origins = dict.fromkeys(origin for kind in plan.workload.kinds for origin in origins_of(kind))
    bases = ((family.replace("_", " "), number) for family, number in sorted(plan.basis_summary.items()))
    return {
        # of each order its tables, their cells, and the least, median and largest standard error
        "by_order": [(order, tables, number_text(float(of)), *rest) for (order, tables, *rest), of in spreads],
        "attributes": [_attribute_texts(attribute) for attribute in plan.domain.attributes],
        # the files that codes and names of hierarchies are from
        "origins": [(origin.file, origin.sha256) for origin in origins],
        "bases": ", ".join(f"{family} for {count_text(number, 'attribute')}" for family, number in bases),
        "optimality": plan.optimality,
    }


def _attribute_texts(attribute: Attribute) -> tuple[str, str, str, str]:
    numeric, attribute = attribute.numeric, attribute.by_bin
    if attribute.matching == "code" and not attribute.own_labels:
        values = f"codes 0 to {attribute.size - 1:,}"
    else:
        labels = labels_in_words(Identity(), attribute)[:_LABELS]
        values = ", ".join(labels) + (", …" if attribute.size > _LABELS else "")
    rules = [
        f"{word}: {rule if isinstance(rule, str) else f'counted as {label_text(rule.label)}'}"
        for word, rule in (("unknown", attribute.unknown), ("missing", attribute.missing))
        if rule != "error"
    ]
    if numeric is not None and numeric.clipping:
        rules.append(f"beyond {numeric.clipping}: counted as the limit")
    about = attribute.about
    title = f"{attribute.name}: {about.title}" if about.title not in ("", attribute.name) else attribute.name
    unit = f", in {about.unit}" if about.unit else ""
    notes = "; ".join(filter(None, (about.note, f"source: {about.source}" if about.source else "")))
    name = title + unit + (f" ({notes})" if notes else "")
    return name, f"{attribute.size:,}", values, "; ".join(rules) or "refused"
