"""Reports on plans and releases: a page to decide from, and a folder with its figures and their data.

What a report says of privacy and accuracy follows from the plan; of a release only estimates are read.
"""

from residualplanner.publish.report.figures import WEIGHTINGS, fairness_data, spread_by_order
from residualplanner.publish.report.report import figures_folder, require_free_report, write_report

__all__ = ["WEIGHTINGS", "fairness_data", "figures_folder", "require_free_report", "spread_by_order", "write_report"]
