"""Newton's method for the dual problem, and an interior point method for few cells and noise of very different sizes.

Newton's method makes all cells that should be 0 so at once.  Where some residuals have noise a thousand times that of
others, as bins have where means are asked for, first-order ascent hardly moves.  Noise without a limit, as a residual
has that no query depends on all others in the matrix of the dual problem.  So the steps of the interior point
method are those of the components themselves, where much noise is a small entry of the matrix.
Source: eqs. (49), (50), (55) and (56); Hintermueller, Ito and Kunisch, SIAM J. Optim. 13 (2002); Mehrotra, SIAM J.
Optim. 2 (1992).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, helmert

from residualplanner.fits.nonnegative.components import ComponentLayout
from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.fits.optimizers import Array, conjugate_gradients

#: At most so many steps of Newton's method follow one another, and parts of a step that are tried.
_ROUNDS, _PARTS = 20, 0.5 ** np.arange(8)
#: Up to this many cells the interior point method may take: 4,000 need a minute of one core, and some 600 MB.
MOST_CELLS = 4_000
#: At most so many of its steps, until the sum of products of cell and multiplier is this part of the distance, plus 1.
_STEPS, _CLOSE = 80, 1e-13
#: How much of the way to the boundary a step goes; below the shortest it gets nowhere.
_PART, _SHORTEST = 0.995, 1e-10
#: What stands for cell over multiplier where a cell must be 0: by what it falls with each step, and the least.
_FIRMER, _FIRM = 0.1, 1e-8
#: The distance is in units of what moves a component by the total, of which this part move more easily.
_STIFF = 0.75
#: What is added to the diagonal of a singular matrix: the first that suffices.
_RIDGES = 1e-15 * 100.0 ** np.arange(6)


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
        return self.violation <= problem.rounding


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
    """Multipliers for which the cells that the ascent leaves a multiplier are 0.  Source: eq. (56)."""
    active = (found.multipliers - problem.steps * found.cells > 0) | (problem.lowest < 0)
    # Of the active cells M w = 0, of the others the multiplier is 0: linear equations in the multipliers.
    sought = np.where(active, found.multipliers, 0.0)
    cells = problem.cells(problem.components(sought), np.empty_like(sought))
    residual = np.where(active, -cells, 0.0)
    goal, image = 0.1 * problem.rounding, np.empty_like(sought)

    def curvature(direction: Array) -> Array:
        problem.curvature(direction, image)
        return np.multiply(image, active, out=image)

    def is_enough(left: Array, _: float) -> bool:
        return bool(np.abs(left).max(initial=0.0) <= goal)

    change = conjugate_gradients(curvature, residual, problem.steps, most=gradients, is_enough=is_enough)
    return np.maximum(sought + change, problem.lowest)


def _directions(layout: ComponentLayout) -> sparse.csc_array:
    """The map (c, r) to components from as few numbers as they have degrees of freedom, with orthonormal columns.

    The sums of differences, which are 0, are left out: along each axis by orthonormal rows for what components may be.
    """
    blocks = []
    for bases, members in zip(layout.groups.bases, layout.groups.members, strict=True):
        own = sparse.csc_array(sparse.eye_array(len(members)))
        for each in bases:
            axis = helmert(each.size).T if each.takes_differences else np.eye(each.answers)
            own = sparse.csc_array(sparse.kron(own, axis, format="csc"))
        blocks.append(own)
    return sparse.csc_array(sparse.block_diag(blocks))


@dataclass(eq=False, slots=True)
class _Interior:
    """A point with positive multipliers and cells, which leaves nothing of the noisy numbers but what is inside."""

    matrix: Array  # (y, r): from the numbers that may move to cells
    fixed: Array  # (y,): the cells of those that may not
    start: Array  # (r,): the noisy numbers
    stiffness: Array  # (r,): over their freedoms
    is_sign: NDArray[np.bool_]  # (y,): which cells must not be negative; the others must be 0
    numbers: Array  # (r,): of this point
    multipliers: Array  # (y,): of all cells
    cells: Array  # (y,): what they are to become, 0 where they must be
    firm: float = 1.0

    @property
    def product(self) -> float:
        """The sum of the products of multiplier and cell, which is 0 in the solution."""
        return float(self.multipliers @ self.cells)

    @property
    def bound(self) -> float:
        """The value of the dual problem.  Source: eq. (55)."""
        pull = self.matrix.T @ self.multipliers
        return -float(pull @ (pull / self.stiffness / 2 + self.start) + self.multipliers @ self.fixed)

    def advance(self) -> float:
        """Take a step of Mehrotra's method, and return how long it was, from 0 to 1."""
        is_sign, self.firm = self.is_sign, max(self.firm * _FIRMER, _FIRM)
        ratio = np.full(len(self.cells), 1 / self.firm)
        np.divide(self.multipliers, self.cells, out=ratio, where=is_sign)
        rooted = self.matrix * np.sqrt(ratio)[:, None]
        system = rooted.T @ rooted
        system[np.diag_indices_from(system)] += self.stiffness
        solve = _factored(system)
        pull = self.matrix.T @ self.multipliers - self.stiffness * (self.numbers - self.start)
        off = self.matrix @ self.numbers + self.fixed - self.cells

        def change(products: Array) -> tuple[Array, Array, Array]:
            wanted = np.zeros(len(self.cells))
            wanted[is_sign] = products / self.cells[is_sign]
            moved = solve(pull + self.matrix.T @ (wanted - ratio * off))
            slack = self.matrix @ moved + off
            return moved, wanted - ratio * slack, np.where(is_sign, slack, 0.0)

        def to_boundary(direction: Array, slack: Array) -> float:
            values = np.concatenate([self.multipliers[is_sign], self.cells[is_sign]])
            changes = np.concatenate([direction[is_sign], slack[is_sign]])
            return float(np.min(values[changes < 0] / -changes[changes < 0], initial=np.inf))

        straight = -(self.multipliers * self.cells)[is_sign]
        _, direction, slack = change(straight)
        length = min(to_boundary(direction, slack), 1.0)
        # The better the predicted step lowers the products, the less the next one has to stay in the center, where all
        # are equal; what it neglected, the product of both changes, is put right.
        reached = float(((self.multipliers + length * direction) * (self.cells + length * slack))[is_sign].sum())
        part = reached / self.product if self.product else 0.0
        goal = self.product / max(len(straight), 1) * part**3
        moved, direction, slack = change(straight + goal - (direction * slack)[is_sign])
        length = min(_PART * to_boundary(direction, slack), 1.0)
        self.numbers = self.numbers + length * moved
        self.multipliers = self.multipliers + length * direction
        self.cells = self.cells + length * slack
        return length


def _factored(matrix: Array) -> Callable[[Array], Array]:
    """The solution for any right side of a matrix that has no negative eigenvalue but for rounding."""
    roots = np.sqrt(matrix.diagonal())
    matrix /= roots  # a diagonal of ones makes the most of the digits there are
    matrix /= roots[:, None]
    for ridge in _RIDGES:
        np.fill_diagonal(matrix, 1 + ridge)
        try:
            factor = cho_factor(matrix)
        except LinAlgError:
            if ridge == _RIDGES[-1]:
                raise
            continue
        break

    def solution(right: Array) -> Array:
        scaled = right / roots
        found = cho_solve(factor, scaled)
        found += cho_solve(factor, scaled - matrix @ found)  # a step of refinement
        return np.asarray(found / roots)

    return solution


def interior(problem: DualProblem) -> DualPoint:
    """A candidate with components and multipliers near the best ones, of a problem of at most `MOST_CELLS` cells."""
    size, unit, directions = problem.tables.size, problem.total or 1.0, _directions(problem.reference.own)
    freedom = problem.freedom[directions.indices[directions.indptr[:-1]]]  # that of the set of each number
    free = np.flatnonzero(freedom > 0)
    if not free.size:
        return candidate(problem, np.zeros(size))
    fixed = problem.cells(np.where(problem.freedom > 0, 0.0, problem.start), np.empty(size)) / unit
    matrix = np.empty((size, free.size))
    for column, number in enumerate(free.tolist()):
        matrix[:, column] = problem.cells(directions[:, [number]].toarray().ravel(), np.empty(size))
    start, is_sign = directions.T @ problem.start / unit, np.broadcast_to(problem.lowest, size) >= 0
    lengths = np.linalg.norm(matrix, axis=0)
    lengths[lengths == 0] = 1.0
    matrix /= lengths
    ones, stiffness = is_sign.astype(float), (unit / lengths) ** 2 / freedom[free]
    force, begun = float(np.quantile(stiffness, _STIFF)), start[free] * lengths
    point = _Interior(matrix, fixed, begun, stiffness / force, is_sign, np.zeros(free.size), ones, ones.copy())
    multipliers = force * _solved(point, 1 / force)
    start[free] = point.numbers / lengths
    found = candidate(problem, np.maximum(multipliers / unit, problem.lowest))
    components = np.where(problem.freedom > 0, directions @ (start * unit), problem.start)
    # The multipliers cannot say these: where noise is large they cancel.
    cells = problem.cells(components, np.empty_like(found.cells))
    distance, violation = problem.distance(components), violation_of(problem, cells)
    return replace(found, components=components, cells=cells, distance=distance, violation=violation)


def _solved(point: _Interior, one: float) -> Array:
    """The multipliers with the best bound, of those before a point that is moved to the solution, in units of ``one``.

    They are not the last: where cells come very near to 0, rounding moves multipliers, and there the bound falls.
    """
    bound, multipliers = point.bound, point.multipliers
    for _ in range(_STEPS):
        if not point.advance() >= _SHORTEST:
            break
        if point.bound > bound:
            bound, multipliers = point.bound, point.multipliers
        if point.product <= _CLOSE * (one + max(bound, 0.0)):
            break
    return multipliers
