"""Fits where single cells were not measured: a sequence of problems in which each cell is held a little.

Reads: terms about sums of cells.  Gives: Solution.
Source: eq. (88); Rockafellar, SIAM J. Control Optim. 14 (1976).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.solvers.dual import CellProblem, Term
from residualplanner.fits.microdata.solvers.newton import Solution, solve

#: How much cells are held at first, beside the sums, and each time; how often at most; the gap to reach.
_FIRST, _LESS, _TIMES, _GAP = 1e-2, 0.1, 12, 1e-9

Array = NDArray[np.float64]


def solve_without_cells(shape: tuple[int, ...], terms: Sequence[Term]) -> Solution:
    """The cells whose sums are best: of all solutions one that is near 0.

    Args:
        shape (d,): of the cells.
        terms: sums, one group of which has every cell.

    Source: eq. (88).
    """
    draws, count = max(len(term.target) for term in terms), math.prod(shape)
    spreads = np.concatenate([term.spread.ravel() for term in terms])
    center, one = np.zeros((draws, count)), np.ones((1, 1))
    if not (spreads > 0).any():
        return solve(CellProblem(shape, center, one, tuple(terms)))
    weight = _FIRST / float(np.median(spreads[spreads > 0]))
    best, multipliers = _Best.of_none(draws, count), None
    for _ in range(_TIMES):
        found = solve(CellProblem(shape, center, weight * one, tuple(terms)), multipliers)
        is_better = best.improve(_without_center(found, center, weight, terms))
        if not is_better or (best.gap <= _GAP).all():
            break
        center, multipliers, weight = found.cells, found.multipliers, weight * _LESS
    return Solution(best.cells, found.multipliers, best.objective, best.gap, best.violation)


def _without_center(found: Solution, center: Array, weight: float, terms: Sequence[Term]) -> Solution:
    """The solution as one of the problem in which cells are not held, with its gap.  Source: eq. (88)."""
    moved = found.cells - center
    objective = found.objective - weight * (moved**2).sum(axis=1) / 2
    most = found.cells.sum(axis=1) + _most_in_total(terms, objective)
    above = found.gap * (1 + found.objective) + weight * np.abs(moved).max(axis=1) * most
    return replace(found, objective=objective, gap=above / (1 + objective))


@dataclass(frozen=True, eq=False, slots=True)
class _Best:
    """The solution of each draw whose objective is proved to be nearest to the least one so far."""

    cells: Array
    objective: Array
    gap: Array
    violation: Array

    @staticmethod
    def of_none(draws: int, count: int) -> "_Best":
        """Before there is a solution."""
        return _Best(np.zeros((draws, count)), np.zeros(draws), np.full(draws, np.inf), np.zeros(draws))

    def improve(self, found: Solution) -> bool:
        """Take the draws that are nearer, in place; whether there are any."""
        rows = found.gap * (1 + found.objective) < self.gap * (1 + self.objective)
        for name in ("cells", "objective", "gap", "violation"):
            getattr(self, name)[rows] = getattr(found, name)[rows]
        return bool(rows.any())


def _most_in_total(terms: Sequence[Term], objective: Array) -> Array:
    """No better cells have a larger total than this, (b,).  Source: eq. (88)."""
    found = np.full(len(objective), np.inf)
    for term in terms:
        if term.sums.covers:
            room = np.sqrt(2 * np.maximum(objective, 0) * term.spread.sum(axis=1))
            found = np.minimum(found, term.target.sum(axis=1) + room)
    most: Array = np.maximum(found, 0.0)
    return most
