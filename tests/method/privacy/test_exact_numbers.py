"""Each conversion errs only to its own side, and by no more than one step."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residualplanner.method.privacy._exact import crossing, decimal_down, decimal_up, float_up, root_up, working_digits

checked = settings(derandomize=True, deadline=None, max_examples=200)
fractions = st.fractions(min_value=Fraction(1, 10**40), max_value=10**40)
STEP = Fraction(1, 10**78)


@pytest.fixture(autouse=True)
def eighty_digits():
    with working_digits():
        yield


@checked
@given(exact=fractions)
def test_each_is_on_its_own_side_of_the_fraction_and_no_more_than_a_step_from_it(exact):
    assert exact * (1 - STEP) < Fraction(decimal_down(exact)) <= exact
    assert exact <= Fraction(decimal_up(exact)) < exact * (1 + STEP)
    assert exact <= Fraction(root_up(exact)) ** 2 < exact * (1 + 3 * STEP)
    for number in (exact, decimal_up(exact)):
        above = float_up(number)
        assert Fraction(math.nextafter(above, 0.0)) < Fraction(number) <= Fraction(above)


@pytest.mark.parametrize(
    ("number", "up"),
    [(Decimal("1e-999999"), 5e-324), (Decimal("1e999999"), float("inf")), (Decimal("0.5"), 0.5)],
)
def test_floats_beyond_the_range_stay_on_their_side(number, up):
    assert float_up(number) == up


@checked
@given(root=st.decimals("1e-20", "1e20"))
def test_a_crossing_is_enclosed(root):
    low, high = crossing(lambda x: x > root, Decimal("1e-30"), Decimal("1e30"))
    assert low <= root < high < low * (1 + Decimal("2e-18"))
