"""Quantiles of amounts or bins, by group, from the counts of a release, with intervals that need no approximation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.margins import margin_factor
from residualplanner.method.workload.query import QueryLike
from residualplanner.more.amounts.statistics import Quantiles
from residualplanner.release.statistic_table import Column, StatisticTable


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class QuantileTable(StatisticTable):
    """Quantiles of the amounts of the records in each group, with intervals whose ends are edges of bins.

    The last axis is that of the probabilities.  Amounts are taken to be spread evenly within a bin; estimates are NaN
    where the count of a group is estimated as 0 or less.
    """

    word, phrase = "quantiles", "quantiles of"
    columns = (
        Column(
            "quantile", "estimate", "amounts", "estimate, as if amounts were spread evenly within a bin", "of unbiased"
        ),
        Column("low", "low", "amounts", "low end of the interval of level {level}: an edge of a bin", "of unbiased"),
        Column("high", "high", "amounts", "high end of that interval", "of unbiased"),
    )

    @property
    def probabilities(self) -> tuple[float, ...]:
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
            "estimate": frozen(_estimates(count, excess, p, edges)),
            "low": frozen(edges[np.argmax(may_be_reached, axis=-1)]),
            "high": frozen(edges[last + 1]),
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
    """The answers after the first, (groups.., p, bins - 1)."""
    groups = answers.shape[1:]
    return np.moveaxis(answers[1:].reshape(probabilities, -1, *groups), (0, 1), (-2, -1))


def _estimates(count: FloatArray, excess: FloatArray, probabilities: FloatArray, edges: FloatArray) -> FloatArray:
    """Where the counts up to each bin, made to increase, reach fractions of the count, (groups.., p)."""
    # Noise may make counts up to a bin fall: the running maximum, within 0 and the count, is a distribution function.
    total = count[..., None, None]
    upward = np.append(
        excess + probabilities[:, None] * total, np.broadcast_to(total, (*excess.shape[:-1], 1)), axis=-1
    )
    rising = np.minimum(np.maximum(np.maximum.accumulate(upward, axis=-1), 0), total)
    padded = np.append(np.zeros((*excess.shape[:-1], 1)), rising, axis=-1)
    target = probabilities * count[..., None]
    at = np.argmax(padded[..., 1:] >= target[..., None], axis=-1)
    start, end = (np.take_along_axis(padded, each[..., None], axis=-1)[..., 0] for each in (at, at + 1))
    within = np.divide(target - start, end - start, out=np.ones_like(target), where=end > start)
    found = edges[at] + np.clip(within, 0, 1) * (edges[at + 1] - edges[at])
    return np.where(count[..., None] > 0, found, np.nan)
