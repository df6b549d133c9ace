"""Reports on plans and releases: a page to decide from, and a folder with its figures and their data.

What a report says of privacy and accuracy follows from the plan; of a release only estimates are read.
"""

from residualplanner.publish.report.figures import fairness_data

__all__ = ["fairness_data"]
