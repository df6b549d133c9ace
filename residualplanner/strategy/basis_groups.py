"""Sets of attributes grouped by the bases of their attributes, so that equal tables are worked on together."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray, frozen
from residualplanner.bases import Basis, basis_codes
from residualplanner.strategy.strategy import Strategy
from residualplanner.workload import AttributeSets, row_numbers


@dataclass(frozen=True, eq=False, slots=True)
class BasisGroups:
    """Which sets of attributes have the same sequence of bases, and with it tables and answers of the same shape.

    Attributes:
        bases: the bases of each group's attributes; groups of lower order come first.
        shapes: the shape of each group's tables of counts.
        answer_shapes: the shape of the residual answers to each of its tables.
        group (m,): the group of every set.
        row (m,): its index within the group.
        members: for each group the numbers of its sets, ascending.
    """

    bases: tuple[tuple[Basis, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    answer_shapes: tuple[tuple[int, ...], ...]
    group: NDArray[np.int64]
    row: NDArray[np.int64]
    members: tuple[NDArray[np.int64], ...]

    def noise_shape(self, group: int) -> tuple[int, ...]:
        """The shape of the noise of one of a group's tables: one number per answer, or per value before ``Sub``."""
        return tuple(basis.noise_values for basis in self.bases[group])

    def divisor(self, group: int) -> int:
        """The product of what each basis multiplies counts by so that its answers are integers.

        Source: spec eqs. (34) and (36).
        """
        return math.prod(basis.divisor for basis in self.bases[group])


def basis_groups(strategy: Strategy) -> BasisGroups:
    """Group the sets of a strategy's closure by the bases that their attributes have in them, in order.

    Two attributes of one size may have different bases; then their tables have one shape, and their answers do not.

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> from residualplanner.strategy.strategy import constant_strategy
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> closure = downward_closure(AttributeSets.of([(0,), (1,), (2,)], attribute_count=3))
        >>> groups = basis_groups(constant_strategy(closure, [subtraction_basis(size) for size in (4, 2, 4)]))
        >>> groups.shapes, groups.group.tolist(), groups.row.tolist()
        (((), (2,), (4,)), [0, 2, 1, 2], [0, 0, 0, 1])
    """
    # In order of first use, so that the same strategy has the same groups however its bases are listed.
    used = list(dict.fromkeys([*strategy.of_attribute.tolist(), *strategy.of_factor.tolist()]))
    distinct, of_used = _coded([strategy.bases[number] for number in used])
    code = np.zeros(len(strategy.bases), dtype=np.int64)
    code[used] = of_used
    return _grouped(strategy.closure, distinct, (code[numbers] for numbers in strategy.numbers()))


def _grouped(sets: AttributeSets, distinct: Sequence[Basis], coded: Iterable[IntArray]) -> BasisGroups:
    """Group sets by the numbers among ``distinct`` that their attributes have, for each order (m_k, k)."""
    found: list[NDArray[np.int64]] = []
    group = np.empty(len(sets), dtype=np.int64)
    total = 0
    for codes, start in zip(coded, sets.offsets.tolist(), strict=False):
        numbers = row_numbers(codes)
        group[start : start + len(codes)] = numbers + total
        found.append(codes[np.unique(numbers, return_index=True)[1]])
        total += len(found[-1])
    by_group = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=total)
    starts = np.cumsum(counts) - counts
    row = np.empty(len(sets), dtype=np.int64)
    row[by_group] = np.arange(len(sets)) - np.repeat(starts, counts)
    members = tuple(frozen(part) for part in np.split(by_group, starts[1:])) if total else ()
    objects = np.array([*distinct, None], dtype=object)[:-1]
    sizes = np.array([basis.size for basis in distinct], dtype=np.int64)
    answers = np.array([basis.answers for basis in distinct], dtype=np.int64)
    named = (_looked_up(objects, found), _looked_up(sizes, found), _looked_up(answers, found))
    return BasisGroups(*named, frozen(group), frozen(row), members)


def _looked_up(values: NDArray[Any], found: Sequence[NDArray[np.int64]]) -> tuple[tuple[Any, ...], ...]:
    """The ``values`` of each row of codes."""
    return tuple(tuple(row) for codes in found for row in values[codes].tolist())


def _coded(bases: Sequence[Basis]) -> tuple[list[Basis], NDArray[np.int64]]:
    """The distinct bases, those of smaller size first, and which of them each of ``bases`` (d,) is, (d,)."""
    first, code = np.unique(basis_codes(bases), return_index=True, return_inverse=True)[1:]
    distinct = [bases[number] for number in first.tolist()]
    order = np.argsort([basis.size for basis in distinct], kind="stable")
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[order] = np.arange(len(distinct))
    return [distinct[number] for number in order.tolist()], rank[code]
