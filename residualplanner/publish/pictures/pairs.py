"""A picture of pairs of attributes: how much they depend on each other, and what noise would hide."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.publish.pictures.drawing import QUIET

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: The size of a cell and of what is beside the cells, in inches; and how many attributes are drawn at most.
_CELL, _BESIDE, _MOST = 0.32, 2.4, 60


def dependence_figure(names: Sequence[str], frame: "pd.DataFrame") -> "Figure":
    """Darker cells for pairs that depend more on each other in the model; hatched where it did not show above noise."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    shown = list(names)[:_MOST]
    place = {name: number for number, name in enumerate(shown)}
    values = np.full((len(shown), len(shown)), np.nan)
    side = _CELL * len(shown) + _BESIDE
    figure = Figure(figsize=(side + 1, side), layout="constrained")
    axes = figure.add_subplot()
    columns = (frame[name].tolist() for name in ("attribute", "other", "of_model", "is_shown"))
    for one, other, dependence, is_shown in zip(*columns, strict=True):
        if one in place and other in place:
            column, line = place[one], place[other]
            values[line, column] = dependence
            if not is_shown:
                corner = (column - 0.5, line - 0.5)
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="////", edgecolor=QUIET, linewidth=0))
    image = axes.imshow(values, cmap="Blues", vmin=0, vmax=max(float(np.nanmax(values, initial=0.0)), 0.1))
    axes.grid(visible=False)
    axes.set_xticks(range(len(shown)), shown, rotation=90)
    axes.set_yticks(range(len(shown)), shown)
    bar = figure.colorbar(image, shrink=0.6)
    bar.set_label("dependence (root of chi-square to a record)")
    axes.set_title("Dependence of pairs in the model; hatched where noise hides it", loc="left")
    return figure
