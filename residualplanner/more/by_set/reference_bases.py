"""Reference bases: of each attribute the basis that it has in the set of it alone, and how others lead to its answers.

Source: eq. (38).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.strategy.basis_groups import BasisGroups, basis_groups
from residualplanner.method.strategy.strategy import Strategy, constant_strategy
from residualplanner.method.workload.attribute_sets import indices_of_numbers


class ReferenceChange(NamedTuple):
    """What leads to the answers of the reference R from those of another basis ``[u | G]`` of an axis."""

    G: FloatArray  # (m, m): R G
    u: FloatArray  # (m, 1, .., 1): R u, along the axis of a stack of tables


def reference_groups(strategy: Strategy) -> BasisGroups:
    """The sets of a strategy, grouped by the reference bases of their attributes."""
    return basis_groups(constant_strategy(strategy.closure, strategy.of_attributes))


def reference_changes(own: Sequence[Basis], reference: Sequence[Basis]) -> dict[int, ReferenceChange]:
    """The change of each axis, counted from 0, whose basis is not the reference."""
    codes, found = basis_codes([*own, *reference]), {}
    for axis in np.flatnonzero(codes[: len(own)] != codes[len(own) :]).tolist():
        (R,), u, G = reference[axis].multipliers, own[axis].u, own[axis].G
        found[axis] = ReferenceChange(R @ G, (R @ u).reshape(-1, *(1,) * (len(own) - axis - 1)))
    return found


def sets_in_both(own: BasisGroups, reference: BasisGroups) -> list[IntArray]:
    """The numbers of the sets of each pair of groups, ascending, those of fewer attributes first."""
    return indices_of_numbers(own.group * (reference.group.max() + 1) + reference.group)
