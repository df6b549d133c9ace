"""The dual problem of agreement: potentials on the margins of tables, one for each cell of a margin, not of a table.

Tables are kept non-negative, and made to agree; most of their cells are 0, and steps of Newton's method touch only the
others.  Source: eqs. (48) and (62) to (65); Lorenz, Manns and Meyer, Appl. Math. Optim. 83 (2021), for two attributes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.fits.nonnegative.table_map import TableMap, TableStack
from residualplanner.fits.optimizers import conjugate_gradients
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.workload.closure import subset_products

#: Residuals that tables share must be so much less free than the tables' own: the least w, times the freedom.
_LEAST_STIFFNESS = 1e-2
#: Steps of Newton's method at most; of conjugate gradients for each, and by what these lower the residual.
_ROUNDS, _GRADIENTS, _ACCURACY = 80, 100, 0.1
#: Damping, in units of the diagonal: at first, at least and at most; and by what it changes.
_DAMPING, _LEAST, _MOST, _CHANGE = 0.1, 1e-9, 10.0, 4.0
#: How often a step is halved, and what part of the ascent that its slope promises it must reach.
_HALVINGS, _PROMISE = 25, 1e-4
#: Steps of Newton's method for the threshold of a table, after which the total is right but for little.
_THRESHOLDS = 12
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Facets:
    """The margins of the largest tables over one attribute: each by its table, (p,), and each once, (f,)."""

    joint: TableMap  # the map from the residuals that facets follow from, to the cells of all facets, each once
    looseness: FloatArray  # ``1 / w`` of each of these residuals' components; 0 where it is fixed
    shared: FloatArray  # the freedom of each
    curvature: FloatArray  # (f,): the diagonal of ``joint * looseness * joint^T``
    unbiased: FloatArray  # (f,): what was measured
    cell: IntArray  # (p,): which cell of the facets each cell of a table's margin is
    # for each stack of tables, where the margins over each attribute start among all (p,)
    starts: tuple[tuple[int, ...], ...]
    freedom: tuple[FloatArray, ...]  # for each stack, of the tables' own residuals, (b,)

    def moved(self, potentials: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much potentials (p,) lower the facets, (f,)."""
        return self._answers(potentials, self.looseness)

    def spread(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """The facets of the residuals that these margins of multipliers (p,) give to what tables share, (f,)."""
        return self._answers(margins, self.shared)

    def _answers(self, margins: NDArray[np.float64], freedoms: FloatArray) -> NDArray[np.float64]:
        together = np.bincount(self.cell, margins, self.joint.size).astype(np.float64, copy=False)
        pulled = self.joint.transposed(together)
        pulled *= freedoms
        return self.joint.cells(pulled, np.empty(self.joint.size))


def facets_of(problem: DualProblem) -> Facets | None:
    """The facets of a problem, or None where its tables are not described by them.

    They are if all bases are subtraction bases, no cell must be 0, and all residuals that tables share are less free
    than the tables' own: w of eq. (62) is positive.
    """
    tables = problem.tables
    if not (problem.reference.is_identity and problem.lowest.ndim == 0) or not _has_facets(tables):
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


def _has_facets(tables: TableMap) -> bool:
    return all(stack.axes and all(axis.is_orthogonal for axis in stack.axes) for stack in tables.stacks)


def _joined(problem: DualProblem, freedoms: FloatArray, looseness: FloatArray) -> Facets:
    """The facets, with what is shared by tables at this looseness (m,)."""
    tables = problem.tables
    sides = [_sides(stack) for stack in tables.stacks]
    joint = TableMap(tables.plan, tables.layout, np.unique(np.concatenate([side.ravel() for side in sides])))
    used = joint.restrict()
    first, curvature = np.empty(len(freedoms), dtype=np.int64), np.empty(joint.size)
    for stack in joint.stacks:
        cells = stack.cells.stop - stack.cells.start
        first[stack.sets] = stack.cells.start + np.arange(len(stack.sets)) * (cells // len(stack.sets))
        sizes = _sizes(stack)
        rows = looseness[stack.subsets] * subset_products(1 / sizes**2, 1 - 1 / sizes)
        stack.per_table(curvature)[...] = rows.sum(axis=1)[:, None]
    parts, starts, end = [], [], 0
    for stack, side in zip(tables.stacks, sides, strict=True):
        own = []
        for axis, size in enumerate(stack.shape[1:]):
            cells = int(np.prod(stack.shape[1:])) // size
            parts.append((first[side[:, axis]][:, None] + np.arange(cells)).ravel())
            own.append(end)
            end += parts[-1].size
        starts.append(tuple(own))
    unbiased = joint.cells(problem.start[used], np.empty(joint.size))
    loose, shared = (tables.layout.spread(frozen(each))[used] for each in (looseness, freedoms))
    own_freedoms = tuple(frozen(freedoms[stack.sets]) for stack in tables.stacks)
    cell = frozen(np.concatenate(parts))
    return Facets(joint, loose, shared, frozen(curvature), frozen(unbiased), cell, tuple(starts), own_freedoms)


def _sides(stack: TableStack) -> IntArray:
    order = len(stack.axes)
    sides: IntArray = stack.subsets[:, [(1 << order) - 1 - (1 << axis) for axis in range(order)]]
    return sides


def _sizes(stack: TableStack) -> NDArray[np.float64]:
    return np.array([stack.shape[1:]], dtype=np.float64).reshape(1, -1)


@dataclass(frozen=True, eq=False, slots=True)
class _AgreementPoint:
    """Potentials, and what follows from them."""

    potentials: Array  # (p,): of the margins of all tables
    value: float  # of the dual problem, up to a constant
    gradient: Array  # (p,): the facets that the shared residuals give, less the tables' margins
    margins: sparse.csr_matrix  # a row for each positive cell: 1 for each margin that it is part of, (positive, p)
    freedoms: Array  # (positive,): of their tables


class Agreement:
    """The dual problem of tables that are non-negative, and must agree."""

    def __init__(self, problem: DualProblem, facets: Facets) -> None:
        self.problem, self.facets = problem, facets
        self.unbiased = problem.cells(problem.start, np.empty(problem.tables.size))
        self._stacks = list(zip(problem.tables.stacks, facets.starts, facets.freedom, strict=True))

    def before_cut(self, stack: TableStack, starts: tuple[int, ...], freedom: Array, potentials: Array) -> Array:
        """Cells of which the negative are cut at 0, (b, n_1, .., n_k).  Source: eq. (63)."""
        found = self.unbiased[stack.cells].reshape(stack.shape).copy()
        scale = freedom.reshape(-1, *(1,) * len(starts))
        for axis, start in enumerate(starts):
            shape = [size for at, size in enumerate(stack.shape) if at != axis + 1]
            own = potentials[start : start + int(np.prod(shape))].reshape(shape)
            found += np.expand_dims(own, axis + 1) * scale
        return found

    def multipliers(self, potentials: Array) -> Array:
        """Of all cells, (y,): what was cut, over the freedom of its table.  Source: eq. (65)."""
        found = np.empty(self.problem.tables.size)
        for stack, starts, freedom in self._stacks:
            cut = np.maximum(-self.before_cut(stack, starts, freedom, potentials), 0)
            stack.per_table(found)[...] = cut.reshape(len(cut), -1) / freedom[:, None]
        return found

    def at(self, potentials: Array) -> _AgreementPoint:
        """The value of the dual problem, and its derivatives.  Source: eqs. (63) and (64)."""
        values, columns, freedoms, orders = [], [], [], []
        for stack, starts, freedom in self._stacks:
            cells = self.before_cut(stack, starts, freedom, potentials).ravel()
            positive = np.flatnonzero(cells > 0)
            values.append(cells[positive])
            columns.append(cell_columns(stack.shape, starts, positive).ravel())
            freedoms.append(freedom[positive // (cells.size // len(freedom))])
            orders.append(np.full(len(positive), len(starts)))
        counts, freedom = np.concatenate(values), np.concatenate(freedoms)
        rows = np.concatenate([[0], np.cumsum(np.concatenate(orders))])
        entries = np.concatenate(columns)
        size = (len(counts), len(potentials))
        margins = sparse.csr_matrix((np.ones(len(entries)), entries, rows), shape=size)
        together = np.bincount(self.facets.cell, potentials, self.facets.joint.size)
        moved = self.facets.moved(potentials)
        value = float(together @ (self.facets.unbiased - moved / 2)) - float(counts @ (counts / freedom)) / 2
        gradient = (self.facets.unbiased - moved)[self.facets.cell] - margins.T @ counts
        return _AgreementPoint(potentials, value, gradient, margins, freedom)

    def start(self) -> Array:
        """Potentials for which every table has its total: one number is subtracted from all of its cells."""
        found = np.zeros(len(self.facets.cell))
        for stack, starts, freedom in self._stacks:
            cells = stack.per_table(self.unbiased)
            total = np.maximum(cells.sum(axis=1), 0)
            level = (cells.sum(axis=1) - total) / cells.shape[1]
            for _ in range(_THRESHOLDS):
                above = cells > level[:, None]
                count = np.maximum(above.sum(axis=1), 1)
                level = np.maximum(level, (np.where(above, cells, 0).sum(axis=1) - total) / count)
            size = cells.size // stack.shape[1]
            found[starts[0] : starts[0] + size] = np.repeat(-level / freedom, size // len(freedom))
        return found


def first_multipliers(
    problem: DualProblem, off: float, *, steps: int = _ROUNDS, report: Callable[[int, float], None] | None = None
) -> Array:
    """Multipliers to start from: those of tables whose margins agree to ``off`` counts; 0 where this does not apply.

    Before each step ``report`` is told how many were made, and by what part of the total margins differ.
    """
    facets = facets_of(problem)
    if facets is None:
        return np.zeros(problem.tables.size)
    agreement = Agreement(problem, facets)
    point, damping = agreement.at(agreement.start()), _DAMPING
    for done in range(min(_ROUNDS, steps)):
        differ = float(np.abs(point.gradient).max())
        if report is not None:
            report(done, differ / max(problem.total, 1.0))
        if differ <= off:
            break
        direction = _direction(agreement, point, damping)
        following, part = _along(agreement, point, direction)
        if following is None:
            break
        point = following
        damping = min(max(damping * {1.0: 1 / _CHANGE, 0.5: 1.0}.get(part, _CHANGE), _LEAST), _MOST)
    return agreement.multipliers(point.potentials)


def _direction(agreement: Agreement, point: _AgreementPoint, damping: float) -> Array:
    """The damped step of Newton's method, by conjugate gradients.  Source: eq. (64)."""
    facets, forward = agreement.facets, point.margins
    back = forward.T.tocsr()
    diagonal = back @ point.freedoms + facets.curvature[facets.cell]
    damped = damping * diagonal
    scale = 1 / (diagonal + damped)
    residual = point.gradient.copy()
    goal = _ACCURACY**2 * float(residual @ (residual * scale))

    def curvature(step: Array) -> Array:
        image: Array = back @ (point.freedoms * (forward @ step))
        image += facets.moved(step)[facets.cell]
        image += damped * step
        return image

    def is_enough(_: Array, product: float) -> bool:
        return product <= goal

    return conjugate_gradients(curvature, residual, scale, most=_GRADIENTS, is_enough=is_enough)


def _along(agreement: Agreement, point: _AgreementPoint, direction: Array) -> tuple[_AgreementPoint | None, float]:
    """The next point, with the part of the step that leads there; None where no part of it ascends."""
    slope, part = float(point.gradient @ direction), 1.0
    rounding = 1e-12 * (1 + abs(point.value))
    for _ in range(_HALVINGS):
        following = agreement.at(point.potentials + part * direction)
        if following.value >= point.value + _PROMISE * part * slope - rounding:
            return following, part
        part /= 2
    return None, 0.0


def cell_columns(shape: tuple[int, ...], starts: tuple[int, ...], cells: NDArray[np.intp]) -> NDArray[np.intp]:
    """Which potentials act on each of some cells of a stack, (cells, k)."""
    at = np.unravel_index(cells, shape)
    found = np.empty((len(cells), len(starts)), dtype=np.intp)
    for axis, start in enumerate(starts):
        others = [number for number in range(len(shape)) if number != axis + 1]
        found[:, axis] = start + np.ravel_multi_index([at[n] for n in others], [shape[n] for n in others])
    return found
