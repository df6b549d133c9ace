"""The error that noise alone leaves in any statistic of tables, by drawing the known noise again.

Source: parametric bootstrap, Efron and Tibshirani (1993), chapter 6.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.gate.measurement.measure import measure
from residualplanner.ground.checks import FloatArray, frozen, require_integer, require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import require_level
from residualplanner.release.release import Release

_FEWEST = 50


@dataclass(frozen=True, eq=False, slots=True)
class SimulatedStatistic:
    """A statistic of the tables of a release, with its error from noise alone.

    Attributes:
        estimate (..): of the tables as they are.
        std_err (..): the standard deviation over the simulations, of those in which the statistic is a number.
        bias (..): how far the simulations are from the estimate, on average.
        low (..): the lower ends of the intervals: twice the estimate, less an upper quantile of the simulations, of
            which those in which the statistic is no number count as infinite.
        high (..): the upper ends.
        level: the confidence level of the intervals.
        simulations: how many there were.
    """

    estimate: FloatArray
    std_err: FloatArray
    bias: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    simulations: int


def simulated(
    release: Release,
    statistic: Callable[[Release], ArrayLike],
    *,
    level: float = 0.95,
    simulations: int = 200,
    seed: int = 0,
) -> SimulatedStatistic:
    """Any statistic of the tables of a release, with its error from noise alone, by simulation.

    In each simulation noise as that of the release is added to all of its answers, and the statistic is computed of
    the tables that follow: a correlation, a regression, an index, whatever is a function of tables.  Intervals are for
    statistics that hardly bend where noise moves them: of the sums and ratios of large groups, not of a few records;
    those of `means`, `ratio`, `proportions` and `standard_deviations` hold there, too.

    The noise is drawn from a generator with a seed: it protects nothing, and no record is read.

    Args:
        release: unbiased tables, from `reconstruct`.
        statistic: what is computed, a number or an array of numbers, from a release.
        level: the confidence level of the intervals.
        simulations: how many, at least 50.
        seed: equal seeds give equal results.

    Raises:
        WorkloadError: the tables are not unbiased; there are too few simulations; or the statistic is no array of
            numbers of one shape.
        BudgetError: ``level`` is not between 0 and 1.

    Example:
        >>> import residualplanner as rp
        >>> plan = rp.select(rp.marginals(rp.Domain({"sex": ["F", "M"]}), order=1), budget=rp.zcdp(0.5))
        >>> records = np.repeat([[0], [1]], [300, 700], axis=0)
        >>> release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
        >>> odds = simulated(release, lambda tables: np.divide(*tables["sex",].estimate))
        >>> bool(odds.low < 3 / 7 < odds.high)
        True
    """
    require_type("simulated", "release", release, Release, "write simulated(reconstruct(measurement), statistic)")
    release.product.require_unbiased("the error of a statistic by simulation")
    number, level = require_integer("simulations", simulations, least=_FEWEST), require_level(level)
    estimate = _numbers(statistic(release))
    drawn = np.stack([_numbers(statistic(each), estimate) for each in _noisier(release, number, seed)])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where the statistic was never a number, nothing else is
        low, high = _ends(drawn, level)
        std_err, bias = np.nanstd(drawn, axis=0, ddof=1), np.nanmean(drawn, axis=0) - estimate
    is_none = np.isnan(estimate)
    ends = np.where(is_none, -np.inf, 2 * estimate - high), np.where(is_none, np.inf, 2 * estimate - low)
    std_err, bias, low, high = (frozen(np.asarray(each)) for each in (std_err, bias, *ends))
    return SimulatedStatistic(frozen(estimate), std_err, bias, low, high, level, number)


def _ends(drawn: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Between which values the simulations are; one in which the statistic is no number may be any."""
    is_none = np.isnan(drawn)
    low = np.quantile(np.where(is_none, -np.inf, drawn), (1 - level) / 2, axis=0, method="lower")
    return low, np.quantile(np.where(is_none, np.inf, drawn), (1 + level) / 2, axis=0, method="higher")


def _numbers(given: Any, like: FloatArray | None = None) -> FloatArray:
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise WorkloadError("the statistic must give a number, or an array of numbers") from None
    if like is not None and found.shape != like.shape:
        raise WorkloadError(f"the statistic gave arrays of the shapes {like.shape} and {found.shape}; give always one")
    return found


def _noisier(release: Release, number: int, seed: int) -> Iterator[Release]:
    """The release with as much noise added to its answers again, so many times."""
    measurement = release.measurement
    residuals = measurement.residuals
    nothing = np.zeros((0, len(release.plan.domain.columns)), dtype=np.int64)
    for each in range(number):
        noise = measure(release.plan, nothing, noise="gaussian", seed=seed + each).residuals
        noisy = frozen(residuals.values + noise.values)
        yield Release(measurement.with_residuals(replace(residuals, numbers=noisy, divisors=None, wide={}, hashes={})))
