"""Means of amounts and quantiles, by group, from the tables of a release, with intervals of exact errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, require_positive
from residualplanner.ground.margins import margin_factor
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import statistic_among
from residualplanner.method.workload.query import QueryLike
from residualplanner.more.amounts.statistics import Mean, Quantiles
from residualplanner.release.ratios import Ratio, ratio_within
from residualplanner.release.statistic_table import Column, StatisticTable, statistic_query, unit_of

_EVENLY = "estimate, as if amounts were spread evenly within a bin"
_TOO_NOISY = "whether the count is not clear of 0, so that the mean says nothing"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class MeanTable(StatisticTable):
    """The mean amount of the records in each group, with standard errors and intervals; their count, and their sum.

    The mean of a group is the ratio of two estimates.  Records without an amount are in none.  Means and the ends of
    their intervals are within the limits of the amounts; NaN where the count of a group is estimated as 0 or less.

    Attributes:
        std_err: the standard errors of the means, to first order; NaN likewise.
        count: the estimated number of records in each group.
        count_std_err: its standard error, exact.
        sum: the estimated sum of the amounts in each group.
        sum_std_err: its standard error, exact.
        too_noisy: where the count is not clear of 0, so that the mean says nothing; the interval is right there, too.
    """

    phrase = "mean {name} ({unit})"
    columns = (
        Column("mean", "estimate", "amounts", "sum divided by count, within the limits of the amounts", "of unbiased"),
        Column("std_err", "std_err", "amounts", "standard error of the mean, to first order", "of unbiased"),
        Column("low", "low", "amounts", "low end of Fieller's interval of the mean, of level {level}", "of unbiased"),
        Column("high", "high", "amounts", "high end of that interval", "of unbiased"),
        Column("count", "count", "counts", "{estimate} of the records with an amount", "of tables"),
        Column("count_std_err", "count_std_err", "counts", "standard error of the count, exact", "of unbiased"),
        Column("sum", "sum", "amounts", "{estimate} of the sum of the amounts", "of tables"),
        Column("sum_std_err", "sum_std_err", "amounts", "standard error of the sum, exact", "of unbiased"),
        Column("too_noisy", "too_noisy", "truth", _TOO_NOISY, "of unbiased"),
    )

    std_err: FloatArray
    count: FloatArray
    count_std_err: FloatArray
    sum: FloatArray
    sum_std_err: FloatArray
    too_noisy: NDArray[np.bool_]

    @staticmethod
    def numbers(kind: Mean, answers: FloatArray, variances: FloatArray, level: float) -> dict[str, FloatArray]:
        """The means of the groups, from the three answers of `Mean`.  Source: eqs. (118), (119) and (121)."""
        (low, high), (least, most) = kind.limits, kind.expected
        middle, width, part = (low + high) / 2, high - low, (most - least) / (high - low)
        (count, above, _), (of_count, of_above, of_below) = answers, variances
        # Above and below add up to a multiple of the count, so that three variances give the covariance of two.
        covariance = (part**2 * of_count + of_above - of_below) / (2 * part)

        def from_amount(amount: float) -> tuple[FloatArray, FloatArray, FloatArray]:
            """The sum of what amounts are above one of them, its variance, and its covariance with the count."""
            shift = least - amount
            variance = width**2 * of_above + shift**2 * of_count + 2 * width * shift * covariance
            return width * above + shift * count, np.maximum(variance, 0), width * covariance + shift * of_count

        total, of_total, _ = from_amount(0.0)
        # The mean is the middle and a ratio of at most half a width in size, of which the ends of intervals are cut.
        deviation, of_deviation, with_count = from_amount(middle)
        ratio = Ratio(deviation, count, of_deviation, of_count, with_count)
        return ratio_within(ratio, middle, width / 2, level) | {
            "count": count,
            "count_std_err": np.sqrt(of_count),
            "sum": total,
            "sum_std_err": np.sqrt(of_total),
        }


def means(release: Any, attribute: str, by: QueryLike = (), *, level: float = 0.95) -> MeanTable:
    """The means of the amounts of an attribute, by group: sums divided by counts.

    Args:
        release: unbiased tables, from `reconstruct` or `load_tables`, of a workload in which the same groups have the
            `Mean` of the attribute, or counts and sums.
        attribute: one of amounts, declared by `Numeric`.
        by: the attributes that make the groups; with kinds, such as a hierarchy's, where they are not plain values.
        level: the confidence level of the intervals, which hold for groups of any size: Fieller's, cut at the limits of
            the amounts.  It is one limit alone where noise puts all of it beyond, and may be all of the range where
            the count is not clear of 0.

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
    return MeanTable.of_release(release, attribute, by, Mean(), level)


def mean_std_err(
    plan: Plan, attribute: str, by: QueryLike = (), *, records: float, between: tuple[float, float] | None = None
) -> FloatArray:
    """The standard errors that means of so many records have at most, by group, in the unit of the amounts.

    Args:
        plan: of a workload in which the groups have the `Mean` of the attribute, or counts and sums.
        attribute: one of amounts, declared by `Numeric`.
        by: the attributes that make the groups; with kinds where they are not plain values.
        records: how many records with an amount a group has.
        between: two amounts between which the means are; the limits of the amounts if not given.

    Raises:
        WorkloadError: the attribute has no amounts, or the plan does not answer its means by these groups.
        BudgetError: ``records`` is not a positive number.

    Source: eq. (122).

    Example:
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"job": 2, "pay": rp.Numeric(0, 100_000)})
        >>> plan = rp.select(rp.Workload(domain, [{"job": rp.Identity(), "pay": rp.Mean()}]), budget=rp.zcdp(0.5))
        >>> mean_std_err(plan, "pay", ["job"], records=200).round()
        array([519., 519.])
    """
    count = require_positive("records", records)
    kind = Mean(between).on(plan.domain[attribute])
    return _std_errs(kind, plan.variance(statistic_query(plan, attribute, by, Mean(between))), -1, count)


def mean_std_err_of_query(plan: Plan, number: int, *, records: float) -> tuple[FloatArray, str] | None:
    """As `mean_std_err`, of the query of this number in the workload, with its unit; None unless it is for means."""
    count, (positions, kinds) = require_positive("records", records), plan.workload.query_at(number).table_axes
    axis = statistic_among(kinds)
    kind = None if axis is None else kinds[axis]
    if axis is None or not isinstance(kind, Mean):
        return None
    (query,) = plan.workload.take([number])
    unit = unit_of(plan.domain.attributes[positions[axis]])
    return _std_errs(kind, plan.variance(query), axis, count), unit


def _std_errs(kind: Mean, variance: FloatArray, axis: int, count: float) -> FloatArray:
    """The largest standard errors of means, by the variances of their three answers along an axis."""
    _, of_above, of_below = np.moveaxis(variance, axis, 0)
    low, high = kind.limits
    found: FloatArray = (high - low) * np.sqrt(np.maximum(of_above, of_below)) / count
    return found


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class QuantileTable(StatisticTable):
    """Quantiles of the amounts of the records in each group, with intervals whose ends are edges of bins.

    The last axis is that of the probabilities.  Amounts are taken to be spread evenly within a bin; estimates are NaN
    where the count of a group is estimated as 0 or less.
    """

    phrase = "quantiles of {name} ({unit})"
    columns = (
        Column("quantile", "estimate", "amounts", _EVENLY, "of unbiased"),
        Column("low", "low", "amounts", "low end of the interval of level {level}: an edge of a bin", "of unbiased"),
        Column("high", "high", "amounts", "high end of that interval", "of unbiased"),
    )

    @property
    def probabilities(self) -> tuple[object, ...]:
        """The fractions of the records that are at or below the quantiles, (p,)."""
        return self.more_axes["probability"]

    @staticmethod
    def numbers(kind: Quantiles, answers: FloatArray, variances: FloatArray, level: float) -> dict[str, FloatArray]:
        """The quantiles (groups.., p), from the count and the excesses.  Source: eqs. (120) and (124)."""
        edges, p = np.array(kind.edges), np.array(kind.probabilities)
        count, excess = answers[0], _by_probability(answers, len(p))
        slack = margin_factor(level) * np.sqrt(_by_probability(variances, len(p)))
        # The true bin is the first with no negative excess, so the interval starts in the first bin of which the excess
        # may not be negative, and ends in the bin after the last of which it may be.  The last bin is never exceeded.
        may_be_reached = np.append(excess + slack >= 0, np.ones((*excess.shape[:-1], 1), dtype=bool), axis=-1)
        may_be_below = excess - slack < 0
        last = np.where(may_be_below.any(axis=-1), excess.shape[-1] - np.argmax(may_be_below[..., ::-1], axis=-1), 0)
        return {
            "estimate": _estimates(count, excess, p, edges),
            "low": edges[np.argmax(may_be_reached, axis=-1)],
            "high": edges[last + 1],
        }


def quantiles(
    release: Any,
    attribute: str,
    probabilities: float | Sequence[float] = (0.25, 0.5, 0.75),
    by: QueryLike = (),
    *,
    level: float = 0.95,
) -> QuantileTable:
    """Quantiles of an attribute, by group, from its counts by bin.

    An interval contains the quantile with probability ``level`` at least, in groups of any size.  It is made of whole
    bins: those that the counts, with their exact errors, do not exclude.

    Args:
        release: unbiased tables, from `reconstruct` or `load_tables`, of a workload in which the groups have these
            `Quantiles`, or counts (`Identity`, `Prefix` or `Range`) of all bins of the attribute.
        attribute: one of amounts, or of bins of numbers.
        probabilities: strictly between 0 and 1.
        by: the attributes that make the groups; with kinds where they are not plain values.
        level: of the intervals.

    Raises:
        WorkloadError: the attribute has no numbers, or the release does not answer its counts by these groups; a
            probability is not between 0 and 1.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (120) and (124).

    Example:
        >>> import numpy as np, pandas as pd
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"age": rp.Bins(range(0, 101, 5))})
        >>> plan = rp.select(rp.Workload(domain, [{"age": rp.Prefix()}]), budget=rp.zcdp(0.5))
        >>> people = pd.DataFrame({"age": np.arange(1000) % 100})
        >>> release = rp.reconstruct(rp.measure(plan, people, noise="gaussian", seed=1))
        >>> found = quantiles(release, "age", 0.5)
        >>> found.low, found.high
        (array([45.]), array([55.]))
    """
    return QuantileTable.of_release(release, attribute, by, Quantiles(probabilities), level)


def _by_probability(answers: FloatArray, probabilities: int) -> FloatArray:
    groups = answers.shape[1:]
    return np.moveaxis(answers[1:].reshape(probabilities, -1, *groups), (0, 1), (-2, -1))


def _estimates(count: FloatArray, excess: FloatArray, probabilities: FloatArray, edges: FloatArray) -> FloatArray:
    """Where the counts up to each bin, made to increase, reach fractions of the count, (groups.., p)."""
    # Noise may make counts up to a bin fall: the running maximum, within 0 and the count, is a distribution function.
    total = count[..., None, None]
    whole = np.broadcast_to(total, (*excess.shape[:-1], 1))
    upward = np.append(excess + probabilities[:, None] * total, whole, axis=-1)
    rising = np.minimum(np.maximum(np.maximum.accumulate(upward, axis=-1), 0), total)
    padded = np.append(np.zeros((*excess.shape[:-1], 1)), rising, axis=-1)
    target = probabilities * count[..., None]
    at = np.argmax(padded[..., 1:] >= target[..., None], axis=-1)
    start, end = (np.take_along_axis(padded, each[..., None], axis=-1)[..., 0] for each in (at, at + 1))
    within = np.divide(target - start, end - start, out=np.ones_like(target), where=end > start)
    found = edges[at] + np.clip(within, 0, 1) * (edges[at + 1] - edges[at])
    return np.where(count[..., None] > 0, found, np.nan)
