"""The queries to publish, with weights, held as arrays by order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen, require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.notebooks import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import JOIN, count_text, number_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind, joint_factors, require_joint
from residualplanner.method.workload.attribute_sets import (
    SET_LIMIT,
    AttributeSets,
    QueryBlock,
    block_of_order,
    concatenated,
    merged,
    row_numbers,
    unique_rows,
)
from residualplanner.method.workload.closure import Closure, downward_closure
from residualplanner.method.workload.query import (
    QueryKey,
    QueryLike,
    WrittenQuery,
    blocks_of_queries,
    query_of,
    require_distinct,
)


@dataclass(frozen=True, eq=False, init=False)
class Workload:
    """The tables to publish, and the importance of each.

    A query is a tuple of attribute names in any order (a marginal: one count for each combination of their values), a
    `Threshold`, or a mapping from attribute name to kind of query.  The empty tuple is the number of records.  A
    repeated query counts once; if its weights differ, the larger holds.

    A query keeps the order in which it was written, and so do the axes, names and columns of its table.  It is the same
    query in every order.  If it was written in several, the one that sorts last by the attributes' positions in the
    domain holds, so that a written order prevails over that of a family, which is the domain's.

    A query of weight w counts w times: the loss "sum" adds w times its cell variances, the loss "max" is the maximum of
    w times its cell variances.

    Attributes:
        domain: the schema.
        blocks: the queries of order 0, 1, .., as arrays.
        kinds: the kinds of query that occur, tied to their attributes; blocks refer to them by number.

    Raises:
        DomainError: an attribute is not in the domain, or twice in one query.
        WorkloadError: there are no queries; a kind of query does not fit an attribute; weights are of the wrong number,
            negative, not finite or all zero.

    Example:
        >>> domain = Domain({"age": 85, "sex": ["F", "M"]})
        >>> workload = Workload(domain, [("sex",), ("sex", "age")], weights=[1, 2])
        >>> list(workload), workload.cells.tolist()
        ([('sex',), ('sex', 'age')], [2.0, 170.0])
    """

    domain: Domain
    blocks: tuple[QueryBlock, ...]
    kinds: tuple[Kind, ...]
    _set_limit: int = field(default=SET_LIMIT, init=False, repr=False)

    def __init__(self, domain: Domain, queries: Iterable[QueryLike], weights: ArrayLike | None = None) -> None:
        require_type("Workload", "domain", domain, Domain, "write Workload(domain, queries)")
        self._set(domain, *blocks_of_queries(domain, queries, weights))

    @classmethod
    def from_blocks(
        cls, domain: Domain, blocks: Iterable[QueryBlock], kinds: tuple[Kind, ...], *, set_limit: int = SET_LIMIT
    ) -> "Workload":
        """Make a workload from arrays: block k holds queries of order k, without repetitions, as in `QueryBlock`.

        Its closure may have ``set_limit`` sets, where that is known; a larger one is refused early.  WorkloadError
        where there are no queries, or a kind of query does not fit its attribute.
        """
        workload = cls.__new__(cls)
        workload._set(domain, tuple(blocks), kinds)
        object.__setattr__(workload, "_set_limit", set_limit)
        return workload

    def _set(self, domain: Domain, blocks: tuple[QueryBlock, ...], kinds: tuple[Kind, ...]) -> None:
        for block in blocks:
            for array in (block.attributes, block.kinds, block.weights, *(() if block.axes is None else (block.axes,))):
                frozen(array)
        if not any(len(block) for block in blocks):
            raise WorkloadError("the workload has no queries; name at least one table to publish")
        require_distinct(kinds)
        for name, value in (("domain", domain), ("blocks", blocks), ("kinds", kinds)):
            object.__setattr__(self, name, value)
        if kinds != (Identity(),):  # the identity fits every attribute: no pass over the queries
            for attribute, kind in self.attribute_kinds:
                kind.require_fit(domain.attributes[attribute])
        for block in blocks:
            require_joint(kinds, block.kinds)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[QueryKey]:
        for block in self.blocks:
            written = zip(block.written_attributes.tolist(), block.written_kinds.tolist(), strict=True)
            for attributes, codes in written:
                yield query_of(self.domain, attributes, [self.kinds[code] for code in codes])

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(block):,} of order {order}" for order, block in enumerate(self.blocks) if len(block))
        queries, attributes = count_text(len(self), "query"), count_text(len(self.domain), "attribute")
        return f"<Workload of {queries} over {attributes}: {counts}>"

    def _repr_html_(self) -> str:
        return workload_html(self, self, remedy="iterate over the workload for all")

    def __add__(self, other: "Workload") -> "Workload":
        """The queries of both; a query of both has the larger of its two weights."""
        if not isinstance(other, Workload):
            return NotImplemented
        if self.domain != other.domain:
            raise WorkloadError("only workloads over the same domain can be added")
        kinds = tuple(dict.fromkeys(self.kinds + other.kinds))
        require_distinct(kinds)
        recode = np.array([kinds.index(kind) for kind in other.kinds], dtype=np.int16)
        blocks = []
        for order in range(max(len(self.blocks), len(other.blocks))):
            mine, theirs = block_of_order(self.blocks, order), block_of_order(other.blocks, order)
            blocks.append(merged(concatenated(mine, replace(theirs, kinds=recode[theirs.kinds]))))
        return Workload.from_blocks(self.domain, blocks, kinds)

    def take(self, numbers: ArrayLike) -> "Workload":
        """The queries with the given numbers (m,), ascending, in the order of iteration."""
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[np.asarray(numbers)] = True
        if chosen.all():
            return self
        parts = np.split(chosen, np.cumsum([len(block) for block in self.blocks])[:-1])
        blocks = [block.part(part) for block, part in zip(self.blocks, parts, strict=True)]
        return Workload.from_blocks(self.domain, blocks, self.kinds)

    def query_at(self, number: int) -> WrittenQuery:
        """The query of this number in the order of iteration, as it was written; IndexError if there is none."""
        for block in self.blocks:
            if 0 <= number < len(block):
                one = block.part(slice(number, number + 1))
                kinds = tuple(self.kinds[code] for code in one.written_kinds[0].tolist())
                return WrittenQuery(tuple(one.written_attributes[0].tolist()), kinds)
            number -= len(block)
        raise IndexError("the workload has no query of this number")

    def number_of(self, query: WrittenQuery) -> int:
        """The number of a query in the order of iteration, however it is written; -1 if it is not there."""
        positions, kinds = query.in_domain_order
        order = len(positions)
        if order >= len(self.blocks) or not set(kinds) <= set(self.kinds):
            return -1
        block = self.blocks[order]
        low, high = 0, len(block)
        codes = [self.kinds.index(kind) for kind in kinds]
        # Rows sort by attributes, then kinds: among those that agree so far, the next column ascends.
        for column, value in zip([*block.attributes.T, *block.kinds.T], [*positions, *codes], strict=True):
            part = column[low:high]
            low, high = (low + int(np.searchsorted(part, value, side)) for side in ("left", "right"))
        return sum(map(len, self.blocks[:order])) + low if low < high else -1

    def runs(
        self, most: int | None = None, *, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[slice, QueryBlock]]:
        """All queries in order, or those from ``first`` up to ``last``, in runs of one order: slices of m, and queries.

        With ``most`` given, the queries of a run have about so many subsets of attributes in all.
        """
        start = 0
        for order, block in enumerate(self.blocks):
            ends = (first, len(self) if last is None else last)
            low, high = (min(max(number - start, 0), len(block)) for number in ends)
            step = max(1, high - low if most is None else most >> order)  # a query has 2**order subsets
            for at in range(low, high, step):
                part = block.part(slice(at, min(at + step, high)))
                yield slice(start + at, start + at + len(part)), part
            start += len(block)

    @property
    def weights(self) -> FloatArray:
        """The weight of every query in the order of iteration, (m,)."""
        return np.concatenate([block.weights for block in self.blocks])

    @cached_property
    def scales(self) -> FloatArray:
        """What losses measure the errors of each query in, (m,): 1 count, or the most that one record adds to a sum.

        Source: eq. (107).
        """
        scales = np.array([kind.scale for kind in self.kinds])
        if (scales == 1).all():
            return frozen(np.ones(len(self)))
        return frozen(np.concatenate([scales[block.kinds].prod(axis=1) for block in self.blocks]))

    @cached_property
    def has_sums(self) -> bool:
        """Whether some query is a sum of amounts, so that not all errors are in counts."""
        return any(kind.unit(self.domain.attributes[attribute]) for attribute, kind in self.attribute_kinds)

    @property
    def orders(self) -> IntArray:
        """How many attributes every query has, (m,)."""
        return np.repeat(np.arange(len(self.blocks)), [len(block) for block in self.blocks])

    @cached_property
    def uses(self) -> NDArray[np.bool_]:
        """Whether some query has the kind on the attribute, (d, kinds); kinds need not fit other attributes."""
        found = np.zeros((len(self.domain), len(self.kinds)), dtype=np.bool_)
        for block in self.blocks:
            found[block.attributes, block.kinds] = True
        return frozen(found)

    @property
    def attribute_kinds(self) -> list[tuple[int, Kind]]:
        """Every attribute, by its number, with each kind that some query has on it, ascending."""
        return [(attribute, self.kinds[code]) for attribute, code in np.argwhere(self.uses).tolist()]

    @cached_property
    def answers(self) -> FloatArray:
        """How many answers each attribute has in each kind, (d, kinds); 0 where no query has the kind on it."""
        found = np.zeros(self.uses.shape)
        for attribute, code in np.argwhere(self.uses).tolist():
            found[attribute, code] = self.kinds[code].rows(self.domain.sizes[attribute])
        return frozen(found)

    @cached_property
    def cells(self) -> FloatArray:
        """How many answers every query has, (m,); floating point, since a query may have more than 2**63."""
        return frozen(np.concatenate([self.answers[each.attributes, each.kinds].prod(axis=1) for each in self.blocks]))

    def joint_factors(self, block: QueryBlock) -> FloatArray:
        """What some of the queries multiply the residual of each subset of their attributes by, (m, 2**k) or (m, 1).

        It is 1 unless attributes are answered together.  Bit i of a column's number says whether the subset has the
        i-th attribute.  Source: eq. (59).
        """
        sizes = np.array(self.domain.sizes, dtype=np.int64)
        return joint_factors(self.kinds, block.kinds, sizes[block.attributes])

    @cached_property
    def closure(self) -> Closure:
        """Every subset of a query's attributes, each once: the sets whose residuals are measured.

        Attributes of a single value are left out, as they do not change a table.  WorkloadError where it is too large.
        """
        count = len(self.domain)
        sets = AttributeSets(tuple(unique_rows(block.attributes, count) for block in self.blocks), count)
        trivial = np.array(self.domain.sizes, dtype=np.float64) == 1
        return downward_closure(sets, trivial, set_limit=self._set_limit)


def require_workload(call: str, workload: object) -> None:
    """Raise ArgumentError, naming the function called, unless it is a workload."""
    require_type(call, "workload", workload, Workload, "make one with marginals(domain, up_to=2)")


def query_numbers(workload: Workload, part: Workload) -> IntArray:
    """The number of each query of ``part`` among the queries of ``workload``, (p,); -1 where it is not one of them."""
    codes = {kind: code for code, kind in enumerate(workload.kinds)}
    # A kind that is not there gets a code that no query has.
    recode = np.array([codes.get(kind, len(codes)) for kind in part.kinds], dtype=np.int64)
    found, start = [], 0
    for order, block in enumerate(part.blocks):
        theirs = block_of_order(workload.blocks, order)
        rows = [np.concatenate([theirs.attributes, theirs.kinds], axis=1)]
        rows.append(np.concatenate([block.attributes, recode[block.kinds]], axis=1))
        number = row_numbers(np.concatenate(rows))
        known_as = np.full(int(number.max(initial=-1)) + 1, -1)
        known_as[number[: len(theirs)]] = start + np.arange(len(theirs))
        found.append(known_as[number[len(theirs) :]])
        start += len(theirs)
    return np.asarray(np.concatenate(found))


def workload_html(workload: Workload, noun: object, *, remedy: str) -> str:
    """The first queries as a table under what ``noun`` says of itself; the ``remedy``: where the others are."""
    count = min(len(workload), ROWS)
    rows = []
    for number, cells, weight in zip(range(count), workload.cells.tolist(), workload.weights.tolist(), strict=False):
        query = workload.query_at(number)
        kinds = JOIN.join(kind.unselected.name for kind in query.table_axes.kinds)
        rows.append((query.words(workload.domain), kinds, number_text(cells), number_text(weight)))
    note = rest_note(len(workload) - count, remedy)
    return html_table(caption_of(noun), ["query", "kinds", "cells", "weight"], rows, note=note)
