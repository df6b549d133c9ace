"""The law of the noise of an answer, and how small the errors of single cells and of their total can be together.

The latter is the uncertainty principle.
Source: eqs. (84), (85), (92) to (98) and (139); Abowd et al., Theorems 3 and 4.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.fits.optimizers import Array
from residualplanner.ground import checks
from residualplanner.ground.errors import BudgetError

#: Up to where, in units of the scale, and at how many points probabilities are added up.
_FAR, _POINTS = 40.0, 100_001
Formula = Callable[[float, Array, int], Array]
#: The thresholds k that are tried, in units of the noise, and how many halvings find an error.
_THRESHOLDS = np.geomspace(1e-6, 1e6, 4801)
_HALVINGS = 200
#: The published bounds, or those of this library.
Method = Literal["tight", "published"]
#: A notion of privacy with its parameters: the scale of noise that hides one record more or less in a count, in counts;
#: the least B with which m records (t,) in any one of some cells can be told from none, where d k, the number of cells
#: times the threshold, are hidden (t,); and the published bound on D, if there is one.
_Notion = tuple[float, Callable[[Array, Array], Array], Formula | None]


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
        checks.require_positive("noise_scale", self.noise_scale)

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
        return -self.noise_scale * self._quantile(-np.expm1(-math.log(2) / np.asarray(draws, dtype=np.float64)))

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


@dataclass(frozen=True, slots=True)
class TruncatedLaplace(NoiseLaw):
    """Laplace noise that is never larger than a bound, as approximate differential privacy has it.

    Attributes:
        noise_scale: of Laplace noise before it is truncated, > 0, in counts.
        bound: the largest absolute value, > 0, in counts.
    """

    bound: float

    @property
    def variance(self) -> float:
        """In counts squared."""
        a = self.bound / self.noise_scale
        return self.noise_scale**2 * (2 - a * (a + 2) / math.expm1(a))

    def _log_cdf(self, values: Array) -> Array:
        a = self.bound / self.noise_scale
        tails = np.maximum(np.exp(-np.abs(values)) - math.exp(-a), 0) / (-2 * math.expm1(-a))
        with np.errstate(divide="ignore"):
            return np.where(values < 0, np.log(tails), np.log1p(-tails))

    def _quantile(self, tails: Array) -> Array:
        a = self.bound / self.noise_scale
        return np.asarray(np.log(math.exp(-a) - 2 * tails * math.expm1(-a)))


def noise_for(groups: int, *, epsilon: float | None = None, delta: float = 0.0, rho: float | None = None) -> NoiseLaw:
    """The law of the noise of each of some groups of queries that divide a budget evenly.

    Every record counts in at most one query of a group.

    Args:
        groups: how many there are, at least 1.
        epsilon: of pure differential privacy: Laplace noise; of approximate, if there is a ``delta``: truncated.
        delta: at least 0 and at most 1/2.
        rho: of zero-concentrated differential privacy: Gaussian noise.

    Raises:
        BudgetError: not one of epsilon and rho is given, or a privacy parameter is out of range.

    Source: eqs. (79) and (139); Abowd et al., section 6 and Theorem 4.

    Example:
        >>> noise_for(4, epsilon=0.5), noise_for(4, rho=0.125)
        (Laplace(noise_scale=8.0), Gaussian(noise_scale=4.0))
        >>> round(noise_for(1, epsilon=1, delta=1e-6).bound, 2)  # of all noise, however many draws there are
        13.66
    """
    if not 0 <= delta <= 0.5 or (delta and rho is not None):
        raise BudgetError(f"delta belongs to epsilon, and is between 0 and 1/2; got {checks.value_text(delta)}")
    if not checks.is_integer(groups, least=1):
        raise BudgetError(f"groups must be an integer, at least 1, got {checks.value_text(groups)}")
    if (epsilon is None) == (rho is None):
        raise BudgetError("give epsilon, for Laplace noise, or rho, for Gaussian noise")
    if epsilon is not None:
        scale = groups / checks.require_positive("epsilon", epsilon)
        ratio = math.expm1(1 / scale) * groups / (2 * delta) if delta else 0.0
        return TruncatedLaplace(scale, scale * math.log1p(ratio)) if delta else Laplace(scale)
    return Gaussian(math.sqrt(groups / (2 * checks.require_positive("rho", math.nan if rho is None else rho))))


def _notion_of(epsilon: float | None, delta: float, rho: float | None) -> _Notion:
    """Pure, approximate or zero-concentrated differential privacy.  Source: eqs. (92) to (96)."""
    if (epsilon is None) == (rho is None):
        raise BudgetError("give epsilon, perhaps with delta, or rho")
    if not 0 <= delta < 1:
        raise BudgetError(f"delta must be at least 0 and below 1, got {checks.value_text(delta)}")
    if rho is not None:
        if delta:
            raise BudgetError("delta belongs to epsilon; give rho alone")
        root = math.sqrt(checks.require_positive("rho", rho))

        def concentrated(records: Array, hidden: Array) -> Array:
            return hidden * np.exp(-((math.sqrt(math.log(2)) + records * root) ** 2))

        return 1 / math.sqrt(2 * rho), concentrated, None
    e = checks.require_positive("epsilon", math.nan if epsilon is None else epsilon)
    lost = float(delta) * math.exp(-e) / -math.expm1(-e)  # delta / (exp(epsilon) - 1)

    def least_weight(records: Array, hidden: Array) -> Array:
        return hidden * (np.exp(-e * records) / 2 - lost)

    def pure(cell_error: float, thresholds: Array, cells: int) -> Array:
        hidden = thresholds * (cells - 1) * np.exp(-2 * e * (2 * cell_error + thresholds))
        return (hidden - 16 * cell_error - 4 * thresholds) / 8

    def approximate(cell_error: float, thresholds: Array, cells: int) -> Array:
        kept = np.exp(-e * (4 * cell_error + 2 * thresholds)) / 4 - delta / e
        return (thresholds * (cells - 1) * kept - 4 * cell_error - thresholds) / 2

    return 1 / e, least_weight, approximate if delta else pure


def least_total_error(
    cell_error: float,
    cells: int,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    method: Method = "tight",
) -> float:
    """No mechanism whose output is non-negative has a smaller error of the total, if that of cells is ``cell_error``.

    Errors are root mean square errors, at the worst of all data sets (and the worst cell).

    Args:
        cell_error: C, at least 0, in counts.
        cells: how many there are, at least 2.
        epsilon: of pure differential privacy; of approximate, if there is a ``delta``.
        delta: between 0 and 1.
        rho: of zero-concentrated differential privacy, in place of epsilon.
        method: "tight", or "published", which is weaker and does not know rho; its thresholds k are those of which it
            holds, with ``2 C + k`` of at least 1/2.

    Returns:
        A lower bound of D, in counts.

    Raises:
        BudgetError: a privacy parameter, or an error, is out of range.
        WorkloadError: there are fewer than 2 cells; no bound of this method was published.

    Source: eqs. (92) to (96).

    Example:
        >>> round(least_total_error(20.0, 10_000, epsilon=0.1))
        143
    """
    bound, _ = _bound_of(_notion_of(epsilon, delta, rho), method, cells)
    found = bound(_require_error("cell_error", cell_error))
    return float(np.max(found, initial=0.0))


def least_cell_error(
    total_error: float,
    cells: int,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    method: Method = "tight",
) -> float:
    """No mechanism whose output is non-negative has a smaller error of cells, if that of the total is ``total_error``.

    Arguments, units and errors are as in `least_total_error`.

    Source: eqs. (92) to (96).

    Example:
        >>> round(least_cell_error(800**0.5, 10_000, epsilon=0.1) ** 2)
        639
    """
    bound, most = _bound_of(_notion_of(epsilon, delta, rho), method, cells)
    total = _require_error("total_error", total_error)
    low, high = 0.0, most * cells
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_possible = bool((bound(middle) <= total).all())
        low, high = (low, middle) if is_possible else (middle, high)
    return low


def _bound_of(notion: _Notion, method: object, cells: int) -> tuple[Callable[[float], Array], float]:
    """The least total error for a cell error and each threshold k (t,), and the largest of these."""
    (noise_scale, least_weight, published), count = notion, checks.require_integer("cells", cells, least=2)
    thresholds = _THRESHOLDS * noise_scale

    def tight(cell_error: float, thresholds: Array, cells: int) -> Array:  # eqs. (92) to (94)
        records = np.ceil(2 * cell_error + thresholds)
        return (least_weight(records, cells * thresholds) - records) / 2

    formulas: dict[str, Formula] = {"tight": tight} | ({"published": published} if published else {})
    formula = checks.entry_named("method", method, formulas)
    # Published bounds hide m = ceil(2 C + k) records at the cost of at most 2 (2 C + k), less than one record where
    # 2 C + k is below 1/2: there they do not hold of counts.
    least = 0.0 if formula is tight else 0.5

    def total(cell_error: float) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            found = formula(cell_error, thresholds, count)
        return np.where(2 * cell_error + thresholds >= least, found, -np.inf)

    return total, float(thresholds[-1])


def _require_error(name: str, value: float) -> float:
    if not 0 <= checks.float_of(value) < math.inf:
        raise BudgetError(f"{name} must be at least 0 and finite, got {checks.value_text(value)}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Errors:
    """Root mean square errors that a mechanism keeps to for all data sets.

    Attributes:
        cell: of each cell, in counts.
        total: of their total, in counts.
    """

    cell: float
    total: float


def errors_of_clipping(
    cells: int, *, epsilon: float | None = None, delta: float = 0.0, rho: float | None = None
) -> Errors:
    """At most the errors of noisy cells, of which negative ones are set to 0.

    Args:
        cells: how many there are.
        epsilon: of pure differential privacy, by Laplace noise; of approximate, if there is a ``delta``.
        delta: of approximate differential privacy, by truncated Laplace noise.
        rho: of zero-concentrated differential privacy, by Gaussian noise.

    Raises:
        BudgetError: not one of epsilon and rho is given, or a privacy parameter is out of range.
        WorkloadError: there is no cell.

    Source: eq. (97); Abowd et al., Theorem 4.

    Example:
        >>> errors_of_clipping(100, rho=0.5)
        Errors(cell=1.0, total=100.0)
    """
    scale = math.sqrt(noise_for(1, epsilon=epsilon, delta=delta, rho=rho).variance)
    return Errors(scale, checks.require_integer("cells", cells) * scale)


def errors_of_sequential_fit(
    cells: int, *, epsilon: float | None = None, delta: float = 0.0, rho: float | None = None
) -> Errors:
    """At most the errors of `sequential_fit` to a noisy total and noisy cells, each with half the budget.

    Arguments and errors are as in `errors_of_clipping`.  With a ``delta`` they do not grow with the number of cells
    beyond the bound of the noise.

    Source: eqs. (98) and (139); Abowd et al., Theorem 4.

    Example:
        >>> errors = errors_of_sequential_fit(100, epsilon=0.1)
        >>> round(errors.cell**2), round(errors.total**2)
        (54770, 800)
        >>> [round(errors_of_sequential_fit(10**n, epsilon=0.1, delta=1e-6).cell ** 2) for n in (4, 8, 12)]
        [156105, 206308, 206330]
    """
    law = noise_for(2, epsilon=epsilon, delta=delta, rho=rho)
    (one, square), (largest, largest_square) = law.largest_of(1), law.largest_of(checks.require_integer("cells", cells))
    return Errors(math.sqrt(4 * largest_square + 4 * largest * one + square), math.sqrt(square))
