"""Ratios of two estimates whose errors are correlated: standard errors to first order, and intervals that hold.

Source: eqs. (118) and (119).
"""

from typing import Any, NamedTuple

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.margins import margin_factor


class Ratio(NamedTuple):
    """Two estimates of which D / C is wanted, entry by entry, all of one shape."""

    above: FloatArray  # D
    below: FloatArray  # C
    of_above: FloatArray  # the variance of each
    of_below: FloatArray
    covariance: FloatArray  # of the two


def ratio_and_std_err(ratio: Ratio) -> tuple[FloatArray, FloatArray]:
    """D / C, and its standard error to first order; NaN where C is not above 0.  Source: eq. (118)."""
    above, below, of_above, of_below, covariance = ratio
    # D / C - t is (D - t C) / C: to first order its error is that of D - t C, with t = D / C, over C.
    divisor = np.where(below > 0, below, np.nan)
    found = above / divisor
    of_difference = of_above - 2 * found * covariance + found**2 * of_below  # that of D - t C
    return found, np.sqrt(np.maximum(of_difference, 0)) / divisor


def ratio_within(ratio: Ratio, middle: float, half: float, level: float) -> dict[str, Any]:
    """By field a middle plus a ratio of at most half a range in size, and its interval, both cut at the range."""
    margin = margin_factor(level)
    found, std_err = ratio_and_std_err(ratio)
    low, high = fieller_interval(ratio, margin, half)
    return {
        "estimate": middle + np.clip(found, -half, half),
        "std_err": std_err,
        "low": middle + low,
        "high": middle + high,
        "too_noisy": ~(ratio.below > margin * np.sqrt(ratio.of_below)),
    }


def fieller_interval(ratio: Ratio, margin: float, limit: float) -> tuple[FloatArray, FloatArray]:
    """The least and the largest t, up to ``limit`` in size, with ``|D - t C| <= margin`` standard errors of it.

    It has the true ratio as often as a normal variable is within ``margin`` standard deviations, however small C is:
    where C is above 0 and noise puts all such t beyond the limit, so that the true ratio is missed already, it is the
    end nearest to them.

    Source: eq. (119); Fieller 1954.
    """
    above, below, of_above, of_below, covariance = ratio
    square = margin**2
    # |D - t C| <= margin * std_err(D - t C), squared, is a t^2 - 2 b t + c <= 0.
    a = below**2 - square * of_below
    b = above * below - square * covariance
    c = above**2 - square * of_above
    with np.errstate(all="ignore"):
        root = np.sqrt(np.maximum(b**2 - a * c, 0))
        far = np.where(b < 0, b - root, b + root)  # without cancellation
        first, second = far / a, c / far
    between = np.sort(np.stack([first, second]), axis=0)
    # With a >= 0 these are the ends.  Otherwise all ratios but those between them: the range is cut where one lies
    # beyond it, and is all of it where both do not, or where no ratio is excluded.
    inside = a >= 0
    is_cut = ~inside & (b**2 > a * c)
    low = np.where(is_cut & (between[0] < -limit) & (between[1] > -limit), between[1], -limit)
    high = np.where(is_cut & (between[1] > limit) & (between[0] < limit), between[0], limit)
    low, high = np.where(inside, between[0], low), np.where(inside, between[1], high)
    # Of an interval beyond the range the nearest end is left, which the cut below gives.  Where C is not clear of 0, or
    # the ends are 0 / 0, no end is nearest: it is the whole range, which claims the least.
    is_beyond = inside & (below > 0) & ((low > limit) | (high < -limit))
    is_lost = ~is_beyond & ~((low <= high) & (low <= limit) & (high >= -limit))
    low, high = np.where(is_lost, -limit, low), np.where(is_lost, limit, high)
    return np.clip(low, -limit, limit), np.clip(high, -limit, limit)
