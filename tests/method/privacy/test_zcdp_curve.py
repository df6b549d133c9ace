"""The curve of zCDP, eq. (4), against 50-digit arithmetic."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import residualplanner as rp

CLOSE = mpmath.mpf("1e-9")
checked = settings(derandomize=True, deadline=None, max_examples=80)
ordered = settings(derandomize=True, deadline=None, max_examples=50)
rhos = st.floats(-8, 3).map(lambda power: 10.0**power)
powers = st.floats(-6, 12)


def log_delta_at(order_less_one, rho, epsilon):
    """The logarithm of what stands under the infimum of (4), at order a = 1 + ``order_less_one``."""
    t = order_less_one
    a = 1 + t
    return t * (a * rho - epsilon) - mpmath.log(t) + a * mpmath.log(t / a)


def exact_delta(rho, epsilon, start):
    """(4) at 50 digits: Newton's method from a t = a - 1 near the best one, which it must reach."""
    rho, epsilon, t = mpmath.mpf(rho), mpmath.mpf(epsilon), mpmath.mpf(start)
    for _ in range(60):
        slope = (2 * t + 1) * rho - epsilon + mpmath.log(t / (1 + t))
        step = slope / (2 * rho + 1 / (t * (1 + t)))
        t = max(t - step, t / 2)
        if abs(step) < mpmath.mpf("1e-30") * t:
            return mpmath.exp(log_delta_at(t, rho, epsilon))
    raise AssertionError("the reference did not converge")


def delta_of_zcdp(rho, epsilon):
    return rp.privacy.ZCDP.delta(2 * Fraction(rho), epsilon)


def epsilon_of_zcdp(rho, delta):
    return rp.privacy.ZCDP.epsilon(2 * Fraction(rho), delta)


def rho_of_approx_dp(epsilon, delta):
    return float(rp.privacy.ZCDP.largest_cost(epsilon, delta) / 2)


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(60):  # ten to spare for what cancels
        yield


@st.composite
def points(draw):
    """A rho, and an epsilon and delta near its curve, with the best t = a - 1 there."""
    rho, t = draw(rhos), 10.0 ** draw(powers)
    epsilon = (2 * t + 1) * rho - math.log1p(1 / t)
    log_delta = -rho * t * t - math.log1p(t)
    assume(epsilon > 1e-9 and -690 < log_delta < math.log(0.5))
    return rho, epsilon, math.exp(log_delta), t


@checked
@given(point=points())
def test_delta_is_never_below_the_curve_and_hardly_above_it(point):
    rho, epsilon, _, t = point
    exact = exact_delta(rho, epsilon, t)
    assert exact <= delta_of_zcdp(Fraction(rho), Fraction(epsilon)) <= exact * (1 + CLOSE)


@checked
@given(point=points())
def test_epsilon_meets_delta_and_hardly_less_would(point):
    rho, _, delta, t = point
    epsilon = mpmath.mpf(epsilon_of_zcdp(Fraction(rho), Fraction(delta)))
    assert exact_delta(rho, epsilon, t) <= delta
    assert exact_delta(rho, epsilon * (1 - CLOSE), t) > delta


@checked
@given(point=points())
def test_rho_meets_epsilon_and_delta_and_hardly_more_would(point):
    _, epsilon, delta, t = point
    rho = mpmath.mpf(rho_of_approx_dp(Fraction(epsilon), Fraction(delta)))
    assert exact_delta(rho, epsilon, t) <= delta
    assert exact_delta(rho * (1 + CLOSE), epsilon, t) > delta


@checked
@given(point=points(), power=powers)
def test_no_order_gives_a_smaller_delta(point, power):
    rho, epsilon, _, _ = point
    other = mpmath.exp(log_delta_at(mpmath.mpf(10) ** power, mpmath.mpf(rho), mpmath.mpf(epsilon)))
    assert delta_of_zcdp(Fraction(rho), Fraction(epsilon)) <= min(other, 1) * (1 + CLOSE)


@ordered
@given(point=points(), factor=st.floats(1.000001, 100))
def test_delta_rises_with_rho_and_falls_with_epsilon(point, factor):
    rho, epsilon, _, _ = point
    assert delta_of_zcdp(rho * factor, epsilon) >= delta_of_zcdp(rho, epsilon) >= delta_of_zcdp(rho, epsilon * factor)


@ordered
@given(point=points(), factor=st.floats(1.000001, 100))
def test_epsilon_rises_with_rho_and_falls_with_delta(point, factor):
    rho, _, delta, _ = point
    epsilon = epsilon_of_zcdp(rho, delta)
    assert epsilon_of_zcdp(rho * factor, delta) > epsilon >= epsilon_of_zcdp(rho, min(delta * factor, 0.75))


@ordered
@given(point=points(), factor=st.floats(1.000001, 100))
def test_rho_rises_with_epsilon_and_with_delta(point, factor):
    _, epsilon, delta, _ = point
    rho = rho_of_approx_dp(epsilon, delta)
    assert rho_of_approx_dp(epsilon * factor, delta) > rho
    assert rho_of_approx_dp(epsilon, min(delta * factor, 0.75)) > rho


@checked
@given(point=points())
def test_epsilon_is_below_the_bound_of_bun_and_steinke(point):
    rho, _, delta, _ = point
    simple = rho + 2 * mpmath.sqrt(mpmath.mpf(rho) * mpmath.log(1 / mpmath.mpf(delta)))
    assert epsilon_of_zcdp(Fraction(rho), Fraction(delta)) < simple * (1 + CLOSE)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(rho=st.floats(5e-324, 1e300), epsilon=st.floats(0, 1e300), order_power=st.floats(-30, 30))
def test_delta_of_outlandish_numbers_is_at_most_one_and_not_below_any_lower_bound(rho, epsilon, order_power):
    delta = delta_of_zcdp(Fraction(rho), Fraction(epsilon))
    assert 0 < delta <= 1
    # Of the convex function of t in (4), every tangent lies below its least value, wherever t is.
    with mpmath.workdps(700):
        rho, epsilon, t = mpmath.mpf(rho), mpmath.mpf(epsilon), mpmath.mpf(10) ** order_power
        slope = (2 * t + 1) * rho - epsilon + mpmath.log(t / (1 + t))
        if slope >= 0:  # on 0 < s <= t the tangent is least at s = 0, and beyond t the function rises
            assert mpmath.log(delta) >= log_delta_at(t, rho, epsilon) - slope * t


@pytest.mark.parametrize(  # by ternary search over the order in (4), 60 digits
    ("rho", "delta", "epsilon"),
    [
        ("0.5", "1e-6", 5.2215344445301690442),
        ("2.56", "1e-10", 17.158308712104745970),
        ("0.07", "1e-10", 2.3872751767179739),
    ],
)
def test_epsilon_at_known_points(rho, delta, epsilon):
    assert epsilon_of_zcdp(rho, delta) == pytest.approx(epsilon, rel=1e-14, abs=0)


def test_epsilon_is_the_least_over_a_grid_of_orders():
    grid = [mpmath.mpf(1) + mpmath.mpf(k) / 1000 for k in range(1, 6_000)]
    rho, log_delta = mpmath.mpf(1) / 2, mpmath.log(mpmath.mpf("1e-6"))
    least = min(a * rho + (a * mpmath.log(1 - 1 / a) - mpmath.log(a - 1) - log_delta) / (a - 1) for a in grid)
    assert least * (1 - mpmath.mpf("1e-6")) <= epsilon_of_zcdp("0.5", "1e-6") <= least


def test_epsilon_is_zero_where_delta_allows_it():
    assert epsilon_of_zcdp(1e-8, 0.5) == 0.0


def test_a_float_is_read_against_the_claim():
    assert delta_of_zcdp(1, 0.3) >= delta_of_zcdp(1, "0.3")
    assert epsilon_of_zcdp(1, 1e-6) >= epsilon_of_zcdp(1, Fraction(1, 10**6))
    assert rho_of_approx_dp(0.1, 1e-6) <= rho_of_approx_dp("0.1", "1e-6")


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, False, None, "x"])
def test_an_epsilon_below_zero_is_refused(bad):
    with pytest.raises(rp.errors.BudgetError, match=r"epsilon must be (positive and finite|a number)"):
        delta_of_zcdp(0.5, bad)


@pytest.mark.parametrize("bad", [1, 1.0, 2, "1.5"])
def test_a_delta_of_one_or_more_is_refused(bad):
    with pytest.raises(rp.errors.BudgetError, match="delta must lie strictly between 0 and 1"):
        epsilon_of_zcdp(0.5, bad)


@pytest.mark.parametrize(
    "bad", ["1e-999999999", "1E+99999999999999", "0." + "0" * 6000 + "1", "1e-4000", Fraction(1, 2**9000)]
)
def test_a_number_with_thousands_of_digits_is_refused_at_once(bad):
    with pytest.raises(rp.errors.BudgetError, match="too many digits"):
        epsilon_of_zcdp(1, bad)


def test_an_epsilon_and_a_delta_both_next_to_nothing_are_refused():
    with pytest.raises(rp.errors.BudgetError, match="both too small"):
        rho_of_approx_dp(1e-300, 1e-300)
