"""The statistic that a table of a workload is for.

Reads: a table.  Gives: StatisticTable.
"""

from collections.abc import Callable, Mapping

from residualplanner.derived.answers import StatisticAnswers, TableOfAnswers, answers_of
from residualplanner.derived.means import mean_table
from residualplanner.derived.quantiles import quantile_table
from residualplanner.derived.statistic_table import StatisticTable
from residualplanner.queries import Mean, Quantiles, Statistic

_TABLES: Mapping[type[Statistic], Callable[[StatisticAnswers, float], StatisticTable]] = {
    Mean: mean_table,
    Quantiles: quantile_table,
}


def statistic_of(table: TableOfAnswers, level: float) -> StatisticTable | None:
    """The means or quantiles that an unbiased table is for; None where its query is for none.

    Args:
        table: of estimates that are unbiased.
        level: the confidence level of intervals.

    Raises:
        BudgetError: ``level`` is not between 0 and 1.

    Source: spec eqs. (118) to (120).
    """
    answers = answers_of(table)
    return None if answers is None else _TABLES[type(answers.kind)](answers, level)
