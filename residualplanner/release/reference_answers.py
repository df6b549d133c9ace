"""Answers of bases by set, as if every attribute had been measured with one basis in all sets.

The basis R of an attribute in the set of it alone is its *reference*.  The answers of the reference bases in a set are
a linear function of the set's own answers and of the reference answers in its subsets, since all bases of an attribute
answer the same queries.
Source: eqs. (38) and (43).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.gaussian import BATCH_CELLS
from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.kron.arrays import Array
from residualplanner.method.kron.axis_maps import ProductMap, keeping, matrix_map
from residualplanner.method.plan.plan import Plan
from residualplanner.method.strategy.basis_groups import BasisGroups, basis_groups
from residualplanner.method.strategy.strategy import Strategy, constant_strategy
from residualplanner.method.workload.attribute_sets import indices_of_numbers
from residualplanner.release.devices import HOST, Device

#: What leads to the answers of the reference R from those of another basis ``[u | G]`` of an axis: R G, (m, m), and
#: R u, (m, 1, .., 1), along the axis of a stack of tables.
ReferenceChange = tuple[FloatArray, FloatArray]


def reference_groups(strategy: Strategy) -> BasisGroups:
    """The sets of a strategy, grouped by the reference bases of their attributes."""
    return basis_groups(constant_strategy(strategy.closure, strategy.of_attributes))


def reference_changes(own: Sequence[Basis], reference: Sequence[Basis]) -> dict[int, ReferenceChange]:
    """The change of each axis, counted from 0, whose basis is not the reference."""
    codes, found = basis_codes([*own, *reference]), {}
    for axis in np.flatnonzero(codes[: len(own)] != codes[len(own) :]).tolist():
        (R,), u, G = reference[axis].multipliers, own[axis].u, own[axis].G
        found[axis] = R @ G, (R @ u).reshape(-1, *(1,) * (len(own) - axis - 1))
    return found


def sets_in_both(own: BasisGroups, reference: BasisGroups) -> list[IntArray]:
    """The numbers of the sets of each pair of groups, ascending, those of fewer attributes first."""
    return indices_of_numbers(own.group * (reference.group.max() + 1) + reference.group)


def reference_answers(measurement: NoisyAnswers, device: Device = HOST) -> Residuals:
    """The answers that the reference bases would have given: the answers themselves if no bases vary between sets.

    They are computed on ``device``, a bounded number at a time, and kept on the host, as those of the measurement are.

    With ``r_A = (kron R) v_A``, and ``w_A`` the answers of the set A, which was measured with bases ``[u | G]``::

        r_A = (kron R G) w_A + sum_D (-1)**(|D| + 1) (kron over D of R u) x r_{A without D}

    over the sets D of one or more attributes of A whose basis in A is not the reference: of all others ``R u`` is 0.

    Guarantees: exact up to rounding; integers of any size are rounded to floats once.
    Cost: O(cells * n) for each attribute of a set whose basis is not the reference, and a float for each answer.
    Source: eq. (38), with R applied to both sides.
    """
    plan, measured = measurement.plan, measurement.residuals
    if not plan.strategy.varying.any():
        return measured
    found = _ReferenceAnswers(plan)
    for sets in sets_in_both(measured.groups, found.groups):
        own, reference = int(measured.groups.group[sets[0]]), int(found.groups.group[sets[0]])
        changes = reference_changes(measured.groups.bases[own], found.groups.bases[reference])
        kept = (keeping(basis.answers) for basis in measured.groups.bases[own])
        maps = ProductMap([matrix_map(changes[axis][0]) if axis in changes else each for axis, each in enumerate(kept)])
        spread = {axis: device.put(change) for axis, (_, change) in changes.items()}
        stored, divisor, rows = measured.stored(own), measured.divisor(own), measured.groups.row[sets]
        step = max(1, BATCH_CELLS // math.prod(measured.groups.answer_shapes[own]))
        for first, last in pairwise([*range(0, len(sets), step), len(sets)]):
            part = sets[first:last]
            answers = np.true_divide(stored[rows[first:last]], divisor).astype(np.float64, copy=False)
            if changes:
                lower, mapped = found.lower(part, device), maps.apply(device.put(answers))
                for number, axis in enumerate(changes):
                    mapped += spread[axis] * _spread(lower, spread, 1 << axis, [*changes][number + 1 :])
                answers = device.to_host(mapped)
            found.put(part, answers)
    return Residuals(found.groups, frozen(found.values))


def _spread(lower: Callable[[int], Array], spread: Mapping[int, Array], left_out: int, axes: Sequence[int]) -> Array:
    """The answers of sets without the attributes in the bits of a number, less ``R u`` times those of their subsets.

    ``(kron over the axes of I - R u 1^T) r``, where the sums along an axis are the answers without it.
    """
    if not axes:
        return lower(left_out)
    axis, others = axes[0], axes[1:]
    smaller = _spread(lower, spread, left_out | 1 << axis, others)
    return _spread(lower, spread, left_out, others) - spread[axis] * smaller


class _ReferenceAnswers:
    """The answers of the reference bases, as far as they are known; sets of fewer attributes come first."""

    def __init__(self, plan: Plan) -> None:
        self._closure = plan.closure
        self.groups = groups = reference_groups(plan.strategy)
        shapes = [(len(members), *shape) for members, shape in zip(groups.members, groups.answer_shapes, strict=True)]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        self.values = np.empty(int(ends[-1]))
        parts = np.split(self.values, ends[:-1])
        self._blocks = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def put(self, sets: NDArray[np.int64], answers: FloatArray) -> None:
        """Keep the answers (b, m_1, .., m_k) of sets (b,) of one group."""
        self._blocks[self.groups.group[sets[0]]][self.groups.row[sets]] = answers

    def lower(self, sets: NDArray[np.int64], device: Device) -> Callable[[int], Array]:
        """A function that gives the answers of subsets of sets (b,) of one group, without some of their attributes."""
        order = int(self._closure.orders[sets[0]])
        positions = self._closure.subset_positions(self._closure.blocks[order][sets - self._closure.offsets[order]])
        shape = self.groups.answer_shapes[self.groups.group[sets[0]]]

        def of(left_out: int) -> Array:
            numbers = positions[:, (1 << order) - 1 ^ left_out]
            block = self._blocks[self.groups.group[numbers[0]]]
            kept = (1 if left_out >> axis & 1 else m for axis, m in enumerate(shape))
            return device.put(block[self.groups.row[numbers]].reshape(len(sets), *kept))

        return of
