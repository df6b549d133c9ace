"""How records are made of a mixture: spread evenly, as weighted copies, or independent of one another.

Reads: a mixture.  Gives: Rounding, by name.
Source: spec eq. (76).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from residualplanner._checks import FloatArray, IntArray, entry_named
from residualplanner.mixtures import Mixture, even_records, independent_records

#: The names of methods.
RoundingName = Literal["sobol", "weighted", "independent"]


class Rounding(ABC):
    """A way to make records of a mixture.

    Attributes:
        is_weighted: whether records have weights other than 1.
    """

    is_weighted: bool = False

    @abstractmethod
    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes (n, d) and weights (n,), which add up to ``records``.

        Guarantees: the expected number of records with any combination of values is the mixture's.
        """


@dataclass(frozen=True, slots=True)
class Even(Rounding):
    """Records spread evenly over the mixture, each of weight 1."""

    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes and weights."""
        return even_records(mixture, records, generator), np.ones(records)


@dataclass(frozen=True, slots=True)
class Weighted(Rounding):
    """Several times as many records spread evenly, each of a fraction of weight 1.

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
    """Records drawn independently, each of weight 1."""

    def draw(self, mixture: Mixture, records: int, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Codes and weights."""
        return independent_records(mixture, records, generator), np.ones(records)


ROUNDINGS: dict[str, Rounding] = {"sobol": Even(), "weighted": Weighted(), "independent": Independent()}


def rounding_named(name: object) -> Rounding:
    """The method of this name.

    Raises:
        WorkloadError: there is none.

    Example:
        >>> rounding_named("weighted")
        Weighted(copies=4)
    """
    return entry_named("method", name, ROUNDINGS)
