"""The integers of single tables, each made from those of smaller tables that it must agree with.

The integers of a set of attributes are made from those of smaller sets: of its first attribute alone, and of the others
together.  They agree with both.
Source: eq. (57).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from residualplanner.fits.adjusted.controlled import apportioned, controlled_rounding
from residualplanner.fits.nonnegative.components import cell_kinds
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import memory_for
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.joint import answered_jointly
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import WrittenQuery, query_of, written_query
from residualplanner.release.batches import TableBatch
from residualplanner.release.numbers import one_by_one

#: How many tables of integers are kept for others that must agree with them.
_KEPT = 4096


@dataclass(frozen=True, eq=False)
class IntegerTables:
    """The tables of integers of one release."""

    plan: Plan  # of the release
    numbers: Callable[[WrittenQuery], FloatArray]  # gives the numbers that a table of integers is made from
    base: int  # all integers are multiples of it
    # whether no number is below 0, but by how far solutions are from the exact ones.  In margins that adds up, and to
    # an integer of -1 no integers of at least 0 add up
    is_nonnegative: bool
    _kinds: tuple[Kind, ...] = field(init=False)
    _integers: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kinds", cell_kinds(self.plan))
        object.__setattr__(self, "_integers", lru_cache(_KEPT)(self._new_integers))

    @memory_for("for a table of integers of this size; query a smaller one, or use a machine with more memory")
    def estimate(self, query: WrittenQuery) -> FloatArray:
        """The multiples of the base that answer a query, its axes in the order in which it is written."""
        domain, (positions, kinds) = self.plan.domain, query.in_domain_order
        several = tuple(position for position in positions if domain.sizes[position] > 1)
        counts = self._by_value(several).reshape([domain.sizes[position] for position in positions])
        for axis, kind in enumerate(kinds):
            if not kind.is_identity:
                counts = kind.apply(counts, axis)
        counts = answered_jointly(counts, kinds)
        multiples = np.asarray(self.base * np.rint(counts))
        return frozen(multiples.transpose(query.axes))

    def chunks(self, first: int, last: int) -> Iterator[list[TableBatch]]:
        """The tables of the queries of the workload from one number on up to another, one at a time."""
        return one_by_one(self.plan.workload, self.estimate, first, last)

    def _by_value(self, attributes: tuple[int, ...]) -> FloatArray:
        """The integers of a set by value; where only groups of values are known, all on the first of each group."""
        counts: FloatArray = self._integers(attributes)
        for axis, attribute in enumerate(attributes):
            kind, size = self._kinds[attribute], self.plan.domain.sizes[attribute]
            if kind != Identity():
                firsts = kind.matrix(size).argmax(axis=1)
                whole = np.zeros((*counts.shape[:axis], size, *counts.shape[axis + 1 :]))
                whole[(slice(None),) * axis + (firsts,)] = counts
                counts = whole
        return counts

    def _new_integers(self, attributes: tuple[int, ...]) -> FloatArray:
        """The numbers of the cells of a set of several values each, in units of the base.  Source: eq. (57)."""
        numbers = self._numbers(attributes) / self.base
        if not attributes:
            return frozen(np.asarray(np.rint(numbers)))
        if len(attributes) == 1:
            return frozen(apportioned(numbers, float(self._integers(()))))
        first, rest = self._integers(attributes[:1]), self._integers(attributes[1:])
        matrix = controlled_rounding(numbers.reshape(len(first), -1), first, rest.ravel())
        return frozen(matrix.reshape(numbers.shape))

    def _numbers(self, attributes: tuple[int, ...]) -> FloatArray:
        domain = self.plan.domain
        query = query_of(domain, attributes, [self._kinds[attribute] for attribute in attributes])
        numbers = self.numbers(written_query(domain, query))
        return np.maximum(numbers, 0.0) if self.is_nonnegative else numbers
