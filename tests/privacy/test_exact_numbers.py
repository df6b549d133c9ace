"""Each conversion errs only to its own side, and by no more than one step."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residualplanner.privacy._exact import (
    crossing,
    decimal_down,
    decimal_up,
    float_down,
    float_up,
    root_up,
    working_digits,
)

checked = settings(derandomize=True, deadline=None, max_examples=200)
fractions = st.fractions(min_value=Fraction(1, 10**40), max_value=10**40)
STEP = Fraction(1, 10**78)


@pytest.fixture(autouse=True)
def eighty_digits():
    with working_digits():
        yield


@checked
@given(exact=fractions)
def test_decimals_enclose_the_fraction(exact):
    assert exact * (1 - STEP) < Fraction(decimal_down(exact)) <= exact
    assert exact <= Fraction(decimal_up(exact)) < exact * (1 + STEP)


@checked
@given(exact=fractions)
def test_the_root_is_not_below(exact):
    assert exact <= Fraction(root_up(exact)) ** 2 < exact * (1 + 3 * STEP)


@checked
@given(exact=fractions)
def test_floats_enclose_fraction_and_decimal(exact):
    for number in (exact, decimal_up(exact)):
        assert Fraction(float_down(number)) <= Fraction(number) <= Fraction(float_up(number))
        assert float_down(number) == float_up(number) or Fraction(float_up(number)) > Fraction(number)


@pytest.mark.parametrize(
    ("number", "down", "up"),
    [
        (Decimal("1e-999999"), 0.0, 5e-324),
        (Decimal("1e999999"), 1.7976931348623157e308, float("inf")),
        (Decimal("0.5"), 0.5, 0.5),
    ],
)
def test_floats_beyond_the_range_stay_on_their_side(number, down, up):
    assert (float_down(number), float_up(number)) == (down, up)


@checked
@given(root=st.decimals("1e-20", "1e20"))
def test_a_crossing_is_enclosed(root):
    low, high = crossing(lambda x: x > root, Decimal("1e-30"), Decimal("1e30"))
    assert low <= root < high < low * (1 + Decimal("2e-18"))
