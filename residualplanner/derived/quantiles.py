"""Quantiles of amounts or bins, by group, from the counts of a release, with intervals that need no approximation.

Reads: a release, an attribute, groups.  Gives: QuantileTable.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from residualplanner._checks import FloatArray, frozen
from residualplanner._margins import margin_factor
from residualplanner.derived.amount_rows import tail_rows
from residualplanner.derived.grouped import frame_of, grouped_table
from residualplanner.errors import WorkloadError
from residualplanner.queries import Kind
from residualplanner.reconstruction import Release

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, slots=True)
class QuantileTable:
    """Quantiles of the amounts of the records in each group, with intervals whose ends are edges of bins.

    Attributes:
        attribute: whose quantiles these are.
        unit: of its amounts, in words.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        probabilities (p,): the fractions of the records that are at or below the quantiles.
        estimate: an axis for each attribute, and the last one for the probabilities; amounts are taken to be spread
            evenly within a bin; NaN where the count of a group is estimated as 0 or less.
        low: the lower ends of the intervals.
        high: the upper ends.
        level: the confidence level of each interval.
    """

    attribute: str
    unit: str
    names: tuple[str, ...]
    labels: tuple[tuple[object, ...], ...]
    probabilities: tuple[float, ...]
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    level: float

    def __repr__(self) -> str:
        return f"quantiles of {self.attribute} ({self.unit})\n{self.to_pandas()}"

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(index=False))

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each group and probability: labels, ``probability``, ``quantile``, ``low`` and ``high``."""
        columns = {"quantile": self.estimate, "low": self.low, "high": self.high}
        return frame_of((*self.names, "probability"), (*self.labels, self.probabilities), columns)


def quantiles(
    release: Release,
    attribute: str,
    probabilities: float | Sequence[float] = (0.25, 0.5, 0.75),
    by: Iterable[str] | Mapping[str, Kind] = (),
    *,
    level: float = 0.95,
) -> QuantileTable:
    """Quantiles of an attribute, by group, from its counts by bin.

    An interval contains the quantile with probability ``level`` at least, in groups of any size.  It is made of whole
    bins: those that the counts, with their exact errors, do not exclude.

    Args:
        release: unbiased tables of a workload in which the groups have counts (`Identity`, `Prefix` or `Range`) of all
            bins of the attribute.
        attribute: one of amounts, or of bins of numbers.
        probabilities: strictly between 0 and 1.
        by: the attributes that make the groups; with kinds where they are not plain values.
        level: of the intervals.

    Raises:
        WorkloadError: the attribute has no numbers, or the release does not answer its counts by these groups; a
            probability is not between 0 and 1.
        BudgetError: ``level`` is not between 0 and 1.

    Source: spec eq. (120).

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
    margin = margin_factor(level)
    chosen = np.atleast_1d(np.asarray(probabilities, dtype=float))
    if chosen.ndim != 1 or not ((chosen > 0) & (chosen < 1)).all():
        raise WorkloadError("the probabilities of quantiles must be numbers between 0 and 1, such as 0.5")
    rows, edges = tail_rows(release.plan.domain[attribute])
    table = grouped_table(release, attribute, by, lambda _: rows, "counts by bin")
    count = len(edges) - 1
    excess, deviation = _excesses(table.estimate, table.variance, chosen, count)
    # The true bin is the first with no negative excess, so the interval starts in the first bin of which the excess may
    # not be negative, and ends in the bin after the last of which it may be.
    first = np.argmax(excess + margin * deviation >= 0, axis=-1)
    last = count - 1 - np.argmax((excess - margin * deviation < 0)[..., -2::-1], axis=-1)
    is_any = (excess - margin * deviation < 0)[..., :-1].any(axis=-1)
    return QuantileTable(
        attribute,
        release.plan.domain[attribute].about.unit or attribute,
        table.names[:-1],
        table.labels[:-1],
        tuple(chosen.tolist()),
        frozen(_estimates(table.estimate[..., :count], chosen, edges)),
        frozen(edges[first]),
        frozen(edges[np.where(is_any, last, 0) + 1]),
        level,
    )


def _excesses(
    estimates: FloatArray, variances: FloatArray, probabilities: FloatArray, count: int
) -> tuple[FloatArray, FloatArray]:
    """(1 - p) times the records up to each bin less p times those above, and its standard error, (.., p, bins).

    The last bin is never exceeded: 0 with standard error 0 there.
    """
    p = probabilities[:, None]
    below, above = estimates[..., None, : count - 1], estimates[..., None, count:]
    of_below, of_above = variances[..., None, : count - 1], variances[..., None, count:]
    covariance = (variances[..., None, count - 1 : count] - of_below - of_above) / 2
    excess = (1 - p) * below - p * above
    variance = (1 - p) ** 2 * of_below + p**2 * of_above - 2 * p * (1 - p) * covariance
    end = np.zeros((*excess.shape[:-1], 1))
    return np.append(excess, end, axis=-1), np.append(np.sqrt(np.maximum(variance, 0)), end, axis=-1)


def _estimates(upward: FloatArray, probabilities: FloatArray, edges: FloatArray) -> FloatArray:
    """Where the counts up to each bin (.., bins), made to increase, reach fractions of the last, (.., p)."""
    total = upward[..., -1:]
    rising = np.minimum(np.maximum(np.maximum.accumulate(upward, axis=-1), 0), total)
    padded = np.concatenate([np.zeros_like(total), rising], axis=-1)[..., None, :]
    target = probabilities * total
    at = np.argmax(padded[..., 1:] >= target[..., None], axis=-1)
    start = np.take_along_axis(padded[..., 0, :], at, axis=-1)
    step = np.take_along_axis(padded[..., 0, :], at + 1, axis=-1) - start
    within = np.divide(target - start, step, out=np.ones_like(target), where=step > 0)
    found = edges[at] + np.clip(within, 0, 1) * (edges[at + 1] - edges[at])
    return np.where(total > 0, found, np.nan)
