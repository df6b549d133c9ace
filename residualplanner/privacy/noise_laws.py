"""What is proved of each kind of noise once its exact privacy cost is known.

Reads: exact costs, epsilons, deltas.  Gives: NoiseLaw; every number is rounded to the safe side.
Source: spec eqs. (2), (3), (4).

Both kinds have zCDP by (2).  GDP, and with it the curve (3), holds for continuous noise alone; for discrete noise
nothing beyond (4), which follows from zCDP, is proved.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Literal, Protocol

from residualplanner._checks import Number, value_text
from residualplanner._words import decimal_text_up, fraction_text, suggestion
from residualplanner.errors import BudgetError
from residualplanner.privacy._exact import (
    decimal_down,
    decimal_up,
    float_up,
    read_allowance,
    read_delta,
    read_epsilon,
    root_up,
    working_digits,
)
from residualplanner.privacy.gaussian_curve import gaussian_delta, gaussian_epsilon, gaussian_mu
from residualplanner.privacy.zcdp_curve import zcdp_delta, zcdp_epsilon, zcdp_rho

Noise = Literal["discrete", "gaussian"]

# Room for the curves' own rounding, so that a budget made from (epsilon, delta) gives no more than epsilon at delta.
_BELOW = 1 - Decimal("1e-15")


@dataclass(frozen=True, slots=True)
class Holding:
    """A notion of privacy that holds.

    Attributes:
        notion: its name.
        parameter: what its parameter is called.
        value: of the parameter, at least the exact one.
        remark: what it holds for.
    """

    notion: str
    parameter: str
    value: float
    remark: str


class NoiseLaw(Protocol):
    """What is proved of one kind of noise, at a privacy cost that is known exactly."""

    @property
    def curve(self) -> str:
        """Where its epsilon comes from, in words."""
        ...

    @property
    def condition(self) -> str:
        """What a sentence on it begins with, where it holds only on a condition."""
        ...

    def holdings(self, cost: Fraction) -> tuple[Holding, ...]:
        """The notions of privacy that hold, but for (epsilon, delta)."""
        ...

    def epsilon(self, cost: Fraction, delta: Number) -> float:
        """An upper bound on epsilon at ``delta``; BudgetError if that is not between 0 and 1."""
        ...

    def delta(self, cost: Fraction, epsilon: Number) -> float:
        """An upper bound on delta at ``epsilon``; BudgetError if that is no number of at least 0."""
        ...

    def largest_cost(self, epsilon: Number, delta: Number) -> Fraction:
        """A cost with which (epsilon, delta)-DP holds, below the largest by less than 1e-14 relative."""
        ...

    def planned(self, cost: Fraction, change: str) -> str:
        """What a plan of this cost promises, in a sentence."""
        ...

    def released(self, cost: Fraction, change: str) -> str:
        """What may be signed for a release whose noise cost this much; starts with "none: " if that is nothing."""
        ...


class _Discrete:
    """Exact discrete Gaussian noise of any scale: zCDP, and what follows from it."""

    curve = "that follows from rho-zCDP"
    condition = ""

    def holdings(self, cost: Fraction) -> tuple[Holding, ...]:
        return (Holding("rho-zCDP", "rho", float_up(cost / 2), "proved for the noise that is drawn"),)

    def epsilon(self, cost: Fraction, delta: Number) -> float:
        exact_delta = read_delta(delta)
        with working_digits():
            return float_up(zcdp_epsilon(decimal_up(cost / 2), decimal_down(exact_delta)))

    def delta(self, cost: Fraction, epsilon: Number) -> float:
        exact_epsilon = read_epsilon(epsilon)
        with working_digits():
            return float_up(zcdp_delta(decimal_up(cost / 2), decimal_down(exact_epsilon)))

    def largest_cost(self, epsilon: Number, delta: Number) -> Fraction:
        exact_epsilon, exact_delta = read_allowance("epsilon", epsilon), read_delta(delta)
        with working_digits():
            return 2 * _short_fraction_below(zcdp_rho(decimal_down(exact_epsilon), decimal_down(exact_delta)))

    def planned(self, cost: Fraction, change: str) -> str:
        return (
            "Measured once with exact discrete Gaussian noise, which is the default, this plan satisfies rho-zCDP with "
            f"rho at most {decimal_text_up(cost / 2)} under {change}."
        )

    def released(self, cost: Fraction, change: str) -> str:
        rho = cost / 2
        return (
            f"This release satisfies rho-zCDP with rho = {fraction_text(rho)} (<= {decimal_text_up(rho)}) under "
            f"{change}, with exact discrete Gaussian noise from the operating system's random bits."
        )


class _Continuous:
    """Continuous Gaussian noise in real numbers, which a computer only simulates: zCDP and GDP."""

    curve = "of continuous Gaussian noise in real numbers"
    condition = "with continuous noise, "
    _remark = "for continuous Gaussian noise in real numbers"

    def holdings(self, cost: Fraction) -> tuple[Holding, ...]:
        return (
            Holding("rho-zCDP", "rho", float_up(cost / 2), self._remark),
            Holding("mu-GDP", "mu", mu_of_cost(cost), self._remark),
        )

    def epsilon(self, cost: Fraction, delta: Number) -> float:
        exact_delta = read_delta(delta)
        with working_digits():
            return float_up(gaussian_epsilon(root_up(cost), decimal_down(exact_delta)))

    def delta(self, cost: Fraction, epsilon: Number) -> float:
        exact_epsilon = read_epsilon(epsilon)
        with working_digits():
            return float_up(gaussian_delta(root_up(cost), decimal_down(exact_epsilon)))

    def largest_cost(self, epsilon: Number, delta: Number) -> Fraction:
        exact_epsilon, exact_delta = read_allowance("epsilon", epsilon), read_delta(delta)
        with working_digits():
            return _short_fraction_below(gaussian_mu(decimal_down(exact_epsilon), decimal_down(exact_delta))) ** 2

    def planned(self, cost: Fraction, change: str) -> str:
        return (
            "The budget of this plan was stated for continuous Gaussian noise in real numbers, and is refused where "
            f"discrete noise is measured.  With continuous noise it satisfies rho-zCDP with rho at most "
            f"{decimal_text_up(cost / 2)} under {change}."
        )

    def released(self, cost: Fraction, change: str) -> str:  # noqa: ARG002 - nothing is claimed, whatever the cost
        return "none: continuous noise in floating point is a simulation of what the plan's zCDP holds for"


_LAWS: dict[str, NoiseLaw] = {"discrete": _Discrete(), "gaussian": _Continuous()}


def law_of(noise: object) -> NoiseLaw:
    """The law of a kind of noise by its name.

    Raises:
        BudgetError: there is no such kind.

    Example:
        >>> [holding.notion for holding in law_of("discrete").holdings(Fraction(1))]
        ['rho-zCDP']
    """
    law = _LAWS.get(noise) if isinstance(noise, str) else None
    if law is None:
        raise BudgetError(
            f"noise must be 'discrete' or 'gaussian', got {value_text(noise)}{suggestion(noise, list(_LAWS))}"
        )
    return law


def mu_of_cost(cost: Fraction) -> float:
    """The mu of the GDP of continuous noise, rounded up to a float.

    Example:
        >>> mu_of_cost(Fraction(1, 4))
        0.5
    """
    with working_digits():
        root = float_up(root_up(cost))
    below = math.nextafter(root, 0.0)
    return below if Fraction(below) ** 2 >= cost else root


def _short_fraction_below(value: Decimal) -> Fraction:
    with localcontext() as context:
        context.prec, context.rounding = 25, ROUND_FLOOR
        return Fraction(value * _BELOW)
