"""Standard deviations of amounts, by group, from the tables of a release, with intervals of exact errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.margins import margin_factor
from residualplanner.method.workload.query import QueryLike
from residualplanner.more.amounts.moments import StandardDeviation
from residualplanner.release.statistic_table import Column, StatisticTable

#: How many standard deviations, and means for each, are looked at before an end of an interval is narrowed down.
_GRID, _MEANS = 33, 33
#: How often the search for the best mean, and that for an end of an interval, halve what is left.
_NARROWED, _HALVED = 12, 24
#: How many groups are looked at together.
_GROUPS = 1024


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class DeviationTable(StatisticTable):
    """The standard deviation of the amounts of the records in each group, with intervals; their mean and count.

    Records without an amount are in none.  NaN where the count of a group is estimated as 0 or less; 0 where noise
    makes the variance negative.

    Attributes:
        mean: the mean amount of each group.
        count: the estimated number of records in each group.
    """

    phrase = "standard deviation of {name} ({unit})"
    columns = (
        Column("std_dev", "estimate", "amounts", "standard deviation of the amounts", "of unbiased"),
        Column("low", "low", "amounts", "low end of its interval, of level {level}", "of unbiased"),
        Column("high", "high", "amounts", "high end of that interval", "of unbiased"),
        Column("mean", "mean", "amounts", "sum divided by count, within the limits of the amounts", "of unbiased"),
        Column("count", "count", "counts", "{estimate} of the records with an amount", "of tables"),
    )

    mean: FloatArray
    count: FloatArray

    @staticmethod
    def numbers(
        kind: StandardDeviation, answers: FloatArray, variances: FloatArray, level: float
    ) -> dict[str, FloatArray]:
        """The standard deviations of the groups, from the six answers of the kind.  Source: eqs. (141) and (142)."""
        count, above, _, squared, _, _ = answers
        divisor = np.where(count > 0, count, np.nan)
        mean = np.clip((2 * above - count) / divisor, -1, 1)
        found = np.sqrt(np.clip(squared / divisor - mean**2, 0, 1 - mean**2))
        moments = _moments(answers, variances)
        low, high = _interval(moments, np.nan_to_num(found).ravel(), level)
        low, high = (end.reshape(count.shape) for end in (low, high))
        return {
            "estimate": np.clip(found, low, high) * kind.half,  # where noise makes it one that the sums exclude
            "low": low * kind.half,
            "high": high * kind.half,
            "mean": kind.middle + kind.half * mean,
            "count": count,
        }


def standard_deviations(release: Any, attribute: str, by: QueryLike = (), *, level: float = 0.95) -> DeviationTable:
    """The standard deviations of the amounts of an attribute, by group.

    An interval has the true standard deviation in about ``level`` of releases, in groups of any size: it is made of
    those that some mean and count, with the exact errors of all three sums, do not exclude against what fits best.

    Args:
        release: unbiased tables, from `reconstruct` or `load_tables`, of a workload in which the same groups have the
            `StandardDeviation` of the attribute.
        attribute: one of amounts, declared by `Numeric` with ``squares=True``.
        by: the attributes that make the groups; with kinds where they are not plain values.
        level: the confidence level of the intervals.

    Raises:
        WorkloadError: the attribute has no amounts with squares, or the release does not answer their sums.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (141) and (142).

    Example:
        >>> import numpy as np, pandas as pd
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"job": 2, "pay": rp.Numeric(0, 100, squares=True)})
        >>> workload = rp.Workload(domain, [{"job": rp.Identity(), "pay": rp.statistics.StandardDeviation()}])
        >>> plan = rp.select(workload, budget=rp.zcdp(0.5))
        >>> records = pd.DataFrame({"job": np.repeat([0, 1], 500), "pay": np.tile([20, 80, 40, 60], 250)})
        >>> release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
        >>> found = standard_deviations(release, "pay", ["job"])
        >>> bool((found.low < np.sqrt(500)).all() and (np.sqrt(500) < found.high).all())
        True
    """
    return DeviationTable.of_release(release, attribute, by, StandardDeviation(), level)


class _Moments(NamedTuple):
    """Estimates of the count and the sums of t and t^2 of some groups."""

    estimate: FloatArray  # (g, 3)
    precision: FloatArray  # (g, 3, 3): the inverses of their covariances
    std_err: FloatArray  # (g,): of the count


def _moments(answers: FloatArray, variances: FloatArray) -> _Moments:
    """The three sums, and their covariances, which follow from six variances: eq. (141)."""
    count, above, _, squared, _, _ = answers.reshape(6, -1)
    of_count, of_above, of_below, of_squared, of_rest, of_both = variances.reshape(6, -1)
    above_with_count = (of_count + of_above - of_below) / 2
    with_count, of_t = 2 * above_with_count - of_count, 4 * of_above + of_count - 4 * above_with_count
    squared_with_count = (of_count + of_squared - of_rest) / 2
    of_both_with = (4 * of_both - of_t - of_squared) / 2
    rows = [
        [of_count, with_count, squared_with_count],
        [with_count, of_t, of_both_with],
        [squared_with_count, of_both_with, of_squared],
    ]
    covariance = np.moveaxis(np.array(rows), -1, 0)
    estimate = np.stack([count, 2 * above - count, squared], axis=1)
    return _Moments(estimate, np.linalg.pinv(covariance, hermitian=True), np.sqrt(of_count))


def _interval(moments: _Moments, estimate: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The least and the largest standard deviation, in units of half the range, that are not excluded: eq. (142)."""
    groups = len(estimate)
    low, high = np.zeros(groups), np.zeros(groups)
    for start in range(0, groups, _GROUPS):
        some = slice(start, start + _GROUPS)
        low[some], high[some] = _interval_of_some(_Moments(*(each[some] for each in moments)), estimate[some], level)
    return low, high


def _interval_of_some(moments: _Moments, estimate: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    regular = np.broadcast_to(np.linspace(0, 1, _GRID), (len(estimate), _GRID))
    start = np.sort(np.append(regular, estimate[:, None], axis=1), axis=1)
    best, least = _minimum(lambda values: np.stack([_distance(moments, each) for each in values.T], axis=1), start)

    def is_in(deviation: FloatArray) -> NDArray[np.bool_]:
        return _distance(moments, deviation) <= least + _limit(moments, deviation, level)

    grid = np.sort(np.append(regular, best[:, None], axis=1), axis=1)
    found, rows = np.stack([is_in(each) for each in grid.T], axis=1), np.arange(len(estimate))
    first, last = np.argmax(found, axis=1), grid.shape[1] - 1 - np.argmax(found[:, ::-1], axis=1)
    ends = []
    for at, step in ((first, -1), (last, 1)):
        inside, outside = grid[rows, at], grid[rows, np.clip(at + step, 0, grid.shape[1] - 1)]
        for _ in range(_HALVED):
            middle = (inside + outside) / 2
            holds = is_in(middle)
            inside, outside = np.where(holds, middle, inside), np.where(holds, outside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def _limit(moments: _Moments, deviation: FloatArray, level: float) -> FloatArray:
    """How much further from the estimates than the best a standard deviation may be, (g,): eq. (142).

    Where means may differ by less than noise, the sums of one standard deviation are no plane, and a second dimension
    takes its part.
    """
    means = np.sqrt(np.maximum(1 - deviation**2, 0)) * moments.estimate[:, 0]
    return np.where(means > margin_factor(level) * moments.std_err, margin_factor(level) ** 2, -2 * np.log(1 - level))


def _distance(moments: _Moments, deviation: FloatArray) -> FloatArray:
    """The least squared distance of the estimates from a group with this standard deviation, (g,): eq. (142)."""
    most = np.sqrt(np.maximum(1 - deviation**2, 0))  # means are no further from the middle
    count = moments.estimate[:, 0]
    own = moments.estimate[:, 1] / np.where(count > 0, count, np.inf)
    grid = np.append(np.linspace(-1, 1, _MEANS) * most[:, None], np.clip(own, -most, most)[:, None], axis=1)
    return _minimum(lambda means: _distance_of_means(moments, means, deviation[:, None]), np.sort(grid, axis=1))[1]


def _minimum(values: Callable[[FloatArray], FloatArray], grid: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where a function of each row is least, and its value there, from a sorted grid (g, n)."""
    at_grid, rows = values(grid), np.arange(len(grid))
    best = np.argmin(at_grid, axis=1)
    left, right = (grid[rows, np.clip(best + step, 0, grid.shape[1] - 1)] for step in (-1, 1))
    for _ in range(_NARROWED):
        near = left[:, None] + np.linspace(0, 1, 5) * (right - left)[:, None]
        at = np.argmin(values(near), axis=1)
        left, right = near[rows, np.maximum(at - 1, 0)], near[rows, np.minimum(at + 1, 4)]
    points = np.concatenate([near, grid[rows, best][:, None]], axis=1)
    found = np.concatenate([values(near), at_grid[rows, best][:, None]], axis=1)
    at = np.argmin(found, axis=1)
    return points[rows, at], found[rows, at]


def _distance_of_means(moments: _Moments, means: FloatArray, deviation: FloatArray) -> FloatArray:
    """The same for each of some means (g, m), and the best count, which is not negative."""
    direction = np.stack([np.ones_like(means), means, means**2 + deviation**2], axis=-1)
    weighted = np.einsum("gij,gj->gi", moments.precision, moments.estimate)
    whole = np.einsum("gi,gi->g", weighted, moments.estimate)[:, None]
    along = np.maximum(np.einsum("gmi,gi->gm", direction, weighted), 0)
    return np.asarray(whole - along**2 / np.einsum("gmi,gij,gmj->gm", direction, moments.precision, direction))
