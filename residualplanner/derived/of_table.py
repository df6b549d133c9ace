"""The statistic that a table of a workload is for.

Reads: a table.  Gives: StatisticTable.
"""

from collections.abc import Callable, Mapping

from residualplanner.derived.answers import StatisticAnswers, TableOfAnswers, answers_of
from residualplanner.derived.means import MeanTable, mean_table
from residualplanner.derived.quantiles import QuantileTable, quantile_table
from residualplanner.derived.statistic_table import Column, StatisticTable
from residualplanner.queries import Mean, Quantiles, Statistic

#: Of each statistic the table of it, and the function that makes it.
_TABLES: Mapping[type[Statistic], tuple[type[StatisticTable], Callable[[StatisticAnswers, float], StatisticTable]]] = {
    Mean: (MeanTable, mean_table),
    Quantiles: (QuantileTable, quantile_table),
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
    return None if answers is None else _TABLES[type(answers.kind)][1](answers, level)


def columns_of(kind: Statistic) -> tuple[Column, ...]:
    """The columns of numbers of the table of a statistic.

    Example:
        >>> [column.name for column in columns_of(Quantiles(0.5))]
        ['quantile', 'low', 'high']
    """
    return _TABLES[type(kind)][0].columns
