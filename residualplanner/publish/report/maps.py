"""The maps of a report: estimates of areas, and how noisy they are.

Reads: Subject, boundaries by attribute.  Gives: Figures.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import JOIN, listed
from residualplanner.publish.maps import LEGENDS, Areas, Boundaries, Shown, areas_with_shapes, no_shapes, require_shapes
from residualplanner.publish.pictures import svg_of
from residualplanner.publish.report.figures import Figure
from residualplanner.publish.report.subject import Subject
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd

#: How many areas are named, in the table of a map and in its caption.
_ROWS, _LISTED = 15, 10
_TITLES: Mapping[Shown, str] = {"estimate": "Estimates", "cv": "Coefficients of variation"}


def maps_of(subject: Subject, maps: Mapping[str, Boundaries]) -> Iterator[Figure]:
    """For each level of each attribute whose areas have shapes two maps: of estimates, and how noisy they are.

    The numbers are those of a table of the attribute alone; where there is none, of one that is summed over the others.

    Raises:
        DomainError: an attribute is not in the domain.
        WorkloadError: no table has areas with shapes, or there are no tables.
    """
    number = 0
    for name, boundaries in maps.items():
        found = list(_areas(subject, name, boundaries))
        if not found:
            raise no_shapes(name)
        for areas in found:
            number += 1
            for shown in LEGENDS:
                yield _figure(subject, areas, boundaries, shown, f"map-{number}-{shown}")


def require_mapped(subject: Subject, maps: Mapping[str, Boundaries]) -> None:
    """Raise unless the maps are of attributes of a release with areas; arguments and errors as in `maps_of`."""
    if maps and subject.tables is None:
        raise WorkloadError("maps are for the report on a release, not on a plan")
    require_shapes(subject.plan.workload, maps)


def _areas(subject: Subject, name: str, boundaries: Boundaries) -> Iterator[Areas]:
    """The areas of each level with shapes, from the first table that has it."""
    seen: set[str] = set()
    for table in _tables(subject, name):
        for areas in areas_with_shapes(table, boundaries):
            if areas.level not in seen:
                seen.add(areas.level)
                yield areas


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


def _figure(subject: Subject, areas: Areas, boundaries: Boundaries, shown: Shown, name: str) -> Figure:
    quality = subject.quality or Quality()
    order = np.argsort(-np.nan_to_num(areas.numbers(shown, quality), nan=-np.inf), kind="stable")[:_ROWS].tolist()
    variation = areas.numbers("cv", quality)
    return Figure(
        name=name,
        title=f"{_TITLES[shown]} by {areas.level}",
        caption=" ".join(filter(None, (_about(subject, shown), *_lacking(areas, boundaries)))),
        svg=svg_of(areas.picture(boundaries, shown, quality).draw),
        data=_data(areas, boundaries, variation),
        head=("Code", "Name", "Estimate", "Standard error", "Coefficient of variation"),
        rows=[
            (
                areas.codes[row],
                areas.names[row],
                f"{areas.estimate[row]:,.1f}",
                f"{areas.std_err[row]:,.1f}",
                "–" if np.isnan(variation[row]) else f"{variation[row]:.1%}",
            )
            for row in order
        ],
    )


def _about(subject: Subject, shown: Shown) -> str:
    """What the map shows, in words."""
    if shown == "estimate":
        return subject.product.caution
    unbiased = "" if subject.product.is_unbiased else " of the unbiased estimate"
    return f"The standard error{unbiased}, divided by the estimate: from published numbers alone."


def _lacking(areas: Areas, boundaries: Boundaries) -> Iterator[str]:
    """Which areas have no shape, and which shapes no number."""
    lacking, codes = areas.without_shape(boundaries), set(areas.codes)
    if lacking:
        yield f"Without a shape, and not on the map: {listed(lacking, _LISTED)}."
    shapes = [code for code in boundaries.rings if code not in codes]
    if shapes:
        yield f"Shapes without a number: {listed(shapes, _LISTED)}."


def _data(areas: Areas, boundaries: Boundaries, variation: "np.ndarray") -> "pd.DataFrame":
    import pandas as pd

    columns = {
        "level": areas.level,
        "code": areas.codes,
        "name": areas.names,
        "estimate": areas.estimate,
        "std_err": areas.std_err,
        "cv": variation,
        "has_shape": [bool(boundaries.rings.get(code)) for code in areas.codes],
    }
    return pd.DataFrame(columns)
