"""How accurate means will be, before there is a release."""

import numpy as np

from residualplanner.ground.checks import FloatArray, require_positive
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import statistic_among
from residualplanner.method.workload.query import QueryLike
from residualplanner.more.amounts.statistics import Mean
from residualplanner.release.statistics.answers import statistic_query


def mean_std_err(
    plan: Plan,
    attribute: str,
    by: QueryLike = (),
    *,
    records: float,
    between: tuple[float, float] | None = None,
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


def mean_std_err_of_query(plan: Plan, number: int, *, records: float) -> FloatArray | None:
    """As `mean_std_err`, of the query of this number in the plan's workload; None where it is not for means.

    Raises:
        BudgetError: ``records`` is not a positive number.
    """
    count, kinds = require_positive("records", records), plan.workload.query_at(number).table_axes.kinds
    axis = statistic_among(kinds)
    kind = None if axis is None else kinds[axis]
    if axis is None or not isinstance(kind, Mean):
        return None
    (query,) = plan.workload.take([number])
    return _std_errs(kind, plan.variance(query), axis, count)


def _std_errs(kind: Mean, variance: FloatArray, axis: int, count: float) -> FloatArray:
    """The largest standard errors of means, by the variances of their three answers along an axis."""
    _, of_above, of_below = np.moveaxis(variance, axis, 0)
    low, high = kind.limits
    found: FloatArray = (high - low) * np.sqrt(np.maximum(of_above, of_below)) / count
    return found
