"""Means of amounts, by group, with counts and sums, from the tables of a release."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.margins import margin_factor
from residualplanner.method.workload.query import QueryLike
from residualplanner.more.amounts.statistics import Mean
from residualplanner.release.statistics.answers import StatisticAnswers, grouped_answers
from residualplanner.release.statistics.columns import Column, unit_of
from residualplanner.release.statistics.ratio import Ratio
from residualplanner.release.statistics.statistic_table import StatisticTable

_TOO_NOISY = "whether the count is not clear of 0, so that the mean says nothing"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class MeanTable(StatisticTable):
    """The mean amount of the records in each group, with standard errors and intervals; their count, and their sum.

    The mean of a group is the ratio of two estimates.  Records without an amount are in none.

    Attributes:
        attribute: whose amounts it is about.
        unit: of the amounts, in words.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        level: the confidence level of the intervals; that of ``too_noisy``, too.
        estimate: the means, an axis for each attribute, within the limits of the amounts; NaN where the count of a
            group is estimated as 0 or less.
        std_err: their standard errors, to first order; NaN likewise.
        low: the lower ends of the intervals, within the limits of the amounts.
        high: the upper ends.
        count: the estimated number of records in each group.
        count_std_err: its standard error, exact.
        sum: the estimated sum of the amounts in each group.
        sum_std_err: its standard error, exact.
        too_noisy: where the count is not clear of 0, so that the mean says nothing; the interval is right there, too.
    """

    word, phrase = "means", "mean"
    columns = (
        Column("mean", "estimate", "amounts", "sum divided by count, within the limits of the amounts", "of unbiased"),
        Column("std_err", "std_err", "amounts", "standard error of the mean, to first order", "of unbiased"),
        Column("low", "low", "amounts", "low end of Fieller's interval of the mean, of level {level}", "of unbiased"),
        Column("high", "high", "amounts", "high end of that interval", "of unbiased"),
        Column("count", "count", "counts", "{estimate} of the records with an amount", "of tables"),
        Column("count_std_err", "count_std_err", "counts", "standard error of the count, exact", "of unbiased"),
        Column("sum", "sum", "amounts", "{estimate} of the sum of the amounts", "of tables"),
        Column("sum_std_err", "sum_std_err", "amounts", "standard error of the sum, exact", "of unbiased"),
        Column("too_noisy", "too_noisy", "neither", _TOO_NOISY, "of unbiased"),
    )

    std_err: FloatArray
    count: FloatArray
    count_std_err: FloatArray
    sum: FloatArray
    sum_std_err: FloatArray
    too_noisy: NDArray[np.bool_]


def means(release: Any, attribute: str, by: QueryLike = (), *, level: float = 0.95) -> MeanTable:
    """The means of the amounts of an attribute, by group: sums divided by counts.

    Args:
        release: unbiased tables, from `reconstruct` or `load_tables`, of a workload in which the same groups have the
            `Mean` of the attribute, or counts and sums.
        attribute: one of amounts, declared by `Numeric`.
        by: the attributes that make the groups; with kinds, such as a hierarchy's, where they are not plain values.
        level: the confidence level of the intervals, which hold for groups of any size: Fieller's, which is all of the
            range of the amounts where the count is not clear of 0.

    Raises:
        WorkloadError: the attribute has no amounts, or the release does not answer its sums or counts by these groups.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (118), (119) and (121).

    Example:
        >>> import numpy as np, pandas as pd
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"job": 2, "pay": rp.Numeric(0, 100)})
        >>> workload = rp.Workload(domain, [{"job": rp.Identity(), "pay": rp.Mean()}])
        >>> plan = rp.select(workload, budget=rp.zcdp(0.5))
        >>> records = pd.DataFrame({"job": np.repeat([0, 1], [400, 600]), "pay": np.repeat([20, 70], [400, 600])})
        >>> release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
        >>> found = means(release, "pay", by=["job"])
        >>> np.abs(found.estimate - [20, 70]) < 4 * found.std_err
        array([ True,  True])
    """
    margin_factor(level)
    return mean_table(grouped_answers(release, attribute, by, Mean()), level)


def mean_table(answers: StatisticAnswers, level: float) -> MeanTable:
    """The means of the groups of a table, from the three answers of `Mean`.

    Raises:
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (118), (119) and (121).
    """
    kind = answers.kind
    assert isinstance(kind, Mean)
    (low, high), (least, most) = kind.limits, kind.expected
    middle, width, part = (low + high) / 2, high - low, (most - least) / (high - low)
    (count, above, _), (of_count, of_above, of_below) = answers.estimate, answers.variance
    covariance = (part**2 * of_count + of_above - of_below) / (2 * part)

    def from_amount(amount: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sum of what amounts are above one of them, its variance, and its covariance with the count."""
        shift = least - amount
        variance = width**2 * of_above + shift**2 * of_count + 2 * width * shift * covariance
        return width * above + shift * count, np.maximum(variance, 0), width * covariance + shift * of_count

    total, of_total, _ = from_amount(0.0)
    deviation, of_deviation, with_count = from_amount(middle)
    ratio = Ratio(deviation, count, of_deviation, of_count, with_count)
    margin, half = margin_factor(level), width / 2
    ends = ratio.interval(margin, half)
    return MeanTable(
        answers.attribute.name,
        unit_of(answers.attribute),
        answers.names,
        answers.labels,
        level,
        estimate=_frozen(middle + np.clip(ratio.estimate, -half, half)),
        std_err=_frozen(ratio.std_err),
        low=_frozen(middle + ends[0]),
        high=_frozen(middle + ends[1]),
        count=_frozen(count),
        count_std_err=_frozen(np.sqrt(of_count)),
        sum=_frozen(total),
        sum_std_err=_frozen(np.sqrt(of_total)),
        too_noisy=frozen(np.asarray(~ratio.is_clear(margin))),
    )


def _frozen(array: FloatArray) -> FloatArray:
    return frozen(np.asarray(array))
