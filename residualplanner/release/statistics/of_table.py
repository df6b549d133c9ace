"""Statistics by kind: of a table, of many at once, and what their columns are."""

from collections.abc import Callable, Mapping

from residualplanner.more.amounts.statistics import Mean, Quantiles, Statistic
from residualplanner.release.statistics.answers import StatisticAnswers, TableOfAnswers, answers_of
from residualplanner.release.statistics.means import MeanTable, mean_table
from residualplanner.release.statistics.quantiles import QuantileTable, quantile_table
from residualplanner.release.statistics.statistic_table import StatisticTable

#: Of each statistic the table of it, and the function that makes it.
_TABLES: Mapping[type[Statistic], tuple[type[StatisticTable], Callable[[StatisticAnswers, float], StatisticTable]]] = {
    Mean: (MeanTable, mean_table),
    Quantiles: (QuantileTable, quantile_table),
}


def statistic_of(table: TableOfAnswers, level: float) -> StatisticTable | None:
    """The means or quantiles that a table is for; None where its query is for none.

    Args:
        table: of unbiased estimates.  Of other numbers only the counts and sums serve.
        level: the confidence level of intervals.

    Raises:
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (118) to (120).
    """
    answers = answers_of(table)
    return None if answers is None else statistic_of_answers(answers, level)


def statistic_of_answers(answers: StatisticAnswers, level: float) -> StatisticTable:
    """The means or quantiles that answers are for, as `statistic_of`; its groups may be those of several tables."""
    return _TABLES[type(answers.kind)][1](answers, level)


def table_of_statistic(kind: Statistic) -> type[StatisticTable]:
    """The sort of table that a statistic has, which knows its columns.

    Example:
        >>> table_of_statistic(Quantiles(0.5)).word
        'quantiles'
        >>> [column.name for column in table_of_statistic(Quantiles(0.5)).columns]
        ['quantile', 'low', 'high']
    """
    return _TABLES[type(kind)][0]
