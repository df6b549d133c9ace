"""Maps of a table: its estimates, or how noisy they are, as colors of the areas that its cells are about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, entry_named, require_type, value_text
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.ground.words import COUNTS, RECORDS, number_text, suggestion
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.maps.boundaries import Boundaries, plane_rings
from residualplanner.publish.pictures.drawing import BLUES, ORANGES, QUIET, Picture
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.path import Path

#: What a map shows: estimates, or their coefficients of variation.
Shown = Literal["estimate", "cv"]
#: What is above the legend of a map.
LEGENDS: Mapping[Shown, str] = {"estimate": "estimate", "cv": "coefficient of variation"}
#: The width of a map in inches, and its least and largest height.
_WIDTH, _LOWEST, _HIGHEST = 7.2, 2.4, 7.2


@dataclass(frozen=True, eq=False, slots=True)
class Areas:
    """The numbers of the cells of a table that are about areas of one level."""

    level: str  # its name; the attribute's where it has no levels
    codes: tuple[str, ...]  # of the n areas
    names: tuple[str, ...]  # of the areas; their codes where they have none
    numbers: Mapping[str, FloatArray]  # the estimates, and what stands beside them, by column, (n,) each
    unit: str  # of the estimates, in words
    what: str  # what these are, in words

    def drawn(self, shown: Shown, quality: Quality) -> FloatArray:
        """What a map shows, (n,); nan where there is none."""
        estimate = self.numbers["estimate"]
        return estimate if shown == "estimate" else quality.variation(estimate, self.numbers["std_err"])

    def picture(self, boundaries: Boundaries, shown: Shown, quality: Quality) -> Picture:
        """A map of the numbers."""
        numbers = self.drawn(shown, quality)
        by_code = dict(zip(self.codes, numbers.tolist(), strict=True))
        grades = (quality.reliable, quality.usable)
        classes = classes_of_estimates(numbers) if shown == "estimate" else classes_of_variation(grades)
        legend = f"{self.what},\n{self.unit}" if shown == "estimate" else LEGENDS[shown]
        draw = partial(draw_choropleth, boundaries, by_code, classes, title=legend)
        return Picture(f"{self.what if shown == 'estimate' else LEGENDS[shown]} by {self.level}", draw)


def areas_of(
    attribute: Attribute, kind: Kind, numbers: Mapping[str, FloatArray], unit: str, what: str = LEGENDS["estimate"]
) -> list[Areas]:
    """The areas that the answers of a kind of query, (q,) by column, are about, level by level from coarse to fine."""
    labels = tuple(map(label_text, kind.labels(attribute)))
    beside = kind.columns_beside(attribute)
    levels = np.array(beside.get("level", (attribute.name,) * len(labels)))
    codes = np.array(_codes_of(kind, attribute), dtype=object)
    names = np.array(beside.get("name", beside.get("meaning", labels)), dtype=object)
    found = []
    for level in dict.fromkeys(levels.tolist()):
        at = levels == level
        own = {column: values[at] for column, values in numbers.items()}
        found.append(Areas(level, tuple(codes[at]), tuple(names[at]), own, unit, what))
    return found


def areas_without_shape(workload: Workload, maps: Mapping[str, Boundaries]) -> dict[str, tuple[str, ...]]:
    """By mapped attribute the codes of areas that have no shape, on levels of which some areas have one."""
    found = {}
    for name, boundaries in maps.items():
        attribute, lacking = workload.domain[name], dict[str, None]()
        shaped = {code for code, rings in boundaries.rings.items() if rings}
        own = set(map(label_text, attribute.own_labels))  # such as "Not stated", which is no area
        for kind in _kinds_on(attribute, workload):
            for areas in with_shapes(areas_of(attribute, kind, {}, unit=""), boundaries):
                lacking |= {code: None for code in areas.codes if code not in own | shaped}
        found[name] = tuple(lacking)
    return {name: codes for name, codes in found.items() if codes}


def require_shapes(workload: Workload, maps: Mapping[str, Boundaries]) -> None:
    """Raise unless, as far as queries tell, some answers about each mapped attribute are about areas with a shape."""
    domain = workload.domain
    unknown = [name for name in maps if name not in domain]
    if unknown:
        close = suggestion(unknown[0], [*domain])
        raise DomainError(f"maps: the domain has no attribute {unknown[0]!r}{close}", attributes=unknown)
    for name, boundaries in maps.items():
        kinds = _kinds_on(domain[name], workload)
        if not kinds:
            raise no_table(name)
        if not any(boundaries.rings.get(code) for kind in kinds for code in _codes_of(kind, domain[name])):
            raise _no_shapes(domain[name], boundaries)


def no_table(name: str) -> WorkloadError:
    """The refusal of a map of an attribute that makes no table of all records."""
    return WorkloadError(f"maps: no table of all records is by {name!r}; ask for one, or leave out its map")


def _no_shapes(attribute: Attribute, boundaries: Boundaries) -> WorkloadError:
    """The refusal of a map of an attribute no table of which has areas with a shape; all of its words are public."""
    label = label_text(attribute.value_labels[0])
    shape = next((code for code, rings in boundaries.rings.items() if rings), "")
    codes = f"its codes are such as {label!r}, and those of the shapes such as {shape!r}"
    remedy = "check which property of the GeoJSON is the code"
    return WorkloadError(f"maps: no table of {attribute.name!r} has areas with a shape: {codes}; {remedy}")


def _kinds_on(attribute: Attribute, workload: Workload) -> list[Kind]:
    attributes = workload.domain.attributes
    return [kind for at, kind in workload.attribute_kinds if attributes[at] is attribute and kind.is_axis]


def _codes_of(kind: Kind, attribute: Attribute) -> tuple[str, ...]:
    return kind.columns_beside(attribute).get("code") or tuple(map(label_text, kind.labels(attribute)))


def areas_with_shapes(table: Table, boundaries: Boundaries, level: str | None = None) -> list[Areas]:
    """The areas of the levels of a table, or of one level, of which some have a shape, from coarse to fine."""
    if len(table.names) != 1:
        raise WorkloadError(f"a map is of a table of one attribute, got {list(table.names)}; sum over the others first")
    kind = next(kind for kind in table.kinds if kind.is_axis)
    unit = RECORDS if table.unit == COUNTS else table.unit
    numbers = {"estimate": table.estimate, "std_err": table.std_err}
    every = areas_of(table.plan.domain[table.names[0]], kind, numbers, unit)
    chosen = every if level is None else entry_named("level", level, {each.level: [each] for each in every})
    return with_shapes(chosen, boundaries)


def with_shapes(levels: Sequence[Areas], boundaries: Boundaries) -> list[Areas]:
    """The areas of those levels of which some have a shape."""
    return [areas for areas in levels if any(boundaries.rings.get(code) for code in areas.codes)]


def choropleth(
    table: Table,
    boundaries: Boundaries,
    show: Shown = "estimate",
    *,
    level: str | None = None,
    quality: Quality | None = None,
) -> Picture:
    """A map of a table of one attribute: areas in the colors of five classes, hatched where there is no number.

    Args:
        table: a table whose labels are codes of areas.
        boundaries: the shapes of the areas, by code.
        show: "estimate", or "cv", the coefficient of variation: standard error over estimate.
        level: which level of a hierarchy; the finest of which some areas have a shape if not given.
        quality: limits of the classes of coefficients of variation; 15% and 30% if not given.

    Raises:
        WorkloadError: the table has more than one attribute or no such level, no area of the level has a shape, or
            ``show`` is another word.

    Guarantees: post-processing; it costs no budget.
    """
    require_type("choropleth", "boundaries", boundaries, Boundaries, 'write Boundaries.from_geojson("x.json", "GEOID")')
    if show not in LEGENDS:
        raise WorkloadError(f"show must be 'estimate' or 'cv', got {value_text(show)}")
    found = areas_with_shapes(table, boundaries, level)
    if not found:
        raise _no_shapes(table.plan.domain[table.names[0]], boundaries)
    return found[-1].picture(boundaries, show, quality or Quality())


@dataclass(frozen=True, slots=True)
class ColorClasses:
    """Classes of numbers: below the first limit, between two limits, and from the last limit on."""

    limits: tuple[float, ...]  # (m,), ascending
    colors: tuple[str, ...]  # (m + 1,), of one hue, from pale to deep
    texts: tuple[str, ...]  # (m + 1,), the ranges of the classes in words

    def of(self, numbers: FloatArray) -> NDArray[np.int64]:
        """The class of each number, (n,); -1 for nan."""
        found = np.searchsorted(np.array(self.limits), numbers, side="right")
        return np.where(np.isnan(numbers), -1, found)


def classes_of_estimates(numbers: FloatArray) -> ColorClasses:
    """Five classes of about as many numbers each, (n,), or fewer where these hardly differ; limits are round."""
    known = numbers[np.isfinite(numbers)]
    inner = np.quantile(known, [0.2, 0.4, 0.6, 0.8]) if known.size else np.empty(0)
    limits = sorted({float(f"{limit:.2g}") for limit in inner.tolist()})  # two digits tell them apart
    # rounded, a limit may leave the range of the numbers, and its class would be empty
    kept = tuple(limit for limit in limits if known.min() < limit <= known.max())
    return _classes(kept, BLUES, [number_text(limit) for limit in kept])


def classes_of_variation(grades: tuple[float, float]) -> ColorClasses:
    """Five classes of coefficients of variation; below the first of the grades these are reliable, then usable."""
    reliable, usable = grades
    limits = tuple(sorted({reliable / 3, reliable, usable, 2 * usable}))
    return _classes(limits, ORANGES, [f"{100 * limit:.3g}%" for limit in limits])


def _classes(limits: tuple[float, ...], colors: Sequence[str], texts: Sequence[str]) -> ColorClasses:
    """The classes between limits; where these are few, colors that are far apart."""
    if not limits:
        return ColorClasses((), (colors[len(colors) // 2],), ("all areas",))
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    chosen = np.linspace(0, len(colors) - 1, len(limits) + 1).round().astype(int)
    ranges = (f"below {texts[0]}", *between, f"{texts[-1]} or more")
    return ColorClasses(limits, tuple(colors[number] for number in chosen), ranges)


def draw_choropleth(
    boundaries: Boundaries, numbers: Mapping[str, float], classes: ColorClasses, *, title: str
) -> "Figure":
    """A map whose areas have the colors of their numbers, by code, with a legend; areas without one are hatched."""
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shapes = plane_rings({code: rings for code, rings in boundaries.rings.items() if rings})
    values = np.array([numbers.get(code, np.nan) for code in shapes])
    found = classes.of(values)
    width, height = np.ptp(np.concatenate([ring for rings in shapes.values() for ring in rings]), axis=0)
    high = float(np.clip(0.8 * _WIDTH * height / max(width, 1e-12), _LOWEST, _HIGHEST))
    figure = Figure(figsize=(_WIDTH, high), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    handles = []
    looks = enumerate(zip(classes.colors, classes.texts, strict=True))
    every: list[tuple[int, str, dict[str, Any]]]
    every = [(number, text, {"facecolor": color}) for number, (color, text) in looks]
    if (found < 0).any():
        every.append((-1, "no number", {"facecolor": "none", "hatch": "////"}))
    for number, text, look in every:
        paths = [_path(rings) for rings, each in zip(shapes.values(), found, strict=True) if each == number]
        if paths:
            axes.add_collection(PathCollection(paths, linewidth=0.4, edgecolor=QUIET, **look), autolim=True)
        handles.append(Patch(edgecolor=QUIET, linewidth=0.4, label=text, **look))
    axes.autoscale_view()
    figure.legend(handles=handles, loc="outside right center", title=title, alignment="left")
    return figure


def _path(rings: Sequence[FloatArray]) -> "Path":
    """All rings of an area as one path, so that holes are open."""
    from matplotlib.path import Path

    codes = [[Path.MOVETO] + [Path.LINETO] * (len(ring) - 2) + [Path.CLOSEPOLY] for ring in rings]
    return Path(np.concatenate(rings), np.concatenate(codes))
