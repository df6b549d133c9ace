"""A choropleth: areas in the colors of the classes of their numbers.

Reads: boundaries, numbers by code.  Gives: matplotlib figures; draw them within `drawing`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.classes import ColorClasses
from residualplanner.publish.maps.projection import plane_rings
from residualplanner.publish.pictures.drawing import QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

_WIDTH, _LOWEST, _HIGHEST = 7.2, 2.4, 7.2
#: How an area without a number is drawn.
_NOTHING, _HATCH = "no number", "////"


def draw_choropleth(
    boundaries: Boundaries, numbers: Mapping[str, float], classes: ColorClasses, *, title: str
) -> "Figure":
    """A map whose areas have the colors of their numbers, with a legend; areas without one are hatched.

    Args:
        boundaries: of the areas; at least one has a shape.
        numbers: by code; nan for none.
        classes: of the numbers.
        title: of the legend.
    """
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
    for number, (color, text) in enumerate(zip(classes.colors, classes.texts, strict=True)):
        _draw_class(axes, [rings for rings, each in zip(shapes.values(), found, strict=True) if each == number], color)
        handles.append(Patch(facecolor=color, edgecolor=QUIET, linewidth=0.4, label=text))
    if (found < 0).any():
        _draw_class(axes, [rings for rings, each in zip(shapes.values(), found, strict=True) if each < 0], None)
        handles.append(Patch(facecolor="none", edgecolor=QUIET, hatch=_HATCH, linewidth=0.4, label=_NOTHING))
    axes.autoscale_view()
    figure.legend(handles=handles, loc="outside right center", title=title, alignment="left")
    return figure


def _draw_class(axes: "Axes", areas: Sequence[Sequence[FloatArray]], color: str | None) -> None:
    """The areas of one class; hatched where there is no color."""
    from matplotlib.collections import PathCollection

    if not areas:
        return
    paths = [_path(rings) for rings in areas]
    look = {"facecolor": "none", "hatch": _HATCH} if color is None else {"facecolor": color}
    axes.add_collection(PathCollection(paths, linewidth=0.4, **({"edgecolor": QUIET} | look)), autolim=True)


def _path(rings: Sequence[FloatArray]) -> "Path":
    """All rings of an area as one path, so that holes are open."""
    from matplotlib.path import Path

    codes = [[Path.MOVETO] + [Path.LINETO] * (len(ring) - 2) + [Path.CLOSEPOLY] for ring in rings]
    return Path(np.concatenate(rings), np.concatenate(codes))
