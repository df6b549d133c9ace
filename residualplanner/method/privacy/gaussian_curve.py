"""The (epsilon, delta) that mu-GDP implies: the exact curve of continuous Gaussian noise.

Source: eq. (3).

With R the Mills ratio, R(x) = (1 - Phi(x)) / phi(x), x1 = epsilon/mu - mu/2 and x2 = x1 + mu, (3) reads

    delta = phi(x1) (R(x1) - R(x2)) ,

because e^epsilon phi(x2) = phi(x1).  R is enclosed between two 80-digit decimals: by its power series near zero, by two
truncations of Laplace's continued fraction elsewhere.  R falls and is convex, so R(x1) - R(x2) <= mu (1 - x1 R(x1)):
this bound is used where mu is so small that the difference has no digits left.
"""

from decimal import Decimal

from residualplanner.method.privacy._exact import SLACK, crossing, root_up
from residualplanner.method.privacy.curve import PrivacyCurve
from residualplanner.method.privacy.zcdp_curve import zcdp_delta, zcdp_epsilon, zcdp_rho

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
_SERIES_REACH = 6
_SERIES_SLACK = Decimal("1e-66")  # the sums stay below 1e9 and have about 140 terms, each off by at most 3e-77
_MOST_MU = Decimal("1e15")
_MOST_X = Decimal("1e8")
_LEAST_X = -40  # below it delta is within 1e-300 of 1
_LEAST_EPSILON = Decimal("1e-60")
_ROUNDING = Decimal("1e-50")  # x1 errs by 1e-79 (mu + 1e8), which moves log(delta) by at most 2e8 times that


def gaussian_delta(mu: Decimal, epsilon: Decimal) -> Decimal:
    """Return an upper bound, at most 1, on the delta of (3), in the working digits."""
    if mu > _MOST_MU:  # the curve of zCDP holds for GDP too, and bounds its own rounding
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
    """R(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))), for x >= 6: the tail after a cut is between 0 and its first term."""
    length = 32 + int(7700 / (x * x))  # the enclosure narrows as exp(-2 x sqrt(length))
    short, long = Decimal(0), (length + 1) / x
    for k in range(length, 0, -1):
        short, long = k / (x + short), k / (x + long)
    least, most = sorted((1 / (x + short), 1 / (x + long)))
    return least * (1 - SLACK), most * (1 + SLACK)


def _rho_above(mu: Decimal) -> Decimal:
    return mu * mu / 2 * (1 + SLACK)


#: Continuous Gaussian noise, with ``pcost = mu ** 2``; discrete noise is not GDP.
GDP = PrivacyCurve(
    words="of continuous Gaussian noise in real numbers",
    parameter_up=root_up,
    cost=lambda mu: mu**2,
    delta_up=gaussian_delta,
    epsilon_up=gaussian_epsilon,
    parameter_down=gaussian_mu,
)
