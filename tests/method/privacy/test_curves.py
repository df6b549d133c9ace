"""The curves of zCDP, eq. (4), and of the Gaussian mechanism, eq. (3), against 50-digit arithmetic."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner.method.privacy.curves import _exact, mills_ratio

CLOSE = mpmath.mpf("1e-9")
ZCDP, GDP = rp.privacy.ZCDP, rp.privacy.GDP
checked = settings(derandomize=True, deadline=None, max_examples=100)
searched = settings(derandomize=True, deadline=None, max_examples=30)
powers = st.floats(-6, 12)


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(80):  # thirty to spare for what cancels
        yield


def log_delta_at(order_less_one, rho, epsilon):
    """The logarithm of what stands under the infimum of (4), at order a = 1 + ``order_less_one``."""
    t = order_less_one
    a = 1 + t
    return t * (a * rho - epsilon) - mpmath.log(t) + a * mpmath.log(t / a)


def delta_of_zcdp(rho, epsilon, start):
    """(4) at 50 digits: Newton's method from a t = a - 1 near the best one, which it must reach."""
    rho, epsilon, t = mpmath.mpf(rho), mpmath.mpf(epsilon), mpmath.mpf(start)
    for _ in range(60):
        slope = (2 * t + 1) * rho - epsilon + mpmath.log(t / (1 + t))
        step = slope / (2 * rho + 1 / (t * (1 + t)))
        t = max(t - step, t / 2)
        if abs(step) < mpmath.mpf("1e-30") * t:
            return mpmath.exp(log_delta_at(t, rho, epsilon))
    raise AssertionError("the reference did not converge")


@st.composite
def points_of_zcdp(draw):
    """A rho, and an epsilon and delta near its curve, with the best t = a - 1 there."""
    rho, t = 10.0 ** draw(st.floats(-8, 3)), 10.0 ** draw(powers)
    epsilon = (2 * t + 1) * rho - math.log1p(1 / t)
    log_delta = -rho * t * t - math.log1p(t)
    assume(epsilon > 1e-9 and -690 < log_delta < math.log(0.5))
    return rho, epsilon, math.exp(log_delta), t


def upper_tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def delta_of_gdp(mu, epsilon, _start=None):
    """(3) in mpmath's working precision."""
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return upper_tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * upper_tail(epsilon / mu + mu / 2)


@st.composite
def points_of_gdp(draw):
    """A mu as of rho from 1e-8 to 1e3, and an epsilon where delta is between about 1e-300 and 1/2."""
    mu = math.sqrt(2 * 10.0 ** draw(st.floats(-8, 3)))
    epsilon = mu * (mu / 2 + draw(st.floats(-6, 36.5)))
    assume(epsilon > 1e-9)
    with mpmath.workdps(80):
        delta = float(delta_of_gdp(mu, epsilon))
    assume(1e-306 < delta < 0.5)
    return mu, epsilon, delta, None


class Curve(NamedTuple):
    """A curve of the package in its own parameter, rho or mu, and what it is by definition."""

    curve: object
    points: Callable
    exact_delta: Callable
    cost: Callable  # of a parameter
    parameter: Callable  # of a cost

    def delta(self, parameter, epsilon):
        return self.curve.delta(self.cost(Fraction(parameter)), epsilon)

    def epsilon(self, parameter, delta):
        return self.curve.epsilon(self.cost(Fraction(parameter)), delta)

    def largest(self, epsilon, delta):
        return self.parameter(self.curve.largest_cost(epsilon, delta))


OF_ZCDP = Curve(ZCDP, points_of_zcdp, delta_of_zcdp, lambda rho: 2 * rho, lambda cost: float(cost / 2))
OF_GDP = Curve(GDP, points_of_gdp, delta_of_gdp, lambda mu: mu**2, math.sqrt)
both = pytest.mark.parametrize("of", [OF_ZCDP, OF_GDP], ids=["zcdp", "gdp"])


@both
@checked
@given(data=st.data())
def test_delta_is_never_below_the_curve_and_hardly_above_it(of, data):
    parameter, epsilon, _, start = data.draw(of.points())
    exact = of.exact_delta(parameter, epsilon, start)
    assert exact <= of.delta(parameter, Fraction(epsilon)) <= exact * (1 + CLOSE)


@both
@searched
@given(data=st.data())
def test_epsilon_and_the_parameter_meet_delta_and_hardly_less_or_more_would(of, data):
    parameter, near, delta, start = data.draw(of.points())
    epsilon = mpmath.mpf(of.epsilon(parameter, Fraction(delta)))
    assert of.exact_delta(parameter, epsilon, start) <= delta
    assert of.exact_delta(parameter, epsilon * (1 - CLOSE), start) > delta
    largest = mpmath.mpf(of.largest(Fraction(near), Fraction(delta)))
    assert of.exact_delta(largest, near, start) <= delta
    assert of.exact_delta(largest * (1 + CLOSE), near, start) > delta


@settings(derandomize=True, deadline=None, max_examples=150)
@given(rho=st.floats(5e-324, 1e300), epsilon=st.floats(0, 1e300), order_power=st.floats(-30, 30))
def test_delta_of_outlandish_numbers_is_at_most_one_and_not_below_any_lower_bound(rho, epsilon, order_power):
    delta = OF_ZCDP.delta(rho, Fraction(epsilon))
    assert 0 < delta <= 1
    # Of the convex function of t in (4), every tangent lies below its least value, wherever t is.
    with mpmath.workdps(700):
        rho, epsilon, t = mpmath.mpf(rho), mpmath.mpf(epsilon), mpmath.mpf(10) ** order_power
        slope = (2 * t + 1) * rho - epsilon + mpmath.log(t / (1 + t))
        if slope >= 0:  # on 0 < s <= t the tangent is least at s = 0, and beyond t the function rises
            assert mpmath.log(delta) >= log_delta_at(t, rho, epsilon) - slope * t


@settings(derandomize=True, deadline=None, max_examples=120)
@given(power=st.floats(-90, 90), share=st.floats(0, 4), shift=st.floats(-5, 30))
def test_delta_of_outlandish_numbers_is_safe_for_gdp_too(power, share, shift):
    mu = 10.0**power
    epsilon = max(mu * mu / 2 * share + mu * shift, 0.0)
    delta = OF_GDP.delta(mu, Fraction(epsilon))
    assert 0 < delta <= 1
    with mpmath.workdps(500):
        assert delta >= delta_of_gdp(mu, epsilon)


@pytest.mark.parametrize("mu", [17, 40])
@pytest.mark.parametrize("x", [-8, -6.5, -5.5, -2.5, 0, 5.5, 6.5])
def test_delta_is_as_good_on_both_sides_of_every_change_of_method(mu, x):
    epsilon = mu * (Fraction(mu, 2) + Fraction(x))
    exact = delta_of_gdp(mu, float(epsilon))
    assert exact <= OF_GDP.delta(mu, epsilon) <= exact * (1 + mpmath.mpf("2e-16"))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(x=st.floats(-5.999, 1e4))
def test_mills_ratio_is_enclosed_to_sixty_digits(x):
    with _exact.working_digits():
        least, most = mills_ratio(Decimal(x))
        assert most - least < least * Decimal("1e-60")
    with mpmath.workdps(120):
        exact = upper_tail(mpmath.mpf(x)) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(mpmath.mpf(x) ** 2 / 2)
        assert mpmath.mpf(str(least)) < exact < mpmath.mpf(str(most))


@both
def test_a_float_is_read_against_the_claim(of):
    assert of.delta(1, 0.3) >= of.delta(1, "0.3")
    assert of.epsilon(1, 1e-6) >= of.epsilon(1, Fraction(1, 10**6))
    assert of.largest(0.1, 1e-6) <= of.largest("0.1", "1e-6")


DELTAS = [1, 1.0, 2, "1.5", Decimal("1.5")]
LONG = ["1e-999999999", "1E+99999999999999", "0." + "0" * 6000 + "1", "1e-4000", Fraction(1, 2**9000)]


@both
@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        *(
            (bad, "1e-6", "epsilon must be (positive and finite|a number)")
            for bad in (-1.0, math.inf, False, None, "x")
        ),
        (math.nan, "1e-6", "epsilon must be (positive and finite|a number)"),
        *((1, bad, "delta must lie strictly between 0 and 1") for bad in DELTAS),
        *((1, bad, "too many digits") for bad in LONG),
    ],
)
def test_what_no_curve_has_is_refused(of, epsilon, delta, message):
    asks = [lambda: of.largest(epsilon, delta)]
    asks += [lambda: of.delta("0.5", epsilon)] if epsilon != 1 else [lambda: of.epsilon("0.5", delta)]
    for ask in asks:
        with pytest.raises(rp.errors.BudgetError, match=message):
            ask()


def test_an_epsilon_and_a_delta_both_next_to_nothing_are_refused():
    with pytest.raises(rp.errors.BudgetError, match="both too small"):
        OF_ZCDP.largest(1e-300, 1e-300)
