"""Least squares on non-negative cells, of which sums are known with error or exactly, and its dual problem.

Reads: centers of cells, sums.  Gives: CellProblem; Dual, as matrices or as maps.

Minimize ``sum_i d_i (x_i - c_i)**2 / 2 + sum_k w_k (q_k x - a_k)**2 / 2`` over ``x >= 0``, where a weight w_k may be
infinite: then ``q_k x = a_k``.  There are as many multipliers as sums, far fewer than cells.
Source: eqs. (81) and (82).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.solvers.sums import Sums
from residualplanner.ground.checks import IntArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """Sums that are near, or equal to, targets.

    Attributes:
        sums: of which cells.
        target (b, k): a, in counts.
        spread (b or 1, k): 1 / w, in counts squared; 0 where the sum is equal to its target.
    """

    sums: Sums
    target: Array
    spread: Array

    def take(self, rows: IntArray) -> "Term":
        """That of some draws."""
        spread = self.spread if len(self.spread) == 1 else self.spread[rows]
        return Term(self.sums.take(rows), self.target[rows], spread)


@dataclass(frozen=True, eq=False, slots=True)
class CellProblem:
    """The problem for several draws of the noise, b.

    Attributes:
        shape (d,): of the cells.
        center (b, n): c, in counts.
        weight (b or 1, n or 1): d > 0, in 1 / counts squared.
        terms: the sums; those that are not the same in all draws come last.
    """

    shape: tuple[int, ...]
    center: Array
    weight: Array
    terms: tuple[Term, ...]

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return int(self.center.shape[1])

    def take(self, rows: IntArray) -> "CellProblem":
        """That of some draws."""
        weight = self.weight if len(self.weight) == 1 else self.weight[rows]
        return CellProblem(self.shape, self.center[rows], weight, tuple(term.take(rows) for term in self.terms))

    @property
    def target(self) -> Array:
        """All targets, (b, k)."""
        draws = len(self.center)
        parts = [np.broadcast_to(term.target, (draws, term.sums.count)) for term in self.terms]
        return np.hstack([np.empty((draws, 0)), *parts])

    @property
    def spread(self) -> Array:
        """1 / w of all sums, (b or 1, k)."""
        draws = max((len(term.spread) for term in self.terms), default=1)
        parts = [np.broadcast_to(term.spread, (draws, term.sums.count)) for term in self.terms]
        return np.hstack([np.empty((draws, 0)), *parts])


class Dual(ABC):
    """The maps of a problem, for some of its draws.

    Attributes:
        center, weight, target, spread: as in `CellProblem`.
    """

    center: Array
    weight: Array
    target: Array
    spread: Array

    @abstractmethod
    def take(self, rows: IntArray) -> "Dual":
        """Those of some draws."""

    @abstractmethod
    def pulled(self, multipliers: Array) -> Array:
        """The transposed map of all sums, (b, n)."""

    @abstractmethod
    def answered(self, cells: Array) -> Array:
        """All sums (b, k) of cells (b, n)."""

    @abstractmethod
    def newton_step(self, part: Array, diagonal: Array, residual: Array) -> Array:
        """The solution of ``(diag(diagonal) + Q diag(part) Q^T) step = residual``, (b, k).

        Args:
            part (b, n): 1 / d of the cells that are positive, else 0.
            diagonal (b, k): at least 0.
            residual (b, k): the right side.
        """

    def cells_of(self, multipliers: Array) -> Array:
        """The best cells for given multipliers (b, k), (b, n).  Source: eq. (81)."""
        cells = self.pulled(multipliers)
        cells /= self.weight
        cells += self.center
        return np.maximum(cells, 0, out=cells)

    def value(self, multipliers: Array, cells: Array) -> Array:
        """What the best multipliers make least, (b,): the value of the dual problem, turned round, up to a constant.

        Source: eq. (82).
        """
        of_cells = np.einsum("bn,bn->b", cells, cells * self.weight)
        of_sums = np.einsum("bk,bk->b", multipliers, multipliers * self.spread - 2 * self.target)
        found: Array = (of_cells + of_sums) / 2
        return found

    def residual(self, multipliers: Array, cells: Array) -> Array:
        """The gradient of `value`, (b, k): by how much the sums are off, in counts.  Source: eq. (82)."""
        return self.answered(cells) + multipliers * self.spread - self.target
