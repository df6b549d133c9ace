"""Sets of attributes grouped by the bases of their attributes, so that equal tables are worked on together."""

import math
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import IntArray, frozen
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.attribute_sets import numbers_of_blocks


@dataclass(frozen=True, eq=False, slots=True)
class BasisGroups:
    """Which sets of attributes have the same sequence of bases, and with it tables and answers of the same shape."""

    bases: tuple[tuple[Basis, ...], ...]  # of each group's attributes; groups of lower order come first
    shapes: tuple[tuple[int, ...], ...]  # of each group's tables of counts
    answer_shapes: tuple[tuple[int, ...], ...]  # of the residual answers to each of its tables
    group: IntArray  # (m,), the group of every set
    row: IntArray  # (m,), its index within the group
    members: tuple[IntArray, ...]  # for each group the numbers of its sets, ascending

    def noise_shape(self, group: int) -> tuple[int, ...]:
        """The shape of the noise of one of a group's tables: one number per answer, or per value before ``Sub``."""
        return tuple(basis.noise_values for basis in self.bases[group])

    def divisor(self, group: int) -> int:
        """The product of what each basis multiplies counts by so that its answers are integers: eqs. (34) and (36)."""
        return math.prod(basis.divisor for basis in self.bases[group])


def basis_groups(strategy: Strategy) -> BasisGroups:
    """Group the sets of a strategy's closure by the bases that their attributes have in them, in order.

    Two attributes of one size may have different bases; then their tables have one shape, and their answers do not.
    """
    # In order of first use, so that the same strategy has the same groups however its bases are listed.
    used = dict.fromkeys([*strategy.of_attribute.tolist(), *strategy.of_factor.tolist()])
    chosen = sorted(used, key=lambda number: strategy.bases[number].size)
    code, chosen_codes = np.zeros(len(strategy.bases), dtype=np.int64), basis_codes([strategy.bases[i] for i in chosen])
    code[chosen] = chosen_codes
    distinct = [strategy.bases[chosen[first]] for first in np.unique(chosen_codes, return_index=True)[1].tolist()]

    closure, codes = strategy.closure, [code[numbers] for numbers in strategy.numbers()]
    group = numbers_of_blocks(codes)
    counts, by_group = np.bincount(group), np.argsort(group, kind="stable")
    starts = np.cumsum(counts) - counts
    row = np.empty(len(group), dtype=np.int64)
    row[by_group] = np.arange(len(group)) - np.repeat(starts, counts)
    firsts = by_group[starts]
    orders = closure.orders[firsts]
    bases = tuple(
        tuple(distinct[number] for number in numbers)
        for order, block in enumerate(codes)
        for numbers in block[firsts[orders == order] - closure.offsets[order]].tolist()
    )
    return BasisGroups(
        bases,
        tuple(tuple(basis.size for basis in own) for own in bases),
        tuple(tuple(basis.answers for basis in own) for own in bases),
        frozen(group),
        frozen(row),
        tuple(frozen(part) for part in np.split(by_group, starts)[1:]),
    )
