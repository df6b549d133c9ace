"""How records are made of a mixture: controlled, spread evenly, as weighted copies, or independent of one another.

Reads: a mixture.  Gives: Rounding, by name.
Source: docs/mathematics.md section 13.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from residualplanner.fits.mixtures import (
    Mixture,
    Report,
    controlled_records,
    even_records,
    independent_records,
    unreported,
)
from residualplanner.gate.measurement.blocks import require_room
from residualplanner.ground.checks import FloatArray, IntArray, entry_named

#: The names of methods.
RoundingName = Literal["controlled", "sobol", "weighted", "independent"]


@dataclass(frozen=True, slots=True)
class Rounding:
    """A way to make records of a mixture: their expected tables are those of the mixture, unless they are controlled.

    Attributes:
        codes: gives so many records (n, d) of a mixture, from random numbers, and reports how much is done.
        entry_bytes: about how many bytes each entry takes while so many records are made, or a little less.
        copies: how many records are made for each that is wanted, each of a fraction of weight 1.
    """

    codes: Callable[..., IntArray]
    entry_bytes: int
    copies: int = 1

    @property
    def is_weighted(self) -> bool:
        """Whether records have weights other than 1."""
        return self.copies > 1

    def require_room(self, records: int, attributes: int) -> None:
        """Raise ResourceError where there is too little memory to make so many records of so many attributes."""
        require_room(
            float(records) * (attributes + 1) * self.copies * self.entry_bytes,
            f"{records:,} synthetic records take {{needed}} while they are made",
            "ask for fewer, or use a machine with more memory",
        )

    def draw(
        self, mixture: Mixture, records: int, generator: np.random.Generator, *, report: Report = unreported
    ) -> tuple[IntArray, FloatArray]:
        """Codes (n, d) and weights (n,), which add up to ``records``."""
        count = self.copies * records
        return self.codes(mixture, count, generator, report=report), np.full(count, 1 / self.copies)

    def of_order(self, order: int) -> "Rounding":
        """The method for a mixture that was fitted to tables of so many attributes at most; the same by default."""
        del order
        return self


class Controlled(Rounding):
    """Records whose tables of pairs are near those of the mixture."""

    __slots__ = ()

    def of_order(self, order: int) -> Rounding:
        """Tables of three attributes are controlled where such were measured."""
        return Rounding(partial(controlled_records, order=min(max(order, 2), 3)), self.entry_bytes)


ROUNDINGS: dict[str, Rounding] = {
    "controlled": Controlled(controlled_records, 30),
    "sobol": Rounding(even_records, 18),
    "weighted": Rounding(even_records, 18, copies=4),
    "independent": Rounding(independent_records, 15),
}


def rounding_named(name: object) -> Rounding:
    """The method of this name.

    Raises:
        WorkloadError: there is none.

    Example:
        >>> rounding_named("weighted").copies
        4
    """
    return entry_named("method", name, ROUNDINGS)
