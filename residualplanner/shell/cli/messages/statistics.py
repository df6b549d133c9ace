"""The means of a workload in words: how accurate they will be.

Reads: Plan.  Gives: messages.
"""

from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import number_text
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import statistic_among
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.release.statistics import mean_std_err_of_query, unit_of
from residualplanner.shell.cli.messages.output import Output

#: How many records the groups have whose means are told of, and how many tables of means.
_RECORDS, _TABLES = 1000, 10


def say_means(plan: Plan, level: float, output: Output) -> None:
    """Say how accurate means are, in the unit of their amounts; nothing where no table is for means."""
    found = {row: mean_std_err_of_query(plan, row, records=_RECORDS) for row in _first_rows(plan.workload)}
    margins = {
        row: margin_factor(level) * float(std_err.max()) for row, std_err in found.items() if std_err is not None
    }
    if not margins:
        return
    output.fact(
        "Means",
        f"the errors above are those of the answers that means are computed from.  The mean of {_RECORDS:,} records",
        f"has at most the following margin of error ({level:.0%}), and that of {_RECORDS // 10:,} ten times as much:",
        *(f"{_words(plan, row)}: ± {number_text(margin)} {_unit(plan, row)}" for row, margin in margins.items()),
        records=_RECORDS,
        moe=list(margins.values()),
    )


def _first_rows(workload: Workload) -> list[int]:
    """The first queries that are for statistics, by their numbers."""
    if not any(isinstance(kind, Statistic) for kind in workload.kinds):
        return []
    rows = (row for row in range(len(workload)) if statistic_among(workload.query_at(row).table_axes.kinds) is not None)
    return [row for row, _ in zip(rows, range(_TABLES), strict=False)]


def _words(plan: Plan, row: int) -> str:
    return plan.workload.query_at(row).words(plan.domain)


def _unit(plan: Plan, row: int) -> str:
    """The unit of the amounts that a query for a statistic is about."""
    positions, kinds = plan.workload.query_at(row).table_axes
    axis = statistic_among(kinds)
    assert axis is not None
    return unit_of(plan.domain.attributes[positions[axis]])
