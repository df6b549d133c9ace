"""What no mechanism of any kind can beat: the singular value bound, eq. (33)."""

from residualplanner.more.bounds.max_abs_error import mean_max_bound
from residualplanner.more.bounds.svd_bound import sum_bound
from residualplanner.more.bounds.svd_maximum import greatest_bound

__all__ = [
    "greatest_bound",
    "mean_max_bound",
    "sum_bound",
]
