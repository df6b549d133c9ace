"""Reports on plans and releases: a page to decide from, and its figures.

Reads: a plan, a release, or the path of one.
Gives: an HTML page, and a folder with its figures, their data and the error table.
What a report says of privacy and accuracy follows from the plan; of a release only estimates are read.
"""

from residualplanner.publish.report.fairness import WEIGHTINGS, fairness_data, spread_by_order
from residualplanner.publish.report.pages import figures_folder, require_free_page, require_free_report
from residualplanner.publish.report.report import write_report

__all__ = [
    "WEIGHTINGS",
    "fairness_data",
    "figures_folder",
    "require_free_page",
    "require_free_report",
    "spread_by_order",
    "write_report",
]
