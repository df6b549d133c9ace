"""The curve of the Gaussian mechanism, eq. (3), against 50-digit arithmetic."""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner.method.privacy._exact import working_digits
from residualplanner.method.privacy.curves import _PI, mills_ratio

CLOSE = mpmath.mpf("1e-9")
checked = settings(derandomize=True, deadline=None, max_examples=200)
searched = settings(derandomize=True, deadline=None, max_examples=25)


def upper_tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def exact_delta(mu, epsilon):
    """(3) in mpmath's working precision."""
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return upper_tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * upper_tail(epsilon / mu + mu / 2)


def delta_of_gdp(mu, epsilon):
    return rp.privacy.GDP.delta(Fraction(mu) ** 2, epsilon)


def epsilon_of_gdp(mu, delta):
    return rp.privacy.GDP.epsilon(Fraction(mu) ** 2, delta)


def mu_of_approx_dp(epsilon, delta):
    return math.sqrt(rp.privacy.GDP.largest_cost(epsilon, delta))


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(80):  # thirty to spare for what cancels
        yield


@st.composite
def points(draw):
    """A mu as of rho from 1e-8 to 1e3, and an epsilon where delta is between about 1e-300 and 1/2."""
    mu = math.sqrt(2 * 10.0 ** draw(st.floats(-8, 3)))
    epsilon = mu * (mu / 2 + draw(st.floats(-6, 36.5)))
    assume(epsilon > 1e-9)
    return mu, epsilon


@checked
@given(point=points())
def test_delta_is_never_below_the_curve_and_hardly_above_it(point):
    mu, epsilon = point
    exact = exact_delta(mu, epsilon)
    assert exact <= delta_of_gdp(Fraction(mu), Fraction(epsilon)) <= exact * (1 + CLOSE)


@pytest.mark.parametrize("mu", [17, 40])
@pytest.mark.parametrize("x", [-8, -6.5, -5.5, -2.5, 0, 5.5, 6.5])
def test_delta_is_as_good_on_both_sides_of_every_change_of_method(mu, x):
    epsilon = mu * (Fraction(mu, 2) + Fraction(x))
    exact = exact_delta(mu, float(epsilon))
    assert exact <= delta_of_gdp(mu, epsilon) <= exact * (1 + mpmath.mpf("2e-16"))


@searched
@given(point=points())
def test_epsilon_meets_delta_and_hardly_less_would(point):
    mu, near = point
    delta = float(exact_delta(mu, near))
    assume(1e-306 < delta < 0.5)
    epsilon = mpmath.mpf(epsilon_of_gdp(Fraction(mu), Fraction(delta)))
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu, epsilon * (1 - CLOSE)) > delta


@searched
@given(point=points())
def test_mu_meets_epsilon_and_delta_and_hardly_more_would(point):
    near, epsilon = point
    delta = float(exact_delta(near, epsilon))
    assume(1e-306 < delta < 0.5)
    mu = mpmath.mpf(mu_of_approx_dp(Fraction(epsilon), Fraction(delta)))
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + CLOSE), epsilon) > delta


@checked
@given(point=points(), factor=st.floats(1.000001, 100))
def test_delta_rises_with_mu_and_falls_with_epsilon(point, factor):
    mu, epsilon = point
    assert delta_of_gdp(mu * factor, epsilon) >= delta_of_gdp(mu, epsilon) >= delta_of_gdp(mu, epsilon * factor)


@pytest.mark.slow
@searched
@given(mu=st.floats(0.01, 10), log_delta=st.floats(-300, -0.5), factor=st.floats(1.001, 10))
def test_epsilon_rises_with_mu_and_falls_with_delta(mu, log_delta, factor):
    delta = 10.0**log_delta
    epsilon = epsilon_of_gdp(mu, delta)
    assert epsilon_of_gdp(mu * factor, delta) >= epsilon >= epsilon_of_gdp(mu, min(delta * factor, 0.9))


@checked
@given(point=points())
def test_delta_is_below_that_of_the_zcdp_it_implies(point):
    mu, epsilon = Fraction(point[0]), Fraction(point[1])
    assert delta_of_gdp(mu, epsilon) <= rp.privacy.ZCDP.delta(mu**2, epsilon)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(power=st.floats(-90, 90), share=st.floats(0, 4), shift=st.floats(-5, 30))
def test_delta_of_outlandish_numbers_is_safe_too(power, share, shift):
    mu = 10.0**power
    epsilon = max(mu * mu / 2 * share + mu * shift, 0.0)
    delta = delta_of_gdp(Fraction(mu), Fraction(epsilon))
    assert 0 < delta <= 1
    with mpmath.workdps(500):
        assert delta >= exact_delta(mu, epsilon)


@checked
@given(x=st.floats(-5.999, 1e4))
def test_mills_ratio_is_enclosed_to_sixty_digits(x):
    with working_digits():
        least, most = mills_ratio(Decimal(x))
        assert most - least < least * Decimal("1e-60")
    with mpmath.workdps(120):
        exact = upper_tail(mpmath.mpf(x)) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(mpmath.mpf(x) ** 2 / 2)
        assert mpmath.mpf(str(least)) < exact < mpmath.mpf(str(most))


def test_pi_is_pi():
    with mpmath.workdps(len(str(_PI)) + 5):
        assert abs(mpmath.mpf(str(_PI)) - mpmath.pi) < mpmath.mpf("1e-100")


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [
        (1, 1, 0.126936737507),  # Phi(-1/2) - e Phi(-3/2), from tables of the normal distribution
        (2, 0, 0.682689492137),  # the normal distribution within one standard deviation
        (Fraction(1, 10), 0, 0.039877611676),  # 2 Phi(1/20) - 1
        (Fraction(1, 10**100), 0, 3.98942280401433e-101),  # mu / sqrt(2 pi) for small mu
    ],
)
def test_delta_at_known_points(mu, epsilon, delta):
    assert delta_of_gdp(mu, epsilon) == pytest.approx(delta, rel=1e-10, abs=0)


def test_epsilon_at_a_known_point():
    assert epsilon_of_gdp(1, 1e-5) == pytest.approx(4.377, abs=5e-4)


def test_epsilon_is_zero_where_delta_allows_it():
    assert epsilon_of_gdp(1e-3, 0.01) == 0.0


def test_a_float_is_read_against_the_claim():
    assert delta_of_gdp(1, 0.3) >= delta_of_gdp(1, "0.3")
    assert mu_of_approx_dp(0.1, 1e-6) <= mu_of_approx_dp("0.1", "1e-6")


def test_epsilon_of_a_mu_beyond_the_series_is_that_of_zcdp():
    assert epsilon_of_gdp(10**20, "1e-6") == rp.privacy.ZCDP.epsilon(Fraction(10**40), "1e-6")


@pytest.mark.parametrize("bad", [1, 1.0, Decimal("1.5")])
def test_a_delta_of_one_or_more_is_refused(bad):
    with pytest.raises(rp.errors.BudgetError, match="delta must lie strictly between 0 and 1"):
        mu_of_approx_dp(1, bad)
