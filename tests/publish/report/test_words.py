"""How numbers, budgets and units are written on pages and in pictures."""

import numpy as np
import pytest

import residualplanner as rp
from residualplanner.publish.pictures.plots import log_ticks, power_text
from residualplanner.publish.report.privacy import promise_of, toml_line
from residualplanner.publish.report.statistics import compared_unit
from residualplanner.publish.report.subject import subject_of
from residualplanner.publish.report.tables import PageColumn, as_shown
from residualplanner.publish.report.words import apart, decimals_for, decimals_of_errors, typical_of


def test_a_column_shows_three_digits_of_a_typical_number():
    assert [decimals_for(np.array(numbers)) for numbers in ([12.3, 45.6], [0.5], [123.0, 7e6])] == [1, 3, 0]
    assert typical_of(np.array([0.0, 12.3, 45.6])) == pytest.approx(13.965)


def test_errors_show_two_digits_of_the_least_that_is_not_0():
    every = ([32.1, 700.0], [0.071, 5.0], [0.0], [np.nan])
    assert [decimals_of_errors(np.array(errors)) for errors in every] == [1, 3, 1, 1]


def test_ends_that_decimals_do_not_tell_apart_are_rounded_outward():
    low, high = apart(np.array([2.0, 2.01, 2.46]), np.array([2.0, 2.02, 2.7]), 1)
    assert (low.tolist(), high.tolist()) == ([2.0, 2.0, 2.46], [2.0, 2.1, 2.7])


def test_a_page_holds_a_value_as_it_shows_it():
    moe = PageColumn("moe", "", "", "error", 1)
    assert [as_shown(value, moe) for value in (42008926.649, 0.00321, float("nan"))] == [42008926.6, 0.0032, None]


def test_ticks_of_a_logarithmic_axis_are_round_numbers():
    assert log_ticks(0.9, 5e6) == [1.0, 1000.0, 1000000.0]
    assert log_ticks(3, 70) == [5.0, 10.0, 20.0, 50.0]
    assert log_ticks(11, 19) == [12.0, 14.0, 16.0, 18.0]
    assert [power_text(value) for value in (5, 1e5, 1e6, 1e12)] == ["5", "100,000", "10⁶", "10¹²"]


def test_the_unit_of_a_comparison_follows_from_its_title():
    assert compared_unit("difference of a to b", "counts") == "difference in records"
    assert compared_unit("ratio of a to b, times 1,000", "") == "ratio, times 1,000"


def test_a_line_of_a_spec_has_the_budget_or_the_zcdp_of_the_same_noise():
    assert toml_line(rp.zcdp("0.5")) == toml_line(rp.privacy.gdp(1)) == 'budget = { zcdp = "0.5" }'
    assert toml_line(rp.approx_dp(1, "1e-9")) == 'budget = { approx_dp = { epsilon = "1", delta = "1e-9" } }'


@pytest.mark.parametrize(
    ("budget", "shown"), [(rp.zcdp("1/3"), "0.333334-zCDP"), (rp.approx_dp(1, "1e-9"), "(1, 1e-9)-DP")]
)
def test_a_budget_is_shown_as_it_was_stated_with_fractions_as_decimals_rounded_up(budget, shown):
    plan = rp.select(rp.marginals(rp.Domain({"a": 2}), order=1), budget=budget)
    assert promise_of(subject_of(plan, level=0.95)).statement == shown
