"""The guarantees proved for each kind of noise at a given exact privacy cost.

Source: eqs. (2), (3), (4).

Both kinds have zCDP by (2).  GDP, and with it the curve (3), holds for continuous noise only; for discrete noise
nothing is proved beyond (4), which follows from zCDP.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import decimal_text_up, fraction_text, suggestion
from residualplanner.method.privacy._exact import float_up, root_up, working_digits
from residualplanner.method.privacy.curve import PrivacyCurve
from residualplanner.method.privacy.gaussian_curve import GDP
from residualplanner.method.privacy.zcdp_curve import ZCDP

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


class NoiseGuarantees(Protocol):
    """The guarantees proved for one kind of noise, at an exact privacy cost.

    Attributes:
        curve: the pairs (epsilon, delta) that hold.
        condition: the beginning of a sentence on it, where it holds on a condition; else empty.
    """

    curve: PrivacyCurve
    condition: str

    def holdings(self, cost: Fraction) -> tuple[Holding, ...]:
        """The notions of privacy that hold, apart from (epsilon, delta)."""
        ...

    def planned(self, cost: Fraction, change: str) -> str:
        """The promise of a plan of this cost, in a sentence."""
        ...

    def released(self, cost: Fraction, change: str) -> str:
        """The sentence that may be signed for a release of this cost, or the reason why there is none."""
        ...


class _Discrete:
    """Exact discrete Gaussian noise of any scale: zCDP and its consequences."""

    curve = ZCDP
    condition = ""

    def holdings(self, cost: Fraction) -> tuple[Holding, ...]:
        return (Holding("rho-zCDP", "rho", cost / 2, "proved for the noise that is drawn"),)

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

    curve = GDP
    condition = "with continuous noise, "
    _remark = "for continuous Gaussian noise in real numbers"

    def holdings(self, cost: Fraction) -> tuple[Holding, ...]:
        return (
            Holding("rho-zCDP", "rho", cost / 2, self._remark),
            Holding("mu-GDP", "mu", mu_of_cost(cost), self._remark),
        )

    def planned(self, cost: Fraction, change: str) -> str:
        return (
            "The budget of this plan was stated for continuous Gaussian noise in real numbers, and is refused where "
            f"discrete noise is measured.  With continuous noise it satisfies rho-zCDP with rho at most "
            f"{decimal_text_up(cost / 2)} under {change}."
        )

    def released(self, cost: Fraction, change: str) -> str:  # noqa: ARG002 - nothing is claimed, whatever the cost
        return "continuous noise in floating point is a simulation of what the plan's zCDP holds for"


_LAWS: dict[str, NoiseGuarantees] = {"discrete": _Discrete(), "gaussian": _Continuous()}


def law_of(noise: object) -> NoiseGuarantees:
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
