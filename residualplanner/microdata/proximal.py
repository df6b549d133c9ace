"""Fits where single cells were not measured: a sequence of problems in which each cell is held a little.

Reads: terms about sums of cells.  Gives: Solution.
Source: spec eq. (66); Rockafellar, SIAM J. Control Optim. 14 (1976).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from residualplanner.microdata.dual import CellProblem, Term
from residualplanner.microdata.newton import Solution, solve

#: How much cells are held at first, beside the sums, and each time; how often at most; the gap to reach.
_FIRST, _LESS, _TIMES, _GAP = 1e-2, 0.1, 12, 1e-9

Array = NDArray[np.float64]


def solve_without_cells(shape: tuple[int, ...], terms: Sequence[Term]) -> Solution:
    """The cells whose sums are best: of all solutions one that is near 0.

    Args:
        shape (d,): of the cells.
        terms: sums, one group of which has every cell.

    Source: spec eq. (66).
    """
    draws, count = max(len(term.target) for term in terms), int(np.prod(shape))
    spreads = np.concatenate([term.spread.ravel() for term in terms])
    weight = _FIRST / np.median(spreads[spreads > 0]) if (spreads > 0).any() else 1.0
    center, multipliers = np.zeros((draws, count)), None
    for _ in range(_TIMES):
        problem = CellProblem(shape, center, np.full((1, 1), weight), tuple(terms))
        found = solve(problem, multipliers)
        objective = found.objective - weight * ((found.cells - center) ** 2).sum(axis=1) / 2
        drift = weight * np.abs(found.cells - center).max(axis=1)
        most = found.cells.sum(axis=1) + _most_in_total(terms, objective)
        gap = found.gap * (1 + found.objective) / (1 + objective) + drift * most / (1 + objective)
        if (gap <= _GAP).all() or not (spreads > 0).any():
            break
        center, multipliers, weight = found.cells, found.multipliers, weight * _LESS
    is_free = bool((spreads > 0).any())
    return replace(found, objective=objective, gap=gap if is_free else found.gap)


def _most_in_total(terms: Sequence[Term], objective: Array) -> Array:
    """No better cells have a larger total than this, (b,).  Source: spec eq. (66)."""
    found = np.full(len(objective), np.inf)
    for term in terms:
        if term.sums.covers:
            room = np.sqrt(2 * np.maximum(objective, 0) * term.spread.sum(axis=1))
            found = np.minimum(found, term.target.sum(axis=1) + room)
    most: Array = np.maximum(found, 0.0)
    return most
