"""The dual problem solved, where there are few cells and where there are very many.

Of few, an accelerated ascent finds the cells that are 0, and Newton's method makes them exactly 0.  Of very many, an
ascent in the potentials of margins, in single precision, follows the few cells that may be positive.
Source: eqs. (50) to (56), (63) and (65), and what follows these on the page; Nesterov, Soviet Math. Dokl. 27 (1983);
O'Donoghue and Candes, Found. Comput. Math. 15 (2015); the formula of Broyden, Fletcher, Goldfarb and Shanno as in
Nocedal, Math. Comp. 35 (1980).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from residualplanner.fits.nonnegative import potentials as agreement
from residualplanner.fits.nonnegative.newton import MOST_CELLS, DualPoint, candidate, interior, newton
from residualplanner.fits.nonnegative.problem import DualProblem, covering, largest_shortage
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
#: From how many cells on this is faster than Newton's method for potentials.
_MANY_CELLS = 2_000_000
#: How often it is looked at how much tables are short of, in steps; and how often progress is told.
_EVERY_OF_MANY, _TOLD = 100, 25
#: Tables are first made non-negative where the worst is short of so much of the total: at most, and by the gap, to
#: a power that Adult's tables of three attributes showed.
_SHORT, _BY_GAP, _POWER = 1e-2, 0.1, 2 / 3
#: Where the worst table is short of more than so much of what it was 400 steps before, single precision is exhausted.
_STALLED, _LOOK_BACK = 0.7, 4
#: How many steps are kept, and how often one is halved.
_KEPT, _HALVINGS = 5, 12
#: A step is kept whose change of the gradient is not lost in rounding, as a part of the product of both lengths.
_LEAST_CHANGE = 1e-10
#: After how many steps all cells are looked at again.
_STEPS = 10
#: Cells are followed that become positive where margins move so many times as far as they did between two looks.
_FARTHER, _SLOWER = 2.0, 0.5
#: They move at least so far, in roots of freedoms: what rounding may do.
_LEAST = 1e-7

#: Called with the number of steps so far, and the gap that is proved.
Report = Callable[[int, float], None]


class Solution(NamedTuple):
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
    problem: DualProblem, center: tuple[Array, Array] | None, *, gap: float, steps: int, report: Report
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
        report(steps_done, closeness)

    kept: list[Solution] = []
    first = agreement.first_multipliers(problem, problem.rounding, steps=steps, report=tell)
    ascent, steps_done, near, slow = Ascent(problem, first), 0, gap, math.inf
    has_few_cells = problem.tables.size <= MOST_CELLS
    while True:
        found = candidate(problem, ascent.multipliers)
        best = min([mixed(problem, found, center, steps_done), *kept], key=lambda each: max(each.gap, each.violation))
        closeness = max(best.gap, best.violation / max(problem.total, 1.0))
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
        if near < gap / _SHARPER and best.gap <= gap and best.violation == 0:
            return best
        if begun + steps_done >= steps:  # rather exact tables that are farther than nearer ones that break a fact
            return best if best.violation <= problem.rounding else next(iter(kept), best)
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


class LimitedMemory:
    """The last steps (p,), with the change of the gradient over each."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Array, Array, float]] = []

    def keep(self, step: Array, lowered: Array) -> None:
        """Keep a step, and by how much it lowered the gradient; the oldest of too many is forgotten."""
        curved = float(step @ lowered)
        if curved > _LEAST_CHANGE * float(np.linalg.norm(step)) * float(np.linalg.norm(lowered)):
            self._pairs = [*self._pairs[1 - _KEPT :], (step, lowered, curved)]

    def direction(self, gradient: Array, diagonal: Array) -> Array:
        """The step to the top, as far as is known: ``gradient / diagonal``, about the curvature, with no step kept."""
        # Two loops: the inverse of the curvature is (I - s y^T / s^T y) H (I - y s^T / s^T y) + s s^T / s^T y, pair
        # after pair, of steps s that lowered the gradient by y: from the last pair back, and then forward.
        found, parts = gradient.copy(), []
        for step, lowered, curved in reversed(self._pairs):
            parts.append(float(step @ found) / curved)
            found -= parts[-1] * lowered
        found /= diagonal
        if self._pairs:  # the scale of the diagonal is that which the last step saw
            _, lowered, curved = self._pairs[-1]
            found *= curved / float(lowered @ (lowered / diagonal))
        for (step, lowered, curved), part in zip(self._pairs, reversed(parts), strict=True):
            found += (part - float(lowered @ found) / curved) * step
        return found


class PotentialAscent:
    """Ascent in the dual problem of agreement, in directions from the last steps."""

    def __init__(self, problem: DualProblem, facets: agreement.Facets) -> None:
        self._problem, self._facets = problem, facets
        self._unbiased = problem.cells(problem.start, np.empty(problem.tables.size)).astype(np.float32)
        self._sharing = np.bincount(facets.cell)[facets.cell]
        self._memory, self._reach = LimitedMemory(), np.zeros(len(facets.cell))
        self._look(agreement.first_potentials(facets, self._unbiased))
        # In the first steps margins move so far that it cannot be told which cells become positive: all are looked at.
        self._at: Callable[[Array], agreement.AgreementPoint] = partial(agreement.agreement_at, facets, self._unbiased)

    def advance(self, steps: int) -> None:
        """Take some steps, each halved until the value rises as its slope promises."""
        for first in range(0, steps, _STEPS):
            point, start = self._point, self._point
            for _ in range(first, min(first + _STEPS, steps)):
                step = self._memory.direction(point.gradient, self._diagonal)
                following, part = agreement.along(self._at, point, step, _HALVINGS)
                if part:
                    self._memory.keep(part * step, point.gradient - following.gradient)
                point = following
            moved = np.abs(point.potentials - start.potentials)
            moved *= _FARTHER * self._facets.freedom
            self._reach *= _SLOWER
            np.maximum(self._reach, moved, out=self._reach)
            self._look(point.potentials)
            # cells were positive that were not followed
            if self._point.value < start.value - agreement.rounding_of(start):
                self._memory = LimitedMemory()
                self._reach *= _FARTHER / _SLOWER
                self._look(start.potentials)

    @property
    def multipliers(self) -> Array:
        """Of all cells, (y,)."""
        unbiased = self._problem.cells(self._problem.start, np.empty(self._problem.tables.size))
        return self._facets.multipliers(unbiased, self._point.potentials)

    def _look(self, potentials: Array) -> None:
        """Look at all cells: follow those that are positive where margins move as far as they may."""
        facets = self._facets
        raised_by = potentials * facets.freedom
        self._reach += _LEAST * np.sqrt(facets.freedom)
        followed = agreement.followed_cells(facets.blocks, self._unbiased, (raised_by + self._reach).astype(np.float32))
        is_positive = followed.cut(raised_by) > 0
        diagonal: Array = followed.margins.T @ np.where(is_positive, followed.freedoms, 0.0)
        diagonal += facets.curvature[facets.cell] * self._sharing
        self._diagonal = np.maximum(diagonal, facets.freedom, out=diagonal)  # of one positive cell at least
        self._at = partial(agreement.agreement_point, facets, followed)
        self._point = self._at(potentials)


def facets_of_many(problem: DualProblem) -> agreement.Facets | None:
    """The facets of a problem that has very many cells; None of others, and where it has no facets."""
    return agreement.facets_of(problem) if problem.tables.size >= _MANY_CELLS else None


def solve_many(problem: DualProblem, facets: agreement.Facets, *, gap: float, steps: int, report: Report) -> Solution:
    """The nearest tables that are non-negative, nearly: of very many cells, in single precision.

    What tables are short of is looked at now and then, and covered by records where that may do.  The gap is computed
    in double precision; where a step limit was met, or single precision was exhausted, it may be larger than asked for.
    """
    ascent, steps_done, best = PotentialAscent(problem, facets), 0, None
    enough = min(_SHORT, _BY_GAP * gap**_POWER) * problem.total
    shortages: list[float] = []
    while True:
        for _ in range(0, min(_EVERY_OF_MANY, steps - steps_done), _TOLD):
            count = min(_TOLD, steps - steps_done)
            ascent.advance(count)
            steps_done += count
            report(steps_done, math.inf if best is None else best.gap)
        found = replace(candidate(problem, ascent.multipliers), multipliers=np.empty(0))  # no longer needed
        shortages.append(largest_shortage(problem, found.cells))
        has_stalled = len(shortages) > _LOOK_BACK and shortages[-1] > _STALLED * shortages[-1 - _LOOK_BACK]
        is_last = steps_done >= steps or has_stalled
        if is_last or shortages[-1] <= enough:
            made = mixed(problem, found, covering(problem, found.cells), steps_done)
            best = made if best is None or made.gap < best.gap else best
            # The gap falls about as the shortage does: covering again pays where that has come down as far.
            enough = shortages[-1] * gap / max(made.gap, gap)
        if best is not None and (is_last or best.gap <= gap):
            return best
