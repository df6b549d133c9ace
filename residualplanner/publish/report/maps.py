"""The maps of a report: of estimates, of how noisy they are, and of statistics such as proportions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import JOIN, listed
from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.choropleths import (
    LEGENDS,
    Areas,
    Shown,
    areas_of,
    areas_with_shapes,
    no_table,
    with_shapes,
)
from residualplanner.publish.pictures.drawing import svg_of
from residualplanner.publish.report.figures import Figure
from residualplanner.publish.report.statistics import ShownStatistic, shown_statistics
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import decimals_of_errors, level_text
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd

#: How many areas are named, in the table of a map and in its caption.
_ROWS, _LISTED = 15, 10
#: The most maps of one statistic, such as of a proportion for each value; and the fields that its table shows.
_MOST, _NUMBERS = 6, ("estimate", "low", "high")
_TITLES: Mapping[Shown, str] = {"estimate": "Estimates", "cv": "Coefficients of variation"}


def maps_of(subject: Subject, maps: Mapping[str, Boundaries]) -> Iterator[Figure]:
    """The maps of tables and statistics by each attribute whose areas have shapes; WorkloadError where it has none."""
    numbers, of_statistics = count(1), count(1)
    for name, boundaries in maps.items():
        found = [
            *_maps_of_tables(subject, name, boundaries, numbers),
            *_maps_of_statistics(subject, name, boundaries, of_statistics),
        ]
        if not found:
            raise no_table(name)
        yield from found


def _maps_of_tables(subject: Subject, name: str, boundaries: Boundaries, numbers: Iterator[int]) -> Iterator[Figure]:
    """For each level that has shapes two maps: of estimates, and how noisy they are.

    The numbers are those of a table of the attribute alone, or else of one that is summed over the others.
    """
    found: dict[str, Areas] = {}  # of each level, from the first table that has it
    for table in _tables(subject, name):
        for areas in areas_with_shapes(table, boundaries):
            found.setdefault(areas.level, areas)
    for areas, number in zip(found.values(), numbers, strict=False):
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
    quality = subject.quality or Quality()
    numbers = {**areas.numbers, "cv": areas.drawn("cv", quality)}
    data, rows = _data(areas, boundaries, numbers, areas.drawn(shown, quality))
    unbiased = "" if subject.product.is_unbiased else " of the unbiased estimate"
    about = f"The standard error{unbiased}, divided by the estimate: from published numbers alone."
    caption = subject.product.caution if shown == "estimate" else about
    return Figure(
        name,
        f"{_TITLES[shown]} by {areas.level}",
        " ".join(filter(None, (caption, *_lacking(areas, boundaries)))),
        svg=svg_of(areas.picture(boundaries, shown, quality).draw),
        data=data,
        head=("Code", "Name", "Estimate", "Standard error", "Coefficient of variation"),
        rows=[
            (code, area, *(_text(number, form) for number, form in zip(row, (",.1f", ",.1f", ".1%"), strict=True)))
            for code, area, *row in rows
        ],
    )


def _maps_of_statistics(
    subject: Subject, name: str, boundaries: Boundaries, numbers: Iterator[int]
) -> Iterator[Figure]:
    """For each statistic by the attribute alone a map for each level, and each label of more axes.

    Areas whose groups are too small for the noise are drawn as those without a number.
    """
    for shown in shown_statistics(subject, by=name):
        note = next(column.note for column in shown.form.columns if column.field == "estimate")
        cells = list(product(*(range(len(labels)) for _, labels in shown.more)))
        about = [f"{note[:1].upper()}{note[1:]}."] if note else []
        about += [f"{_MOST} of {len(cells)} are drawn."] if len(cells) > _MOST else []
        for cell in cells[:_MOST]:
            for areas in _areas_of_statistic(shown, cell, boundaries):
                yield _map_of_statistic(subject, areas, boundaries, f"map-statistic-{next(numbers)}", about)


def _areas_of_statistic(shown: ShownStatistic, cell: tuple[int, ...], boundaries: Boundaries) -> list[Areas]:
    """The areas of each level that has shapes, with intervals, for one label of more axes."""
    (attribute, kind), values = shown.form.groups[0], shown.fields
    shape: Any = (-1, *(len(labels) for _, labels in shown.more))
    at: Any = (slice(None), *cell)
    numbers = {name: np.reshape(values[name], shape)[at] for name in (*_NUMBERS, "too_noisy") if name in values}
    is_too_noisy = numbers.pop("too_noisy", False)
    numbers["estimate"] = np.where(is_too_noisy, np.nan, numbers["estimate"])
    labels = [labels[number] for (_, labels), number in zip(shown.more, cell, strict=True)]
    return with_shapes(areas_of(attribute, kind, numbers, shown.unit, ": ".join((shown.phrase, *labels))), boundaries)


def _map_of_statistic(
    subject: Subject, areas: Areas, boundaries: Boundaries, name: str, about: Sequence[str]
) -> Figure:
    estimate, low, high = (areas.numbers[name] for name in _NUMBERS)
    data, rows = _data(areas, boundaries, areas.numbers, estimate)
    decimals = decimals_of_errors(high - low, fewest=0)
    noisy = ["Hatched are areas for whose numbers the noise is too large."] if np.isnan(estimate).any() else []
    return Figure(
        name,
        f"{areas.what} by {areas.level}",
        " ".join((*about, *noisy, *_lacking(areas, boundaries))),
        svg=svg_of(areas.picture(boundaries, "estimate", subject.quality or Quality()).draw),
        data=data,
        head=("Code", "Name", "Estimate", f"{level_text(subject.level)} from", "To"),
        rows=[(code, area, *(_text(number, f",.{decimals}f") for number in row)) for code, area, *row in rows],
    )


def _text(number: float, form: str) -> str:
    return "–" if np.isnan(number) else format(number, form)


def _data(
    areas: Areas, boundaries: Boundaries, numbers: Mapping[str, FloatArray], drawn: FloatArray
) -> "tuple[pd.DataFrame, Iterator[tuple[Any, ...]]]":
    """The data of a map, and the rows of the areas with the largest numbers drawn: code, name, and all numbers."""
    import pandas as pd

    labels = {"level": areas.level, "code": areas.codes, "name": areas.names}
    has_shape = [bool(boundaries.rings.get(code)) for code in areas.codes]
    data = pd.DataFrame({**labels, **numbers, "has_shape": has_shape})
    order = np.argsort(-np.nan_to_num(drawn, nan=-np.inf), kind="stable")[:_ROWS]
    return data, data.iloc[order][["code", "name", *numbers]].itertuples(index=False, name=None)


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
