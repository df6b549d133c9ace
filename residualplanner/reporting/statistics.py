"""The means and quantiles of a release in a report.

Reads: Subject.  Gives: tables of strings.
"""

from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from residualplanner.domain import label_text
from residualplanner.queries import Statistic, statistic_among
from residualplanner.reconstruction import (
    SavedParts,
    SavedTables,
    StatisticForm,
    Table,
    profile_named,
    published_values,
    statistic_form,
)
from residualplanner.reporting.subject import Subject
from residualplanner.reporting.words import decimals_for

#: The most tables of statistics on a page, and the most rows of each.
MOST_TABLES, MOST_ROWS = 20, 100
#: What stands for a number that says nothing.
_NOTHING = "–"


@dataclass(frozen=True, eq=False, slots=True)
class StatisticRows:
    """A table of statistics on the page.

    Attributes:
        title: what it holds, with the unit.
        head: the headings, of labels first.
        rows: as strings.
        texts: how many columns are labels.
        meanings: of the columns of numbers: heading, unit and meaning.
        left_out: how many rows it has besides those.
    """

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    texts: int
    meanings: list[tuple[str, str, str]]
    left_out: int


def statistics_of(subject: Subject) -> list[StatisticRows]:
    """The means and quantiles that the workload of a release is for, of its first tables; none of a plan."""
    if subject.tables is None:
        return []
    kinds, workload = subject.plan.workload.kinds, subject.plan.workload
    if not any(isinstance(kind, Statistic) for kind in kinds):
        return []
    wanted = (
        row
        for row in subject.tables.numbers.tolist()
        if statistic_among(workload.query_at(row).table_axes.kinds) is not None
    )
    return [_rows_of(subject, row) for row in islice(wanted, MOST_TABLES)]


def _rows_of(subject: Subject, row: int) -> StatisticRows:
    table, domain = subject.table(row), subject.plan.domain
    form = statistic_form(domain, profile_named("default").of(subject.product), subject.plan.workload.query_at(row))
    assert form is not None
    of_axes = zip(table.names, table.labels_in_words, strict=True)
    groups = {domain[name].heading: labels for name, labels in of_axes if name != form.attribute.name}
    axes = groups | {name: tuple(map(label_text, labels)) for name, labels in form.more_axes.items()}
    values = _values(subject, table, form)
    numbers = zip(*(_texts(values[column.name]) for column in form.columns), strict=True)
    rows = [
        (*labels, *texts) for labels, texts in zip(islice(product(*axes.values()), MOST_ROWS), numbers, strict=True)
    ]
    return StatisticRows(
        " by ".join(filter(None, (f"{form.title[:1].upper()}{form.title[1:]}", ", ".join(groups)))),
        (*axes, *(_heading(column.name) for column in form.columns)),
        rows,
        max(1, len(axes)),
        form.described(domain.unit, subject.level),
        form.rows - len(rows),
    )


def _values(subject: Subject, table: Table, form: StatisticForm) -> dict[str, Any]:
    """The values of the columns of a statistic, (rows,) each: those of a folder of adjusted tables from its file."""
    if isinstance(subject.tables, SavedTables | SavedParts) and not subject.product.is_unbiased:
        found = subject.tables.statistic(table.query)
        return {column.name: found[column.name].to_numpy() for column in form.columns}
    return dict(published_values(table, form.columns, subject.level))


def _heading(name: str) -> str:
    """The name of a column as a heading.

    Example:
        >>> _heading("count_std_err"), _heading("too_noisy")
        ('Count standard error', 'Too noisy')
    """
    return name.replace("std_err", "standard error").replace("_", " ").capitalize()


def _texts(column: Any) -> list[str]:
    """The values of a column as strings, as many as there are rows on the page."""
    values = np.asarray(column)
    if values.dtype == np.bool_:
        return ["yes" if value else "no" for value in values[:MOST_ROWS].tolist()]
    decimals = decimals_for(values)
    return [_NOTHING if np.isnan(value) else f"{value:,.{decimals}f}" for value in values[:MOST_ROWS].tolist()]
