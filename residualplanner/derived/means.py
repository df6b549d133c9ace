"""Means of amounts, by group, from the sums and the counts of a release.

Reads: a release, an attribute of amounts, groups.  Gives: MeanTable.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner._margins import margin_factor
from residualplanner.derived.amount_rows import moment_rows
from residualplanner.derived.grouped import frame_of, grouped_table
from residualplanner.derived.ratio import Ratio
from residualplanner.queries import Kind, amounts_of
from residualplanner.reconstruction import Release

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, slots=True)
class MeanTable:
    """The mean amount of the records in each group, with standard errors and intervals.

    The mean of a group is the ratio of two estimates.  Records without an amount are in none.

    Attributes:
        attribute: whose amounts are averaged.
        unit: of the amounts, in words.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        estimate: the means, an axis for each attribute, within the limits of the amounts; NaN where the count of a
            group is estimated as 0 or less.
        std_err: their standard errors, to first order; NaN likewise.
        low: the lower ends of the intervals, within the limits of the amounts.
        high: the upper ends.
        count: the estimated number of records in each group.
        too_noisy: where the count is not clear of 0, so that the mean says nothing; the interval is right there, too.
        level: the confidence level of the intervals and of ``too_noisy``.
    """

    attribute: str
    unit: str
    names: tuple[str, ...]
    labels: tuple[tuple[object, ...], ...]
    estimate: FloatArray
    std_err: FloatArray
    low: FloatArray
    high: FloatArray
    count: FloatArray
    too_noisy: NDArray[np.bool_]
    level: float

    def __repr__(self) -> str:
        return f"mean {self.attribute} ({self.unit})\n{self.to_pandas()}"

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(index=False))

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each group: its labels, ``mean``, ``std_err``, ``low``, ``high``, ``count`` and ``too_noisy``."""
        columns = {"mean": self.estimate, "std_err": self.std_err, "low": self.low, "high": self.high}
        return frame_of(self.names, self.labels, {**columns, "count": self.count, "too_noisy": self.too_noisy})


def means(
    release: Release, attribute: str, by: Iterable[str] | Mapping[str, Kind] = (), *, level: float = 0.95
) -> MeanTable:
    """The means of the amounts of an attribute, by group: sums divided by counts.

    Args:
        release: unbiased tables of a workload in which the same groups have counts and sums of the attribute.
        attribute: one of amounts, declared by `Numeric`.
        by: the attributes that make the groups; with kinds, such as a hierarchy's, where they are not plain values.
        level: the confidence level of the intervals, which hold for groups of any size: Fieller's, which is all of the
            range of the amounts where the count is not clear of 0.

    Raises:
        WorkloadError: the attribute has no amounts, or the release does not answer its sums or counts by these groups.
        BudgetError: ``level`` is not between 0 and 1.

    Source: spec eqs. (118) and (119).

    Example:
        >>> import numpy as np, pandas as pd
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"job": 2, "pay": rp.Numeric(0, 100)})
        >>> workload = rp.Workload(domain, [("job",), {"job": rp.Identity(), "pay": rp.Sum()}])
        >>> plan = rp.select(workload, budget=rp.zcdp(0.5))
        >>> records = pd.DataFrame({"job": np.repeat([0, 1], [400, 600]), "pay": np.repeat([20, 70], [400, 600])})
        >>> release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
        >>> found = means(release, "pay", by=["job"])
        >>> np.abs(found.estimate - [20, 70]) < 4 * found.std_err
        array([ True,  True])
    """
    margin = margin_factor(level)
    table = grouped_table(release, attribute, by, moment_rows, "sums and counts")
    count, deviation, _ = np.moveaxis(table.estimate, -1, 0)
    variances = np.moveaxis(table.variance, -1, 0)
    low, high = _limits(release, attribute)
    middle, half = (low + high) / 2, (high - low) / 2
    covariance = (variances[2] - variances[1] - half**2 * variances[0]) / (2 * half)
    ratio = Ratio(deviation, count, variances[1], variances[0], covariance)
    ends = ratio.interval(margin, half)
    return MeanTable(
        attribute,
        release.plan.domain[attribute].about.unit or attribute,
        table.names[:-1],
        table.labels[:-1],
        frozen(np.asarray(middle + np.clip(ratio.estimate, -half, half))),
        frozen(np.asarray(ratio.std_err)),
        frozen(np.asarray(middle + ends[0])),
        frozen(np.asarray(middle + ends[1])),
        frozen(np.asarray(count)),
        frozen(np.asarray(~ratio.is_clear(margin))),
        level,
    )


def _limits(release: Release, attribute: str) -> tuple[float, float]:
    """The least and the largest amount."""
    ends = amounts_of(release.plan.domain[attribute], "to average").ends
    return float(ends[0, 0]), float(ends[-1, 1])
