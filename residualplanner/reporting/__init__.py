"""Reports on plans and releases: a page to decide from, and its figures.

Reads: a plan, a release, or the path of one.
Gives: an HTML page, and a folder with its figures, their data and the error table.
What a report says of privacy and accuracy follows from the plan; of a release only estimates are read.
"""

from residualplanner.pictures import drawing, fairness_figure, svg_of
from residualplanner.reporting.fairness import WEIGHTINGS, fairness_data, spread_by_order
from residualplanner.reporting.pages import figures_folder, require_free_page, require_free_report
from residualplanner.reporting.report import write_report

__all__ = [
    "WEIGHTINGS",
    "drawing",
    "fairness_data",
    "fairness_figure",
    "figures_folder",
    "require_free_page",
    "require_free_report",
    "spread_by_order",
    "svg_of",
    "write_report",
]
