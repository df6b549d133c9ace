"""The dual problem of few cells by an interior point method, for noise of very different sizes.

Where some sums of cells have noise a thousand times that of others, as bins have where means are asked for, first-order
ascent hardly moves.  Steps of an interior point method do not depend on sizes, but need the matrix of all cells.

Reads: a problem.  Gives: Candidate.
Source: spec eqs. (50), (51) and (55); Mehrotra, SIAM J. Optim. 2 (1992).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from residualplanner.postprocessing.newton import Array, Candidate, candidate, units, violation_of
from residualplanner.postprocessing.problem import Problem

#: Up to this many cells the matrix is made and factored: at 4,000, in half a minute, and some 600 MB.
MOST_CELLS = 4_000
#: At most so many steps, until the mean product of cell and multiplier is below this, in units of the largest cell.
_STEPS, _CLOSE = 60, 1e-16
#: How much of the way to the boundary a step goes; below the shortest it gets nowhere.
_PART, _SHORTEST = 0.995, 1e-10
#: At most so often are cells corrected that should be 0.
_CORRECTIONS = 5
#: What is added to the diagonal of a singular matrix: the first that suffices.
_RIDGES = 1e-14 * 100.0 ** np.arange(6)


@dataclass(eq=False, slots=True)
class _Interior:
    """A point with positive multipliers and cells, and the system that both must solve: ``matrix y + start = cells``.

    Attributes:
        matrix (y, y): of a diagonal of ones.
        start (y,): the cells of the noisy components.
        is_sign (y,): which cells must not be negative; the others must be 0.
        multipliers (y,): of all cells.
        cells (y,): what they are to become, 0 where they must be.
    """

    matrix: Array
    start: Array
    is_sign: NDArray[np.bool_]
    multipliers: Array
    cells: Array

    @property
    def product(self) -> float:
        """The mean product of multiplier and cell, which is 0 in the solution."""
        return float(self.multipliers @ self.cells) / max(int(self.is_sign.sum()), 1)

    def advance(self) -> float:
        """Take a step of Mehrotra's method, and return how long it was, from 0 to 1."""
        ratio = self._per_multiplier(self.cells)
        factor = _factored(self.matrix + np.diag(ratio))
        off = self.matrix @ self.multipliers + self.start - self.cells

        def change(goal: Array | float) -> tuple[Array, Array]:
            wanted = self._per_multiplier(goal - self.multipliers * self.cells)
            right = wanted - off
            moved = cho_solve(factor, right)
            moved += cho_solve(factor, right - (self.matrix @ moved + ratio * moved))
            return moved, wanted - ratio * moved

        direction, slack = change(0.0)
        length = self._longest(direction, slack)
        product = self.product
        after = float((self.multipliers + length * direction) @ (self.cells + length * slack))
        centering = (after / max(int(self.is_sign.sum()), 1) / product) ** 3
        direction, slack = change(centering * product - direction * slack)
        length = min(1.0, _PART * self._longest(direction, slack))
        self.multipliers = self.multipliers + length * direction
        self.cells = self.cells + length * slack
        return length

    def _per_multiplier(self, values: Array) -> Array:
        return np.divide(values, self.multipliers, out=np.zeros(len(values)), where=self.is_sign)

    def _longest(self, direction: Array, slack: Array) -> float:
        """How far one can go, at most 1, until a multiplier or a cell is 0."""
        longest = 1.0
        for values, change in ((self.multipliers, direction), (self.cells, slack)):
            falls = self.is_sign & (change < 0)
            longest = min(longest, float((-values[falls] / change[falls]).min(initial=1.0)))
        return longest


def interior(problem: Problem) -> Candidate:
    """A candidate with multipliers near the best ones.

    Args:
        problem: of at most `MOST_CELLS` cells.

    Cost: two or three dozen factorizations of a matrix with a row for each cell.
    """
    size = problem.tables.size
    lowest = np.broadcast_to(problem.lowest, size)
    start = problem.cells(problem.start, np.empty(size))
    matrix = np.array([problem.curvature(unit, np.empty(size)) for unit in units(np.arange(size), size)])
    roots = np.sqrt(matrix.diagonal())
    roots[~(roots > 0)] = 1.0
    largest = float(np.abs(start / roots).max(initial=0.0)) or 1.0
    is_sign = lowest >= 0
    ones = is_sign.astype(float)
    matrix /= roots
    matrix /= roots[:, None]
    point = _Interior(matrix, start / roots / largest, is_sign, ones, ones.copy())
    for _ in range(_STEPS):
        if point.product <= _CLOSE or point.advance() < _SHORTEST:
            break
    found = candidate(problem, np.maximum(point.multipliers * largest / roots, lowest))
    is_zero = ~is_sign | (point.multipliers > point.cells)
    if not is_zero.any():
        return found
    return _corrected(problem, found, matrix[np.ix_(is_zero, is_zero)], roots, is_zero)


def _corrected(
    problem: Problem, found: Candidate, matrix: Array, roots: Array, is_zero: NDArray[np.bool_]
) -> Candidate:
    """A candidate moved by the least that makes the cells 0 that should be; what rounding left in them, that is.

    Multipliers cannot say it: in cells whose noise is large they cancel.
    """
    factor, change = _factored(matrix), np.zeros(len(roots))
    for _ in range(_CORRECTIONS):
        change[is_zero] = cho_solve(factor, -found.cells[is_zero] / roots[is_zero]) / roots[is_zero]
        components = found.components + (problem.components(change) - problem.start)
        following = _with_components(problem, found, components)
        if not following.violation < found.violation:
            break
        found = following
    return found


def _with_components(problem: Problem, found: Candidate, components: Array) -> Candidate:
    cells = problem.cells(components, np.empty_like(found.cells))
    violation = violation_of(problem, cells)
    return replace(
        found, components=components, distance=problem.distance(components), cells=cells, violation=violation
    )


def _factored(matrix: Array) -> tuple[Array, bool]:
    """The Cholesky factor of a matrix that has no negative eigenvalue but for rounding."""
    diagonal = matrix.diagonal().copy()
    for ridge in _RIDGES[:-1]:
        np.fill_diagonal(matrix, diagonal + ridge)
        try:
            factor: tuple[Array, bool] = cho_factor(matrix)
        except LinAlgError:
            continue
        return factor
    np.fill_diagonal(matrix, diagonal + _RIDGES[-1])
    last: tuple[Array, bool] = cho_factor(matrix)
    return last
