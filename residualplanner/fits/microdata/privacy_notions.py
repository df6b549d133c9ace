"""What each notion of privacy implies for the errors of cells and their total.

Reads: privacy parameters.  Gives: PrivacyNotion.
Protocol: a notion bounds the least total error for a given cell error.
Source: eqs. (92) to (96).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import require_positive, value_text
from residualplanner.ground.errors import BudgetError

Array = NDArray[np.float64]
Formula = Callable[[float, Array, int], Array]


class PrivacyNotion(ABC):
    """A notion of privacy with its parameters; one record more or less is to be hidden."""

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale of noise that hides one record in one count, in counts."""

    @abstractmethod
    def least_weight(self, records: Array, hidden: float | Array) -> Array:
        """The least B with which ``records`` in any one of some cells can be told from none.

        Args:
            records (t,): m, in one cell.
            hidden (t,): d k, the number of cells times the threshold.
        """

    @property
    def formulas(self) -> dict[str, Formula]:
        """By the name of a method, the least D for a given C, some thresholds (t,) and a number of cells."""
        return {"tight": self.total_error}

    def total_error(self, cell_error: float, thresholds: Array, cells: int) -> Array:
        """The least D for C = ``cell_error`` and each threshold (t,).  Source: eqs. (92) to (94)."""
        records = np.ceil(2 * cell_error + thresholds)
        return (self.least_weight(records, cells * thresholds) - records) / 2


def _of_counts(found: Array, cell_error: float, thresholds: Array) -> Array:
    """Published bounds (t,), and none where they do not hold of counts.

    They hide ``m = ceil(2 C + k)`` records at the cost of at most ``2 (2 C + k)``, which is less than one record where
    ``2 C + k`` is below 1/2.
    """
    return np.where(2 * cell_error + thresholds >= 0.5, found, -np.inf)


@dataclass(frozen=True, slots=True)
class PureDP(PrivacyNotion):
    """Pure differential privacy, by Laplace noise."""

    epsilon: float

    @property
    def noise_scale(self) -> float:
        """1 / epsilon."""
        return 1 / self.epsilon

    def least_weight(self, records: Array, hidden: float | Array) -> Array:
        """``exp(-epsilon m) d k / 2``.  Source: eq. (92)."""
        found: Array = np.exp(-self.epsilon * records) * hidden / 2
        return found

    @property
    def formulas(self) -> dict[str, Formula]:
        """The published one, too."""
        return {"tight": self.total_error, "published": self.published_total_error}

    def published_total_error(self, cell_error: float, thresholds: Array, cells: int) -> Array:
        """The published bound on D, for each threshold (t,).  Source: eq. (95)."""
        hidden = thresholds * (cells - 1) * np.exp(-2 * self.epsilon * (2 * cell_error + thresholds))
        found: Array = (hidden - 16 * cell_error - 4 * thresholds) / 8
        return _of_counts(found, cell_error, thresholds)


@dataclass(frozen=True, slots=True)
class ApproximateDP(PrivacyNotion):
    """Approximate differential privacy."""

    epsilon: float
    delta: float

    @property
    def noise_scale(self) -> float:
        """1 / epsilon."""
        return 1 / self.epsilon

    def least_weight(self, records: Array, hidden: float | Array) -> Array:
        """``d k (exp(-epsilon m) / 2 - delta / (exp(epsilon) - 1))``.  Source: eq. (93)."""
        lost = self.delta * math.exp(-self.epsilon) / -math.expm1(-self.epsilon)
        found: Array = hidden * (np.exp(-self.epsilon * records) / 2 - lost)
        return found

    @property
    def formulas(self) -> dict[str, Formula]:
        """The published one, too."""
        return {"tight": self.total_error, "published": self.published_total_error}

    def published_total_error(self, cell_error: float, thresholds: Array, cells: int) -> Array:
        """The published bound on D, for each threshold (t,).  Source: eq. (96)."""
        kept = np.exp(-self.epsilon * (4 * cell_error + 2 * thresholds)) / 4 - self.delta / self.epsilon
        found: Array = (thresholds * (cells - 1) * kept - 4 * cell_error - thresholds) / 2
        return _of_counts(found, cell_error, thresholds)


@dataclass(frozen=True, slots=True)
class ConcentratedDP(PrivacyNotion):
    """Zero-concentrated differential privacy, by Gaussian noise."""

    rho: float

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise of a count."""
        return 1 / math.sqrt(2 * self.rho)

    def least_weight(self, records: Array, hidden: float | Array) -> Array:
        """``d k exp(-(sqrt(ln 2) + m sqrt(rho))**2)``.  Source: eq. (94)."""
        found: Array = hidden * np.exp(-((math.sqrt(math.log(2)) + records * math.sqrt(self.rho)) ** 2))
        return found


def notion_of(epsilon: float | None, delta: float, rho: float | None) -> PrivacyNotion:
    """The notion of some parameters.

    Raises:
        BudgetError: one is out of range, or not exactly one of epsilon and rho is given.
    """
    if (epsilon is None) == (rho is None):
        raise BudgetError("give epsilon, perhaps with delta, or rho")
    if not 0 <= delta < 1:
        raise BudgetError(f"delta must be at least 0 and below 1, got {value_text(delta)}")
    if epsilon is None:
        if delta:
            raise BudgetError("delta belongs to epsilon; give rho alone")
        return ConcentratedDP(require_positive("rho", rho if rho is not None else math.nan))
    epsilon = require_positive("epsilon", epsilon)
    return ApproximateDP(epsilon, float(delta)) if delta else PureDP(epsilon)
