"""How noise was drawn, and the sentence that may be signed for it.

Reads: what `measure` did.  Gives: NoiseRecord.
"""

import platform
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
import scipy

from residualplanner._version import __version__
from residualplanner.measurement.discrete_gaussian import InsecureTestBits, OperatingSystemBits

Kind = Literal["discrete", "gaussian"]

_DIGITS = 6
_DECIMAL_LIMIT = 10**4000


def package_versions() -> tuple[tuple[str, str], ...]:
    """What computes here: names and versions."""
    return (
        ("residualplanner", __version__),
        ("python", platform.python_version()),
        ("numpy", np.__version__),
        ("scipy", scipy.__version__),
    )


@dataclass(frozen=True, slots=True)
class NoiseRecord:
    """How the noise was drawn, and what that is worth.

    Attributes:
        kind: "discrete": discrete Gaussian noise, exact in distribution; "gaussian": continuous, in floating point.
        seed: of the generator of continuous noise, where the user gave one; None for the operating system's randomness.
        source: of discrete noise: the mark of the source of its random bytes.
        pcost: of discrete noise: the exact privacy cost.
        neighbors: what a person may change, in words.
        versions: of the packages that drew the noise.
        unlimited_because: where the cost was charged to a ledger without a budget: the reason that the ledger gives.
    """

    kind: Kind = "gaussian"
    seed: int | None = None
    source: str = OperatingSystemBits.mark
    pcost: Fraction | None = None
    neighbors: str = "adding or removing one record"
    versions: tuple[tuple[str, str], ...] = field(default_factory=package_versions)
    unlimited_because: str = ""

    @property
    def is_private(self) -> bool:
        """Whether nobody could foresee the noise."""
        return self.seed is None and self.source == OperatingSystemBits.mark

    @property
    def randomness(self) -> str:
        """Where the noise came from, in words."""
        if self.is_private:
            return "operating system"
        return self.source if self.kind == "discrete" else "seeded, not private"

    @property
    def guarantee(self) -> str:
        """What may be claimed for it, in words."""
        if self.source == InsecureTestBits.mark:
            return "none: the noise is made of bits that anyone can foresee"
        if self.seed is not None:
            return "none: whoever knows the seed can take the noise away"
        if self.kind == "gaussian" or self.pcost is None:
            return "none: continuous noise in floating point is a simulation of what the plan's zCDP holds for"
        rho = self.pcost / 2
        return (
            f"This release satisfies rho-zCDP with rho = {fraction_text(rho)} (<= {decimal_up(rho)}) under "
            f"{self.neighbors}, with exact discrete Gaussian noise from the operating system's random bits."
            + (f"  Its ledger limits no total: {self.unlimited_because}" if self.unlimited_because else "")
        )


def fraction_text(value: Fraction) -> str:
    """An exact fraction as ``numerator/denominator``: decimal, or hexadecimal above 4000 digits.

    Example:
        >>> fraction_text(Fraction(1, 3)), fraction_text(Fraction(2))
        ('1/3', '2/1')
    """
    form = "" if max(value.numerator, value.denominator) < _DECIMAL_LIMIT else "#x"
    return f"{value.numerator:{form}}/{value.denominator:{form}}"


def decimal_up(value: Fraction) -> str:
    """A short decimal number, at least ``value``.

    Example:
        >>> decimal_up(Fraction(1, 3)), decimal_up(Fraction(100)), decimal_up(Fraction(1, 10**30))
        ('0.333334', '100', '1E-30')
    """
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emax=10**6, Emin=-(10**6))
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{number:f}" if Decimal("1e-6") <= number < Decimal("1e15") else str(number)
