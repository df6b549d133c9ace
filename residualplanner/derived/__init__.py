"""Statistics that are computed from unbiased tables: means, and quantiles, with intervals.

Reads: a release, or a table.  Gives: MeanTable, QuantileTable.
"""

from residualplanner.derived.expected import mean_std_err, mean_std_err_of_query
from residualplanner.derived.means import MeanTable, means
from residualplanner.derived.of_table import columns_of, statistic_of
from residualplanner.derived.quantiles import QuantileTable, quantiles
from residualplanner.derived.statistic_table import Column, StatisticTable, unit_of

__all__ = [
    "Column",
    "MeanTable",
    "QuantileTable",
    "StatisticTable",
    "columns_of",
    "mean_std_err",
    "mean_std_err_of_query",
    "means",
    "quantiles",
    "statistic_of",
    "unit_of",
]
