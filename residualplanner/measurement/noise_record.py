"""How noise was drawn, and the sentence that may be signed for it.

Reads: what `measure` did.  Gives: NoiseRecord.
"""

import platform
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
import scipy

from residualplanner._version import __version__
from residualplanner.discrete_gaussian import InsecureTestBits, OperatingSystemBits
from residualplanner.privacy import PrivacyClaim

Kind = Literal["discrete", "gaussian"]


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
        if self.pcost is None:
            return PrivacyClaim(Fraction(0), self.neighbors, "gaussian").released
        claim = PrivacyClaim(self.pcost, self.neighbors, self.kind)
        return claim.released + (
            f"  Its ledger limits no total: {self.unlimited_because}" if self.unlimited_because else ""
        )
