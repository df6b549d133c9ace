"""The means and quantiles of a release in a report.

Reads: Subject.  Gives: tables of strings.
"""

from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from residualplanner.derived import Column, StatisticTable, columns_of, statistic_of
from residualplanner.domain import label_text
from residualplanner.queries import Statistic, statistic_among
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
    """The means and quantiles that the workload of a release is for, of its first tables; none of a plan.

    Tables that are not unbiased have none.
    """
    if subject.tables is None or not subject.product.is_unbiased:
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
    found = statistic_of(table, subject.level)
    kind = next(kind for kind in table.kinds if isinstance(kind, Statistic))
    assert found is not None
    of_axes = zip(table.names, table.labels_in_words, strict=True)
    groups = {domain[name].heading: labels for name, labels in of_axes if name != found.attribute}
    axes = groups | {name: tuple(map(label_text, labels)) for name, labels in found.more_axes.items()}
    columns = columns_of(kind)
    numbers = zip(*(_texts(column, found) for column in columns), strict=True)
    rows = [
        (*labels, *texts) for labels, texts in zip(islice(product(*axes.values()), MOST_ROWS), numbers, strict=True)
    ]
    return StatisticRows(
        " by ".join(filter(None, (f"{found.title[:1].upper()}{found.title[1:]}", ", ".join(groups)))),
        (*axes, *(_heading(column.name) for column in columns)),
        rows,
        max(1, len(axes)),
        [column.described(domain[found.attribute], domain.unit, subject.level) for column in columns],
        len(found.values[columns[0].name]) - len(rows),
    )


def _heading(name: str) -> str:
    """The name of a column as a heading.

    Example:
        >>> _heading("count_std_err"), _heading("too_noisy")
        ('Count standard error', 'Too noisy')
    """
    return name.replace("std_err", "standard error").replace("_", " ").capitalize()


def _texts(column: Column, found: StatisticTable) -> list[str]:
    """The values of a column as strings, as many as there are rows on the page."""
    values = found.values[column.name]
    if values.dtype == np.bool_:
        return ["yes" if value else "no" for value in values[:MOST_ROWS].tolist()]
    decimals = decimals_for(values)
    return [_NOTHING if np.isnan(value) else f"{value:,.{decimals}f}" for value in values[:MOST_ROWS].tolist()]
