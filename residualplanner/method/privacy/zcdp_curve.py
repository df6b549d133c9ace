"""The (epsilon, delta) that rho-zCDP implies, whatever the noise.

Source: eq. (4); Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy".

With t = a - 1 and L = log(1/delta), (4) reads: rho-zCDP gives (epsilon, delta) if, for some t > 0,

    t (1 + t) rho - t epsilon - log(1 + t) - t log(1 + 1/t) <= -L .

Every t gives a valid statement, so t need not be exact: it is found by bisection on the sign of a derivative, and only
the statement at that t is computed with a margin for rounding.
"""

from collections.abc import Callable
from decimal import Decimal, localcontext

from residualplanner.ground.errors import BudgetError
from residualplanner.method.privacy._exact import SLACK, crossing, decimal_up
from residualplanner.method.privacy.curve import PrivacyCurve

_LEAST_T, _MOST_T = Decimal("1e-60"), Decimal("1e60")
_SEARCH_DIGITS = 28
_LEAST_LOG = Decimal("-1e15")


def zcdp_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """Return an upper bound, at most 1, on the delta of (4), in the working digits."""
    t = _crossing_t(lambda t: 2 * rho * t + rho - epsilon > (1 + 1 / t).ln())

    logs = (1 + t).ln() + t * (1 + 1 / t).ln()
    log_delta = t * (1 + t) * rho - t * epsilon - logs
    log_delta += SLACK * (t * (1 + t) * rho + t * epsilon + logs + t + 1)  # 1 + t, 1 + 1/t are rounded: + t + 1
    return min(max(log_delta, _LEAST_LOG).min(Decimal(0)).exp() * (1 + SLACK), Decimal(1))


def zcdp_epsilon(rho: Decimal, delta: Decimal) -> Decimal:
    """Return an upper bound, at least 0, on the epsilon of (4), in the working digits."""
    needed = -delta.ln()
    t = _crossing_t(lambda t: rho * t * t + (1 + t).ln() > needed)

    gain = (1 + 1 / t).ln() + (1 + t).ln() / t
    cost = rho * (1 + t) + needed / t
    return max(cost - gain + SLACK * (cost + gain + 1 / t + 1), Decimal(0))


def zcdp_rho(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return a lower bound, > 0, on the rho that meets (epsilon, delta) by (4), in the working digits."""
    needed = -delta.ln()
    t = _crossing_t(lambda t: t * t * (epsilon + (1 + 1 / t).ln()) > (2 * t + 1) * (needed - (1 + t).ln()))

    gain = t * epsilon + (1 + t).ln() + t * (1 + 1 / t).ln()
    rho = (gain - needed - SLACK * (gain + needed + t + 1)) / (t * (1 + t)) * (1 - SLACK)
    if not rho > 0:
        raise BudgetError("epsilon and delta are both too small to plan for; raise one of them above 1e-50")
    return rho


def _crossing_t(is_past: Callable[[Decimal], bool]) -> Decimal:
    """Return the t where a derivative changes sign, to as many digits as affect the value there."""
    with localcontext() as context:
        context.prec = _SEARCH_DIGITS
        t, _ = crossing(is_past, _LEAST_T, _MOST_T)
    return t


#: Any noise that is rho-zCDP, with ``pcost = 2 * rho``.
ZCDP = PrivacyCurve(
    words="that follows from rho-zCDP",
    parameter_up=lambda cost: decimal_up(cost / 2),
    cost=lambda rho: 2 * rho,
    delta_up=zcdp_delta,
    epsilon_up=zcdp_epsilon,
    parameter_down=zcdp_rho,
)
