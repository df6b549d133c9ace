"""The tables of a release in a report: of each order the largest; statistics, comparisons and maps."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import JOIN, count_text, listed
from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.kind import labels_in_words
from residualplanner.publish.files.reading import Saved
from residualplanner.publish.files.sidecar import ComparisonForm
from residualplanner.publish.maps import Boundaries
from residualplanner.publish.maps.choropleths import LEGENDS, Areas, Shown, areas_with_shapes, no_shapes
from residualplanner.publish.pictures.drawing import svg_of
from residualplanner.publish.pictures.plots import ShownTable, draw_intervals, shown_table
from residualplanner.publish.report.figures import Figure
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import apart, decimals_of_errors, level_text, table_names
from residualplanner.release.profiles import profile_named
from residualplanner.release.quality import Quality
from residualplanner.release.statistic_forms import StatisticForm, rows_of_statistics, statistic_form
from residualplanner.release.table import Table

#: The most cells of a table that is read for a report, and the most orders that are shown.
_LARGEST, _ORDERS = 2_000_000, 4
#: What is said of intervals of numbers that are not unbiased.
_CUT = (
    " Intervals are those of the unbiased estimates, cut at the counts that are possible: a number can be outside "
    "its own."
)
#: How many areas are named, in the table of a map and in its caption.
_ROWS, _LISTED = 15, 10
_TITLES: Mapping[Shown, str] = {"estimate": "Estimates", "cv": "Coefficients of variation"}


def rows_of_tables(subject: Subject) -> list[int]:
    """The rows of the error table of the tables to show: of the four lowest orders the largest that can be read."""
    orders, cells = subject.errors["order"].to_numpy(), subject.errors["cells"].to_numpy(dtype=np.float64)
    possible = np.where((cells <= _LARGEST) & (subject.has_table if subject.tables else True), cells, -1.0)
    found = [int(np.argmax(np.where(orders == order, possible, -1.0))) for order in np.unique(orders[orders > 0])]
    return [row for row in found if possible[row] > 0][:_ORDERS]


def estimates_of(subject: Subject) -> Iterator[Figure]:
    """The tables of a release to show, read one at a time: of means and quantiles these, not what they are made of."""
    rows = rows_of_tables(subject) if subject.tables else []
    for row, name in zip(rows, table_names(subject.errors.iloc[rows]), strict=True):
        table, is_unbiased = subject.read_table(row), subject.product.is_unbiased
        columns, errors = _columns(table, is_unbiased=is_unbiased)
        title = f"table-{int(subject.errors['order'].iloc[row])}", name, _note(table, is_unbiased=is_unbiased)
        yield _of_cells(table, title, columns, decimals_of_errors(errors))


def _note(table: ShownTable, *, is_unbiased: bool) -> str:
    shown = "All" if table.is_whole else f"The {len(table.labels)} largest"
    if table.is_statistic:
        of = "" if table.is_whole else " of"
        return f"{shown}{of} {count_text(table.cells, 'value')}, in {table.unit}, each with its interval."
    if is_unbiased and not table.is_whole:
        return (
            f"{shown} estimates of {table.cells:,}. Chosen for their size, they tend to be too high; the wide "
            "intervals hold for all cells at once, hence also for chosen ones."
        )
    of = "" if table.is_whole else " numbers of"
    return f"{shown}{of} {count_text(table.cells, 'cell')}.{_CUT if table.ends is not None else ''}"


def _columns(table: ShownTable, *, is_unbiased: bool) -> tuple[dict[tuple[str, str], FloatArray], FloatArray]:
    """The columns of numbers by their names in the data and their headings; and the errors that set their digits."""
    percent, ending = level_text(table.level), "" if table.is_statistic else "_unbiased"
    heads = (f"ci_low{ending}", f"{percent} from"), (f"ci_high{ending}", "To")
    ends = {} if table.ends is None else dict(zip(heads, table.ends, strict=True))
    if table.is_statistic:
        low, high = ends.values()
        return {("estimate", f"Estimate, {table.unit}"): table.estimates, **ends}, high - low
    if not is_unbiased:
        std_err = "std_err_unbiased", "Standard error of the unbiased estimate"
        return {("estimate", "Estimate"): table.estimates, std_err: table.std_errs, **ends}, table.std_errs
    return {
        ("estimate", "Estimate"): table.estimates,
        ("moe", f"± {percent}"): table.margins,
        ("ci_low", "From"): table.estimates - table.margins,
        ("ci_high", "To"): table.estimates + table.margins,
        ("joint_moe", "± all at once"): table.joint_margins,
    }, table.margins


def _of_cells(
    table: ShownTable, title: tuple[str, str, str], columns: Mapping[tuple[str, str], FloatArray], decimals: int
) -> Figure:
    import pandas as pd

    labels = f"{level_text(table.level)} interval of the cell by itself", "of all cells of the table at once"
    data = pd.DataFrame([list(labels) for labels in table.labels], columns=list(table.names))
    shown = dict(columns)
    ends = [key for key in columns if key[0].startswith("ci_")]
    if ends:
        low, high = ends
        shown[low], shown[high] = apart(columns[low], columns[high], decimals)
    return Figure(
        *title,
        svg=svg_of(partial(draw_intervals, table, labels=labels)),
        data=pd.concat([data, pd.DataFrame({key: values for (key, _), values in columns.items()})], axis=1),
        head=(*table.names, *(heading for _, heading in columns)),
        rows=[
            (*cell, *("–" if np.isnan(number) else f"{number:,.{decimals}f}" for number in row))
            for cell, *row in zip(table.labels, *shown.values(), strict=True)
        ],
        texts=len(table.names),
    )


def maps_of(subject: Subject, maps: Mapping[str, Boundaries]) -> Iterator[Figure]:
    """For each level of each attribute whose areas have shapes two maps: of estimates, and how noisy they are.

    The numbers are those of a table of the attribute alone, or else of one that is summed over the others.
    """
    number = 0
    for name, boundaries in maps.items():
        found: dict[str, Areas] = {}  # of each level, from the first table that has it
        for table in _tables(subject, name):
            for areas in areas_with_shapes(table, boundaries):
                found.setdefault(areas.level, areas)
        if not found:
            raise no_shapes(name)
        for areas in found.values():
            number += 1
            for shown in LEGENDS:
                yield _map(subject, areas, boundaries, shown, f"map-{number}-{shown}")


def _tables(subject: Subject, name: str) -> Iterator[Table]:
    """The tables of an attribute alone; or else one with others, over which it is summed."""
    queries, orders = subject.errors["query"], subject.errors["order"].to_numpy()
    alone = np.flatnonzero((queries == name).to_numpy() & (orders == 1) & subject.has_table)
    for row in alone.tolist():
        yield subject.table(row)
    if len(alone):
        return  # a table of one attribute is about all records
    with_others = np.array([name in query.split(JOIN) for query in queries], dtype=np.bool_) & subject.has_table
    for row in np.flatnonzero(with_others)[np.argsort(orders[with_others], kind="stable")].tolist():
        table = subject.table(row)
        if table.universe:
            continue
        try:
            yield table.sum(*(other for other in table.names if other != name))
        except WorkloadError:  # rows of another attribute do not add up
            continue
        return


def _map(subject: Subject, areas: Areas, boundaries: Boundaries, shown: Shown, name: str) -> Figure:
    import pandas as pd

    quality = subject.quality or Quality()
    order = np.argsort(-np.nan_to_num(areas.numbers(shown, quality), nan=-np.inf), kind="stable")[:_ROWS]
    unbiased = "" if subject.product.is_unbiased else " of the unbiased estimate"
    about = f"The standard error{unbiased}, divided by the estimate: from published numbers alone."
    data = pd.DataFrame({"level": areas.level, "code": areas.codes, "name": areas.names, "estimate": areas.estimate})
    data["std_err"], data["cv"] = areas.std_err, areas.numbers("cv", quality)
    data["has_shape"] = [bool(boundaries.rings.get(code)) for code in areas.codes]
    texts = data.iloc[order][["code", "name", "estimate", "std_err", "cv"]].itertuples(index=False, name=None)
    caption = subject.product.caution if shown == "estimate" else about
    return Figure(
        name,
        f"{_TITLES[shown]} by {areas.level}",
        " ".join(filter(None, (caption, *_lacking(areas, boundaries)))),
        svg=svg_of(areas.picture(boundaries, shown, quality).draw),
        data=data,
        head=("Code", "Name", "Estimate", "Standard error", "Coefficient of variation"),
        rows=[
            (code, area, f"{estimate:,.1f}", f"{std_err:,.1f}", "–" if np.isnan(variation) else f"{variation:.1%}")
            for code, area, estimate, std_err, variation in texts
        ],
    )


def _lacking(areas: Areas, boundaries: Boundaries) -> Iterator[str]:
    """Which areas have no shape, and which shapes no number."""
    pairs = zip(areas.codes, areas.names, strict=True)
    lacking = [(code, name) for code, name in pairs if not boundaries.rings.get(code)]
    if lacking:
        names = [code if code == name else f"{code} ({name})" for code, name in lacking]
        yield f"Without a shape, and not on the map: {listed(names, _LISTED)}."
    codes = set(areas.codes)
    shapes = [code for code in boundaries.rings if code not in codes]
    if shapes:
        yield f"Shapes without a number: {listed(shapes, _LISTED)}."


#: The most tables of statistics on a page, and the most rows of each.
MOST_TABLES, MOST_ROWS = 20, 100
#: The most charts of statistics, and of comparisons.
MOST_CHARTS = 4
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
    drawn = rows_of_tables(subject)  # with the estimates
    every = [_rows_of(subject, row, is_drawn=row not in drawn) for row in islice(rows, MOST_TABLES)]
    return _with_charts(every, "statistic", subject.level)


def comparisons_of(subject: Subject) -> list[dict[str, Any]]:
    """The comparisons of tables that a folder has, as the template shows them; none of others."""
    saved = subject.saved
    if saved is None:
        return []
    every = [_comparison(saved, form) for form in islice(saved.described.comparisons.values(), MOST_TABLES)]
    return _with_charts(every, "comparison", subject.level)


class Chart(NamedTuple):
    """A picture of estimates with intervals, beside the table that has their numbers."""

    name: str
    title: str
    caption: str
    svg: str


#: What a chart shows: the labels of some axes; of their cells "estimate", "low" and "high"; the unit of these.
_Drawn = tuple[Mapping[str, Sequence[object]], Mapping[Any, Any], str]


def _with_charts(
    tables: Sequence[tuple[dict[str, Any], _Drawn | None]], word: str, level: float
) -> list[dict[str, Any]]:
    """The tables, the first of them that can be drawn with a chart each."""
    found: list[dict[str, Any]] = []
    left = MOST_CHARTS
    for number, (table, drawn) in enumerate(tables):
        chart = None
        if left > 0 and drawn is not None and math.prod(map(len, drawn[0].values())) > 1:
            left, chart = left - 1, _chart(f"{word}-{number}", table["title"], *drawn, level)
        found.append({**table, "chart": chart})
    return found


def _chart(
    name: str, title: str, axes: Mapping[str, Sequence[object]], fields: Mapping[Any, Any], unit: str, level: float
) -> Chart:
    numbers = np.stack([np.asarray(fields[each], dtype=np.float64) for each in ("estimate", "low", "high")])
    has_ends = np.isfinite(numbers[1:]).all(axis=0)
    shape = [len(labels) for labels in axes.values()]
    estimate, low, high = (np.where(has_ends, each, np.nan).reshape(shape) for each in numbers)
    shown = shown_table(axes, estimate, None, ends=(low, high), level=level, unit=unit)
    labels = f"{level_text(level)} interval", ""
    rows = "" if shown.is_whole else f"The {len(shown.labels)} largest of {shown.cells:,} rows.  "
    without = "" if has_ends.all() else "A row that is empty has an interval without an end."
    caption = f"{rows}{without}".strip()
    return Chart(name, title, caption, svg_of(partial(draw_intervals, shown, labels=labels)))


def _comparison(saved: Saved, form: ComparisonForm) -> tuple[dict[str, Any], _Drawn | None]:
    frame = saved.comparison(form.name)
    errors = frame.get("std_err", np.ones(1))
    decimals = decimals_of_errors(np.asarray(errors, dtype=np.float64), fewest=0)

    def text(value: Any) -> str:
        if isinstance(value, float):
            return _NOTHING if np.isnan(value) else "none" if np.isinf(value) else f"{value:,.{decimals}f}"
        return f"{value:,}" if isinstance(value, int) else value

    numbers = [column for column in form.columns if column.meaning]
    labels = len(form.columns) - len(numbers)
    columns = [
        map(label_text if place < labels else text, frame[column.name].tolist()[:MOST_ROWS])
        for place, column in enumerate(form.columns)
    ]
    table = {
        "title": f"{form.name}: {form.title}",
        "head": [column.name.replace("std_err", "standard error").capitalize() for column in form.columns],
        "rows": [*zip(*columns, strict=True)],
        "texts": max(1, labels),
        "meanings": [column.words for column in numbers],
        "left_out": max(0, len(frame) - MOST_ROWS),
    }
    if "low" not in frame or not labels:  # ranks have no intervals
        return table, None
    names = [column.name for column in form.columns[:labels]]
    cells = [" · ".join(map(label_text, row)) for row in frame[names].itertuples(index=False, name=None)]
    unit = next(column.unit for column in numbers if column.name == "estimate")
    return table, ({" × ".join(names): cells}, frame.to_dict("series"), unit)


def _rows_of(subject: Subject, row: int, *, is_drawn: bool) -> tuple[dict[str, Any], _Drawn | None]:
    table, query = subject.table(row), subject.plan.workload.query_at(row)
    form = statistic_form(subject.plan.domain, profile_named("default").of(subject.product), query)
    assert form is not None
    axes = {attribute.heading: labels_in_words(kind, attribute) for attribute, kind in form.groups}
    axes |= {name: tuple(map(label_text, labels)) for name, labels in form.kind.more_axes.items()}
    values = _values(subject, table, form)
    fields = {column.field: values[column.name] for column in form.columns}
    drawn = (axes, fields, table.plan.domain.unit) if is_drawn and "low" in fields else None
    numbers = zip(*_texts(form, values), strict=True)
    rows = [(*cell, *texts) for cell, texts in zip(islice(product(*axes.values()), MOST_ROWS), numbers, strict=True)]
    groups, names = ", ".join(attribute.heading for attribute, _ in form.groups), [each.name for each in form.columns]
    return {
        "title": " by ".join(filter(None, (f"{form.title[:1].upper()}{form.title[1:]}", groups))),
        "head": (*axes, *(name.replace("std_err", "standard error").replace("_", " ").capitalize() for name in names)),
        "rows": rows,
        "texts": max(1, len(axes)),
        "meanings": form.described(subject.plan.domain.unit, subject.level),
        "left_out": form.rows - len(rows),
    }, drawn


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


def _texts(form: StatisticForm, values: Mapping[str, Any]) -> Iterator[list[str]]:
    fields = {column.field: np.asarray(values[column.name]) for column in form.columns}
    for column in form.columns:
        shown = np.asarray(values[column.name])[:MOST_ROWS].tolist()
        if column.of == "truth":
            yield ["yes" if value else "no" for value in shown]
            continue
        error = fields.get(column.field if column.field in _ERRORS else f"{column.field}_std_err")
        decimals = decimals_of_errors(fields["high"] - fields["low"] if error is None else error, fewest=0)
        yield [_NOTHING if np.isnan(value) else f"{value:,.{decimals}f}" for value in shown]
