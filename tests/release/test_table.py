"""What a table says about its cells is what the explicit covariance says, and reads as a tidy frame."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from made_releases import any_release
from strategies import NAMES

DOMAIN = rp.Domain({"age": rp.Bins([0, 10, 20]), "one": 1, "sex": ["F", "M"], "code": [7, 30], "yes": [False, True]})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=3), budget=rp.pcost(1))
RELEASE = any_release(PLAN)


@pytest.mark.parametrize(
    ("level", "quantile"), [(0.9, 1.6448536269514722), (0.95, 1.959963984540054), (0.99, 2.5758293035489004)]
)
def test_intervals_are_the_published_quantiles_and_16_steps_of_the_lattice_times_the_standard_error(level, quantile):
    quantile += 16 * 2**-22
    table = RELEASE["age", "sex"]
    low, high = table.interval(level)
    np.testing.assert_allclose(table.moe(level), quantile * table.std_err, rtol=1e-14)
    np.testing.assert_allclose(low, table.estimate - quantile * table.std_err, rtol=1e-12)
    np.testing.assert_allclose(high, table.estimate + quantile * table.std_err, rtol=1e-12)
    cell = table.at(age="[0, 10)", sex="F")
    assert (cell.std_err, cell.moe(level)) == (table.std_err[0, 0], pytest.approx(table.moe(level)[0, 0]))
    assert cell.interval(level) == (pytest.approx(low[0, 0]), pytest.approx(high[0, 0]))


def test_the_total_is_a_table_without_axes():
    table = RELEASE[()]
    assert (table.names, table.query, table.labels) == ((), (), ())
    assert table.estimate.shape == table.variance.shape == table.moe().shape == ()
    assert table.combine(2.0).estimate == 2 * float(table.estimate)
    frame = table.to_frame()
    assert len(frame) == 1
    assert list(frame.columns) == ["estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"]


def test_a_frame_is_tidy_with_labels_in_the_order_of_the_query():
    frame = RELEASE["yes", "code", "age"].to_frame(level=0.9)
    names = ["yes", "code", "age"]
    assert list(frame.columns) == [*names, "estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"]
    cells = itertools.product([False, True], [7, 30], ["[0, 10)", "[10, 20]"])
    assert list(frame[names].itertuples(index=False, name=None)) == list(cells)
    table = RELEASE["yes", "code", "age"]
    assert (frame["estimate"] == table.estimate.ravel()).all()
    assert (frame["std_err"] == table.std_err.ravel()).all()
    assert (frame["moe"] == table.moe(0.9).ravel()).all()
    assert (frame["conf_level"] == 0.9).all()
    assert (frame["ci_low"] == frame["estimate"] - frame["moe"]).all()
    assert (frame["ci_high"] == frame["estimate"] + frame["moe"]).all()
    assert frame.loc[frame["code"] == 30, "estimate"].sum() == pytest.approx(RELEASE["code"].estimate[1])
    assert pd.api.types.is_integer_dtype(frame["code"])


@pytest.mark.parametrize("level", [0, 1, 0.0, 1.0, -0.5, 95, math.nan, math.inf, None, "0.95", True])
def test_levels_that_are_none_are_refused(level):
    table = RELEASE["sex"]
    methods = [table.moe, table.interval, table.at(sex="F").moe, table.at(sex="F").interval]
    for method in [*methods, *([] if level is None else [table.to_frame])]:  # no level is the profile's
        with pytest.raises(rp.errors.BudgetError, match=r"level must be between 0 and 1, such as 0\.95"):
            method(level)


@pytest.mark.parametrize("weights", [[1.0], np.ones((2, 2, 1)), [[1, math.nan], [1, 1]], [[1, "x"], [1, 1]], None])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(rp.errors.WorkloadError, match="weights must be"):
        RELEASE["age", "sex"].combine(weights)


def test_a_covariance_too_large_to_hold_is_refused_but_not_a_combination():
    domain = rp.Domain({NAMES[0]: 200, NAMES[1]: 200})
    table = any_release(rp.select(rp.Workload(domain, [("a", "b")]), budget=rp.pcost(1)))["a", "b"]
    with pytest.raises(rp.errors.WorkloadError, match="too large: the covariance of 40,000 cells"):
        table.covariance()
    # The sum of all cells is the total, whose variance is its own noise.
    assert table.combine(np.ones((200, 200))).variance == pytest.approx(float(table.plan.variance(())))
