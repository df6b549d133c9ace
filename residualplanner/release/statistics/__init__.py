"""Statistics that are computed from unbiased tables: means, and quantiles, with intervals."""

from residualplanner.release.statistics.answers import StatisticAnswers
from residualplanner.release.statistics.columns import Column, published_columns, unit_of
from residualplanner.release.statistics.expected import mean_std_err, mean_std_err_of_query
from residualplanner.release.statistics.means import MeanTable, means
from residualplanner.release.statistics.of_table import statistic_of, statistic_of_answers, table_of_statistic
from residualplanner.release.statistics.quantiles import QuantileTable, quantiles
from residualplanner.release.statistics.statistic_table import StatisticTable

__all__ = [
    "Column",
    "MeanTable",
    "QuantileTable",
    "StatisticAnswers",
    "StatisticTable",
    "mean_std_err",
    "mean_std_err_of_query",
    "means",
    "published_columns",
    "quantiles",
    "statistic_of",
    "statistic_of_answers",
    "table_of_statistic",
    "unit_of",
]
