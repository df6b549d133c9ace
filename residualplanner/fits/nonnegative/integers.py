"""The integers of single tables, each next to its numbers, and made from those of smaller tables that it agrees with.

The integers of a set of attributes are made from those of smaller sets: of its first attribute alone, and of the others
together.  They agree with both.
Source: eq. (57); Cox and Ernst, INFOR 20 (1982); Cox, J. Am. Stat. Assoc. 82 (1987).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.fits.nonnegative.components import cell_kinds
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import SolverError, memory_for
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind, answered_jointly
from residualplanner.method.workload.query import WrittenQuery, query_of, written_query
from residualplanner.release.batches import TableBatch
from residualplanner.release.numbers import one_by_one

#: How many tables of integers are kept for others that must agree with them.
_KEPT = 4096
#: Numbers this close to an integer, relative to the largest, are that integer.
_INTEGRAL = 1e-9


@dataclass(frozen=True, eq=False)
class IntegerTables:
    """The tables of integers of one release."""

    plan: Plan  # of the release
    numbers: Callable[[WrittenQuery], FloatArray]  # gives the numbers that a table of integers is made from
    base: int  # all integers are multiples of it
    # Whether no number is below 0, but by how far solutions are from the exact ones.  In margins that adds up, and to
    # an integer of -1 no integers of at least 0 add up.
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
        domain = self.plan.domain
        query = query_of(domain, attributes, [self._kinds[attribute] for attribute in attributes])
        numbers = self.numbers(written_query(domain, query)) / self.base
        if self.is_nonnegative:
            numbers = np.maximum(numbers, 0.0)
        if not attributes:
            return frozen(np.asarray(np.rint(numbers)))
        if len(attributes) == 1:
            return frozen(apportioned(numbers, float(self._integers(()))))
        first, rest = self._integers(attributes[:1]), self._integers(attributes[1:])
        matrix = controlled_rounding(numbers.reshape(len(first), -1), first, rest.ravel())
        return frozen(matrix.reshape(numbers.shape))


def floors(numbers: FloatArray) -> FloatArray:
    """The largest integers below numbers, where numbers that are integers but for rounding are these."""
    nearest = np.rint(numbers)
    is_integer = np.abs(numbers - nearest) <= _INTEGRAL * max(1.0, float(np.abs(numbers).max(initial=0)))
    return np.where(is_integer, nearest, np.floor(numbers))


def apportioned(numbers: FloatArray, total: float) -> FloatArray:
    """Integers of a sum within 1 of that of numbers (n,): those below, and one more for the largest remainders."""
    found = floors(numbers)
    by_remainder = np.argsort(-(numbers - found), kind="stable")
    more = int(total - found.sum())
    # At most one more each, unless numbers and total do not fit together: then round after round.
    found += more // len(found)
    found[by_remainder[: more % len(found)]] += 1
    return found


def controlled_rounding(numbers: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """The integers nearest to numbers (n, m) with given sums of rows and columns, which are integers of one total.

    Each is one of the two next to its number, if such integers exist; else as few as possible are further away, and
    none falls below 0 whose number does not.  Source: eq. (57): a transportation problem, whose corners are integers.
    """
    low = floors(numbers)
    rest = numbers - low
    where = np.nonzero(rest > _INTEGRAL * max(1.0, float(np.abs(numbers).max(initial=0))))
    missing = rows - low.sum(axis=1), columns - low.sum(axis=0)
    added = _least_cost(where, 1 - 2 * rest[where], np.ones(len(where[0])), missing)
    if added is not None:
        low[where] += added
        return low
    return low + _wider(low, rest, missing)


def _wider(low: FloatArray, rest: FloatArray, missing: tuple[FloatArray, FloatArray]) -> FloatArray:
    """What to add where the integers next to the numbers do not suffice: one up, more up, or down, at rising costs."""
    every = np.nonzero(np.ones(low.shape, dtype=np.bool_))
    where = tuple(np.tile(index, 3) for index in every)
    left, count = rest[every], low.size
    costs = np.concatenate([1 - 2 * left, 3 - 2 * left, 1 + 2 * left])
    signs = np.repeat([1.0, 1.0, -1.0], count)
    below = np.where(low[every] >= 0, low[every], np.inf)
    most = np.concatenate([np.ones(count), np.full(count, np.inf), below])
    amounts = _least_cost(where, costs, most, missing, signs)
    if amounts is None:
        raise SolverError("the sums of rows and columns of a table do not fit together", status="infeasible")
    return np.asarray((signs * amounts).reshape(3, *low.shape).sum(axis=0))


def _least_cost(
    where: tuple[NDArray[np.int64], ...],
    costs: FloatArray,
    most: FloatArray,
    sums: tuple[FloatArray, FloatArray],
    signs: FloatArray | None = None,
) -> FloatArray | None:
    """The integers of least cost, from 0 on, whose sums by row and column are given; None where there are none."""
    if not len(costs):
        return costs if not any(part.any() for part in sums) else None
    from scipy.optimize import linprog

    solve: Any = linprog
    n, count = len(sums[0]), len(costs)
    entries = np.ones(count) if signs is None else signs
    index = np.concatenate([where[0], n + where[1]]), np.tile(np.arange(count), 2)
    A: Any = sparse.csr_array((np.tile(entries, 2), index), shape=(n + len(sums[1]), count))
    result = solve(
        costs, A_eq=A, b_eq=np.concatenate(sums), bounds=np.column_stack([np.zeros(count), most]), method="highs-ds"
    )
    if result.status == 2:
        return None
    found: FloatArray = np.rint(result.x) if result.x is not None else costs
    if result.status != 0 or (A @ found != np.concatenate(sums)).any():
        raise SolverError(f"no integers were found for a table: {result.message}", status=str(result.status))
    return found
