"""Components as if every attribute had one basis in all sets, from those of bases by set; and the transposed map.

Reads: a plan.  Gives: ReferenceMap, of which `SameBases` and `BasesBySet` are the two sorts.

`Reconstructor` does the first for answers; here it is a linear map with a transpose.
Source: eqs. (38) and (43).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.components import ComponentLayout
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron import ProductMap, keeping, matrix_map
from residualplanner.method.plan.plan import Plan
from residualplanner.method.strategy.basis_groups import BasisGroups, basis_groups
from residualplanner.more.by_set.reference_bases import reference_changes, reference_groups, sets_in_both


class ReferenceMap(ABC):
    """The map from the components of a plan (c,) to those of its reference bases.

    Attributes:
        own: the layout of the plan's components.
        reference: that of the reference bases: an attribute has in all sets its basis in the set of it alone.
    """

    own: ComponentLayout
    reference: ComponentLayout

    @abstractmethod
    def apply(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """The components of the reference bases."""

    @abstractmethod
    def transposed(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transposed map."""

    @property
    @abstractmethod
    def is_identity(self) -> bool:
        """Whether no basis varies."""


def reference_map(plan: Plan) -> ReferenceMap:
    """The map of a plan's strategy."""
    own = ComponentLayout(basis_groups(plan.strategy))
    return BasesBySet(plan, own) if plan.strategy.varying.any() else SameBases(own)


class SameBases(ReferenceMap):
    """Every attribute has one basis in all sets: nothing to do."""

    is_identity = True

    def __init__(self, own: ComponentLayout) -> None:
        self.own = self.reference = own

    def apply(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same."""
        return components

    def transposed(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same."""
        return components


@dataclass(frozen=True, eq=False, slots=True)
class _Piece:
    """Sets whose attributes have the same bases, and the same reference bases.

    Attributes:
        sets (b,): by number.
        subsets (b, 2**k): the numbers of their subsets.
        own, reference: their groups.
        maps: R G along the axes whose basis is not the reference R.
        back: the transposed map.
        changes: R u of each such axis, counted from 0, as of `ReferenceChange`.
    """

    sets: IntArray
    subsets: IntArray
    own: int
    reference: int
    maps: ProductMap
    back: ProductMap
    changes: dict[int, FloatArray]

    def terms(self, groups: BasisGroups) -> Iterator[tuple[tuple[int, ...], FloatArray, int, IntArray]]:
        """The terms of the sum over D: its axes, ``(-1)**(|D| + 1) kron R u``, and the sets without D in ``groups``."""
        order = len(self.maps.columns)
        for count in range(1, len(self.changes) + 1):
            for axes in combinations(self.changes, count):
                factor = np.array(-1.0)
                for axis in axes:
                    factor = -factor * self.changes[axis]
                without = self.subsets[:, (1 << order) - 1 - sum(1 << axis for axis in axes)]
                yield tuple(1 + axis for axis in axes), factor, int(groups.group[without[0]]), groups.row[without]


class BasesBySet(ReferenceMap):
    """Some attributes have different bases in different sets.

    ``r_A = (kron R G) w_A + sum_D (-1)**(|D| + 1) (kron over D of R u) x r_{A without D}`` over the sets D of one or
    more attributes of A whose basis in A is not the reference.

    Source: eqs. (38) and (43).
    """

    is_identity = False

    def __init__(self, plan: Plan, own: ComponentLayout) -> None:
        self.own, self.reference = own, ComponentLayout(reference_groups(plan.strategy))
        self._pieces = tuple(_pieces(plan, own.groups, self.reference.groups))

    def apply(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """The components of the reference bases; sets of fewer attributes come first."""
        found, groups = np.empty(self.reference.count), self.reference.groups
        blocks, own = self.reference.blocks(found), self.own.blocks(components)
        for piece in self._pieces:
            result = piece.maps.apply(own[piece.own][self.own.groups.row[piece.sets]])
            for axes, factor, group, rows in piece.terms(groups):
                result += factor * np.expand_dims(blocks[group][rows], axes)
            blocks[piece.reference][groups.row[piece.sets]] = result
        return found

    def transposed(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transposed map; sets of more attributes come first."""
        rest, found, groups = components.copy(), np.empty(self.own.count), self.reference.groups
        blocks, own = self.reference.blocks(rest), self.own.blocks(found)
        for piece in reversed(self._pieces):
            mine = blocks[piece.reference][groups.row[piece.sets]]
            for axes, factor, group, rows in piece.terms(groups):
                np.add.at(blocks[group], rows, (factor * mine).sum(axis=axes))
            own[piece.own][self.own.groups.row[piece.sets]] = piece.back.apply(mine)
        return found


def _pieces(plan: Plan, own: BasisGroups, reference: BasisGroups) -> Iterator[_Piece]:
    """All sets by their groups in both; those of fewer attributes first."""
    closure = plan.closure
    for sets in sets_in_both(own, reference):
        order = int(closure.orders[sets[0]])
        subsets = closure.subset_positions(closure.blocks[order][sets - closure.offsets[order]])
        numbers = int(own.group[sets[0]]), int(reference.group[sets[0]])
        changes = reference_changes(own.bases[numbers[0]], reference.bases[numbers[1]])
        sizes = own.noise_shape(numbers[0])
        maps, back = (
            ProductMap([matrix_map(matrices[axis]) if axis in matrices else keeping(n) for axis, n in enumerate(sizes)])
            for matrices in (
                {axis: change.G for axis, change in changes.items()},
                {axis: np.ascontiguousarray(change.G.T) for axis, change in changes.items()},
            )
        )
        spread = {axis: change.u for axis, change in changes.items()}
        yield _Piece(sets, subsets, *numbers, maps, back, spread)
