"""How accurate means will be, before there is a release.

Reads: a plan, groups, a number of records.  Gives: standard errors.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from residualplanner._checks import FloatArray, require_positive
from residualplanner.derived.answers import statistic_query
from residualplanner.plan import Plan
from residualplanner.queries import Kind, Mean


def mean_std_err(
    plan: Plan,
    attribute: str,
    by: Iterable[str] | Mapping[str, Kind] = (),
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

    Source: spec eq. (122).

    Example:
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"job": 2, "pay": rp.Numeric(0, 100_000)})
        >>> plan = rp.select(rp.Workload(domain, [{"job": rp.Identity(), "pay": rp.Mean()}]), budget=rp.zcdp(0.5))
        >>> mean_std_err(plan, "pay", ["job"], records=200).round()
        array([519., 519.])
    """
    count = require_positive("records", records)
    kind = Mean(between).on(plan.domain[attribute])
    _, of_above, of_below = np.moveaxis(plan.variance(statistic_query(plan, attribute, by, Mean(between))), -1, 0)
    low, high = kind.limits
    found: FloatArray = (high - low) * np.sqrt(np.maximum(of_above, of_below)) / count
    return found
