"""What mu-GDP promises as (epsilon, delta): the exact curve of continuous Gaussian noise.

Reads: numbers only.  Gives: the curve of the Gaussian mechanism and its two inverses, each rounded to the safe side.
Source: spec eq. (3).

With R the Mills ratio, R(x) = (1 - Phi(x)) / phi(x), x1 = epsilon/mu - mu/2 and x2 = x1 + mu, (3) reads

    delta = phi(x1) (R(x1) - R(x2)) ,

because e^epsilon phi(x2) = phi(x1).  R is enclosed between two 80-digit decimals: by its power series near zero, by two
truncations of Laplace's continued fraction elsewhere.  R falls and is convex, so R(x1) - R(x2) <= mu (1 - x1 R(x1)):
this takes over where mu is so small that the difference has no digits left.
"""

from decimal import Decimal

from residualplanner._checks import Number
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
from residualplanner.privacy.zcdp_curve import zcdp_delta, zcdp_epsilon, zcdp_rho

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
_SERIES_REACH = 6
_SERIES_SLACK = Decimal("1e-66")  # the sums stay below 1e9 and have about 140 terms, each off by at most 3e-77
_MOST_MU = Decimal("1e15")
_MOST_X = Decimal("1e8")
_LEAST_X = -40  # below it delta is within 1e-300 of 1
_LEAST_EPSILON = Decimal("1e-60")
_ROUNDING = Decimal("1e-50")  # x1 errs by 1e-79 (mu + 1e8), which moves log(delta) by at most 2e8 times that


def delta_of_gdp(mu: Number, epsilon: Number) -> float:
    """Return the delta of mu-GDP at ``epsilon``, rounded up.

    Args:
        mu: the GDP parameter, > 0; a float is read as the larger of its binary value and its decimal spelling.
        epsilon: at least 0; a float is read as the smaller of the two.

    Returns:
        An upper bound on delta, at most 1.

    Raises:
        BudgetError: an argument is out of range or no number.

    Guarantees: never below the exact value of (3), and at most 1e-9 above it relative.  Discrete noise is not GDP.
    Cost: below a millisecond.
    Source: spec eq. (3).

    Example:
        >>> round(delta_of_gdp(1.0, 1.0), 9)
        0.126936738
    """
    exact_mu, exact_epsilon = read_loss("mu", mu), read_epsilon(epsilon)
    with working_digits():
        return float_up(gaussian_delta(decimal_up(exact_mu), decimal_down(exact_epsilon)))


def epsilon_of_gdp(mu: Number, delta: Number) -> float:
    """Return the epsilon of mu-GDP at ``delta``, rounded up.

    Args:
        mu: the GDP parameter, > 0; a float is read as the larger of its binary value and its decimal spelling.
        delta: strictly between 0 and 1; a float is read as the smaller of the two.

    Returns:
        An upper bound on epsilon, at least 0.

    Raises:
        BudgetError: an argument is out of range or no number.

    Guarantees: never below the inverse of (3), and at most 1e-9 above it relative.  Discrete noise is not GDP.
    Cost: a few tens of milliseconds.
    Source: spec eq. (3).

    Example:
        >>> round(epsilon_of_gdp(1.0, 1e-5), 6)
        4.377178
    """
    exact_mu, exact_delta = read_loss("mu", mu), read_delta(delta)
    with working_digits():
        return float_up(gaussian_epsilon(decimal_up(exact_mu), decimal_down(exact_delta)))


def mu_of_approx_dp(epsilon: Number, delta: Number) -> float:
    """Return the largest mu whose GDP implies (epsilon, delta)-DP, rounded down.

    Args:
        epsilon: > 0; a float is read as the smaller of its binary value and its decimal spelling.
        delta: strictly between 0 and 1; a float is read likewise.

    Returns:
        A lower bound on that mu.

    Raises:
        BudgetError: an argument is out of range or no number, or both are too small for any mu to be found.

    Guarantees: mu-GDP with the returned mu implies (epsilon, delta)-DP by (3).
    Cost: a few tens of milliseconds.
    Source: spec eq. (3).

    Example:
        >>> round(mu_of_approx_dp(1.0, 1e-6), 9)
        0.236704381
    """
    exact_epsilon, exact_delta = read_allowance("epsilon", epsilon), read_delta(delta)
    with working_digits():
        return float_down(gaussian_mu(decimal_down(exact_epsilon), decimal_down(exact_delta)))


def gaussian_delta(mu: Decimal, epsilon: Decimal) -> Decimal:
    """Return an upper bound, at most 1, on the delta of (3), in the working digits."""
    if mu > _MOST_MU:  # zCDP's curve holds for GDP too, and minds its own rounding
        return zcdp_delta(_rho_above(mu), epsilon)
    x1 = min(epsilon / mu - mu / 2, _MOST_X)  # delta falls in x1
    if x1 < _LEAST_X:
        return Decimal(1)

    density = (-x1 * x1 / 2).exp() / (2 * _PI).sqrt()
    least_right, _ = mills_ratio(x1 + mu)
    if x1 <= -_SERIES_REACH:
        least_left, _ = mills_ratio(-x1)
        delta = 1 - density * (least_left + least_right)
    else:
        least, most = mills_ratio(x1)
        slope = 1 - x1 * (least if x1 > 0 else most)
        delta = density * min(most - least_right, mu * slope)
    return min(delta * (1 + _ROUNDING), Decimal(1))


def gaussian_epsilon(mu: Decimal, delta: Decimal) -> Decimal:
    """Return an upper bound, at least 0, on the epsilon of (3), in the working digits."""
    if gaussian_delta(mu, Decimal(0)) <= delta:
        return Decimal(0)
    enough = zcdp_epsilon(_rho_above(mu), delta)
    _, epsilon = crossing(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, _LEAST_EPSILON, enough)
    return epsilon


def gaussian_mu(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return a lower bound, > 0, on the mu that meets (epsilon, delta) by (3), in the working digits."""
    start = (2 * zcdp_rho(epsilon, delta)).sqrt() * (1 - SLACK)
    mu, _ = crossing(lambda mu: gaussian_delta(mu, epsilon) > delta, start, _MOST_MU)
    return mu


def mills_ratio(x: Decimal) -> tuple[Decimal, Decimal]:
    """Enclose R(x) = (1 - Phi(x)) / phi(x), x > -6, between two decimals of the working digits."""
    return _mills_by_series(x) if x < _SERIES_REACH else _mills_by_fraction(x)


def _mills_by_series(x: Decimal) -> tuple[Decimal, Decimal]:
    """R(x) = sqrt(pi/2) exp(x^2/2) - sum_k x^(2k+1) / (1 3 5 ... (2k+1)), for |x| <= 6."""
    square = x * x
    total, term, odd = x, x, 1
    while odd < 2 * square or abs(term) > SLACK:  # from there on each term is less than half of the one before
        odd += 2
        term = term * square / odd
        total += term
    ratio = (_PI / 2).sqrt() * (square / 2).exp() - total
    return ratio - _SERIES_SLACK, ratio + _SERIES_SLACK


def _mills_by_fraction(x: Decimal) -> tuple[Decimal, Decimal]:
    """R(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))), for x >= 6: what follows a cut lies between 0 and its first term."""
    length = 32 + int(7700 / (x * x))  # the enclosure narrows as exp(-2 x sqrt(length))
    short, long = Decimal(0), (length + 1) / x
    for k in range(length, 0, -1):
        short, long = k / (x + short), k / (x + long)
    least, most = sorted((1 / (x + short), 1 / (x + long)))
    return least * (1 - SLACK), most * (1 + SLACK)


def _rho_above(mu: Decimal) -> Decimal:
    return mu * mu / 2 * (1 + SLACK)
