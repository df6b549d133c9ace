"""The nearest non-negative tables where there are very many cells: in single precision, each step from their margins.

Source: eqs. (50), (53), (55) and (99).
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from residualplanner.fits.nonnegative.ascent import Report, Solution, mixed
from residualplanner.fits.nonnegative.many_cells.blocks import Array, Margins, Single, TableBlock, center
from residualplanner.fits.nonnegative.many_cells.covering import covering, largest_shortage
from residualplanner.fits.nonnegative.many_cells.potential_ascent import PotentialAscent
from residualplanner.fits.nonnegative.newton import DualPoint, candidate
from residualplanner.fits.nonnegative.potentials import Facets, facets_of
from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.ground.errors import SolverError

#: From how many cells on this is faster than Newton's method for potentials.
_MANY_CELLS = 2_000_000
#: How many steps are made before the cells that are surely 0 are left alone.
_FIRST = 50
#: How often it is looked at how much tables are short of, in steps; and how often progress is told.
_EVERY, _TOLD = 100, 25
#: How often it is looked at whether tables are near enough, where they need not be covered.
_OFTEN = 50
#: Tables are first made non-negative where the worst is short of so much of the total: at most, and by the gap, to
#: a power that Adult's tables of three attributes showed.
_SHORT, _BY_GAP, _POWER = 1e-2, 0.1, 2 / 3
#: Where the worst table is short of more than so much of what it was 400 steps before, single precision is exhausted.
_STALLED, _LOOK_BACK = 0.7, 4


class MarginAscent:
    """Accelerated ascent in the dual problem, from multipliers of 0, in counts: times the freedom of their table."""

    def __init__(self, problem: DualProblem, facets: Facets) -> None:
        self._problem, self._margins = problem, Margins.of(problem, facets)
        self._blocks = self._margins.blocks
        self._unbiased = problem.cells(problem.start, np.empty(problem.tables.size)).astype(np.float32)
        self._multipliers, self._ahead = np.zeros_like(self._unbiased), np.zeros_like(self._unbiased)
        self._means, self._momentum = np.zeros(len(facets.cell)), 1.0

    def advance(self, steps: int) -> None:
        """Take some steps.  The momentum is dropped where it points downhill.  Source: eqs. (53) and (99)."""
        for _ in range(steps):
            moved = self._raised_by().astype(np.float32)
            downhill = sum(self._step(block, moved) for block in self._blocks)
            self._momentum = 1.0 if downhill > 0 else self._momentum
            grown = (1 + math.sqrt(1 + 4 * self._momentum**2)) / 2
            for block in self._blocks:
                self._look_ahead(block, (self._momentum - 1) / grown)
            self._momentum = grown

    def multipliers(self) -> Array:
        """Of all cells, (y,)."""
        found = self._multipliers.astype(np.float64)
        for block in self._blocks:
            view = found[block.cells].reshape(block.shape)
            view /= block.freedom
        return found

    def followed(self) -> PotentialAscent:
        """The ascent that goes on from here, and follows few of the cells.  This one ends."""
        ahead = self._raised_by()
        for block in self._blocks:
            block.of(self._ahead)[...] = 0
            self._look_ahead(block, 0.0)
        reach = np.abs(ahead - self._raised_by())
        return PotentialAscent(self._problem, self._margins, self._unbiased, ahead, reach)

    def _raised_by(self) -> Array:
        """By how much multipliers raise the cells beyond themselves: a number for each cell of a margin, (p,)."""
        return self._margins.raised_by(self._means)

    def _step(self, block: TableBlock, moved: Single) -> float:
        """Step from the point ahead, which is overwritten by the change; how far that is downhill."""
        multipliers, ahead = block.of(self._multipliers), block.of(self._ahead)
        following = block.raised(self._unbiased, moved)
        np.negative(following, out=following)
        np.maximum(following, 0, out=following)
        ahead -= following
        np.subtract(following, multipliers, out=multipliers)
        downhill = np.einsum("bi,bi->b", ahead.reshape(len(ahead), -1), multipliers.reshape(len(ahead), -1))
        ahead[...] = multipliers
        multipliers[...] = following
        return float((downhill / block.freedom.ravel()).sum())

    def _look_ahead(self, block: TableBlock, momentum: float) -> None:
        """The point ahead, from the change, and its means along each axis."""
        ahead = block.of(self._ahead)
        ahead *= np.float32(momentum)
        ahead += block.of(self._multipliers)
        for axis, size in enumerate(block.shape[1:]):
            view = block.margin(self._means, axis)
            np.divide(np.add.reduce(ahead, axis=axis + 1), size, out=view)
            center(view, axis)


def facets_of_many(problem: DualProblem) -> Facets | None:
    """The facets of a problem that has very many cells; None of others, and where it has no facets."""
    return facets_of(problem) if problem.tables.size >= _MANY_CELLS else None


def solve_many(
    problem: DualProblem, facets: Facets, *, gap: float, steps: int, report: Report | None = None
) -> Solution:
    """The nearest tables that are non-negative, nearly: of very many cells, in single precision.

    What tables are short of is looked at now and then, and covered by records where that may do.  The gap is computed
    in double precision; where a step limit was met, or single precision was exhausted, it may be larger than asked for.
    """
    ascent, steps_done, best = _followed(problem, facets, steps, report), min(_FIRST, steps), None
    enough = min(_SHORT, _BY_GAP * gap**_POWER) * problem.total
    shortages: list[float] = []
    while True:
        found = replace(candidate(problem, ascent.multipliers()), multipliers=np.empty(0))  # no longer needed
        shortages.append(largest_shortage(problem, found.cells))
        is_last = steps_done >= steps or _has_stalled(shortages)
        if is_last or shortages[-1] <= enough:
            made = mixed(problem, found, covering(problem, found.cells), steps_done)
            best = made if best is None or made.gap < best.gap else best
            enough = shortages[-1] * gap / max(made.gap, gap)
        if best is not None and (is_last or best.gap <= gap):
            return best
        for count in _parts(_EVERY, steps - steps_done):
            ascent.advance(count)
            steps_done += count
            if report is not None:
                report(steps_done, math.inf if best is None else best.gap)


def nearly(problem: DualProblem, facets: Facets, *, gap: float, below: float, steps: int) -> DualPoint:
    """Components whose tables are nearly the nearest ones, and have no cell below 0 by more than ``below`` counts."""
    ascent = _followed(problem, facets, _FIRST)
    for _ in range(_FIRST, steps, _OFTEN):
        found = candidate(problem, ascent.multipliers())
        if found.gap <= gap and found.violation <= below:
            return found
        ascent.advance(_OFTEN)
    raise SolverError(f"no tables were found for a simulation in {steps:,} steps", status="step limit")


def _followed(problem: DualProblem, facets: Facets, steps: int, report: Report | None = None) -> PotentialAscent:
    """The ascent that follows few cells, after `_FIRST` steps of the one that follows all, or fewer where told so."""
    ascent, steps_done = MarginAscent(problem, facets), 0
    for count in _parts(_FIRST, steps):
        ascent.advance(count)
        steps_done += count
        if report is not None:
            report(steps_done, math.inf)
    return ascent.followed()


def _parts(steps: int, most: int) -> Iterator[int]:
    """So many steps, but no more than the most, in parts after which progress is told."""
    count = min(steps, most)
    for done in range(0, count, _TOLD):
        yield min(_TOLD, count - done)


def _has_stalled(shortages: list[float]) -> bool:
    return len(shortages) > _LOOK_BACK and shortages[-1] > _STALLED * shortages[-1 - _LOOK_BACK]
