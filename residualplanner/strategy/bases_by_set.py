"""Bases that an attribute has in one set of attributes, and others in others: the wider family.

Reads: a closure, bases.  Gives: BasesBySet.
Source: spec eqs. (T1) to (T4).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.bases import Basis, subtraction_basis
from residualplanner.errors import WorkloadError
from residualplanner.workload import Closure


@dataclass(frozen=True, eq=False)
class BasesBySet:
    """The basis of every attribute in every set of a closure, and what proves the cost of measuring with them.

    A *place* is an attribute in a set.  Places are numbered set after set in the closure's order, and in a set by
    attribute, ascending.

    Attributes:
        closure: the sets.
        bases: the distinct bases.
        of_place (places,): which of them each place has.
        messages (values,): the numbers phi of (T4), one for each value of each place that has a matrix for its basis
            and is in a set of two attributes or more, place after place.  Any numbers prove a bound of the cost.

    Raises:
        WorkloadError: there are more or fewer places or messages than that, or one is not finite; the bases of an
            attribute are of different sizes or of different rows; some of them are the subtraction basis, and others
            are not.

    Source: spec eq. (T4).

    Example:
        >>> from residualplanner.bases import integer_basis
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> closure = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> bases = (integer_basis([[1, -1]], "given"), subtraction_basis(3), integer_basis([[2, -1]], "given"))
        >>> by_set = BasesBySet(closure, bases, np.array([0, 1, 2, 1]), np.zeros(2))
        >>> [basis.family for basis in by_set.of_attributes([2, 3])]
        ['given', 'subtraction']
        >>> [int(basis.matrix[0, 0]) for basis in (by_set.basis((0,), 0), by_set.basis((0, 1), 0))]
        [1, 2]
    """

    closure: Closure
    bases: tuple[Basis, ...]
    of_place: IntArray
    messages: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "of_place", frozen(np.array(self.of_place, dtype=np.int64)))
        object.__setattr__(self, "messages", frozen(np.array(self.messages, dtype=np.float64)))
        count = self.closure.place_starts[-1]
        if self.of_place.shape != (count,) or not ((self.of_place >= 0) & (self.of_place < len(self.bases))).all():
            raise WorkloadError(f"bases by set must name one of {len(self.bases)} bases for each of {count} places")
        self._require_alike_places()
        if self.messages.shape != (self.message_starts[-1],) or not np.isfinite(self.messages).all():
            raise WorkloadError(f"bases by set must have {self.message_starts[-1]} messages, finite")

    @cached_property
    def message_starts(self) -> IntArray:
        """Where the messages of each place start, and where the last ones end, (places + 1,)."""
        lengths = np.array([0 if basis.matrix is None else basis.size for basis in self.bases], dtype=np.int64)
        has_messages = np.repeat(self.closure.orders > 1, self.closure.orders)
        return frozen(np.concatenate([[0], np.cumsum(lengths[self.of_place] * has_messages)]).astype(np.int64))

    def codes(self) -> Iterator[IntArray]:
        """For each order the numbers of the bases of its sets, (m_k, k)."""
        start = 0
        for block in self.closure.blocks:
            yield self.of_place[start : start + block.size].reshape(block.shape)
            start += block.size

    def place(self, members: Sequence[int], attribute: int) -> int:
        """The number of the place of an attribute in a set of the closure, its members ascending."""
        found = int(self.closure.positions_of(np.array([members], dtype=np.int32))[0])
        return int(self.closure.place_starts[found]) + list(members).index(attribute)

    def basis(self, members: Sequence[int], attribute: int) -> Basis:
        """The basis of an attribute in a set of the closure, its members ascending."""
        return self.bases[int(self.of_place[self.place(members, attribute)])]

    def messages_at(self, place: int) -> FloatArray:
        """The messages of a place: one for each value, or none."""
        return self.messages[self.message_starts[place] : self.message_starts[place + 1]]

    def of_attributes(self, sizes: Sequence[int]) -> tuple[Basis, ...]:
        """The basis of each attribute in the set of it alone; the subtraction basis if it is in no set."""
        singles = self.closure.blocks[1].ravel().tolist() if len(self.closure.blocks) > 1 else []
        alone = dict(zip(singles, self.of_place.tolist(), strict=False))  # sets of one attribute have the first places
        return tuple(
            self.bases[alone[attribute]] if attribute in alone else subtraction_basis(size)
            for attribute, size in enumerate(sizes)
        )

    def part(self, closure: Closure) -> "BasesBySet":
        """The same for some of the sets, a closure of their own, with the messages of those."""
        found = np.concatenate([self.closure.positions_of(block) for block in closure.blocks])
        places = [
            np.arange(self.closure.place_starts[number], self.closure.place_starts[number + 1])
            for number in found.tolist()
        ]
        kept = np.concatenate(places)
        messages = np.concatenate([np.empty(0), *(self.messages_at(place) for place in kept.tolist())])
        return BasesBySet(closure, self.bases, self.of_place[kept], messages)

    def scaled(self, factor: float) -> "BasesBySet":
        """The same for precisions that are ``factor`` times as large: messages are in units of the cost."""
        return replace(self, messages=self.messages * factor)

    def _require_alike_places(self) -> None:
        """The bases of an attribute must be for one size and answer the same queries."""
        for attribute in np.unique(self.closure.attribute_of_place).tolist():
            mine = [
                self.bases[number] for number in np.unique(self.of_place[self.closure.attribute_of_place == attribute])
            ]
            if len({(basis.size, basis.answers, basis.matrix is None) for basis in mine}) > 1:
                raise WorkloadError("the bases of an attribute must have one size and equally many answers in all sets")
            if not all(basis.matrix is None or mine[0].spans(basis.matrix) for basis in mine):
                raise WorkloadError("the bases of an attribute must answer the same queries in all sets")
