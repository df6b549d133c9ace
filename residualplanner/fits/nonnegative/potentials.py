"""The dual problem of agreement: potentials on the margins of tables, one for each cell of a margin, not of a table.

Tables are kept non-negative, and made to agree; most of their cells are 0, and steps of Newton's method touch only the
others.  Source: eqs. (48) and (62) to (65); Lorenz, Manns and Meyer, Appl. Math. Optim. 83 (2021), for two attributes.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.fits.nonnegative.table_map import TableMap, TableStack
from residualplanner.fits.optimizers import Array, conjugate_gradients
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.workload.closure import subset_products

#: Residuals that tables share must be so much less free than the tables' own: the least w, times the freedom.
_LEAST_STIFFNESS = 1e-2
#: Steps of Newton's method at most; of conjugate gradients for each, and by what these lower the residual.
_ROUNDS, _GRADIENTS, _ACCURACY = 80, 100, 0.1
#: Damping, in units of the diagonal: at first, at least and at most; and by what it changes.
_DAMPING, _LEAST, _MOST, _CHANGE = 0.1, 1e-9, 10.0, 4.0
#: How often a step is halved, and what part of the ascent that its slope promises it must reach, but for rounding.
_HALVINGS, _PROMISE, _ROUNDING = 25, 1e-4, 1e-12
#: Steps of Newton's method for the threshold of a table, after which the total is right but for little.
_THRESHOLDS = 12
#: About how many cells are worked on at a time, so that they stay in the processor's cache.
_CELLS = 1 << 16
Number = TypeVar("Number", np.float32, np.float64)


@dataclass(frozen=True, eq=False, slots=True)
class TableBlock:
    """Some tables of the same bases."""

    cells: slice  # where their cells stand among those of all tables
    shape: tuple[int, ...]  # (b, n_1, .., n_k)
    margins: tuple[slice, ...]  # for each attribute, where the margins over it stand among all
    freedom: Array  # (b, 1, .., 1): of the tables' own residuals

    def raised(self, unbiased: NDArray[Number], raise_by: NDArray[Number]) -> NDArray[Number]:
        """Its unbiased cells, raised by a number for each cell of their margins.  Source: eq. (63)."""
        found = self.of(unbiased).copy()
        for axis in range(len(self.margins)):
            found += np.expand_dims(self.margin(raise_by, axis), axis + 1)
        return found

    def of(self, cells: NDArray[Number]) -> NDArray[Number]:
        """Its part of an array over all cells, as a view."""
        return cells[self.cells].reshape(self.shape)

    def margin(self, values: NDArray[Number], axis: int) -> NDArray[Number]:
        """Its part of an array over the margins over one attribute, as a view."""
        return values[self.margins[axis]].reshape(self.shape[: axis + 1] + self.shape[axis + 2 :])


@dataclass(frozen=True, eq=False, slots=True)
class Facets:
    """The margins of the largest tables over one attribute: each by its table, (p,), and each once, (f,)."""

    joint: TableMap  # from the residuals that facets follow from, to the cells of all facets, each once
    looseness: FloatArray  # ``1 / w`` of each of these residuals' components; 0 where it is fixed
    curvature: FloatArray  # (f,): the diagonal of ``joint * looseness * joint^T``
    unbiased: FloatArray  # (f,): what was measured
    cell: IntArray  # (p,): which cell of the facets each cell of a table's margin is
    blocks: tuple[TableBlock, ...]  # all tables
    freedom: FloatArray  # (p,): of the margin's table

    def moved(self, potentials: Array) -> Array:
        """By how much potentials (p,) lower the facets, (f,)."""
        together = np.bincount(self.cell, potentials, self.joint.size).astype(np.float64, copy=False)
        pulled = self.joint.transposed(together)
        pulled *= self.looseness
        return self.joint.cells(pulled, np.empty(self.joint.size))

    def multipliers(self, unbiased: Array, potentials: Array) -> Array:
        """What was cut of all cells over the freedom of its table, in place of the unbiased ones.  Source: eq. (65)."""
        raised_by = potentials * self.freedom
        for block in self.blocks:
            cells = block.raised(unbiased, raised_by)
            np.negative(cells, out=cells)
            np.maximum(cells, 0, out=cells)
            cells /= block.freedom
            block.of(unbiased)[...] = cells
        return unbiased


def facets_of(problem: DualProblem) -> Facets | None:
    """The facets of a problem, or None where its tables are not described by them.

    They are if all bases are subtraction bases, no cell must be 0, and all residuals that tables share are less free
    than the tables' own: w of eq. (62) is positive.
    """
    tables = problem.tables
    has_margins = all(stack.axes and all(axis.is_orthogonal for axis in stack.axes) for stack in tables.stacks)
    if not (problem.reference.is_identity and problem.lowest.ndim == 0) or not has_margins:
        return None
    freedoms = problem.freedom[tables.layout.firsts]
    shared = np.zeros(len(freedoms))
    for stack in tables.stacks:
        sizes = _sizes(stack)
        parts = subset_products(1 / sizes, np.ones_like(sizes))[:, :-1] / freedoms[stack.sets][:, None]
        np.add.at(shared, stack.subsets[:, :-1], parts)
    stiffness = 1 - freedoms * shared
    if stiffness.min() < _LEAST_STIFFNESS:
        return None
    return _joined(problem, freedoms, freedoms / stiffness)


def _joined(problem: DualProblem, freedoms: FloatArray, looseness: FloatArray) -> Facets:
    """The facets, with what is shared by tables at this looseness (m,)."""
    tables = problem.tables
    # The numbers of the sets without one attribute each, (b, k).
    sides = [
        stack.subsets[:, [stack.subsets.shape[1] - 1 - (1 << axis) for axis in range(len(stack.axes))]]
        for stack in tables.stacks
    ]
    joint = TableMap(tables.plan, tables.layout, np.unique(np.concatenate([side.ravel() for side in sides])))
    used = joint.restrict()
    first, curvature = np.empty(len(freedoms), dtype=np.int64), np.empty(joint.size)
    for stack in joint.stacks:
        cells = stack.cells.stop - stack.cells.start
        first[stack.sets] = stack.cells.start + np.arange(len(stack.sets)) * (cells // len(stack.sets))
        sizes = _sizes(stack)
        rows = looseness[stack.subsets] * subset_products(1 / sizes**2, 1 - 1 / sizes)
        stack.per_table(curvature)[...] = rows.sum(axis=1)[:, None]
    blocks: list[TableBlock] = []
    cell, freedom, start = [], [], 0
    for stack, side in zip(tables.stacks, sides, strict=True):
        own = freedoms[stack.sets]
        blocks += _blocks(stack, own, start)
        for axis, size in enumerate(stack.shape[1:]):
            cells = math.prod(stack.shape[1:]) // size
            cell.append((first[side[:, axis]][:, None] + np.arange(cells)).ravel())
            freedom.append(np.repeat(own, cells))
            start += cell[-1].size
    unbiased = joint.cells(problem.start[used], np.empty(joint.size))
    loose = tables.layout.spread(looseness)[used]
    whole = frozen(np.concatenate(cell)), tuple(blocks), frozen(np.concatenate(freedom))
    return Facets(joint, loose, curvature, unbiased, *whole)


def _sizes(stack: TableStack) -> Array:
    return np.array([stack.shape[1:]], dtype=np.float64).reshape(1, -1)


def _blocks(stack: TableStack, freedom: Array, start: int) -> Iterator[TableBlock]:
    """The tables of a stack, some at a time, whose margins begin at ``start``: all over the first axis come first."""
    shape, size = stack.shape[1:], math.prod(stack.shape[1:])
    rows = max(_CELLS // size, 1)
    for first in range(0, len(freedom), rows):
        last, begin = min(first + rows, len(freedom)), start
        margins = []
        for length in shape:
            margin = size // length
            margins.append(slice(begin + first * margin, begin + last * margin))
            begin += len(freedom) * margin
        cells = slice(stack.cells.start + first * size, stack.cells.start + last * size)
        of_tables = freedom[first:last].reshape(-1, *(1,) * len(shape))
        yield TableBlock(cells, (last - first, *shape), tuple(margins), of_tables)


class FollowedCells(NamedTuple):
    """Cells that may be positive."""

    unbiased: Array  # (f,): their estimates
    freedoms: Array  # (f,): of their tables
    margins: sparse.csr_matrix  # (f, p): a row for each: 1 for each margin that it is part of

    def cut(self, raised_by: Array) -> Array:
        """What is positive of them, raised by numbers for margins (p,)."""
        found: Array = self.margins @ raised_by
        found += self.unbiased
        return np.maximum(found, 0, out=found)


def followed_cells(
    blocks: tuple[TableBlock, ...], unbiased: NDArray[Number], raised_by: NDArray[Number]
) -> FollowedCells:
    """The cells that are positive where margins raise their cells (y,) so far, (p,)."""
    cells, freedoms, columns, orders = [], [], [], []
    for block in blocks:
        raised = block.raised(unbiased, raised_by).ravel()
        numbers = np.flatnonzero(raised > 0)
        cells.append(block.of(unbiased).ravel()[numbers])
        freedoms.append(block.freedom.ravel()[numbers // (raised.size // len(block.freedom))])
        columns.append(_margins_of(block, numbers).ravel())
        orders.append(np.full(len(numbers), len(block.margins)))
    entries = np.concatenate(columns)
    rows = np.concatenate([[0], np.cumsum(np.concatenate(orders))]).astype(np.int32)
    matrix = sparse.csr_matrix((np.ones(len(entries)), entries, rows), shape=(len(rows) - 1, len(raised_by)))
    return FollowedCells(np.concatenate(cells).astype(np.float64), np.concatenate(freedoms), matrix)


def _margins_of(block: TableBlock, cells: NDArray[np.intp]) -> NDArray[np.int32]:
    at = np.unravel_index(cells, block.shape)
    found = np.empty((len(cells), len(block.margins)), dtype=np.int32)
    for axis, margin in enumerate(block.margins):
        others = [number for number in range(len(block.shape)) if number != axis + 1]
        found[:, axis] = margin.start + np.ravel_multi_index([at[n] for n in others], [block.shape[n] for n in others])
    return found


class AgreementPoint(NamedTuple):
    """Potentials, and what follows from them."""

    potentials: Array  # (p,): of the margins of all tables
    value: float  # of the dual problem, up to a constant
    gradient: Array  # (p,): the facets that the shared residuals give, less the tables' margins
    followed: FollowedCells  # which cells were looked at: all that are positive are among them


def agreement_point(facets: Facets, followed: FollowedCells, potentials: Array) -> AgreementPoint:
    """The value of the dual problem, and its gradient.  Source: eqs. (63) and (64)."""
    cells = followed.cut(potentials * facets.freedom)
    moved = facets.moved(potentials)
    together = np.bincount(facets.cell, potentials, facets.joint.size)
    value = float(together @ (facets.unbiased - moved / 2)) - float(cells @ (cells / followed.freedoms)) / 2
    gradient = (facets.unbiased - moved)[facets.cell]
    gradient -= followed.margins.T @ cells
    return AgreementPoint(potentials, value, gradient, followed)


def along(
    at: Callable[[Array], AgreementPoint], point: AgreementPoint, step: Array, halvings: int
) -> tuple[AgreementPoint, float]:
    """The next point, and the part of the step that leads there: 0 where none ascends as its slope promises."""
    slope, part, rounding = float(point.gradient @ step), 1.0, rounding_of(point)
    for _ in range(halvings if slope > 0 else 0):
        following = at(point.potentials + part * step)
        if following.value >= point.value + _PROMISE * part * slope - rounding:
            return following, part
        part /= 2
    return point, 0.0


def rounding_of(point: AgreementPoint) -> float:
    """By how much the value may fall by rounding."""
    return _ROUNDING * (1 + abs(point.value))


def agreement_at(facets: Facets, unbiased: NDArray[Number], potentials: Array) -> AgreementPoint:
    """The value of the dual problem and its gradient, with all cells, unbiased (y,), that are positive there."""
    raised_by = (potentials * facets.freedom).astype(unbiased.dtype, copy=False)
    followed = followed_cells(facets.blocks, unbiased, raised_by)
    return agreement_point(facets, followed, potentials)


def first_potentials(facets: Facets, unbiased: NDArray[Number]) -> Array:
    """Potentials for which every table has its total: one number is subtracted from all cells.  Source: eq. (99)."""
    found = np.zeros(len(facets.cell))
    for block in facets.blocks:
        cells = block.of(unbiased).reshape(len(block.freedom), -1)
        total = np.maximum(cells.sum(axis=1), 0)
        level = (cells.sum(axis=1) - total) / cells.shape[1]
        for _ in range(_THRESHOLDS):
            above = cells > level[:, None]
            count = np.maximum(above.sum(axis=1), 1)
            level = np.maximum(level, (np.where(above, cells, 0).sum(axis=1) - total) / count)
        own = found[block.margins[0]].reshape(len(cells), -1)
        own[...] = (-level / block.freedom.ravel())[:, None]
    return found


def first_multipliers(
    problem: DualProblem, off: float, *, steps: int = _ROUNDS, report: Callable[[int, float], None] = lambda *_: None
) -> Array:
    """Multipliers to start from: those of tables whose margins agree to ``off`` counts; 0 where this does not apply.

    Before each step ``report`` is told how many were made, and by what part of the total margins differ.
    """
    facets = facets_of(problem)
    if facets is None:
        return np.zeros(problem.tables.size)
    unbiased = problem.cells(problem.start, np.empty(problem.tables.size))
    at = partial(agreement_at, facets, unbiased)
    point, damping = at(first_potentials(facets, unbiased)), _DAMPING
    for done in range(min(_ROUNDS, steps)):
        differ = float(np.abs(point.gradient).max())
        report(done, differ / max(problem.total, 1.0))
        if differ <= off:
            break
        point, part = along(at, point, _direction(facets, point, damping), _HALVINGS)
        if not part:
            break
        # Less where the whole step ascends, as much at a half, else more.
        damping = min(max(damping * {1.0: 1 / _CHANGE, 0.5: 1.0}.get(part, _CHANGE), _LEAST), _MOST)
    return facets.multipliers(unbiased, point.potentials)


def _direction(facets: Facets, point: AgreementPoint, damping: float) -> Array:
    """The damped step of Newton's method, by conjugate gradients.  Source: eq. (64)."""
    forward, freedoms = point.followed.margins, point.followed.freedoms
    back = forward.T.tocsr()
    diagonal = back @ freedoms + facets.curvature[facets.cell]
    damped = damping * diagonal
    scale = 1 / (diagonal + damped)
    residual = point.gradient.copy()
    goal = _ACCURACY**2 * float(residual @ (residual * scale))

    def curvature(step: Array) -> Array:
        image: Array = back @ (freedoms * (forward @ step))
        image += facets.moved(step)[facets.cell]
        image += damped * step
        return image

    def is_enough(_: Array, product: float) -> bool:
        return product <= goal

    return conjugate_gradients(curvature, residual, scale, most=_GRADIENTS, is_enough=is_enough)
