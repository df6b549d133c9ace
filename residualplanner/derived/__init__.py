"""Statistics that are computed from unbiased tables: means, and quantiles, with intervals.

Reads: a release.  Gives: MeanTable, QuantileTable.
"""

from residualplanner.derived.means import MeanTable, means
from residualplanner.derived.quantiles import QuantileTable, quantiles

__all__ = ["MeanTable", "QuantileTable", "means", "quantiles"]
