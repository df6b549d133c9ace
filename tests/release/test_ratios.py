"""Fieller's intervals, cut at limits, against every ratio that is tried, and how often they have the true one."""

import math

import numpy as np
import pytest

from residualplanner.release.ratios import Ratio, fieller_interval

MARGIN = 1.959963984540054
LIMIT = 0.5


def share_ratio(count, other, variance):
    """The share of a count in the sum of it and another one, less a half, with independent noise in both."""
    total, each = count + other, np.full(count.shape, variance)
    return Ratio(count - total / 2, total, each / 2, 2 * each, 0 * each)


def share_interval(count, other, variance):
    low, high = fieller_interval(share_ratio(*np.broadcast_arrays(np.array(count), other), variance), MARGIN, LIMIT)
    return 0.5 + low, 0.5 + high


def test_an_interval_is_of_all_ratios_that_are_not_excluded():
    chance = np.random.default_rng(1)
    ratio = share_ratio(chance.uniform(-60, 200, 2000), chance.uniform(-60, 200, 2000), 225.0)
    tried = np.linspace(-LIMIT, LIMIT, 1001)[:, None]
    difference = np.abs(ratio.above - tried * ratio.below)
    is_kept = difference <= MARGIN * np.sqrt(ratio.of_above + tried**2 * ratio.of_below)
    low, high = fieller_interval(ratio, MARGIN, LIMIT)
    some = is_kept.any(axis=0)
    assert 100 < (~some).sum() < 500
    kept = np.where(is_kept, tried, np.nan)[:, some]
    assert (low[some] <= np.nanmin(kept, axis=0) + 1e-9).all()
    assert (high[some] >= np.nanmax(kept, axis=0) - 1e-9).all()
    is_run = (np.diff(is_kept[:, some].astype(int), axis=0) > 0).sum(axis=0) + is_kept[0, some] == 1
    assert (np.nanmin(kept, axis=0) - low[some] < 2e-3)[is_run].all()
    assert (high[some] - np.nanmax(kept, axis=0) < 2e-3)[is_run].all()


@pytest.mark.parametrize(
    ("count", "other", "expected"),
    [
        (-24.4, 675.4, (0, 0)),  # with noise of 12 its interval ends below 0: no share that is possible is left
        (675.4, -24.4, (1, 1)),
        (-12, 212, (0, 0.0517)),  # where 12 + 200 t is 1.96 times 12 times the root of (1 - t)^2 + t^2
        (-100, 40, (0, 1)),  # a number of records below 0 is no reason for either end
        (2, -3, (0, 1)),
        (0, 0, (0, 1)),
    ],
)
def test_an_interval_beyond_the_shares_that_are_possible_is_the_nearest_one(count, other, expected):
    assert share_interval(count, other, 144.0) == pytest.approx(expected, abs=1e-3)


# With noise of standard deviation 15 in each count; of 20 000 releases at least 94.96% by this simulation, and 95.7% of
# groups of 20, in which seven in ten intervals are from 0 to 1.  That of a share of 0 is one point in 2.5% at most.
@pytest.mark.parametrize("records", [20, 60, 200, 1000])
@pytest.mark.parametrize("share", [0, 0.01, 0.05, 0.95, 0.99, 1])
def test_shares_near_0_and_1_are_covered_as_often_as_said_in_small_groups(records, share):
    chance, runs = np.random.default_rng(2), 20_000
    count, other = (records * part + chance.normal(0, 15, runs) for part in (share, 1 - share))
    low, high = share_interval(count, other, 225.0)
    covered = ((low <= share) & (share <= high)).mean()
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
    assert (low <= high).all()
    # A count far below 0 does not make an interval say nothing.
    is_clear = count + other > 4 * MARGIN * 15 * math.sqrt(2)
    assert not ((low == 0) & (high == 1) & is_clear).any()
