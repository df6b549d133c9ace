"""Proportions of the values of an attribute, by group, from the tables of a release, with intervals of exact errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.domain.labels import Label
from residualplanner.method.workload.query import QueryLike
from residualplanner.more.queries.proportions import Proportions
from residualplanner.release.ratios import Ratio, ratio_within
from residualplanner.release.statistic_table import Column, StatisticTable

_PROPORTION = "count divided by total, cut at 0 and 1"
_TOO_NOISY = "whether the number of records is not clear of 0, so that the proportion says nothing"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ProportionTable(StatisticTable):
    """The proportions of the values of an attribute in each group, with standard errors and intervals.

    The last axis is that of the values.  A proportion is the ratio of two estimates whose errors are correlated.
    Proportions and the ends of their intervals are cut at 0 and 1, as noise makes some counts negative or larger than
    their total; so those of a group may add up to more than 1.  NaN where a group's number is estimated as 0 or less.
    Files of non-negative or rounded tables have the proportions of the published numbers, and beside them the errors
    and intervals of the unbiased ones.

    Attributes:
        std_err: the standard errors of the proportions, to first order; NaN likewise.
        count: the estimated number of records with each value.
        count_std_err: its standard error, exact.
        total: the estimated number of records of the group.
        total_std_err: its standard error, exact.
        too_noisy: where that is not clear of 0, so that the proportion says nothing; the interval is right there, too.
    """

    phrase = "proportions of {name}"
    columns = (
        Column("proportion", "estimate", "nothing", _PROPORTION, "of tables alone"),
        Column("std_err", "std_err", "nothing", "standard error of the proportion, to first order", "of unbiased"),
        Column("low", "low", "nothing", "low end of Fieller's interval of level {level}", "of unbiased"),
        Column("high", "high", "nothing", "high end of that interval", "of unbiased"),
        Column("count", "count", "counts", "{estimate} of the records with the value", "of tables"),
        Column("count_std_err", "count_std_err", "counts", "standard error of the count, exact", "of unbiased"),
        Column("total", "total", "counts", "{estimate} of the records of the group", "of tables"),
        Column("total_std_err", "total_std_err", "counts", "standard error of the total, exact", "of unbiased"),
        Column("too_noisy", "too_noisy", "truth", _TOO_NOISY, "of unbiased"),
    )

    std_err: FloatArray
    count: FloatArray
    count_std_err: FloatArray
    total: FloatArray
    total_std_err: FloatArray
    too_noisy: NDArray[np.bool_]

    @staticmethod
    def numbers(kind: Proportions, answers: FloatArray, variances: FloatArray, level: float) -> dict[str, FloatArray]:
        """The proportions of the groups, from the answers of `Proportions`.  Source: eqs. (118), (119) and (135)."""
        values = len(kind.values)
        count, of_count = (np.moveaxis(each[1 : 1 + values], 0, -1) for each in (answers, variances))
        total, of_total = (np.broadcast_to(each[0][..., None], count.shape) for each in (answers, variances))
        # A count and that of all other values add up to the total: three variances give the covariance of two.
        covariance = (of_count + of_total - np.moveaxis(variances[1 + values :], 0, -1)) / 2
        # The proportion is a half and a ratio of at most a half in size, of which the ends of intervals are cut.
        of_deviation = np.maximum(of_count - covariance + of_total / 4, 0)
        ratio = Ratio(count - total / 2, total, of_deviation, of_total, covariance - of_total / 2)
        return ratio_within(ratio, 0.5, 0.5, level) | {
            "count": count,
            "count_std_err": np.sqrt(of_count),
            "total": total,
            "total_std_err": np.sqrt(of_total),
        }


def proportions(
    release: Any, attribute: str, by: QueryLike = (), *, among: tuple[Label, ...] = (), level: float = 0.95
) -> ProportionTable:
    """The proportions of the values of an attribute, by group: counts divided by the number of records of the group.

    Any release of the table of the attribute by these groups has them; with `Proportions` in the workload, noise is
    planned for them, and files and reports have them, too.

    Args:
        release: unbiased tables, from `reconstruct` or `load_tables`.
        attribute: whose values the proportions are of; of amounts, the bins.
        by: the attributes that make the groups; with kinds, such as a hierarchy's, where they are not plain values.
        among: labels of the values that are in question; all unless given.
        level: the confidence level of the intervals, which hold for groups of any size: Fieller's, cut at 0 and 1.  It
            is 0 or 1 alone where noise puts all of it beyond, and may be from 0 to 1 where the number of records is
            not clear of 0.

    Raises:
        DomainError: the attribute has no such value.
        WorkloadError: the release does not answer the table; fewer than two values are in question.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (118), (119) and (135).

    Example:
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"region": ["north", "south"], "vote": ["yes", "no"]})
        >>> plan = rp.select(rp.marginals(domain, order=2), budget=rp.zcdp(1))
        >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [300, 100, 250, 250], axis=0)
        >>> release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
        >>> proportions(release, "vote", by=["region"]).estimate.round(1)
        array([[0.8, 0.2],
               [0.5, 0.5]])
    """
    return ProportionTable.of_release(release, attribute, by, Proportions(among), level)
