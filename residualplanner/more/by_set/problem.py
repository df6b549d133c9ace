"""What there is to choose where attributes have bases by set: groups of factors, and the terms of cost and loss.

Source: eqs. (39) to (41).

Attributes that are only counted by single values have the subtraction basis everywhere: they change factors only.  The
others, the *own* attributes, have one basis in each group of factors.  Tables have an axis for each own attribute.

Attributes that can be exchanged without changing the workload have the same groups, and one stands for all.  The best
noise is the same for sets that are exchanged, so that cost and loss are sums over classes of sets: messages of a class
are sums of those of its sets, and an axis has the sum of what all its attributes cost.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.workload.symmetry import workload_orbits
from residualplanner.method.workload.workload import Workload
from residualplanner.more.by_set.terms import LossTerms, OwnAxis, TermBuilder
from residualplanner.more.searches.workload_grams import attribute_grams, kind_classes, plain_grams

#: The most pairs of a query and a subset of its attributes, and the most seconds a search should take.
PAIR_LIMIT, SECONDS_LIMIT = 2**17, 100.0
#: How often loss, cost and slopes are computed, and seconds for each time, on one core of one machine: for each cell of
#: a table with a maximum; for each basis, with the cube of its directions; for each basis and table; for each pair.
#: ``benchmarks/by_set.py`` compares the estimate with measured times.
_TIMES, _CELL, _CUBE, _PART, _PAIR = 1800, 1e-7, 7e-10, 8e-5, 2e-7


@dataclass(frozen=True, slots=True)
class SearchSize:
    """How large a search is, from counts alone, so that one that is too large is refused at once.

    Attributes:
        pairs: of a query and a subset of its attributes.
        cells: of the tables that have maxima, counting as one what no query tells apart.
        directions: how many queries depend on, for the attribute of each basis.
        parts: how many tables there are, for the cost and for the loss.
    """

    pairs: int
    cells: int
    directions: tuple[int, ...]
    parts: int

    @property
    def seconds(self) -> float:
        """How long the search takes, about.

        Example:
            >>> SearchSize(pairs=8, cells=600, directions=(29, 29, 19, 19), parts=3).seconds < 2
            True
        """
        cubes = sum(float(r) ** 3 for r in self.directions)
        parts = self.parts + len(self.directions)
        return _TIMES * (self.cells * _CELL + cubes * _CUBE + parts * _PART + self.pairs * _PAIR)

    def require_quick(self) -> None:
        """Raise WorkloadError if it takes too long."""
        if self.seconds > SECONDS_LIMIT:
            tables = f", {self.cells:,} cells in {self.parts:,} tables" if self.parts else ""
            raise WorkloadError(
                f"too large a search for bases by set, about {self.seconds:,.0f} seconds: {len(self.directions):,} "
                f"bases of up to {max(self.directions) + 1:,} values{tables}, "
                f'{self.pairs:,} pairs of a query and a part of it; plan with bases="optimal"'
            )


def pair_count(workload: Workload) -> int:
    """How many pairs of a query and a subset of its attributes there are.

    Raises:
        WorkloadError: more than `PAIR_LIMIT`.
    """
    pairs = sum(len(block) << order for order, block in enumerate(workload.blocks))
    if pairs > PAIR_LIMIT:
        raise WorkloadError(
            f"too large a search for bases by set: {pairs:,} pairs of a query and a part of it, the limit is "
            f'{PAIR_LIMIT:,}; plan with bases="optimal"'
        )
    return pairs


@dataclass(frozen=True, eq=False)
class BySetProblem:
    """What there is to choose.

    Attributes:
        workload, importance: the problem.
        axes: the own attributes.
        group (factors,): the group of each factor, -1 where the attribute is not an own one.
        attribute_of_group (groups,): the attribute, or the one that stands for those with this group; ascending.
        factor (m,): what the cost of each set is multiplied by, for the attributes that are not own ones.
        cost_class (m,): the class of each set; sets of a class have as many factors in each group, so that their costs
            are in proportion at every cell.
        classes: the groups of each class, ascending.
        terms: of the loss.
    """

    workload: Workload
    importance: FloatArray
    axes: dict[int, OwnAxis]
    group: IntArray
    attribute_of_group: IntArray
    factor: FloatArray
    cost_class: IntArray
    classes: tuple[tuple[int, ...], ...]
    terms: LossTerms

    @cached_property
    def joint(self) -> list[tuple[int, tuple[int, ...]]]:
        """The classes of two own attributes or more, which have messages: their numbers and groups."""
        return [(number, groups) for number, groups in enumerate(self.classes) if len(groups) > 1]

    @property
    def size(self) -> SearchSize:
        """How large a search is."""
        return _size(self.workload, self.axes, self.attribute_of_group, self.classes, len(self.terms.rests))

    def axis(self, group: int) -> OwnAxis:
        """The attribute of a group."""
        return self.axes[int(self.attribute_of_group[group])]


def by_set_problem(workload: Workload, importance: FloatArray) -> BySetProblem | None:
    """What there is to choose; None if every attribute has one basis in any case.

    Args:
        workload: the queries.
        importance (q,): how much the variance of each query's average cell counts, at least 0.

    Raises:
        WorkloadError: it would be too large a search.
    """
    pair_count(workload)
    axes = {attribute: OwnAxis.of(forms) for attribute, forms in attribute_grams(workload, plain_grams).items()}
    same = _exchangeable(workload, importance)
    group, attribute_of_group = factor_groups(workload, axes, same)
    if len(attribute_of_group) == len(np.unique(same[list(axes)])):
        return None
    factor, cost_class, classes = _classes(workload, group)
    _size(workload, axes, attribute_of_group, classes, 0).require_quick()
    terms = TermBuilder(workload, importance, axes, group, attribute_of_group).terms()
    problem = BySetProblem(workload, importance, axes, group, attribute_of_group, factor, cost_class, classes, terms)
    problem.size.require_quick()
    return problem


def _size(
    workload: Workload,
    axes: dict[int, OwnAxis],
    attribute_of_group: IntArray,
    classes: tuple[tuple[int, ...], ...],
    rests: int,
) -> SearchSize:
    of_group = [axes[i] for i in attribute_of_group.tolist()]
    tables = [math.prod(of_group[group].values for group in groups) for groups in classes if len(groups) > 1]
    directions = tuple(axis.directions for axis in of_group)
    return SearchSize(pair_count(workload), sum(tables), directions, len(tables) + rests)


def _exchangeable(workload: Workload, importance: FloatArray) -> IntArray:
    """The first attribute that each can be exchanged with, (d,)."""
    first = np.arange(len(workload.domain))
    orbits = workload_orbits(workload, kind_classes(workload), importance, gain=1.0)
    measured = np.flatnonzero(~workload.closure.trivial & workload.uses.any(axis=1))
    orbit = orbits.member[workload.closure.positions_of(measured[:, None])]
    _, at, number = np.unique(orbit, return_index=True, return_inverse=True)
    first[measured] = measured[at][number]
    return first


def factor_groups(workload: Workload, own: Iterable[int], same: IntArray) -> tuple[IntArray, IntArray]:
    """The group of each factor, -1 for attributes that are not ``own``, and the attribute that stands for each group.

    Factors of an attribute, and of others ``same`` (d,), have one basis if they are in sets of one order, and queries
    that contain these have the same kinds for the attribute.

    Source: docs/decisions/0010-one-basis-for-an-attribute.md.
    """
    closure = workload.closure
    attributes, orders = closure.attribute_of_factor, np.repeat(closure.orders, closure.orders)
    kinds = np.zeros((len(attributes), len(workload.kinds)), dtype=np.bool_)
    starts = closure.factor_starts
    for block in workload.blocks[1:]:
        positions, trivial = closure.subset_positions(block.attributes), closure.trivial[block.attributes]
        for subset in range(positions.shape[1]):
            columns = [column for column in range(block.attributes.shape[1]) if subset >> column & 1]
            rows = ~trivial[:, columns].any(axis=1)
            for position, column in enumerate(columns):
                kinds[starts[positions[rows, subset]] + position, block.kinds[rows, column]] = True
    keys = np.column_stack([same[attributes], orders, np.packbits(kinds, axis=1)])
    group, chosen = np.full(len(attributes), -1, dtype=np.int64), np.isin(attributes, list(own))
    distinct, inverse = np.unique(keys[chosen], axis=0, return_inverse=True)
    group[chosen] = inverse.ravel()
    return group, distinct[:, 0].astype(np.int64)


def _classes(workload: Workload, group: IntArray) -> tuple[FloatArray, IntArray, tuple[tuple[int, ...], ...]]:
    closure, sizes = workload.closure, np.array(workload.domain.sizes, dtype=np.float64)
    starts, attributes = closure.factor_starts, closure.attribute_of_factor
    found: dict[tuple[int, ...], int] = {}
    factor, code = np.ones(len(closure)), np.zeros(len(closure), dtype=np.int64)
    plain = np.where(group < 0, 1 - 1 / sizes[attributes], 1.0)
    for number, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        own = tuple(sorted(g for g in group[start:end].tolist() if g >= 0))
        factor[number], code[number] = plain[start:end].prod(), found.setdefault(own, len(found))
    return factor, code, tuple(found)
