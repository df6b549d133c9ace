"""The terms of the loss in a search for bases by set, each distinct table once.

Source: eqs. (39) and (40).
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.queries.kind import joint_factors
from residualplanner.method.workload.attribute_sets import subsets_of
from residualplanner.method.workload.workload import Workload

Members = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RestTable:
    """A table h of (39), on two own attributes or more, as one of its equals."""

    attributes: Members  # of its axes, or others that stand for them
    groups: tuple[int, ...]  # of the basis of each attribute in the larger set
    #: For every smaller part of the axes, in the order of `parts_of`, what the table is there: the group whose b it is,
    #: for one attribute, and the number of another rest table for more.
    parts: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class LossTerms:
    """The sum (40) over queries and subsets: weight * product of present factors * form of a rest table / precision."""

    set: IntArray  # (n,): the number of the subset
    weight: FloatArray  # (n,): what does not depend on the own attributes' bases
    present: IntArray  # (n, k): which present factors, the number after the last standing for 1
    form: IntArray  # (n,): which form: 0 stands for 1, then come the absent factors, then `forms`
    rests: tuple[RestTable, ...]  # the tables h of two or more attributes, those of fewer first
    forms: tuple[tuple[int, tuple[int, ...]], ...]  # the number of a rest table, and the kind of each axis
    query: IntArray  # (n,): the number of the query
    inside: tuple[tuple[bool, ...], ...]  # (n,): which of the query's own attributes the subset has


def parts_of(attributes: Members) -> list[Members]:
    """All parts but none and all, those of fewer first."""
    return list(subsets_of(attributes))[1:-1]


class CollectedTerms:
    """Collects the terms of the loss, each distinct table once."""

    def __init__(
        self,
        workload: Workload,
        importance: FloatArray,
        kinds: Mapping[int, tuple[int, ...]],
        group: IntArray,
        attribute_of_group: IntArray,
        *,
        of_maximum: bool,
    ) -> None:
        """The ``kinds`` are those of each own attribute; the importance (q,) is 0 for queries that are left out."""
        self.workload, self.importance, self.kinds, self.of_maximum = workload, importance, kinds, of_maximum
        self.group, self.attribute_of_group = group.tolist(), attribute_of_group.tolist()
        counts = [len(self.kinds[i]) for i in self.attribute_of_group]
        self.first: list[int] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64).tolist()
        self.starts = self.workload.closure.factor_starts.tolist()
        self.number = {members: number for number, members in enumerate(self.workload.closure)}
        self.rests: dict[RestTable, int] = {}
        self.of_pair: dict[tuple[Members, Members], int] = {}
        self.forms: dict[tuple[int, tuple[int, ...]], int] = {}

    def collected(self) -> LossTerms:
        """All of them; queries of importance 0 have none."""
        sets, weights, present, form, query, within = [], [], [], [], [], []
        numbers = itertools.count()
        for block in self.workload.blocks:
            for attributes, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True):
                kinds, number = dict(zip(attributes, codes, strict=True)), next(numbers)
                importance = float(self.importance[number])
                if not importance:
                    continue
                measured = tuple(i for i in attributes if not self.workload.closure.trivial[i])
                joint = self._joint_factors(attributes, codes)
                for inside in subsets_of(measured):
                    sets.append(self.number[inside])
                    weights.append(importance * self._weight(kinds, inside) * joint(inside) ** 2)
                    present.append([self._factor(inside, i, kinds[i]) for i in inside if i in self.kinds])
                    form.append(self._form(inside, kinds))
                    query.append(number)
                    within.append(tuple(i in inside for i in attributes if i in self.kinds))
        columns = max(map(len, present))
        padded = [row + [self.first[-1]] * (columns - len(row)) for row in present]
        return LossTerms(
            np.array(sets, dtype=np.int64),
            np.array(weights),
            np.array(padded, dtype=np.int64).reshape(len(sets), columns),
            np.array(form, dtype=np.int64),
            tuple(self.rests),
            tuple(self.forms),
            np.array(query, dtype=np.int64),
            tuple(within),
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
                squares = np.square(self.workload.kinds[code].matrix(1))
                weight *= float(squares.max() if self.of_maximum else squares.mean())
            elif i not in self.kinds:
                weight *= (n - 1) / n if i in inside else 1 / n**2
        return weight

    def _factor_group(self, members: Members, attribute: int) -> int:
        return int(self.group[self.starts[self.number[members]] + members.index(attribute)])

    def _factor(self, members: Members, attribute: int, code: int) -> int:
        """The number of the variance factor of an attribute in a set, of one kind."""
        own = self.kinds[attribute].index(code)
        return self.first[self._factor_group(members, attribute)] + own

    def _form(self, inside: Members, kinds: dict[int, int]) -> int:
        outside = tuple(i for i in kinds if i in self.kinds and i not in inside)
        if not outside:
            return 0
        if len(outside) == 1:
            joined = tuple(sorted(inside + outside))
            return 1 + self._factor(joined, outside[0], kinds[outside[0]])
        own = tuple(self.kinds[i].index(kinds[i]) for i in outside)
        key = self._rest(inside, outside), own
        return 1 + self.first[-1] + self.forms.setdefault(key, len(self.forms))

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
