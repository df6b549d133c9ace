"""The law of the noise of an answer: Laplace or Gaussian, with known scale.  Source: eqs. (84), (85) and (98)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import is_integer, require_positive, value_text
from residualplanner.ground.errors import BudgetError

#: Up to where, in units of the scale, and at how many points probabilities are added up.
_FAR, _POINTS = 40.0, 100_001


@dataclass(frozen=True, slots=True)
class NoiseLaw(ABC):
    """The law of noise that is added to an answer, symmetric around 0.

    Attributes:
        noise_scale: > 0, in counts.

    Raises:
        BudgetError: the scale is not positive and finite.
    """

    noise_scale: float

    def __post_init__(self) -> None:
        require_positive("noise_scale", self.noise_scale)

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise, in counts squared."""

    def log_cdf(self, values: ArrayLike) -> Array:
        """The logarithm of the probability that noise is at most each of the ``values`` (...)."""
        return self._log_cdf(np.asarray(values, dtype=np.float64) / self.noise_scale)

    def median_of_largest(self, draws: ArrayLike) -> Array:
        """The median of the largest of so many independent draws (...), in counts.  Source: eq. (85)."""
        # One draw exceeds it with the probability 1 - 2**(-1 / draws).
        found: Array = -self.noise_scale * self._quantile(-np.expm1(-math.log(2) / np.asarray(draws, dtype=np.float64)))
        return found

    def largest_of(self, draws: int) -> tuple[float, float]:
        """The means of the largest absolute value of so many independent draws, and of its square.

        Integrals of the probability that a number is exceeded.  Source: eq. (98).
        """
        edges = np.linspace(0, _FAR, _POINTS)
        # That of one draw is just below 1 at 0, as the logarithm of 0 is none.
        exceeds = -np.expm1(draws * np.log1p(-np.minimum(2 * np.exp(self._log_cdf(-edges)), 1 - 2.0**-53)))
        first, second = np.trapezoid(exceeds, edges), np.trapezoid(2 * edges * exceeds, edges)
        return self.noise_scale * float(first), self.noise_scale**2 * float(second)

    @abstractmethod
    def _log_cdf(self, values: Array) -> Array:
        """Of noise of scale 1."""

    @abstractmethod
    def _quantile(self, tails: Array) -> Array:
        """What noise of scale 1 is at most with these probabilities, which are 1/2 or less."""


class Laplace(NoiseLaw):
    """Laplace noise, as pure differential privacy has it.

    Attributes:
        noise_scale: b, the mean absolute value of the noise, > 0, in counts; its variance is twice the square of it.

    Example:
        >>> Laplace(8.0).variance, round(float(Laplace(8.0).median_of_largest(4)), 5)
        (128.0, 9.16042)
    """

    __slots__ = ()

    @property
    def variance(self) -> float:
        """Twice the square of the scale, in counts squared."""
        return 2 * self.noise_scale**2

    def _log_cdf(self, values: Array) -> Array:
        return np.where(values < 0, values - math.log(2), np.log1p(-np.exp(-np.abs(values)) / 2))

    def _quantile(self, tails: Array) -> Array:
        return np.asarray(np.log(2 * tails))


class Gaussian(NoiseLaw):
    """Gaussian noise, as zero-concentrated differential privacy has it.

    Attributes:
        noise_scale: the standard deviation of the noise, > 0, in counts.

    Example:
        >>> Gaussian(4.0).variance, round(float(Gaussian(4.0).median_of_largest(100)), 3)
        (16.0, 9.848)
    """

    __slots__ = ()

    @property
    def variance(self) -> float:
        """The square of the scale, in counts squared."""
        return self.noise_scale**2

    def _log_cdf(self, values: Array) -> Array:
        from scipy.special import log_ndtr  # takes a tenth of the time to import the package

        return np.asarray(log_ndtr(values))

    def _quantile(self, tails: Array) -> Array:
        from scipy.special import ndtri  # as above

        return np.asarray(ndtri(tails))


def noise_for(groups: int, *, epsilon: float | None = None, rho: float | None = None) -> NoiseLaw:
    """The law of the noise of each of some groups of queries that divide a budget evenly.

    Every record counts in at most one query of a group.

    Args:
        groups: how many there are, at least 1.
        epsilon: of pure differential privacy: Laplace noise.
        rho: of zero-concentrated differential privacy: Gaussian noise.

    Raises:
        BudgetError: not one of both is given, or it is out of range.

    Source: eq. (79); Abowd et al., section 6.

    Example:
        >>> noise_for(4, epsilon=0.5), noise_for(4, rho=0.125)
        (Laplace(noise_scale=8.0), Gaussian(noise_scale=4.0))
    """
    if not is_integer(groups, least=1):
        raise BudgetError(f"groups must be an integer, at least 1, got {value_text(groups)}")
    if (epsilon is None) == (rho is None):
        raise BudgetError("give epsilon, for Laplace noise, or rho, for Gaussian noise")
    if epsilon is not None:
        return Laplace(groups / require_positive("epsilon", epsilon))
    return Gaussian(math.sqrt(groups / (2 * require_positive("rho", math.nan if rho is None else rho))))
