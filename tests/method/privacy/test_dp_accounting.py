"""The conversions agree with Google's dp-accounting, which was written by others from other formulas.

Its numbers are floats without a proved side, so a thousandth of a millionth is left for its rounding.
"""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import approx_dp, zcdp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dp_accounting
    from dp_accounting import rdp

SLACK = 1e-9
#: Its account of zCDP is the best over these orders, ours over all: it can only be larger.
ORDERS = [1 + 10 ** (k / 200) for k in range(-600, 900)]
compared = settings(derandomize=True, deadline=None, max_examples=40)
rhos = st.floats(-4, 2).map(lambda power: 10.0**power)
mus = st.floats(-2, 1).map(lambda power: 10.0**power)
deltas = st.floats(-12, -1).map(lambda power: 10.0**power)


def zcdp_account(rho):
    """Its account of one rho-zCDP mechanism."""
    account = rdp.RdpAccountant(ORDERS)
    account.compose(dp_accounting.ZCDpEvent(rho))
    return account


@compared
@given(rho=rhos, delta=deltas)
def test_zcdp_is_accounted_for_as_they_do(rho, delta):
    account = zcdp_account(rho)
    theirs, ours = account.get_epsilon(delta), zcdp(rho).epsilon(delta)
    assert theirs * (1 - 1e-3) - 1e-3 * rho <= ours <= theirs * (1 + SLACK)
    their_delta = account.get_delta(ours)
    assert their_delta * 0.99 <= zcdp(rho).delta(ours) <= their_delta * (1 + 1e-6)
    if theirs > 1e-3:
        budget = approx_dp(theirs, delta)
        assert rho * (1 - 1e-6) <= budget.rho <= rho * 1.02
        assert zcdp_account(budget.rho).get_epsilon(delta) >= theirs * (1 - SLACK)


@settings(compared, max_examples=15)
@given(mu=mus, delta=deltas)
def test_gdp_is_accounted_for_as_they_do(mu, delta):
    epsilon = rp.privacy.gdp(mu).epsilon(delta, noise="gaussian")
    assert epsilon == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-5, abs=1e-7)
    if epsilon > 1e-3:
        theirs = 1 / dp_accounting.get_sigma_gaussian(epsilon, delta)
        assert approx_dp(epsilon, delta, noise="gaussian").mu == pytest.approx(theirs, rel=1e-5, abs=0)


@compared
@given(mu=st.floats(0.05, 5), epsilon=st.floats(0, 10))
def test_delta_of_gdp_is_that_of_their_privacy_loss_distribution(mu, epsilon):
    loss = dp_accounting.pld.privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu)
    theirs, ours = loss.get_delta_for_epsilon(epsilon), rp.privacy.gdp(mu).delta(epsilon, noise="gaussian")
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-14)
