"""Statistics that are computed from unbiased tables: means, and quantiles, with intervals.

Reads: a release, or a table.  Gives: MeanTable, QuantileTable.
"""

from residualplanner.derived.expected import mean_std_err
from residualplanner.derived.means import MeanTable, means
from residualplanner.derived.of_table import columns_of, statistic_of
from residualplanner.derived.quantiles import QuantileTable, quantiles
from residualplanner.derived.statistic_table import Column, StatisticTable

__all__ = [
    "Column",
    "MeanTable",
    "QuantileTable",
    "StatisticTable",
    "columns_of",
    "mean_std_err",
    "means",
    "quantiles",
    "statistic_of",
]
