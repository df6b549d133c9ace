"""The accelerated ascent once most cells are surely 0: it follows the margins of tables, and the other cells.

Reads: margins, unbiased cells.  Gives: multipliers.
Source: spec eqs. (53) and (99), and what follows these in section 11.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from residualplanner.postprocessing.many_cells.blocks import Array, Block, Margins, Single
from residualplanner.postprocessing.potentials import cell_columns
from residualplanner.postprocessing.problem import Problem

#: After how many steps all cells are looked at again; how often it is looked at whether steps point downhill.
_STEPS, _OFTEN = 10, 3
#: Cells are followed that become positive where margins move so many times as far as they did between two looks.
_FARTHER, _SLOWER = 2.0, 0.5
#: They move at least so far, in roots of freedoms: what rounding may do.
_LEAST = 1e-7


@dataclass(frozen=True, eq=False, slots=True)
class Momentum:
    """Where an accelerated ascent is.

    Attributes:
        ahead (p,): by how much the multipliers of the point ahead raise the cells.
        here (p,): by how much the multipliers themselves do.
        number: t of spec eq. (53).
    """

    ahead: Array
    here: Array
    number: float


@dataclass(frozen=True, eq=False, slots=True)
class _Followed:
    """Cells that may be positive.

    Attributes:
        unbiased (f,): their estimates.
        over_freedom (f,): 1 over the freedoms of their tables.
        margins (f, p): a row for each: 1 for each margin that it is part of.
    """

    unbiased: Array
    over_freedom: Array
    margins: sparse.csr_matrix

    def cut(self, raised_by: Array) -> Array:
        """What is positive of them, raised by numbers for margins (p,)."""
        found: Array = self.margins @ raised_by
        found += self.unbiased
        return np.maximum(found, 0, out=found)


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """Multipliers: what is cut at 0 of cells, of which the followed ones alone may be positive.

    Attributes:
        raised_by (p,): the cells are the unbiased ones, raised by these numbers for margins.
        positive (f,): what of the followed cells is not cut.
        sums (p,): the margins of that.
        momentum: how far the point ahead was beyond the one before, in changes.
    """

    raised_by: Array
    positive: Array
    sums: Array
    momentum: float


class FollowedAscent:
    """Accelerated ascent in the dual problem; multipliers are known by what margins raise the cells by.

    Args:
        problem: to solve.
        margins: of the tables.
        unbiased (y,): their cells.
        momentum: where to start.
    """

    def __init__(self, problem: Problem, margins: Margins, unbiased: Single, momentum: Momentum) -> None:
        self._problem, self._margins, self._unbiased, self._momentum = problem, margins, unbiased, momentum
        means = margins.sums(unbiased)
        means /= margins.lengths
        self._means = margins.centered(means)
        self._points: list[_Point] = []
        self._reach = _FARTHER * _STEPS * np.abs(momentum.ahead - momentum.here)
        self._step, self._last, self._start = 0.0, momentum.ahead, momentum.ahead

    def advance(self, steps: int) -> None:
        """Take some steps.  The momentum is dropped where it points downhill.  Source: spec eq. (53)."""
        for first in range(0, steps, _STEPS):
            followed = self._follow()
            for number in range(first, min(first + _STEPS, steps)):
                self._advance(followed, is_tested=number % _OFTEN == 0)

    def multipliers(self) -> Array:
        """Of all cells, (y,)."""
        unbiased = self._problem.cells(self._problem.start, np.empty(self._problem.tables.size))
        for block in self._margins.blocks:
            cells = block.raised(unbiased, self._last)
            np.negative(cells, out=cells)
            np.maximum(cells, 0, out=cells)
            cells /= block.freedom
            block.of(unbiased)[...] = cells
        return unbiased

    def _advance(self, followed: _Followed, *, is_tested: bool) -> None:
        margins, ahead = self._margins, self._momentum.ahead
        positive = followed.cut(ahead)
        point = _Point(ahead, positive, followed.margins.T @ positive, self._step)
        number = 1.0 if is_tested and self._is_downhill(followed, point) else self._momentum.number
        means = point.sums / margins.lengths
        margins.centered(means)
        means -= self._means
        means -= ahead
        here = margins.raised_by(means)
        grown = (1 + math.sqrt(1 + 4 * number**2)) / 2
        self._step = (number - 1) / grown
        following = self._momentum.here
        following *= -self._step
        following += (1 + self._step) * here
        self._momentum, self._last = Momentum(following, here, grown), ahead
        self._points = [*self._points[-1:], point]

    def _is_downhill(self, followed: _Followed, point: _Point) -> bool:
        """Whether the step to a point goes against the gradient: from cells that are followed, and margins."""
        if len(self._points) < 2:
            return False
        before, last = self._points
        positive, sums = point.positive - last.positive, point.sums - last.sums
        raised = point.raised_by - last.raised_by
        back_positive = point.momentum * (last.positive - before.positive) - positive
        back_sums = point.momentum * (last.sums - before.sums) - sums
        back_raised = point.momentum * (last.raised_by - before.raised_by) - raised
        back_sums -= back_raised * self._margins.lengths
        back_sums *= self._margins.over_freedom
        back_raised *= self._margins.over_freedom
        own = float((back_positive * followed.over_freedom) @ positive)
        return own - float(back_sums @ raised) - float(back_raised @ sums) > 0

    def _follow(self) -> _Followed:
        """The cells to follow from now on: those that are positive where margins move as far as they may."""
        ahead, margins = self._momentum.ahead, self._margins
        if self._points:
            moved = np.abs(ahead - self._start)
            moved *= _FARTHER
            self._reach *= _SLOWER
            np.maximum(self._reach, moved, out=self._reach)
        self._reach += _LEAST / np.sqrt(margins.over_freedom)
        self._start = ahead.copy()
        found = _followed(margins.blocks, self._unbiased, (ahead + self._reach).astype(np.float32), len(ahead))
        again = []
        for point in self._points:
            positive = found.cut(point.raised_by)
            again.append(replace(point, positive=positive, sums=found.margins.T @ positive))
        self._points = again
        return found


def _followed(blocks: tuple[Block, ...], unbiased: Single, raised_by: Single, size: int) -> _Followed:
    """The cells that are positive where margins raise them so far."""
    cells, freedoms, columns, orders = [], [], [], []
    for block in blocks:
        raised = block.raised(unbiased, raised_by).ravel()
        numbers = np.flatnonzero(raised > 0)
        cells.append(block.of(unbiased).ravel()[numbers])
        freedoms.append(block.freedom.ravel()[numbers // (raised.size // len(block.freedom))])
        starts = tuple(margin.start for margin in block.margins)
        columns.append(cell_columns(block.shape, starts, numbers).ravel().astype(np.int32))
        orders.append(np.full(len(numbers), len(starts)))
    entries = np.concatenate(columns)
    rows = np.concatenate([[0], np.cumsum(np.concatenate(orders))]).astype(np.int32)
    matrix = sparse.csr_matrix((np.ones(len(entries)), entries, rows), shape=(len(rows) - 1, size))
    return _Followed(np.concatenate(cells).astype(np.float64), 1 / np.concatenate(freedoms), matrix)
