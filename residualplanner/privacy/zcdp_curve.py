"""What rho-zCDP promises as (epsilon, delta), whatever the noise.

Reads: numbers only.  Gives: the curve of zCDP and its two inverses, each rounded to the safe side.
Source: spec eq. (4); Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy".

With t = a - 1 and L = log(1/delta), (4) reads: rho-zCDP gives (epsilon, delta) if, for some t > 0,

    t (1 + t) rho - t epsilon - log(1 + t) - t log(1 + 1/t) <= -L .

Every t gives a valid statement, so t needs no care: it is found by bisection on the sign of a derivative, and only
the statement at that t is computed with a margin for rounding.
"""

from collections.abc import Callable
from decimal import Decimal, localcontext

from residualplanner._checks import Number
from residualplanner.errors import BudgetError
from residualplanner.privacy._exact import (
    SLACK,
    crossing,
    decimal_down,
    decimal_up,
    float_down,
    float_up,
    read_allowance,
    read_delta,
    read_epsilon,
    read_loss,
    working_digits,
)

_LEAST_T, _MOST_T = Decimal("1e-60"), Decimal("1e60")
_SEARCH_DIGITS = 28
_LEAST_LOG = Decimal("-1e15")


def delta_of_zcdp(rho: Number, epsilon: Number) -> float:
    """Return the delta that every rho-zCDP mechanism satisfies at ``epsilon``, rounded up.

    Args:
        rho: the zCDP parameter, > 0; a float is read as the larger of its binary value and its decimal spelling.
        epsilon: at least 0; a float is read as the smaller of the two.

    Returns:
        An upper bound on delta, at most 1.

    Raises:
        BudgetError: an argument is out of range or no number.

    Guarantees: never below the exact value of (4), and at most 1e-9 above it relative for rho from 1e-8 to 1e3.
    Cost: about two milliseconds.
    Source: spec eq. (4).

    Example:
        >>> round(delta_of_zcdp(0.5, 5.0), 9)
        2.896e-06
    """
    exact_rho, exact_epsilon = read_loss("rho", rho), read_epsilon(epsilon)
    with working_digits():
        return float_up(zcdp_delta(decimal_up(exact_rho), decimal_down(exact_epsilon)))


def epsilon_of_zcdp(rho: Number, delta: Number) -> float:
    """Return the epsilon that every rho-zCDP mechanism satisfies at ``delta``, rounded up.

    Args:
        rho: the zCDP parameter, > 0; a float is read as the larger of its binary value and its decimal spelling.
        delta: strictly between 0 and 1; a float is read as the smaller of the two.

    Returns:
        An upper bound on epsilon, at least 0.

    Raises:
        BudgetError: an argument is out of range or no number.

    Guarantees: never below the inverse of (4), and at most 1e-9 above it relative for rho from 1e-8 to 1e3.
    Cost: about two milliseconds.
    Source: spec eq. (4).

    Example:
        >>> round(epsilon_of_zcdp(0.5, 1e-6), 6)
        5.221534
    """
    exact_rho, exact_delta = read_loss("rho", rho), read_delta(delta)
    with working_digits():
        return float_up(zcdp_epsilon(decimal_up(exact_rho), decimal_down(exact_delta)))


def rho_of_approx_dp(epsilon: Number, delta: Number) -> float:
    """Return the largest rho whose zCDP implies (epsilon, delta)-DP, rounded down.

    Args:
        epsilon: > 0; a float is read as the smaller of its binary value and its decimal spelling.
        delta: strictly between 0 and 1; a float is read likewise.

    Returns:
        A lower bound on that rho.

    Raises:
        BudgetError: an argument is out of range or no number, or both are too small for any rho to be found.

    Guarantees: rho-zCDP with the returned rho implies (epsilon, delta)-DP by (4).
    Cost: about two milliseconds.
    Source: spec eq. (4).

    Example:
        >>> round(rho_of_approx_dp(1.0, 1e-6), 9)
        0.02435597
    """
    exact_epsilon, exact_delta = read_allowance("epsilon", epsilon), read_delta(delta)
    with working_digits():
        return float_down(zcdp_rho(decimal_down(exact_epsilon), decimal_down(exact_delta)))


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
    """Return the t where a derivative changes sign, to as many digits as the value there can feel."""
    with localcontext() as context:
        context.prec = _SEARCH_DIGITS
        t, _ = crossing(is_past, _LEAST_T, _MOST_T)
    return t
