"""The dual problem solved: an accelerated ascent finds the cells that are 0, Newton's method makes them exactly 0.

Source: eqs. (50) to (56); Nesterov, Soviet Math. Dokl. 27 (1983); O'Donoghue and Candes, Found. Comput. Math. 15
(2015).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from residualplanner.fits.nonnegative.newton import MOST_CELLS, ROUNDING, DualPoint, candidate, interior, newton
from residualplanner.fits.nonnegative.potentials import first_multipliers
from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import FloatArray, frozen

#: How often the gap is computed, in steps.
_EVERY = 50
#: After so many steps the gap should be a tenth of what it was; else Newton's method is tried.
_PATIENCE = 200
#: Where Newton's method does not end at a gap that is this much smaller than asked for, tables are mixed.
_SHARPER = 10
#: How many steps conjugate gradients may take, where the ascent took no fewer.
_GRADIENTS = 400

#: Called with the number of steps so far, and the gap that is proved.
Report = Callable[[int, float], None]


@dataclass(frozen=True, eq=False, slots=True)
class Solution:
    """Components whose tables are non-negative, and what is proved of them."""

    components: FloatArray  # (c,): of the plan's own bases
    gap: float  # the objective is proved to be at most this fraction (of itself plus 1) above the least one
    violation: float  # by how much the most negative cell, or one that must be 0, is off, in counts
    steps: int  # how many steps the ascent took after its start, which may already be the end


class Ascent:
    """Accelerated ascent in the dual problem, from some multipliers (y,)."""

    def __init__(self, problem: DualProblem, multipliers: Array) -> None:
        self.problem, self.multipliers = problem, multipliers
        self._ahead, self._momentum = multipliers.copy(), 1.0
        self._cells, self._next = np.empty_like(multipliers), np.empty_like(multipliers)

    def advance(self, steps: int) -> None:
        """Take some steps.  The momentum is dropped where it points downhill.  Source: eqs. (53) and (54)."""
        problem, ahead, cells = self.problem, self._ahead, self._cells
        for _ in range(steps):
            problem.cells(problem.components(ahead), cells)
            following = self._next
            np.multiply(cells, problem.steps, out=following)
            np.subtract(ahead, following, out=following)
            np.maximum(following, problem.lowest, out=following)
            np.subtract(following, self.multipliers, out=ahead)
            before = 1.0 if float(np.vdot(cells, ahead)) > 0 else self._momentum
            self._momentum = (1 + math.sqrt(1 + 4 * before**2)) / 2
            ahead *= (before - 1) / self._momentum
            ahead += following
            self._next, self.multipliers = self.multipliers, following


def solve(
    problem: DualProblem, center: tuple[Array, Array] | None, *, gap: float, steps: int, report: Report | None = None
) -> Solution:
    """The nearest tables that are non-negative, within ``gap`` or in so many steps, those of the start counted in.

    ``center`` has components whose tables keep to all facts and have no cell that is 0, and their cells; None where no
    such are known.  Where a step limit was met, or there is no center, the solution may have a larger gap, or a
    violation.
    """
    begun = 0

    def tell(steps_done: int, closeness: float) -> None:
        nonlocal begun
        begun = steps_done
        if report is not None:
            report(steps_done, closeness)

    kept: list[Solution] = []
    first = first_multipliers(problem, ROUNDING * problem.total, steps=steps, report=tell)
    ascent, steps_done, near, slow = Ascent(problem, first), 0, gap, math.inf
    has_few_cells = problem.tables.size <= MOST_CELLS
    while True:
        found = candidate(problem, ascent.multipliers)
        best = min([mixed(problem, found, center, steps_done), *kept], key=lambda each: max(each.gap, each.violation))
        closeness = max(best.gap, best.violation / max(problem.total, 1.0))
        if report is not None:
            report(begun + steps_done, closeness)
        is_slow = steps_done % _PATIENCE == 0 and closeness > slow / 10
        # Newton's method is exact once the cells that are 0 are the right ones: it is tried where the ascent is as near
        # as asked for, and then each time that it is ten times nearer; or where the ascent hardly moves.
        if closeness <= near or is_slow:
            sharp = newton(problem, found, min(_GRADIENTS, _EVERY + steps_done))
            if is_slow and has_few_cells and not sharp.is_exact(problem):
                sharp, has_few_cells = interior(problem), False  # once is enough
                kept = [mixed(problem, sharp, None, steps_done)] * sharp.is_exact(problem)
            if sharp.is_exact(problem) and sharp.gap <= gap:
                return mixed(problem, sharp, None, steps_done)
            ascent = Ascent(problem, sharp.multipliers)
            near = min(near, closeness) / 10
        if begun + steps_done >= steps or (near < gap / _SHARPER and best.gap <= gap and best.violation == 0):
            return best
        slow = closeness if steps_done % _PATIENCE == 0 else slow
        ascent.advance(_EVERY)
        steps_done += _EVERY


def mixed(problem: DualProblem, found: DualPoint, center: tuple[Array, Array] | None, steps_done: int) -> Solution:
    """A candidate, moved towards the center, if there is one, until no cell is negative.  Source: eq. (55)."""
    if center is None:
        return Solution(frozen(found.components), found.gap, max(found.violation, 0.0), steps_done)
    components, cells = center
    short = found.cells < 0
    below = -found.cells[short]
    part = float((below / (below + cells[short])).max(initial=0.0))  # of the way, at which the worst cell is 0
    mixed = found.components + part * (components - found.components)
    above = max(problem.distance(mixed) - found.bound, 0.0)
    return Solution(frozen(mixed), above / (1 + max(found.bound, 0.0)), 0.0, steps_done)
