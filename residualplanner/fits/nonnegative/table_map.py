"""The cells of all largest tables as a linear function of the components, and its transpose.

Source: eqs. (38), (43) and (48) to (51).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.components import CellAxis, ComponentLayout, cell_axis, cell_kinds
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.kron.arrays import Scratch
from residualplanner.method.kron.axis_maps import ProductMap, keeping, matrix_map, tensors_of_residuals
from residualplanner.method.plan.plan import Plan
from residualplanner.method.strategy.basis_groups import BasisGroups, basis_groups
from residualplanner.method.workload.closure import Closure, subset_products
from residualplanner.release.reference_answers import reference_changes, reference_groups, sets_in_both

#: Of the sum over D: its axes, ``(-1)**(|D| + 1) kron R u``, and the group of the sets without D and their rows in it.
_Term = tuple[tuple[int, ...], FloatArray, int, IntArray]


@dataclass(frozen=True, eq=False, slots=True)
class _Piece:
    """Sets whose attributes have the same bases, and the same reference bases."""

    sets: IntArray  # (b,): by number
    own: int  # their group among those of the plan's bases
    reference: int  # and among those of the reference bases
    maps: ProductMap  # R G along the axes whose basis is not the reference R
    back: ProductMap  # the transposed map
    terms: tuple[_Term, ...]


def _terms(subsets: IntArray, changes: dict[int, FloatArray], groups: BasisGroups) -> Iterator[_Term]:
    """The terms of sets with ``subsets`` (b, 2**k), from R u of each axis whose basis is not the reference."""
    for count in range(1, len(changes) + 1):
        for axes in combinations(changes, count):
            factor = np.array(-1.0)
            for axis in axes:
                factor = -factor * changes[axis]
            without = subsets[:, subsets.shape[1] - 1 - sum(1 << axis for axis in axes)]
            yield tuple(1 + axis for axis in axes), factor, int(groups.group[without[0]]), groups.row[without]


@dataclass(frozen=True, eq=False, slots=True)
class ReferenceMap:
    """The map from the components of a plan (c,) to those of its reference bases, and its transpose.

    ``r_A = (kron R G) w_A + sum_D (-1)**(|D| + 1) (kron over D of R u) x r_{A without D}`` over the sets D of one or
    more attributes of A whose basis in A is not the reference.  Source: eqs. (38) and (43).
    """

    own: ComponentLayout  # the layout of the plan's components
    reference: ComponentLayout  # of bases that are in all sets those in the set of the attribute alone
    _pieces: tuple[_Piece, ...]

    @property
    def is_identity(self) -> bool:
        """Whether no basis varies."""
        return not self._pieces

    def apply(self, components: FloatArray) -> FloatArray:
        """The components of the reference bases; sets of fewer attributes come first."""
        if self.is_identity:
            return components
        found, groups = np.empty(self.reference.count), self.reference.groups
        blocks, own = self.reference.blocks(found), self.own.blocks(components)
        for piece in self._pieces:
            result = piece.maps.apply(own[piece.own][self.own.groups.row[piece.sets]])
            for axes, factor, group, rows in piece.terms:
                result += factor * np.expand_dims(blocks[group][rows], axes)
            blocks[piece.reference][groups.row[piece.sets]] = result
        return found

    def transposed(self, components: FloatArray) -> FloatArray:
        """The transposed map; sets of more attributes come first."""
        if self.is_identity:
            return components
        rest, found, groups = components.copy(), np.empty(self.own.count), self.reference.groups
        blocks, own = self.reference.blocks(rest), self.own.blocks(found)
        for piece in reversed(self._pieces):
            mine = blocks[piece.reference][groups.row[piece.sets]]
            for axes, factor, group, rows in piece.terms:
                np.add.at(blocks[group], rows, (factor * mine).sum(axis=axes))
            own[piece.own][self.own.groups.row[piece.sets]] = piece.back.apply(mine)
        return found


def reference_map(plan: Plan) -> ReferenceMap:
    """The map of a plan's strategy; one that changes nothing where every attribute has one basis in all sets."""
    own = ComponentLayout(basis_groups(plan.strategy))
    if not plan.strategy.varying.any():
        return ReferenceMap(own, own, ())
    reference = ComponentLayout(reference_groups(plan.strategy))
    return ReferenceMap(own, reference, tuple(_pieces(plan, own.groups, reference.groups)))


def _pieces(plan: Plan, own: BasisGroups, reference: BasisGroups) -> Iterator[_Piece]:
    """All sets by their groups in both; those of fewer attributes first."""
    closure = plan.closure
    for sets in sets_in_both(own, reference):
        order = int(closure.orders[sets[0]])
        subsets = closure.subset_positions(closure.blocks[order][sets - closure.offsets[order]])
        numbers = int(own.group[sets[0]]), int(reference.group[sets[0]])
        changes = reference_changes(own.bases[numbers[0]], reference.bases[numbers[1]])
        maps = [keeping(n) for n in own.noise_shape(numbers[0])]
        back = maps.copy()
        for axis, (G, _) in changes.items():
            maps[axis], back[axis] = matrix_map(G), matrix_map(np.ascontiguousarray(G.T))
        terms = _terms(subsets, {axis: u for axis, (_, u) in changes.items()}, reference)
        yield _Piece(sets, *numbers, ProductMap(maps), ProductMap(back), tuple(terms))


@dataclass(frozen=True, eq=False)
class TableStack:
    """Tables of the same bases."""

    sets: IntArray  # (b,): their sets of attributes, by number in the closure
    attributes: NDArray[np.int32]  # (b, k): the same as positions in the domain
    subsets: IntArray  # (b, 2**k): the numbers of all their subsets, as `Closure.subset_positions` gives them
    cells: slice  # where their cells stand among those of all tables
    tensors: slice  # where their tensors stand among all
    axes: tuple[CellAxis, ...]  # (k,): of their attributes, which have equal cells
    spread: ProductMap  # from tensors, each axis of which has the total and then components, to cells
    gather: ProductMap  # the transposed map

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of all tables in one array, (b, r_1, .., r_k)."""
        return (len(self.sets), *self.spread.rows)

    @cached_property
    def tensor_shape(self) -> tuple[int, ...]:
        """The shape of all tensors in one array, (b, 1 + e_1, .., 1 + e_k)."""
        return (len(self.sets), *self.spread.columns)

    def per_table(self, cells: FloatArray) -> FloatArray:
        """Its part of an array over all cells, as a view with a row for each table."""
        return cells[self.cells].reshape(len(self.sets), -1)


class TableMap:
    """The map from components (c,) to the cells (y,) of all largest tables, ``M`` in the mathematics.

    Largest are the tables whose attributes are not part of another's: where these are non-negative, all are.  Every
    attribute must have one basis in all sets.
    """

    def __init__(self, plan: Plan, layout: ComponentLayout, sets: IntArray | None = None) -> None:
        axes = list(map(cell_axis, plan.strategy.of_attributes, cell_kinds(plan)))
        chosen = largest_sets(plan.closure) if sets is None else sets
        self.plan, self.layout = plan, layout
        self.stacks = tuple(_stacks(plan.closure, layout, axes, chosen))
        self.size = self.stacks[-1].cells.stop
        self._tensors = np.empty(self.stacks[-1].tensors.stop)
        self._index = self._component_of_each_entry()
        self._count = layout.count
        self._scratch = Scratch()

    def restrict(self) -> IntArray:
        """Leave out components that no table has: from now on (c,) are those that are given back, by their numbers."""
        numbers, index = np.unique(self._index, return_inverse=True)
        self._index, self._count = frozen(index.ravel().astype(np.int64)), len(numbers)
        return frozen(numbers.astype(np.int64))

    def cells(self, components: FloatArray, out: FloatArray) -> FloatArray:
        """The cells of components: M times them, written to ``out`` (y,)."""
        np.take(components, self._index, out=self._tensors, mode="clip")  # "clip" needs no copy; no entry is outside
        for stack in self.stacks:
            tensors = self._tensors[stack.tensors].reshape(stack.tensor_shape)
            stack.spread.apply(tensors, scratch=self._scratch, out=out[stack.cells].reshape(stack.shape))
        return out

    def transposed(self, cells: FloatArray) -> FloatArray:
        """The transposed map of cells (y,), to components (c,).  Source: eq. (51)."""
        for stack in self.stacks:
            out = self._tensors[stack.tensors].reshape(stack.tensor_shape)
            stack.gather.apply(cells[stack.cells].reshape(stack.shape), scratch=self._scratch, out=out)
        return np.bincount(self._index, self._tensors, self._count).astype(np.float64, copy=False)

    def _component_of_each_entry(self) -> IntArray:
        """Which component each entry of the tensors is, as a flat array."""
        blocks = self.layout.blocks(np.arange(self.layout.count))
        scratch, groups = Scratch(), self.layout.groups
        index: IntArray = np.empty(self._tensors.shape, dtype=np.int64)
        for stack in self.stacks:
            own = [blocks[number] for number in groups.group[stack.subsets[0]].tolist()]
            index[stack.tensors] = tensors_of_residuals(own, groups.row[stack.subsets], None, scratch).ravel()
        return frozen(index)


def _stacks(
    closure: Closure, layout: ComponentLayout, axes: Sequence[CellAxis], chosen: IntArray
) -> Iterator[TableStack]:
    groups, cells, tensors = layout.groups, 0, 0
    for group in np.unique(groups.group[chosen]).tolist():
        sets = chosen[groups.group[chosen] == group]
        order = int(closure.orders[sets[0]])
        attributes = closure.blocks[order][sets - closure.offsets[order]]
        own = tuple(axes[attribute] for attribute in attributes[0].tolist())
        spread, gather = ProductMap([axis.spread for axis in own]), ProductMap([axis.gather for axis in own])
        subsets = closure.subset_positions(attributes)
        own_cells = slice(cells, cells + len(sets) * math.prod(spread.rows))
        own_tensors = slice(tensors, tensors + len(sets) * math.prod(spread.columns))
        yield TableStack(sets, attributes, subsets, own_cells, own_tensors, own, spread, gather)
        cells, tensors = own_cells.stop, own_tensors.stop


def largest_sets(closure: Closure) -> IntArray:
    """The numbers of the sets that are part of no other, ascending."""
    is_part = np.zeros(len(closure), dtype=np.bool_)
    for block in closure.blocks[1:]:
        is_part[closure.subset_positions(block)[:, :-1]] = True
    return np.flatnonzero(~is_part)


def dual_steps(tables: TableMap, freedoms: FloatArray) -> FloatArray:
    """A step size for every cell, (y,), from v_A, (m,): no step of the dual ascent overshoots.  Source: eq. (54)."""
    found, moves = np.empty(tables.size), freedoms * squared_norms(tables)
    for stack in tables.stacks:
        # Multipliers of all tables move a table's cells through each set A that they share, by v_A times the norms of
        # all maps from A.  Where maps of different sets are orthogonal, as of subtraction bases, the largest counts.
        parts = moves[stack.subsets]
        norm = parts.max(axis=1) if all(axis.is_orthogonal for axis in stack.axes) else parts.sum(axis=1)
        stack.per_table(found)[...] = np.divide(1, norm, out=np.zeros(len(norm)), where=norm > 0)[:, None]
    return found


def squared_norms(tables: TableMap) -> FloatArray:
    """Of the maps from the components of each set to every table, added up over tables, (m,)."""
    found = np.zeros(len(tables.layout.firsts))
    for stack in tables.stacks:
        absent, present = ([[getattr(axis, name) for axis in stack.axes]] for name in ("absent", "present"))
        norms = np.broadcast_to(subset_products(absent, present), stack.subsets.shape)
        found += np.bincount(stack.subsets.ravel(), norms.ravel(), len(found))
    return found
