"""Maps of a table: its estimates, or how noisy they are, in the shapes of the areas that its cells are about.

Reads: Table, boundaries.  Gives: numbers by area, and pictures of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from residualplanner.ground.checks import FloatArray, entry_named, require_type, value_text
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.ground.words import listed
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.choropleth import draw_choropleth
from residualplanner.publish.maps.classes import ColorClasses, classes_of_estimates, classes_of_variation
from residualplanner.publish.pictures import Picture
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table

#: What a map shows: estimates, or their coefficients of variation.
Shown = Literal["estimate", "cv"]
#: What is above the legend of a map.
LEGENDS: Mapping[Shown, str] = {"estimate": "estimate", "cv": "coefficient of variation"}


@dataclass(frozen=True, eq=False, slots=True)
class Areas:
    """The numbers of the cells of a table that are about areas of one level.

    Attributes:
        level: the name of the level; the attribute where it has no levels.
        codes (n,): of the areas.
        names (n,): of the areas; their codes where they have none.
        estimate (n,): in counts.
        std_err (n,): in counts.
    """

    level: str
    codes: tuple[str, ...]
    names: tuple[str, ...]
    estimate: FloatArray
    std_err: FloatArray

    def numbers(self, shown: Shown, quality: Quality) -> FloatArray:
        """What a map shows, (n,); nan where there is none."""
        return self.estimate if shown == "estimate" else quality.variation(self.estimate, self.std_err)

    def have_shapes(self, boundaries: Boundaries) -> bool:
        """Whether some of them have a shape."""
        return any(boundaries.rings.get(code) for code in self.codes)

    def without_shape(self, boundaries: Boundaries) -> list[str]:
        """The codes, with the names, of areas that have no shape."""
        pairs = zip(self.codes, self.names, strict=True)
        lacking = [(code, name) for code, name in pairs if not boundaries.rings.get(code)]
        return [code if code == name else f"{code} ({name})" for code, name in lacking]

    def picture(self, boundaries: Boundaries, shown: Shown, quality: Quality) -> Picture:
        """A map of the numbers."""
        numbers = self.numbers(shown, quality)
        by_code = dict(zip(self.codes, numbers.tolist(), strict=True))
        draw = partial(draw_choropleth, boundaries, by_code, classes_of(numbers, shown, quality), title=LEGENDS[shown])
        return Picture(f"{LEGENDS[shown]} by {self.level}", draw)


def classes_of(numbers: FloatArray, shown: Shown, quality: Quality) -> ColorClasses:
    """The classes of the numbers of a map, (n,)."""
    if shown == "estimate":
        return classes_of_estimates(numbers)
    return classes_of_variation((quality.reliable, quality.usable))


def areas_of_table(table: Table) -> list[Areas]:
    """The areas that the cells of a table of one attribute are about, level by level from coarse to fine.

    Raises:
        WorkloadError: the table has another number of attributes.
    """
    if len(table.names) != 1:
        raise WorkloadError(f"a map is of a table of one attribute, got {list(table.names)}; sum over the others first")
    attribute, kind = table.plan.domain[table.names[0]], next(kind for kind in table.kinds if kind.is_axis)
    labels = tuple(map(label_text, kind.labels(attribute)))
    beside = kind.columns_beside(attribute)
    levels = np.array(beside.get("level", (attribute.name,) * len(labels)))
    codes = np.array(_codes_of(kind, attribute), dtype=object)
    names = np.array(beside.get("name", beside.get("meaning", labels)), dtype=object)
    std_err = table.std_err
    chosen = [(level, levels == level) for level in dict.fromkeys(levels.tolist())]
    return [
        Areas(level, tuple(codes[here]), tuple(names[here]), table.estimate[here], std_err[here])
        for level, here in chosen
    ]


def require_shapes(workload: Workload, maps: Mapping[str, Boundaries]) -> None:
    """Raise unless, as far as queries tell, some answers about each mapped attribute are about areas with a shape.

    Args:
        workload: the queries, perhaps not measured yet.
        maps: the boundaries of the areas that the values of an attribute are, by its name.

    Raises:
        DomainError: an attribute is not in the domain.
        WorkloadError: no query of an attribute has an area with a shape.
    """
    domain = workload.domain
    unknown = [name for name in maps if name not in domain]
    if unknown:
        raise DomainError(f"maps: the domain has no attribute {unknown[0]!r}", attributes=unknown)
    for name, boundaries in maps.items():
        uses = workload.uses[domain.positions((name,))[0]]
        kinds = [kind for kind, is_used in zip(workload.kinds, uses, strict=True) if is_used and kind.is_axis]
        if not any(boundaries.rings.get(code) for kind in kinds for code in _codes_of(kind, domain[name])):
            raise no_shapes(name)


def no_shapes(name: str) -> WorkloadError:
    """The refusal of a map of an attribute no table of which has areas with a shape."""
    return WorkloadError(
        f"maps: no table of {name!r} has areas with a shape; check which property of the GeoJSON is the code"
    )


def _codes_of(kind: Kind, attribute: Attribute) -> tuple[str, ...]:
    """The codes of the areas that the answers of a kind are about; their labels where they have no codes."""
    return kind.columns_beside(attribute).get("code") or tuple(map(label_text, kind.labels(attribute)))


def areas_with_shapes(table: Table, boundaries: Boundaries) -> list[Areas]:
    """The areas of the levels of a table of which some have a shape, from coarse to fine."""
    return [areas for areas in areas_of_table(table) if areas.have_shapes(boundaries)]


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
    of_level = {each.level: [each] for each in areas_of_table(table)}
    chosen = areas_of_table(table) if level is None else entry_named("level", level, of_level)
    found = [areas for areas in chosen if areas.have_shapes(boundaries)]
    if not found:
        shapes = listed(map(repr, boundaries.rings), 3)
        codes = listed(map(repr, chosen[-1].codes), 3)
        raise WorkloadError(
            f"no area {'' if level is None else f'of the level {level!r} '}has a shape: the codes of the table are "
            f"{codes}, and those of the boundaries {shapes}; choose another property as the code"
        )
    return found[-1].picture(boundaries, show, quality or Quality())
