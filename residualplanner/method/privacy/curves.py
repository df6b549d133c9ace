"""The (epsilon, delta) that a privacy cost implies, the cost that they allow, and what is proved of each kind of noise.

Both kinds of noise have zCDP by (2).  GDP, and with it the curve (3), holds for continuous noise only; for discrete
noise nothing is proved beyond (4), which follows from zCDP.
Source: eqs. (2), (3), (4); Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Literal

from residualplanner.ground.checks import Number, value_text
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import decimal_text_up, fraction_text, suggestion
from residualplanner.method.privacy import _exact

#: A bound on one of parameter, epsilon and delta, given the other two in this order; decimals of the working digits.
Bound = Callable[[Decimal, Decimal], Decimal]

# Room for the bounds' own rounding, so that a budget made from (epsilon, delta) gives no more than epsilon at delta.
_BELOW = 1 - Decimal("1e-15")


@dataclass(frozen=True, slots=True)
class PrivacyCurve:
    """The pairs (epsilon, delta) that hold at a privacy cost.

    A float among the arguments means the smaller of its binary value and its decimal spelling.

    Guarantees: delta and epsilon are never below the exact values, and at most 1e-9 above them relative for rho
        from 1e-8 to 1e3; the largest cost is not above the exact one, and below it by less than 1e-14 relative.
    """

    words: str  # its origin
    parameter_up: Callable[[Fraction], Decimal]  # the notion's (rho or mu) at a privacy cost, rounded up
    cost: Callable[[Fraction], Fraction]  # at a parameter
    delta_up: Bound  # on delta, at most 1, from the parameter and epsilon
    epsilon_up: Bound  # on epsilon, at least 0, from the parameter and delta
    parameter_down: Bound  # below the largest parameter that meets epsilon and delta, but above 0

    def delta(self, cost: Fraction, epsilon: Number) -> float:
        """Return an upper bound on delta, at most 1, at an exact privacy cost; BudgetError unless epsilon >= 0."""
        exact = _exact.read_epsilon(epsilon)
        with _exact.working_digits():
            return _exact.float_up(self.delta_up(self.parameter_up(cost), _exact.decimal_down(exact)))

    def epsilon(self, cost: Fraction, delta: Number) -> float:
        """Return an upper bound on epsilon, at least 0, at an exact privacy cost; BudgetError unless 0 < delta < 1."""
        exact = _exact.read_delta(delta)
        with _exact.working_digits():
            return _exact.float_up(self.epsilon_up(self.parameter_up(cost), _exact.decimal_down(exact)))

    def largest_cost(self, epsilon: Number, delta: Number) -> Fraction:
        """Return the largest privacy cost that implies (epsilon, delta)-DP, rounded down."""
        exact_epsilon, exact_delta = _exact.read_allowance("epsilon", epsilon), _exact.read_delta(delta)
        with _exact.working_digits():
            parameter = self.parameter_down(_exact.decimal_down(exact_epsilon), _exact.decimal_down(exact_delta))
            with localcontext() as context:
                context.prec, context.rounding = 25, ROUND_FLOOR
                return self.cost(Fraction(parameter * _BELOW))


_LEAST_T, _MOST_T = Decimal("1e-60"), Decimal("1e60")
_SEARCH_DIGITS = 28
_LEAST_LOG = Decimal("-1e15")


# With t = a - 1 and L = log(1/delta), (4) reads: rho-zCDP gives (epsilon, delta) if, for some t > 0,
# ``t (1 + t) rho - t epsilon - log(1 + t) - t log(1 + 1/t) <= -L``.
# Every t gives a valid statement, so t need not be exact: it is found by bisection on the sign of a derivative, and
# only the statement at that t is computed with a margin for rounding.


def zcdp_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """Return an upper bound, at most 1, on the delta of (4), in the working digits."""
    t = _crossing_t(lambda t: 2 * rho * t + rho - epsilon > (1 + 1 / t).ln())

    logs = (1 + t).ln() + t * (1 + 1 / t).ln()
    log_delta = t * (1 + t) * rho - t * epsilon - logs
    log_delta += _exact.SLACK * (t * (1 + t) * rho + t * epsilon + logs + t + 1)  # 1 + t, 1 + 1/t are rounded: + t + 1
    return min(max(log_delta, _LEAST_LOG).min(Decimal(0)).exp() * (1 + _exact.SLACK), Decimal(1))


def zcdp_epsilon(rho: Decimal, delta: Decimal) -> Decimal:
    """Return an upper bound, at least 0, on the epsilon of (4), in the working digits."""
    needed = -delta.ln()
    t = _crossing_t(lambda t: rho * t * t + (1 + t).ln() > needed)

    gain = (1 + 1 / t).ln() + (1 + t).ln() / t
    cost = rho * (1 + t) + needed / t
    return max(cost - gain + _exact.SLACK * (cost + gain + 1 / t + 1), Decimal(0))


def zcdp_rho(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return a lower bound, > 0, on the rho that meets (epsilon, delta) by (4), in the working digits."""
    needed = -delta.ln()
    t = _crossing_t(lambda t: t * t * (epsilon + (1 + 1 / t).ln()) > (2 * t + 1) * (needed - (1 + t).ln()))

    gain = t * epsilon + (1 + t).ln() + t * (1 + 1 / t).ln()
    rho = (gain - needed - _exact.SLACK * (gain + needed + t + 1)) / (t * (1 + t)) * (1 - _exact.SLACK)
    if not rho > 0:
        raise BudgetError("epsilon and delta are both too small to plan for; raise one of them above 1e-50")
    return rho


def _crossing_t(is_past: Callable[[Decimal], bool]) -> Decimal:
    """Return the t where a derivative changes sign, to as many digits as affect the value there."""
    with localcontext() as context:
        context.prec = _SEARCH_DIGITS
        t, _ = _exact.crossing(is_past, _LEAST_T, _MOST_T)
    return t


#: Any noise that is rho-zCDP, with ``pcost = 2 * rho``.
ZCDP = PrivacyCurve(
    words="that follows from rho-zCDP",
    parameter_up=lambda cost: _exact.decimal_up(cost / 2),
    cost=lambda rho: 2 * rho,
    delta_up=zcdp_delta,
    epsilon_up=zcdp_epsilon,
    parameter_down=zcdp_rho,
)

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
_SERIES_REACH = 6
_SERIES_SLACK = Decimal("1e-66")  # the sums stay below 1e9 and have about 140 terms, each off by at most 3e-77
_MOST_MU = Decimal("1e15")
_MOST_X = Decimal("1e8")
_LEAST_X = -40  # below it delta is within 1e-300 of 1
_LEAST_EPSILON = Decimal("1e-60")
_ROUNDING = Decimal("1e-50")  # x1 errs by 1e-79 (mu + 1e8), which moves log(delta) by at most 2e8 times that


# With R the Mills ratio, R(x) = (1 - Phi(x)) / phi(x), x1 = epsilon/mu - mu/2 and x2 = x1 + mu, (3) reads
# ``delta = phi(x1) (R(x1) - R(x2))``, because e^epsilon phi(x2) = phi(x1).  R is enclosed between two 80-digit
# decimals: by its power series near zero, by two truncations of Laplace's continued fraction elsewhere.  R falls and is
# convex, so R(x1) - R(x2) <= mu (1 - x1 R(x1)): this bound is used where mu is so small that the difference has no
# digits left.


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
    _, epsilon = _exact.crossing(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, _LEAST_EPSILON, enough)
    return epsilon


def gaussian_mu(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return a lower bound, > 0, on the mu that meets (epsilon, delta) by (3), in the working digits."""
    start = (2 * zcdp_rho(epsilon, delta)).sqrt() * (1 - _exact.SLACK)
    mu, _ = _exact.crossing(lambda mu: gaussian_delta(mu, epsilon) > delta, start, _MOST_MU)
    return mu


def mills_ratio(x: Decimal) -> tuple[Decimal, Decimal]:
    """Enclose R(x) = (1 - Phi(x)) / phi(x), x > -6, between two decimals of the working digits."""
    return _mills_by_series(x) if x < _SERIES_REACH else _mills_by_fraction(x)


def _mills_by_series(x: Decimal) -> tuple[Decimal, Decimal]:
    """R(x) = sqrt(pi/2) exp(x^2/2) - sum_k x^(2k+1) / (1 3 5 ... (2k+1)), for |x| <= 6."""
    square = x * x
    total, term, odd = x, x, 1
    while odd < 2 * square or abs(term) > _exact.SLACK:  # from there on each term is less than half of the one before
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
    return least * (1 - _exact.SLACK), most * (1 + _exact.SLACK)


def _rho_above(mu: Decimal) -> Decimal:
    return mu * mu / 2 * (1 + _exact.SLACK)


#: Continuous Gaussian noise, with ``pcost = mu ** 2``; discrete noise is not GDP.
GDP = PrivacyCurve(
    words="of continuous Gaussian noise in real numbers",
    parameter_up=_exact.root_up,
    cost=lambda mu: mu**2,
    delta_up=gaussian_delta,
    epsilon_up=gaussian_epsilon,
    parameter_down=gaussian_mu,
)

Noise = Literal["discrete", "gaussian"]


@dataclass(frozen=True, slots=True)
class Holding:
    """A notion of privacy that holds.

    Attributes:
        notion: its name.
        parameter: the name of its parameter.
        value: of the parameter: exact, or a float that is not below it.
        remark: the noise it holds for.
    """

    notion: str
    parameter: str
    value: Fraction | float
    remark: str


@dataclass(frozen=True, slots=True)
class NoiseGuarantees:
    """What is proved of one kind of noise of any scale at an exact privacy cost: zCDP and what follows."""

    curve: PrivacyCurve
    remark: str  # the noise that the notions hold for
    plan: str  # the promise of a plan, in a sentence
    release: str  # the sentence that may be signed for a release, or the reason why there is none
    condition: str = ""  # the beginning of a sentence on it, where it holds on a condition

    def holdings(self, cost: Fraction) -> tuple[Holding, ...]:
        """The notions of privacy that hold, apart from (epsilon, delta)."""
        zcdp = Holding("rho-zCDP", "rho", cost / 2, self.remark)
        return (zcdp, Holding("mu-GDP", "mu", mu_of_cost(cost), self.remark)) if self.curve is GDP else (zcdp,)

    def worded(self, sentence: str, cost: Fraction, change: str) -> str:
        """One of its sentences, for this cost and these neighbors."""
        rho = cost / 2
        return sentence.format(exact=fraction_text(rho), rho=decimal_text_up(rho), change=change)


_LAWS: dict[str, NoiseGuarantees] = {
    "discrete": NoiseGuarantees(
        ZCDP,
        "proved for the noise that is drawn",
        "Measured once with exact discrete Gaussian noise, which is the default, this plan satisfies rho-zCDP with "
        "rho at most {rho} under {change}.",
        "This release satisfies rho-zCDP with rho = {exact} (<= {rho}) under {change}, with exact discrete Gaussian "
        "noise from the operating system's random bits.",
    ),
    # Continuous noise in real numbers a computer only simulates, so that nothing is claimed of a release.
    "gaussian": NoiseGuarantees(
        GDP,
        "for continuous Gaussian noise in real numbers",
        "The budget of this plan was stated for continuous Gaussian noise in real numbers, and is refused where "
        "discrete noise is measured.  With continuous noise it satisfies rho-zCDP with rho at most {rho} under "
        "{change}.",
        "continuous noise in floating point is a simulation of what the plan's zCDP holds for",
        condition="with continuous noise, ",
    ),
}


def law_of(noise: object) -> NoiseGuarantees:
    """The law of a kind of noise by its name; BudgetError where there is no such kind."""
    law = _LAWS.get(noise) if isinstance(noise, str) else None
    if law is None:
        problem = "noise must be 'discrete' or 'gaussian'"
        raise BudgetError(f"{problem}, got {value_text(noise)}{suggestion(noise, list(_LAWS))}")
    return law


def mu_of_cost(cost: Fraction) -> float:
    """The mu of the GDP of continuous noise, rounded up to a float."""
    with _exact.working_digits():
        root = _exact.float_up(_exact.root_up(cost))
    below = math.nextafter(root, 0.0)
    return below if Fraction(below) ** 2 >= cost else root
