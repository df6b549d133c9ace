"""What there is to choose where attributes have bases by set: groups of places, and what cost and loss are made of.

Reads: a workload, the importance of its queries.  Gives: BySetProblem.
Source: spec eqs. (T2) to (T4).

Attributes of which only single values are asked have the subtraction basis everywhere: they change factors only.  The
others, the *own* attributes, have one basis in each group of places.  Tables have an axis for each own attribute.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray
from residualplanner.bases import asked_directions
from residualplanner.plan.asked_forms import AskedForms, asked_forms
from residualplanner.workload import Closure, Workload

Members = tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class OwnAxis:
    """An attribute that has bases by set.

    With the columns of Z an orthonormal basis of the asked directions of sum 0, a basis has ``u = 1/g + Z b`` and
    ``S = core (Z' - b 1')``, and its G is ``Z core^-1``.  In the coordinates of ``[1/g | Z]`` u is ``(1, b)``.

    Attributes:
        forms: what is asked of it, with g groups of values.
        Z (g, r): the directions.
        unasked (g-1-r, g): orthonormal rows of sum 0 of which nothing is asked.
        grams (kinds, 1+r, 1+r): for each kind its Gram matrix in those coordinates.
    """

    forms: AskedForms
    Z: FloatArray
    unasked: FloatArray
    grams: FloatArray

    @classmethod
    def of(cls, forms: AskedForms) -> "OwnAxis":
        even = 1 / np.trace(forms.grams, axis1=1, axis2=2)
        Z, unasked = asked_directions(forms.weighted(even))
        frame = np.column_stack([np.full(len(Z), 1 / len(Z)), Z])
        return cls(forms, Z, unasked, frame.T @ forms.grams @ frame)

    @property
    def values(self) -> int:
        """g, how many values differ."""
        return len(self.Z)

    @property
    def directions(self) -> int:
        """r, how many directions of sum 0 are asked."""
        return self.Z.shape[1]


@dataclass(frozen=True, slots=True)
class Share:
    """A table h of (T2), on two own attributes or more, as one of its equals.

    Attributes:
        attributes: its axes.
        groups: of the basis of each attribute in the larger set.
        parts: for every smaller part of the attributes, in the order of `parts_of`, what the table is there: the group
            whose b it is, for one attribute, and the number of another share for more.
    """

    attributes: Members
    groups: tuple[int, ...]
    parts: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class LossTerms:
    """The sum (T3) over queries and subsets: weight * product of present factors * form of a share / precision.

    Attributes:
        set (n,): the number of the subset.
        weight (n,): what does not depend on the own attributes' bases.
        present (n, k): which present factors, the number after the last standing for 1.
        form (n,): which form: 0 stands for 1, then come the absent factors, then `forms`.
        shares: the tables h of two or more attributes, those of fewer first.
        forms: for each such form the number of a share, and the kind of each axis.
    """

    set: IntArray
    weight: FloatArray
    present: IntArray
    form: IntArray
    shares: tuple[Share, ...]
    forms: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, eq=False)
class BySetProblem:
    """What there is to choose.

    Attributes:
        workload, importance: the problem.
        axes: the own attributes.
        group (places,): the group of each place, -1 where the attribute is not an own one.
        attribute_of_group (groups,): ascending.
        factor (m,): what the cost of each set is multiplied by, for the attributes that are not own ones.
        cost_class (m,): the class of each set; sets of a class have the same own attributes in the same groups, so
            their costs are in proportion at every cell.
        classes: the groups of each class.
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

    @classmethod
    def of(cls, workload: Workload, importance: FloatArray) -> "BySetProblem":
        axes = {attribute: OwnAxis.of(forms) for attribute, forms in asked_forms(workload).items()}
        group, attribute_of_group = place_groups(workload, axes)
        factor, cost_class, classes = _classes(workload, group)
        terms = _Builder(workload, importance, axes, group, attribute_of_group).terms()
        return cls(workload, importance, axes, group, attribute_of_group, factor, cost_class, classes, terms)

    @cached_property
    def groups_of(self) -> dict[int, slice]:
        """The groups of each own attribute."""
        ends = {i: np.searchsorted(self.attribute_of_group, [i, i + 1]).tolist() for i in self.axes}
        return {i: slice(*end) for i, end in ends.items()}

    @cached_property
    def joint(self) -> list[tuple[int, tuple[int, ...]]]:
        """The classes of two own attributes or more, which have messages: their numbers and groups."""
        return [(number, groups) for number, groups in enumerate(self.classes) if len(groups) > 1]

    def axis(self, group: int) -> OwnAxis:
        """The attribute of a group."""
        return self.axes[int(self.attribute_of_group[group])]


def parts_of(attributes: Members) -> Iterator[Members]:
    """All parts but none and all, those of fewer first.

    Example:
        >>> list(parts_of((1, 4)))
        [(1,), (4,)]
    """
    orders = range(1, len(attributes))
    return itertools.chain.from_iterable(itertools.combinations(attributes, order) for order in orders)


def place_groups(workload: Workload, own: Iterable[int]) -> tuple[IntArray, IntArray]:
    """The group of each place, -1 for attributes that are not ``own``, and the attribute of each group.

    Places of an attribute have one basis if they are in sets of one order, and queries that contain these ask the
    attribute in the same kinds.

    Source: docs/decisions/0010-one-basis-for-an-attribute.md.
    """
    closure = workload.closure
    attributes, orders = _attributes_of_places(closure), np.repeat(closure.orders, closure.orders)
    kinds = np.zeros((len(attributes), len(workload.kinds)), dtype=np.bool_)
    starts = _place_starts(closure)
    for block in workload.blocks[1:]:
        positions, trivial = closure.subset_positions(block.attributes), closure.trivial[block.attributes]
        for subset in range(positions.shape[1]):
            columns = [column for column in range(block.attributes.shape[1]) if subset >> column & 1]
            rows = ~trivial[:, columns].any(axis=1)
            for place, column in enumerate(columns):
                kinds[starts[positions[rows, subset]] + place, block.kinds[rows, column]] = True
    keys = np.column_stack([attributes, orders, np.packbits(kinds, axis=1)])
    group, chosen = np.full(len(attributes), -1, dtype=np.int64), np.isin(attributes, list(own))
    distinct, inverse = np.unique(keys[chosen], axis=0, return_inverse=True)
    group[chosen] = inverse.ravel()
    return group, distinct[:, 0].astype(np.int64)


def _place_starts(closure: Closure) -> IntArray:
    return np.concatenate([[0], np.cumsum(closure.orders)]).astype(np.int64)


def _attributes_of_places(closure: Closure) -> IntArray:
    return np.concatenate([block.ravel() for block in closure.blocks]).astype(np.int64)


def _classes(workload: Workload, group: IntArray) -> tuple[FloatArray, IntArray, tuple[tuple[int, ...], ...]]:
    closure, sizes = workload.closure, np.array(workload.domain.sizes, dtype=np.float64)
    starts, attributes = _place_starts(closure), _attributes_of_places(closure)
    found: dict[tuple[int, ...], int] = {}
    factor, code = np.ones(len(closure)), np.zeros(len(closure), dtype=np.int64)
    plain = np.where(group < 0, 1 - 1 / sizes[attributes], 1.0)
    for number, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        own = tuple(g for g in group[start:end].tolist() if g >= 0)
        factor[number], code[number] = plain[start:end].prod(), found.setdefault(own, len(found))
    return factor, code, tuple(found)


class _Builder:
    """Collects the terms of the loss, each distinct table once."""

    def __init__(
        self,
        workload: Workload,
        importance: FloatArray,
        axes: dict[int, OwnAxis],
        group: IntArray,
        attribute_of_group: IntArray,
    ) -> None:
        self.workload, self.importance, self.axes, self.group = workload, importance, axes, group.tolist()
        counts = [len(axes[i].forms.kinds) for i in attribute_of_group.tolist()]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64).tolist()
        starts = _place_starts(workload.closure).tolist()
        self.start = {members: starts[number] for number, members in enumerate(workload.closure)}
        self.number = {members: number for number, members in enumerate(workload.closure)}
        self.shares: dict[Share, int] = {}
        self.of_pair: dict[tuple[Members, Members], int] = {}
        self.forms: dict[tuple[int, tuple[int, ...]], int] = {}

    def terms(self) -> LossTerms:
        sets, weights, present, form = [], [], [], []
        numbers = itertools.count()
        for block in self.workload.blocks:
            for attributes, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True):
                kinds, importance = dict(zip(attributes, codes, strict=True)), float(self.importance[next(numbers)])
                if not importance:
                    continue
                for inside in self._subsets(attributes):
                    sets.append(self.number[inside])
                    weights.append(importance * self._weight(kinds, inside))
                    present.append([self._factor(inside, i, kinds[i]) for i in inside if i in self.axes])
                    form.append(self._form(inside, kinds))
        columns = max(map(len, present))
        padded = [row + [self.first[-1]] * (columns - len(row)) for row in present]
        return LossTerms(
            np.array(sets, dtype=np.int64),
            np.array(weights),
            np.array(padded, dtype=np.int64).reshape(len(sets), columns),
            np.array(form, dtype=np.int64),
            tuple(self.shares),
            tuple(self.forms),
        )

    def _subsets(self, attributes: list[int]) -> Iterator[Members]:
        measured = [i for i in attributes if not self.workload.closure.trivial[i]]
        orders = range(len(measured) + 1)
        return itertools.chain.from_iterable(itertools.combinations(measured, order) for order in orders)

    def _weight(self, kinds: dict[int, int], inside: Members) -> float:
        weight = 1.0
        for i, code in kinds.items():
            n = self.workload.domain.sizes[i]
            if n == 1:
                weight *= float(self.workload.kinds[code].gram(1)[0, 0]) / self.workload.kinds[code].rows(1)
            elif i not in self.axes:
                weight *= (n - 1) / n if i in inside else 1 / n**2
        return weight

    def _place_group(self, members: Members, attribute: int) -> int:
        return int(self.group[self.start[members] + members.index(attribute)])

    def _factor(self, members: Members, attribute: int, code: int) -> int:
        """The number of the factor of a place and a kind."""
        own = self.axes[attribute].forms.kinds.index(code)
        return int(self.first[self._place_group(members, attribute)]) + own

    def _form(self, inside: Members, kinds: dict[int, int]) -> int:
        outside = tuple(i for i in kinds if i in self.axes and i not in inside)
        if not outside:
            return 0
        if len(outside) == 1:
            joined = tuple(sorted(inside + outside))
            return 1 + self._factor(joined, outside[0], kinds[outside[0]])
        own = tuple(self.axes[i].forms.kinds.index(kinds[i]) for i in outside)
        key = self._share(inside, outside), own
        return 1 + int(self.first[-1]) + self.forms.setdefault(key, len(self.forms))

    def _share(self, inside: Members, outside: Members) -> int:
        """The number of the table h of a set and what it has more than a smaller one."""
        if (inside, outside) not in self.of_pair:
            joined = tuple(sorted(inside + outside))
            parts = [
                self._place_group(tuple(sorted(inside + part)), part[0])
                if len(part) == 1
                else self._share(inside, part)
                for part in parts_of(outside)
            ]
            share = Share(outside, tuple(self._place_group(joined, i) for i in outside), tuple(parts))
            self.of_pair[inside, outside] = self.shares.setdefault(share, len(self.shares))
        return self.of_pair[inside, outside]
