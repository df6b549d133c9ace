"""The uncertainty principle: how small the errors of single cells and of their total can be together.

Reads: privacy parameters, the number of cells.  Gives: errors that no mechanism is below, and errors that one has.
Source: eqs. (92) to (98); Abowd et al., Theorems 3 and 4.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.laws import noise_for
from residualplanner.fits.microdata.privacy_notions import PrivacyNotion, notion_of
from residualplanner.ground.checks import entry_named, float_of, is_integer, value_text
from residualplanner.ground.errors import BudgetError, WorkloadError

#: The thresholds k that are tried, in units of the noise, and how many halvings find an error.
_THRESHOLDS = np.geomspace(1e-6, 1e6, 4801)
_HALVINGS = 200

#: The published bounds, or those of this library.
Method = Literal["tight", "published"]
Array = NDArray[np.float64]


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
    bound = _bound_of(notion_of(epsilon, delta, rho), method, cells)
    scale = bound.notion.noise_scale
    found = bound.total(_require_error("cell_error", cell_error), _THRESHOLDS * scale)
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
    bound = _bound_of(notion_of(epsilon, delta, rho), method, cells)
    thresholds = _THRESHOLDS * bound.notion.noise_scale
    total = _require_error("total_error", total_error)
    low, high = 0.0, float(thresholds[-1]) * cells
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_possible = bool((bound.total(middle, thresholds) <= total).all())
        low, high = (low, middle) if is_possible else (middle, high)
    return low


@dataclass(frozen=True, slots=True)
class _Bound:
    """The least total error for a cell error and each threshold k."""

    notion: PrivacyNotion
    cells: int
    formula: Callable[[float, Array, int], Array]

    def total(self, cell_error: float, thresholds: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return self.formula(cell_error, thresholds, self.cells)


def _bound_of(notion: PrivacyNotion, method: object, cells: int) -> _Bound:
    formula = entry_named("method", method, notion.formulas)
    return _Bound(notion, _require_cells(cells, least=2), formula)


def _require_cells(cells: object, *, least: int) -> int:
    if not is_integer(cells, least=least):
        raise WorkloadError(f"cells must be an integer of at least {least}, got {value_text(cells)}")
    return int(cells)


def _require_error(name: str, value: float) -> float:
    if not 0 <= float_of(value) < math.inf:
        raise BudgetError(f"{name} must be at least 0 and finite, got {value_text(value)}")
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


def errors_of_clipping(cells: int, *, epsilon: float | None = None, rho: float | None = None) -> Errors:
    """At most the errors of noisy cells, of which negative ones are set to 0.

    Args:
        cells: how many there are.
        epsilon: of pure differential privacy, by Laplace noise.
        rho: of zero-concentrated differential privacy, by Gaussian noise.

    Raises:
        BudgetError: not one of both is given, or it is out of range.
        WorkloadError: there is no cell.

    Source: eq. (97); Abowd et al., Theorem 4.

    Example:
        >>> errors_of_clipping(100, rho=0.5)
        Errors(cell=1.0, total=100.0)
    """
    scale = math.sqrt(noise_for(1, epsilon=epsilon, rho=rho).variance)
    return Errors(scale, _require_cells(cells, least=1) * scale)


def errors_of_sequential_fit(cells: int, *, epsilon: float | None = None, rho: float | None = None) -> Errors:
    """At most the errors of `sequential_fit` to a noisy total and noisy cells, each with half the budget.

    Arguments and errors are as in `errors_of_clipping`.

    Source: eq. (98); Abowd et al., Theorem 4.

    Example:
        >>> errors = errors_of_sequential_fit(100, epsilon=0.1)
        >>> round(errors.cell**2), round(errors.total**2)
        (54770, 800)
    """
    law = noise_for(2, epsilon=epsilon, rho=rho)
    (one, square), (largest, largest_square) = law.largest_of(1), law.largest_of(_require_cells(cells, least=1))
    return Errors(math.sqrt(4 * largest_square + 4 * largest * one + square), math.sqrt(square))
