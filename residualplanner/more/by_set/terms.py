"""The sum of variances with bases by set as a list of terms, with every distinct table once.

Source: eqs. (39) and (40).
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.queries.joint import joint_factors
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.attribute_grams import AttributeGrams

Members = tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class OwnAxis:
    """An attribute that has bases by set.

    With the columns of Z an orthonormal basis of the directions of sum 0 that queries depend on, a basis has
    ``u = 1/g + Z b`` and ``S = core (Z' - b 1')``, and its G is ``Z core^-1``.  In the coordinates of ``[1/g | Z]`` u
    is ``(1, b)``.

    Attributes:
        forms: the Gram matrices of its kinds, with g groups of values.
        Z (g, r): the directions.
        unused (g-1-r, g): orthonormal rows of sum 0 that no query depends on.
        grams (kinds, 1+r, 1+r): for each kind its Gram matrix in those coordinates.
    """

    forms: AttributeGrams
    Z: FloatArray
    unused: FloatArray
    grams: FloatArray

    @classmethod
    def of(cls, forms: AttributeGrams) -> "OwnAxis":
        """The Gram matrices of an attribute, in coordinates."""
        Z, unused = forms.directions
        frame = np.zeros((1 + len(Z), 1 + Z.shape[1]))
        frame[:, 0] = np.concatenate([[1.0], np.full(len(Z), 1 / len(Z))])
        frame[1:, 1:] = Z
        return cls(forms, Z, unused, frame.T @ forms.grams @ frame)

    @property
    def values(self) -> int:
        """g, how many values differ."""
        return len(self.Z)

    @property
    def directions(self) -> int:
        """r, how many directions of sum 0 queries depend on."""
        return int(self.Z.shape[1])


@dataclass(frozen=True, slots=True)
class RestTable:
    """A table h of (39), on two own attributes or more, as one of its equals.

    Attributes:
        attributes: of its axes, or others that stand for them.
        groups: of the basis of each attribute in the larger set.
        parts: for every smaller part of the axes, in the order of `parts_of`, what the table is there: the group
            whose b it is, for one attribute, and the number of another rest table for more.
    """

    attributes: Members
    groups: tuple[int, ...]
    parts: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class LossTerms:
    """The sum (40) over queries and subsets: weight * product of present factors * form of a rest table / precision.

    Attributes:
        set (n,): the number of the subset.
        weight (n,): what does not depend on the own attributes' bases.
        present (n, k): which present factors, the number after the last standing for 1.
        form (n,): which form: 0 stands for 1, then come the absent factors, then `forms`.
        rests: the tables h of two or more attributes, those of fewer first.
        forms: for each such form the number of a rest table, and the kind of each axis.
    """

    set: IntArray
    weight: FloatArray
    present: IntArray
    form: IntArray
    rests: tuple[RestTable, ...]
    forms: tuple[tuple[int, tuple[int, ...]], ...]


def parts_of(attributes: Members) -> Iterator[Members]:
    """All parts but none and all, those of fewer first.

    Example:
        >>> list(parts_of((1, 4)))
        [(1,), (4,)]
    """
    orders = range(1, len(attributes))
    return itertools.chain.from_iterable(itertools.combinations(attributes, order) for order in orders)


class TermBuilder:
    """Collects the terms of the loss, each distinct table once."""

    def __init__(
        self,
        workload: Workload,
        importance: FloatArray,
        axes: dict[int, OwnAxis],
        group: IntArray,
        attribute_of_group: IntArray,
    ) -> None:
        self.attribute_of_group = attribute_of_group.tolist()
        self.workload, self.importance, self.axes, self.group = workload, importance, axes, group.tolist()
        counts = [len(axes[i].forms.kinds) for i in self.attribute_of_group]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64).tolist()
        starts = workload.closure.factor_starts.tolist()
        self.start = {members: starts[number] for number, members in enumerate(workload.closure)}
        self.number = {members: number for number, members in enumerate(workload.closure)}
        self.rests: dict[RestTable, int] = {}
        self.of_pair: dict[tuple[Members, Members], int] = {}
        self.forms: dict[tuple[int, tuple[int, ...]], int] = {}

    def terms(self) -> LossTerms:
        """All of them; queries of importance 0 have none."""
        sets, weights, present, form = [], [], [], []
        numbers = itertools.count()
        for block in self.workload.blocks:
            for attributes, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True):
                kinds, importance = dict(zip(attributes, codes, strict=True)), float(self.importance[next(numbers)])
                if not importance:
                    continue
                measured = tuple(i for i in attributes if not self.workload.closure.trivial[i])
                joint = self._joint_factors(attributes, codes)
                for inside in dict.fromkeys([(), *parts_of(measured), measured]):
                    sets.append(self.number[inside])
                    weights.append(importance * self._weight(kinds, inside) * joint(inside) ** 2)
                    present.append([self._factor(inside, i, kinds[i]) for i in inside if i in self.axes])
                    form.append(self._form(inside, kinds))
        columns = max(map(len, present))
        padded = [row + [self.first[-1]] * (columns - len(row)) for row in present]
        return LossTerms(
            np.array(sets, dtype=np.int64),
            np.array(weights),
            np.array(padded, dtype=np.int64).reshape(len(sets), columns),
            np.array(form, dtype=np.int64),
            tuple(self.rests),
            tuple(self.forms),
        )

    def _joint_factors(self, attributes: list[int], codes: list[int]) -> Callable[[Members], float]:
        """What a query multiplies the residual of a part of its attributes by."""
        sizes = np.array([[self.workload.domain.sizes[i] for i in attributes]], dtype=np.int64)
        found = joint_factors(self.workload.kinds, np.array([codes], dtype=np.int16), sizes)[0]
        factors = np.broadcast_to(found, 1 << len(attributes)).tolist()
        return lambda inside: float(factors[sum(1 << attributes.index(i) for i in inside)])

    def _weight(self, kinds: dict[int, int], inside: Members) -> float:
        weight = 1.0
        for i, code in kinds.items():
            n = self.workload.domain.sizes[i]
            if n == 1:
                weight *= float(self.workload.kinds[code].gram(1)[0, 0]) / self.workload.kinds[code].rows(1)
            elif i not in self.axes:
                weight *= (n - 1) / n if i in inside else 1 / n**2
        return weight

    def _factor_group(self, members: Members, attribute: int) -> int:
        return int(self.group[self.start[members] + members.index(attribute)])

    def _factor(self, members: Members, attribute: int, code: int) -> int:
        """The number of the variance factor of an attribute in a set, of one kind."""
        own = self.axes[attribute].forms.kinds.index(code)
        return int(self.first[self._factor_group(members, attribute)]) + own

    def _form(self, inside: Members, kinds: dict[int, int]) -> int:
        outside = tuple(i for i in kinds if i in self.axes and i not in inside)
        if not outside:
            return 0
        if len(outside) == 1:
            joined = tuple(sorted(inside + outside))
            return 1 + self._factor(joined, outside[0], kinds[outside[0]])
        own = tuple(self.axes[i].forms.kinds.index(kinds[i]) for i in outside)
        key = self._rest(inside, outside), own
        return 1 + int(self.first[-1]) + self.forms.setdefault(key, len(self.forms))

    def _rest(self, inside: Members, outside: Members) -> int:
        """The number of the table h of a set and what it has more than a smaller one."""
        if (inside, outside) not in self.of_pair:
            joined = tuple(sorted(inside + outside))
            parts = [
                self._factor_group(tuple(sorted(inside + part)), part[0])
                if len(part) == 1
                else self._rest(inside, part)
                for part in parts_of(outside)
            ]
            groups = tuple(self._factor_group(joined, i) for i in outside)
            rest = RestTable(tuple(self.attribute_of_group[group] for group in groups), groups, tuple(parts))
            self.of_pair[inside, outside] = self.rests.setdefault(rest, len(self.rests))
        return self.of_pair[inside, outside]
