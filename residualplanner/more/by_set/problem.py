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
from residualplanner.method.workload.symmetry import Orbits, workload_orbits
from residualplanner.method.workload.workload import Workload
from residualplanner.more.by_set.terms import CollectedTerms, LossTerms
from residualplanner.more.searches.attribute_grams import AttributeGrams, attribute_grams, kind_classes, plain_grams
from residualplanner.more.varying.varying_cost import require_few_pairs

#: The most pairs of a query and a subset of its attributes, and the most seconds a search should take.
PAIR_LIMIT, SECONDS_LIMIT = 2**17, 100.0
#: How often loss, cost and slopes are computed, and seconds for each time, on one core of one machine: for each cell of
#: a table with a maximum; for each basis, with the cube of its directions; for each basis and table; for each pair.
#: ``benchmarks/by_set.py`` compares the estimate with measured times.
_TIMES, _CELL, _CUBE, _PART, _PAIR = 1800, 1e-7, 7e-10, 8e-5, 2e-7
#: Seconds that CVXPY takes for a convex loss and its slopes, each time.
_CONVEX = 3e-3
#: How much more often where records are replaced, as pairs of records that cost most are found on the way.
_MORE = 3
#: A search may be cut to this part of its steps.
_LEAST_PART = 1 / 4
#: The most pairs of records that a search knows at a time where records are replaced.
PAIRS = 1500


@dataclass(frozen=True, eq=False, slots=True)
class OwnAxis:
    """An attribute that has bases by set.

    With the columns of Z an orthonormal basis of the directions of sum 0 that queries depend on, a basis has
    ``u = 1/g + Z b`` and ``S = core (Z' - b 1')``, and its G is ``Z core^-1``.  In the coordinates of ``[1/g | Z]`` u
    is ``(1, b)``.
    """

    forms: AttributeGrams  # the Gram matrices of its kinds, with g groups of values
    Z: FloatArray  # (g, r): the directions
    unused: FloatArray  # (g-1-r, g): orthonormal rows of sum 0 that no query depends on
    frame: FloatArray  # (1+g, 1+r): ``[1/g | Z]``, below a row for the constant parts of queries
    grams: FloatArray  # (kinds, 1+r, 1+r): for each kind its Gram matrix in those coordinates

    @classmethod
    def of(cls, forms: AttributeGrams) -> "OwnAxis":
        """The Gram matrices of an attribute, in coordinates."""
        Z, unused = forms.directions
        frame = np.zeros((1 + len(Z), 1 + Z.shape[1]))
        frame[:, 0] = np.concatenate([[1.0], np.full(len(Z), 1 / len(Z))])
        frame[1:, 1:] = Z
        return cls(forms, Z, unused, frame, frame.T @ forms.grams @ frame)

    def rows(self) -> list[FloatArray]:
        """The distinct rows of each kind in those coordinates, (rows, 1+r); of one and its negative the first."""
        return [_distinct(rows @ self.frame) for rows in self.forms.augmented_rows()]

    @property
    def values(self) -> int:
        """g, how many values differ."""
        return len(self.Z)

    @property
    def directions(self) -> int:
        """r, how many directions of sum 0 queries depend on."""
        return int(self.Z.shape[1])


def _distinct(rows: FloatArray) -> FloatArray:
    digits = np.round(rows / max(float(np.abs(rows).max()), 1e-300), 12)
    signs = np.sign(digits[np.arange(len(digits)), (digits != 0).argmax(axis=1)])
    first = np.unique(digits * signs[:, None], axis=0, return_index=True)[1]
    return rows[np.sort(first)]


@dataclass(frozen=True, slots=True)
class SearchSize:
    """How large a search is, from counts alone, so that one that is too large is refused at once."""

    pairs: int  # of a query and a subset of its attributes
    cells: int  # of the tables that have maxima, counting as one what no query tells apart
    directions: tuple[int, ...]  # how many queries depend on, for the attribute of each basis
    parts: int  # how many tables there are, for the cost and for the loss
    replaced: bool = False
    of_function: bool = False  # whether a convex function of the variances is computed each time

    @property
    def seconds(self) -> float:
        """How long the search takes, about."""
        cubes = sum(float(r) ** 3 for r in self.directions)
        parts = self.parts + len(self.directions)
        times = _TIMES * (_MORE if self.replaced else 1)
        own = _CONVEX if self.of_function else 0.0
        return times * (own + self.cells * _CELL + cubes * _CUBE + parts * _PART + self.pairs * _PAIR)

    def require_quick(self, seconds: float) -> None:
        """Raise WorkloadError if it takes longer even with a quarter of the steps."""
        if self.seconds * _LEAST_PART > seconds:
            tables = f", {self.cells:,} cells in {self.parts:,} tables" if self.parts else ""
            raise WorkloadError(
                f"too large a search for bases by set, about {self.seconds:,.0f} seconds: {len(self.directions):,} "
                f"bases of up to {max(self.directions) + 1:,} values{tables}, "
                f'{self.pairs:,} pairs of a query and a part of it; plan with bases="optimal"'
            )


def _pair_count(workload: Workload) -> int:
    """How many pairs of a query and a subset of its attributes there are; WorkloadError above `PAIR_LIMIT`."""
    pairs = sum(len(block) << order for order, block in enumerate(workload.blocks))
    if pairs > PAIR_LIMIT:
        raise WorkloadError(
            f"too large a search for bases by set: {pairs:,} pairs of a query and a part of it, the limit is "
            f'{PAIR_LIMIT:,}; plan with bases="optimal"'
        )
    return pairs


@dataclass(frozen=True, eq=False)
class BySetProblem:
    """What there is to choose."""

    workload: Workload
    importance: FloatArray  # (q,)
    of_maximum: bool  # whether the largest variance of a cell counts, or average ones
    is_sum: bool  # whether their sum counts, weighted by importance
    replaced: bool  # whether records are replaced
    orbits: Orbits  # of queries and sets that attributes exchange
    axes: dict[int, OwnAxis]  # the own attributes
    group: IntArray  # (factors,): of each factor, -1 where the attribute is not an own one
    attribute_of_group: IntArray  # (groups,): the one that has the group, or stands for those that have; ascending
    factor: FloatArray  # (m,): what the cost of each set is multiplied by, for the attributes that are not own ones
    #: (m,): the class of each set; sets of a class have as many factors in each group, so that their costs are in
    #: proportion at every cell.
    cost_class: IntArray
    classes: tuple[tuple[int, ...], ...]  # the groups of each class, ascending
    seconds: float  # about how many a search may take

    @property
    def part(self) -> float:
        """The part of the steps of a search that there is time for."""
        return min(1.0, self.seconds / self.size.seconds)

    @cached_property
    def terms(self) -> LossTerms:
        """The terms of the loss."""
        importance, kinds = self.importance, {i: axis.forms.kinds for i, axis in self.axes.items()}
        if self.of_maximum:  # one query stands for its orbit
            chosen = np.isin(np.arange(len(importance)), self.orbits.representative)
            importance = np.where(chosen, importance, 0.0)
        of_groups = self.group, self.attribute_of_group
        return CollectedTerms(self.workload, importance, kinds, *of_groups, of_maximum=self.of_maximum).collected()

    @property
    def noise_of_set(self) -> IntArray:
        """(m,): which noise each set has part of: best divided among a class for a sum, even in an orbit otherwise."""
        return self.cost_class if self.is_sum and not self.replaced else self.orbits.member

    @cached_property
    def class_of_noise(self) -> IntArray:
        """(noises,): the class of the sets of each noise."""
        return self.cost_class[np.unique(self.noise_of_set, return_index=True)[1]]

    def of_classes(self, precision: FloatArray) -> FloatArray:
        """The precision of each class of sets, (classes,), from that of each noise."""
        return np.bincount(self.class_of_noise, precision, len(self.classes)).astype(np.float64)

    @property
    def even_factor(self) -> FloatArray:
        """(m,): by what to divide the precision of its noise for that of each set, if all have even parts of it."""
        member = self.noise_of_set
        return np.asarray(self.factor * np.bincount(member)[member])

    def axis(self, group: int) -> OwnAxis:
        """The attribute of a group."""
        return self.axes[int(self.attribute_of_group[group])]

    @property
    def size(self) -> SearchSize:
        """How large a search is."""
        return self.size_with(len(self.terms.rests))

    def size_with(self, rests: int) -> SearchSize:
        """How large it is with so many rest tables."""
        joint = [] if self.replaced else [groups for groups in self.classes if len(groups) > 1]
        tables = [math.prod(self.axis(group).values for group in groups) for groups in joint]
        directions = tuple(self.axes[i].directions for i in self.attribute_of_group.tolist())
        cells = sum(tables) + (self._cells if self.of_maximum else 0)
        cells += PAIRS * len(self.workload.closure.attribute_of_factor) if self.replaced else 0
        pairs, of_function = _pair_count(self.workload), not (self.is_sum or self.of_maximum)
        return SearchSize(pairs, cells, directions, len(tables) + rests, self.replaced, of_function)

    @property
    def _cells(self) -> int:
        """How many cells have a variance, once for each subset of the attributes of their query."""
        counts = np.ones(self.workload.uses.shape)
        for i, axis in self.axes.items():
            for kind in axis.forms.kinds:
                counts[i, kind] = self.workload.kinds[kind].rows(axis.forms.size)
        queries = self.workload.take(np.sort(self.orbits.representative))
        blocks = enumerate(queries.blocks)
        return int(sum(counts[block.attributes, block.kinds].prod(axis=1).sum() * 2**order for order, block in blocks))


def by_set_problem(
    workload: Workload,
    importance: FloatArray,
    *,
    of_maximum: bool = False,
    is_sum: bool = True,
    replaced: bool = False,
    is_one: bool = False,
    seconds: float = SECONDS_LIMIT,
) -> BySetProblem | None:
    """What there is to choose where each query's variances count by its ``importance`` (q,), at least 0.

    The sum of average variances is to be small, or another function of these, or the largest variance of a cell.  Each
    attribute may be one of one basis in all sets.  None if bases by set are those, and are known to be the best, or
    searched for as such.

    Raises WorkloadError: it would be too large a search, or take more than so many seconds with a quarter of its steps;
    or records are replaced, and there are too many pairs of them for bases by set.
    """
    pairs, every = _pair_count(workload), attribute_grams(workload, plain_grams)
    if every:  # what is far too large is refused before the eigenvalues of its matrices, which take long
        rows = {i: sum(kind.rows(forms.size) for kind in forms.own) for i, forms in every.items()}
        directions = tuple(min(len(forms.width) - 1, rows[i]) for i, forms in every.items())
        SearchSize(pairs, 0, directions, 0, replaced).require_quick(10 * seconds)
    axes = {attribute: OwnAxis.of(forms) for attribute, forms in every.items()}
    orbits = workload_orbits(workload, kind_classes(workload), importance, gain=1.0)
    same = _exchangeable(workload, orbits)
    if replaced and not is_one:
        occurring = np.unique(workload.closure.attribute_of_factor).tolist()
        require_few_pairs((axes[i].values ** 2 if i in axes else 2 for i in occurring), len(workload.closure))
    group, attribute_of_group = _factor_groups(workload, axes, same, is_one=is_one)
    if not axes or (not is_one and len(attribute_of_group) == len(np.unique(same[list(axes)]))):
        return None
    criteria = of_maximum, is_sum and not of_maximum, replaced
    classes = _classes(workload, group)
    problem = BySetProblem(workload, importance, *criteria, orbits, axes, group, attribute_of_group, *classes, seconds)
    problem.size_with(0).require_quick(seconds)  # before the terms, which may be many
    problem.size.require_quick(seconds)
    return problem


def _exchangeable(workload: Workload, orbits: Orbits) -> IntArray:
    """The first attribute that each can be exchanged with, (d,)."""
    first = np.arange(len(workload.domain))
    measured = np.flatnonzero(~workload.closure.trivial & workload.uses.any(axis=1))
    orbit = orbits.member[workload.closure.positions_of(measured[:, None])]
    _, at, number = np.unique(orbit, return_index=True, return_inverse=True)
    first[measured] = measured[at][number]
    return first


def _factor_groups(
    workload: Workload, own: Iterable[int], same: IntArray, *, is_one: bool
) -> tuple[IntArray, IntArray]:
    """The group of each factor, -1 for attributes that are not ``own``, and the attribute that stands for each group.

    Factors of an attribute, and of others ``same`` (d,), have one basis if they are in sets of one order, and queries
    that contain these have the same kinds for the attribute; or in any set, if each is to have but one.  Source:
    docs/decisions/0010-one-basis-for-an-attribute.md.
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
    keys = np.column_stack([same[attributes], orders, np.packbits(kinds, axis=1)])[:, : 1 if is_one else None]
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
