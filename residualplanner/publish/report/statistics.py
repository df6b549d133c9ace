"""The statistics of a release in a report, and its comparisons: of each a chart, and a table with its numbers."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.words import COUNTS, RECORDS
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import labels_in_words
from residualplanner.more.queries.proportions import Proportions
from residualplanner.publish.files.reading import Saved
from residualplanner.publish.files.sidecar import ComparisonForm
from residualplanner.publish.pictures.drawing import svg_of
from residualplanner.publish.pictures.plots import draw_intervals, shown_table
from residualplanner.publish.report.figures import Chart
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import decimals_of_errors, level_text, title_of
from residualplanner.release.profiles import profile_named
from residualplanner.release.statistic_forms import TABLES, StatisticForm, rows_of_statistics, statistic_form
from residualplanner.release.statistic_table import Column
from residualplanner.release.table import Table

#: The most tables of statistics on a page, and of comparisons; and the most rows of each.
MOST_TABLES, MOST_ROWS = 20, 100
#: What stands for a number that says nothing.
_NOTHING = "–"
#: What the numbers of each field are called, where that does not depend on the statistic.
_HEADS = {"sum": "Sum", "mean": "Mean", "std_err": "Standard error", "too_noisy": "Too noisy to use"}
#: What the axis of a comparison says, by the first word of its title; and by what numbers are multiplied, at its end.
_COMPARED = {"difference": "difference in {unit}", "ratio": "ratio", "change": "relative change"}
_TIMES = re.compile(r", times [\d,.e+-]+$")
#: The most answers of a kind of query that are looked up for the words of their labels.
_LOOKED_UP = 100_000


@dataclass(frozen=True, eq=False)
class ShownStatistic:
    """A statistic of a release in words, with its numbers."""

    form: StatisticForm
    phrase: str  # what it is, without its groups
    unit: str  # of its estimates
    groups: tuple[tuple[str, tuple[str, ...]], ...]  # what stands above the labels of each axis, and these
    more: tuple[tuple[str, tuple[str, ...]], ...]  # the same of the axes after those of the groups
    values: Mapping[str, Any]  # by column, (rows,) each

    @property
    def title(self) -> str:
        """What it is, and by which groups."""
        groups = ", ".join(title_of(attribute) for attribute, _ in self.form.groups)
        return f"{self.phrase} by {groups}" if groups else self.phrase

    @property
    def fields(self) -> dict[str, Any]:
        """The values by field, (rows,) each."""
        return {column.field: self.values[column.name] for column in self.form.columns}


def shown_statistics(subject: Subject, *, by: str | None = None) -> Iterator[ShownStatistic]:
    """Those of the first tables that are for such, or of these the ones by one attribute alone; none of a plan."""
    if subject.tables is None:
        return
    wanted = set(subject.tables.query_numbers.tolist())
    rows = (row for row in rows_of_statistics(subject.plan.workload) if row in wanted)
    for row in islice(rows, MOST_TABLES):
        table, query = subject.table(row), subject.plan.workload.query_at(row)
        form = statistic_form(subject.plan.domain, profile_named("default").of(subject.product), query)
        assert form is not None
        if by is not None and [attribute.name for attribute, _ in form.groups] != [by]:
            continue
        is_proportion = isinstance(form.kind, Proportions)
        unit = f"proportion of {_count_unit(subject)}" if is_proportion else _amounts(form.attribute)
        groups = tuple((attribute.heading, labels_in_words(kind, attribute)) for attribute, kind in form.groups)
        phrase = TABLES[type(form.kind)].title(title_of(form.attribute), _amounts(form.attribute))
        phrase = f"{phrase[:1].upper()}{phrase[1:]}"
        yield ShownStatistic(form, phrase, unit, groups, tuple(_more_axes(form)), _values(subject, table, form))


def _count_unit(subject: Subject) -> str:
    unit = subject.plan.domain.unit
    return RECORDS if unit == COUNTS else unit


def statistics_of(subject: Subject) -> list[dict[str, Any]]:
    """The means and quantiles of the first tables that are for such, as the template shows them; none of a plan."""
    return [_statistic(subject, shown, f"statistic-{number}") for number, shown in enumerate(shown_statistics(subject))]


def comparisons_of(subject: Subject) -> list[dict[str, Any]]:
    """The comparisons of tables that a folder has, as the template shows them; none of others."""
    saved = subject.saved
    if saved is None:
        return []
    forms = islice(saved.described.comparisons.values(), MOST_TABLES)
    return [_comparison(subject, saved, form, f"comparison-{number}") for number, form in enumerate(forms)]


def _chart(
    name: str, title: str, axes: Sequence[tuple[str, Sequence[str]]], fields: Mapping[Any, Any], unit: str, level: float
) -> Chart | None:
    """The estimates and intervals among the fields of cells, whose axes have a head and labels; None for few rows."""
    shape = [len(labels) for _, labels in axes]
    if "low" not in fields or math.prod(shape) < 2:  # ranks have no intervals
        return None
    numbers = np.stack([np.asarray(fields[each], dtype=np.float64) for each in ("estimate", "low", "high")])
    has_ends = np.isfinite(numbers[1:]).all(axis=0)
    estimate, low, high = (np.where(has_ends, each, np.nan).reshape(shape) for each in numbers)
    by_number = {str(axis): labels for axis, (_, labels) in enumerate(axes)}  # two attributes may have one title
    shown = shown_table(by_number, estimate, None, ends=(low, high), level=level, unit=unit)
    shown = replace(shown, names=tuple(head for head, _ in axes))
    rows = f"Of {shown.cells:,} rows the {len(shown.labels)} largest; chosen for their size, they tend to be too high."
    rows = "" if shown.is_whole else f"{rows}  "
    without = "" if has_ends.all() else "A row that is empty has an interval without an end."
    labels = f"{level_text(level)} interval", ""
    return Chart(name, title, f"{rows}{without}".strip(), svg_of(partial(draw_intervals, shown, labels=labels)))


def _comparison(subject: Subject, saved: Saved, form: ComparisonForm, chart: str) -> dict[str, Any]:
    frame, domain = saved.comparison(form.name), subject.plan.domain
    errors = frame.get("std_err", np.ones(1))
    decimals = decimals_of_errors(np.asarray(errors, dtype=np.float64), fewest=0)
    words = {"std_err": "Standard error", "low": f"{level_text(subject.level)} from", "high": "To"}

    def text(value: Any) -> str:
        if isinstance(value, float):
            return _NOTHING if np.isnan(value) else "none" if np.isinf(value) else f"{value:,.{decimals}f}"
        return f"{value:,}" if isinstance(value, int) else value

    numbers = [column for column in form.columns if column.meaning]
    names = [column.name for column in form.columns if not column.meaning]
    labels = [_words_of_labels(subject, name, frame[name].tolist()) for name in names]
    heads = [domain[name].heading if name in domain else name for name in names]
    texts = [map(text, frame[column.name].tolist()[:MOST_ROWS]) for column in numbers]
    over_numbers = [words.get(column.name, column.name.capitalize()) for column in numbers]
    title, cells = f"{form.name}: {form.title}", [" · ".join(row) for row in zip(*labels, strict=True)]
    unit = compared_unit(form.title, next((column.unit for column in numbers if column.name == "estimate"), ""))
    return {
        "title": title,
        "head": [*heads, *over_numbers],
        "rows": [*zip(*(each[:MOST_ROWS] for each in labels), *texts, strict=True)],
        "texts": max(1, len(names)),
        "meanings": [(word, *column.words) for word, column in zip(over_numbers, numbers, strict=True)],
        "left_out": max(0, len(frame) - MOST_ROWS),
        "chart": _chart(chart, title, [(" · ".join(heads), cells)], frame.to_dict("series"), unit, subject.level),
    }


def compared_unit(title: str, unit: str) -> str:
    """What the numbers of a comparison are, from its title and the unit of its estimates."""
    words = _COMPARED.get(title.split(" ", maxsplit=1)[0])
    if words is None:
        return unit or "estimate"
    times = _TIMES.search(title)
    return words.format(unit=RECORDS if unit == COUNTS else unit) + (times[0] if times else "")


def _words_of_labels(subject: Subject, name: str, labels: Sequence[object]) -> list[str]:
    """The labels of an attribute in a file, with the words for them where they have some."""
    texts = list(map(label_text, labels))
    domain = subject.plan.domain
    if name not in domain:
        return texts
    attribute, pairs = domain[name], subject.plan.workload.attribute_kinds
    used = [kind for at, kind in pairs if domain.attributes[at] is attribute and kind.is_axis and not kind.statistics]
    words: dict[str, str] = {}
    for kind in (Identity(), *used):
        if not words.keys() >= set(texts) and kind.rows(attribute.size) <= _LOOKED_UP:
            found = zip(map(label_text, kind.labels(attribute)), labels_in_words(kind, attribute), strict=True)
            words = dict(found) | words
    return [words.get(text, text) for text in texts]


def _statistic(subject: Subject, shown: ShownStatistic, chart: str) -> dict[str, Any]:
    form, axes = shown.form, (*shown.groups, *shown.more)
    words = [_head(form, column, _count_unit(subject), subject.level) for column in form.columns]
    cells = islice(product(*(labels for _, labels in axes)), MOST_ROWS)
    numbers = zip(*_texts(subject, shown), strict=True)
    rows = [(*cell, *texts) for cell, texts in zip(cells, numbers, strict=True)]
    described = form.described(subject.plan.domain.unit, subject.level)
    return {
        "title": shown.title,
        "head": (*(head for head, _ in axes), *words),
        "rows": rows,
        "texts": max(1, len(axes)),
        "meanings": [(word, *each) for word, each in zip(words, described, strict=True)],
        "left_out": form.rows - len(rows),
        "chart": _chart(chart, shown.title, axes, shown.fields, shown.unit, subject.level),
    }


def _more_axes(form: StatisticForm) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What stands above the labels of the axes after those of the groups, and these in words."""
    for name, labels in form.kind.more_axes.items():
        texts = tuple(map(label_text, labels))
        if isinstance(form.kind, Proportions):  # its labels are values of the attribute
            attribute = form.attribute.by_bin
            every = zip(attribute.value_labels, labels_in_words(Identity(), attribute), strict=True)
            words = {label_text(label): text for label, text in every}
            yield attribute.heading, tuple(words.get(text, text) for text in texts)
        else:
            yield name.capitalize(), texts


def _amounts(attribute: Attribute) -> str:
    return attribute.about.unit or title_of(attribute)


def _head(form: StatisticForm, column: Column, count_unit: str, level: float) -> str:
    """What stands above a column for the public; files have names for programs."""
    field = column.field.removesuffix("_std_err") or column.field
    heads = _HEADS | {
        "estimate": form.kind.statistics.removesuffix("s").capitalize(),
        "low": f"{level_text(level)} from",
        "high": "To",
        "count": count_unit.capitalize(),
        "total": f"All {count_unit} of the group",
    }
    word, unit = heads.get(field, field.replace("_", " ").capitalize()), form.attribute.about.unit
    if field != column.field:
        word = f"Standard error of {word[:1].lower()}{word[1:]}"
    elif unit and column.of == "amounts" and field in ("estimate", "sum", "mean"):
        word = f"{word}, {unit}"
    is_twice = [each.field for each in form.columns].count(column.field) > 1
    return f"{word}, unbiased" if is_twice and not column.is_adjusted else word


def _values(subject: Subject, table: Table, form: StatisticForm) -> dict[str, Any]:
    """The values of the columns of a statistic, (rows,) each: of a folder of adjusted tables those of its file.

    At another level than that of the file they are computed again, as of other releases.
    """
    saved, is_unbiased = subject.saved, subject.product.is_unbiased
    if saved is not None and not is_unbiased and saved.described.level == subject.level:
        found = saved.statistic(table.query)
        return {column.name: found[column.name].to_numpy() for column in form.columns}
    assert subject.tables is not None
    unbiased = table if is_unbiased else subject.tables.unbiased[table.query]
    return dict(form.values(table.estimate, unbiased.estimate, table.variance, subject.level))


def _texts(subject: Subject, shown: ShownStatistic) -> Iterator[list[str]]:
    for column in shown.form.columns:
        values = shown.values[column.name][:MOST_ROWS].tolist()
        if column.of == "truth":
            yield ["yes" if value else "no" for value in values]
            continue
        is_integer = subject.product.is_rounded and column.is_adjusted and column.of != "nothing"  # no proportion
        decimals = 0 if is_integer else _decimals(column, shown.fields)
        yield [_NOTHING if np.isnan(value) else f"{value:,.{decimals}f}" for value in values]


def _decimals(column: Column, fields: Mapping[str, FloatArray]) -> int:
    """How many decimals a column has: those of its errors, and of counts as many as all counts of a report."""
    own = column.field if column.field.endswith("std_err") else f"{column.field}_std_err"
    if column.of == "counts":
        return decimals_of_errors(fields.get(own, np.empty(0)))
    error = fields.get(own, fields.get("std_err", fields["high"] - fields["low"]))
    return decimals_of_errors(error, fewest=0)
