"""Newton's method for the dual problem: the cells that should be 0 are made so, all at once.

Source: eqs. (50), (55) and (56); Hintermueller, Ito and Kunisch, SIAM J. Optim. 13 (2002).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.fits.optimizers import conjugate_gradients

#: Cells this close to 0, relative to the total, are 0: what is left of rounding.
ROUNDING = 1e-11
#: Up to this many cells the system of equations is written down and solved; singular values below this are 0.
_FEW_CELLS, _SINGULAR = 1_000, 1e-13
#: At most so many steps of Newton's method follow one another, and parts of a step that are tried.
_ROUNDS, _PARTS = 20, 0.5 ** np.arange(8)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class DualPoint:
    """Multipliers, and what follows from them."""

    multipliers: Array  # (y,): of all cells
    components: Array  # (c,): the best for these multipliers
    distance: float  # their objective
    bound: float  # the value of the dual problem: no tables that keep to everything are nearer
    cells: Array  # (y,): of all largest tables
    violation: float  # by how much the worst cell is off, in counts

    @property
    def gap(self) -> float:
        """How far the objective is from the bound, as a fraction."""
        return abs(self.distance - self.bound) / (1 + max(self.bound, 0.0))

    def is_exact(self, problem: DualProblem) -> bool:
        """Whether no cell is off by more than rounding."""
        return self.violation <= ROUNDING * max(problem.total, 1.0)


def candidate(problem: DualProblem, multipliers: Array) -> DualPoint:
    """The candidate of some multipliers.  Source: eqs. (50) and (55)."""
    components = problem.components(multipliers)
    cells = problem.cells(components, np.empty_like(multipliers))
    distance = problem.distance(components)
    bound = distance - float(np.vdot(multipliers, cells))
    return DualPoint(multipliers, components, distance, bound, cells, violation_of(problem, cells))


def violation_of(problem: DualProblem, cells: Array) -> float:
    """By how much the worst cell is off, in counts."""
    return max(-float(cells.min()), float(np.abs(cells[problem.lowest < 0]).max(initial=-np.inf)))


def newton(problem: DualProblem, found: DualPoint, gradients: int) -> DualPoint:
    """Steps of Newton's method, each halved until it raises the bound, as long as there are such."""
    for _ in range(_ROUNDS):
        goal = polished(problem, found, gradients)
        parts = (found.multipliers + part * (goal - found.multipliers) for part in _PARTS)
        better = (each for each in (candidate(problem, part) for part in parts) if each.bound > found.bound)
        following = next(better, None)
        if following is None:
            break
        found = following
        if found.is_exact(problem):
            break
    return found


def polished(problem: DualProblem, found: DualPoint, gradients: int) -> Array:
    """Multipliers for which the cells that a step of the ascent leaves a multiplier are 0; then none below the least.

    Source: eq. (56).
    """
    active = (found.multipliers - problem.steps * found.cells > 0) | (problem.lowest < 0)
    sought = np.where(active, found.multipliers, 0.0)
    cells = problem.cells(problem.components(sought), np.empty_like(sought))
    residual = np.where(active, -cells, 0.0)
    if len(sought) <= _FEW_CELLS:
        change = _by_factors(problem, active, residual)
    else:
        change = _by_gradients(problem, active, residual, gradients)
    return np.maximum(sought + change, problem.lowest)


def _by_factors(problem: DualProblem, active: NDArray[np.bool_], residual: Array) -> Array:
    """The least change of multipliers that moves the active cells by ``residual``, from singular values."""
    numbers, roots = np.flatnonzero(active), np.sqrt(problem.steps[active])
    matrix = np.empty((len(numbers), len(numbers)))
    for row, unit in enumerate(units(numbers, len(active))):
        matrix[row] = problem.curvature(unit, np.empty(len(active)))[active] * roots * roots[row]
    change = np.zeros(len(active))
    change[active] = roots * np.linalg.lstsq(matrix, roots * residual[active], rcond=_SINGULAR)[0]
    return change


def units(numbers: NDArray[np.int64], size: int) -> Iterator[Array]:
    """The unit vectors of these numbers, one after the other."""
    for number in numbers.tolist():
        unit = np.zeros(size)
        unit[number] = 1.0
        yield unit


def _by_gradients(problem: DualProblem, active: NDArray[np.bool_], residual: Array, most: int) -> Array:
    """The same by at most so many steps of conjugate gradients, scaled by the steps."""
    goal, image = 0.1 * ROUNDING * problem.total, np.empty_like(residual)

    def curvature(direction: Array) -> Array:
        problem.curvature(direction, image)
        return np.multiply(image, active, out=image)

    def is_enough(left: Array, _: float) -> bool:
        return bool(np.abs(left).max(initial=0.0) <= goal)

    return conjugate_gradients(curvature, residual, problem.steps, most=most, is_enough=is_enough)
