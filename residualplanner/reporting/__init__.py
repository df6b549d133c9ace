"""Error reports: a page to decide from, and the pictures in it."""

from residualplanner.reporting.drawing import drawing, svg_of
from residualplanner.reporting.fairness import WEIGHTINGS, fairness_data, spread_by_order
from residualplanner.reporting.plots import fairness_figure
from residualplanner.reporting.report import figures_folder, require_free_report, write_report

__all__ = [
    "WEIGHTINGS",
    "drawing",
    "fairness_data",
    "fairness_figure",
    "figures_folder",
    "require_free_report",
    "spread_by_order",
    "svg_of",
    "write_report",
]
