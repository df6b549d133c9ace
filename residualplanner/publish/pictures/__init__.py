"""Pictures of errors, budgets and estimates, in one style; beside maps the only room that knows matplotlib."""

from residualplanner.publish.pictures.drawing import Picture, drawing, inline_svg, require_package, svg_of
from residualplanner.publish.pictures.plots import (
    ShownTable,
    draw_budget,
    draw_intervals,
    draw_targets,
    fairness_figure,
    rows_to_show,
    shown_statistic,
    shown_table,
)

__all__ = [
    "Picture",
    "ShownTable",
    "draw_budget",
    "draw_intervals",
    "draw_targets",
    "drawing",
    "fairness_figure",
    "inline_svg",
    "require_package",
    "rows_to_show",
    "shown_statistic",
    "shown_table",
    "svg_of",
]
