"""The means and quantiles of a release in a report."""

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

import numpy as np

from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.kind import labels_in_words
from residualplanner.publish.files.reading import Saved
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import decimals_of_errors
from residualplanner.release.profiles import profile_named
from residualplanner.release.statistics import StatisticForm, rows_of_statistics, statistic_form
from residualplanner.release.table import Table

#: The most tables of statistics on a page, and the most rows of each.
MOST_TABLES, MOST_ROWS = 20, 100
#: What stands for a number that says nothing.
_NOTHING = "–"
#: The fields of errors, each of which has its own digits.
_ERRORS = ("std_err", "count_std_err", "sum_std_err")


def statistics_of(subject: Subject) -> list[dict[str, Any]]:
    """The means and quantiles of the first tables that are for such, as the template shows them; none of a plan."""
    if subject.tables is None:
        return []
    wanted = set(subject.tables.query_numbers.tolist())
    rows = (row for row in rows_of_statistics(subject.plan.workload) if row in wanted)
    return [_rows_of(subject, row) for row in islice(rows, MOST_TABLES)]


def _axes(form: StatisticForm) -> dict[str, tuple[str, ...]]:
    """The labels along each axis of a statistic, in words, by the headings of the axes."""
    found = {attribute.heading: labels_in_words(kind, attribute) for attribute, kind in form.groups}
    return found | {name: tuple(map(label_text, labels)) for name, labels in form.kind.more_axes.items()}


def _rows_of(subject: Subject, row: int) -> dict[str, Any]:
    table, query = subject.table(row), subject.plan.workload.query_at(row)
    form = statistic_form(subject.plan.domain, profile_named("default").of(subject.product), query)
    assert form is not None
    axes = _axes(form)
    numbers = zip(*_texts(form, _values(subject, table, form)), strict=True)
    rows = [
        (*labels, *texts) for labels, texts in zip(islice(product(*axes.values()), MOST_ROWS), numbers, strict=True)
    ]
    groups, names = ", ".join(attribute.heading for attribute, _ in form.groups), [each.name for each in form.columns]
    return {
        "title": " by ".join(filter(None, (f"{form.title[:1].upper()}{form.title[1:]}", groups))),
        "head": (*axes, *(name.replace("std_err", "standard error").replace("_", " ").capitalize() for name in names)),
        "rows": rows,
        "texts": max(1, len(axes)),
        "meanings": form.described(subject.plan.domain.unit, subject.level),
        "left_out": form.rows - len(rows),
    }


def _values(subject: Subject, table: Table, form: StatisticForm) -> dict[str, Any]:
    """The values of the columns of a statistic, (rows,) each: of a folder of adjusted tables those of its file.

    At another level than that of the file they are computed again, as of other releases.
    """
    release = subject.tables
    assert release is not None
    numbers, is_unbiased = release.numbers, subject.product.is_unbiased
    if isinstance(numbers, Saved) and not is_unbiased and numbers.described.level == subject.level:
        found = numbers.statistic(table.query)
        return {column.name: found[column.name].to_numpy() for column in form.columns}
    unbiased = table if is_unbiased else release.unbiased[table.query]
    return dict(form.values(table.estimate, unbiased.estimate, table.variance, subject.level))


def _texts(form: StatisticForm, values: Mapping[str, Any]) -> Iterator[list[str]]:
    """The values of each column as strings, as many as there are rows on the page, with the digits of their errors."""
    fields = {column.field: np.asarray(values[column.name]) for column in form.columns}
    for column in form.columns:
        shown = np.asarray(values[column.name])[:MOST_ROWS].tolist()
        if column.of == "truth":
            yield ["yes" if value else "no" for value in shown]
            continue
        error = fields.get(column.field if column.field in _ERRORS else f"{column.field}_std_err")
        decimals = decimals_of_errors(fields["high"] - fields["low"] if error is None else error, fewest=0)
        yield [_NOTHING if np.isnan(value) else f"{value:,.{decimals}f}" for value in shown]
