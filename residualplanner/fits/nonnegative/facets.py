"""What tables that agree have in common: their margins over one attribute, and the residuals that these follow from.

Reads: a problem.  Gives: Facets.
Source: eqs. (48) and (62).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.problem import Problem
from residualplanner.fits.nonnegative.table_map import TableMap, TableStack
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.workload.closure import subset_products

#: Residuals that tables share must be so much less free than the tables' own: the least w, times the freedom.
_LEAST_STIFFNESS = 1e-2


@dataclass(frozen=True, eq=False, slots=True)
class Facets:
    """The margins of the largest tables over one attribute: each by its table, (p,), and each once, (f,).

    Attributes:
        joint: the map from the residuals that facets follow from, to the cells of all facets, each once.
        looseness: ``1 / w`` of each of these residuals' components; 0 where it is fixed.
        shared: the freedom of each.
        curvature (f,): the diagonal of ``joint * looseness * joint^T``.
        unbiased (f,): what was measured.
        cell (p,): which cell of the facets each cell of a table's margin is.
        starts: for each stack of tables, where the margins over each attribute start among all (p,).
        freedom: for each stack, of the tables' own residuals, (b,).
    """

    joint: TableMap
    looseness: FloatArray
    shared: FloatArray
    curvature: FloatArray
    unbiased: FloatArray
    cell: IntArray
    starts: tuple[tuple[int, ...], ...]
    freedom: tuple[FloatArray, ...]

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


def facets_of(problem: Problem) -> Facets | None:
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


def _joined(problem: Problem, freedoms: FloatArray, looseness: FloatArray) -> Facets:
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
    """The sets of attributes without each one, by number, (b, k)."""
    order = len(stack.axes)
    sides: IntArray = stack.subsets[:, [(1 << order) - 1 - (1 << axis) for axis in range(order)]]
    return sides


def _sizes(stack: TableStack) -> NDArray[np.float64]:
    return np.array([stack.shape[1:]], dtype=np.float64).reshape(1, -1)
