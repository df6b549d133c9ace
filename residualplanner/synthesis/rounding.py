"""How records are made of a mixture: controlled, spread evenly, as weighted copies, or independent of one another.

Reads: a mixture.  Gives: Rounding, by name.
Source: spec section 13.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from residualplanner._checks import FloatArray, IntArray, entry_named
from residualplanner.mixtures import Mixture, controlled_records, even_records, independent_records

#: The names of methods.
RoundingName = Literal["controlled", "sobol", "weighted", "independent"]


class Rounding(ABC):
    """A way to make records of a mixture.

    Attributes:
        is_weighted: whether records have weights other than 1.
    """

    is_weighted: bool = False

    @abstractmethod
    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes (n, d) and weights (n,), which add up to ``records``."""

    def of_order(self, order: int) -> "Rounding":
        """The method for a mixture that was fitted to tables of so many attributes at most; the same by default."""
        del order
        return self


@dataclass(frozen=True, slots=True)
class Controlled(Rounding):
    """Records whose tables of pairs are near those of the mixture, each of weight 1.

    Attributes:
        order: 3 if those of three attributes are to be, too.
    """

    order: int = 2

    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes and weights."""
        return controlled_records(mixture, records, generator, order=self.order), np.ones(records)

    def of_order(self, order: int) -> "Controlled":
        """Tables of three attributes are controlled where such were measured."""
        return Controlled(min(max(order, 2), 3))


@dataclass(frozen=True, slots=True)
class Even(Rounding):
    """Records spread evenly over the mixture, each of weight 1: their expected tables are those of the mixture."""

    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes and weights."""
        return even_records(mixture, records, generator), np.ones(records)


@dataclass(frozen=True, slots=True)
class Weighted(Rounding):
    """Several times as many records spread evenly, each of a fraction of weight 1; their expected tables are its, too.

    Attributes:
        copies: how many times as many.
    """

    copies: int = 4
    is_weighted = True

    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes and weights."""
        count = self.copies * records
        return even_records(mixture, count, generator), np.full(count, 1 / self.copies)


@dataclass(frozen=True, slots=True)
class Independent(Rounding):
    """Records drawn independently, each of weight 1: their expected tables are those of the mixture."""

    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes and weights."""
        return independent_records(mixture, records, generator), np.ones(records)


ROUNDINGS: dict[str, Rounding] = {
    "controlled": Controlled(),
    "sobol": Even(),
    "weighted": Weighted(),
    "independent": Independent(),
}


def rounding_named(name: object) -> Rounding:
    """The method of this name.

    Raises:
        WorkloadError: there is none.

    Example:
        >>> rounding_named("weighted")
        Weighted(copies=4)
    """
    return entry_named("method", name, ROUNDINGS)
