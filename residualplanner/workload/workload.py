"""What is to be published: queries over a domain, with weights, held as arrays by order.

Reads: a domain, kinds of query, weights.  Gives: Workload.  Never sees a record.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import frozen
from residualplanner.domain import Domain
from residualplanner.errors import WorkloadError
from residualplanner.queries import Identity, Kind
from residualplanner.workload.asked import QueryLike, TiedKinds, query_of, read_tied, require_distinct
from residualplanner.workload.attribute_sets import SET_LIMIT, AttributeSets, PositionArray, unique_rows
from residualplanner.workload.closure import Closure, downward_closure


@dataclass(frozen=True, eq=False, slots=True)
class QueryBlock:
    """The queries of one order, in lexicographic order of their attributes, then kinds.

    Attributes:
        attributes (m, k): positions in the domain, ascending in each row.
        kinds (m, k): for each attribute, which of the workload's kinds of query is asked of it.
        weights (m,): how much each query matters, at least 0.
    """

    attributes: PositionArray
    kinds: NDArray[np.int16]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, eq=False, init=False)
class Workload:
    """The tables to publish and how much each matters.

    A query is a tuple of attribute names in any order (a marginal: one count for each combination of their values), or
    a mapping from attribute name to the kind of query asked of it.  The empty tuple is the number of records.  Asking
    the same query twice changes nothing; if its weights differ, the larger holds.

    A query of weight w counts w times: the loss "sum" adds w times its cell variances, the loss "max" takes the maximum
    of w times its cell variance.

    Attributes:
        domain: the schema.
        blocks: the queries of order 0, 1, .., as arrays.
        kinds: the kinds of query that occur, tied to the attributes they are asked of; blocks refer to them by number.

    Raises:
        DomainError: an attribute is not in the domain, or twice in one query.
        WorkloadError: there are no queries; a kind of query cannot be asked of an attribute; weights are of the wrong
            number, negative, not finite or all zero.

    Example:
        >>> domain = Domain({"age": 85, "sex": ["F", "M"]})
        >>> workload = Workload(domain, [("sex",), ("sex", "age")], weights=[1, 2])
        >>> list(workload), workload.cells.tolist()
        ([('sex',), ('age', 'sex')], [2.0, 170.0])
    """

    domain: Domain
    blocks: tuple[QueryBlock, ...]
    kinds: tuple[Kind, ...]
    _set_limit: int = field(default=SET_LIMIT, init=False, repr=False)

    def __init__(self, domain: Domain, queries: Iterable[QueryLike], weights: ArrayLike | None = None) -> None:
        if isinstance(queries, str | Mapping) or not isinstance(queries, Iterable):
            raise WorkloadError("queries must be a list of queries; write [query] for a single one")
        tied: TiedKinds = {}
        read = [read_tied(domain, query, tied) for query in queries]
        given = _checked_weights(weights, len(read))
        kinds = tuple(dict.fromkeys(kind for _, asked in read for kind in asked)) or (Identity(),)
        require_distinct(kinds)
        codes = {kind: code for code, kind in enumerate(kinds)}
        blocks = []
        for order in range(max(len(positions) for positions, _ in read) + 1):
            chosen = [number for number, (positions, _) in enumerate(read) if len(positions) == order]
            attributes = np.array([read[i][0] for i in chosen], dtype=np.int32).reshape(len(chosen), order)
            asked = np.array([[codes[kind] for kind in read[i][1]] for i in chosen], dtype=np.int16)
            blocks.append(_merged(attributes, asked.reshape(len(chosen), order), given[chosen]))
        self._set(domain, tuple(blocks), kinds)

    @classmethod
    def from_blocks(
        cls, domain: Domain, blocks: Iterable[QueryBlock], kinds: tuple[Kind, ...], *, set_limit: int = SET_LIMIT
    ) -> "Workload":
        """Make a workload of arrays: block k holds queries of order k, without repetitions, as in `QueryBlock`.

        Args:
            domain: the schema.
            blocks: the queries of order 0, 1, ...
            kinds: the kinds of query that blocks number.
            set_limit: how many sets its closure may have, where that is known: more are refused before they are made.

        Raises:
            WorkloadError: there are no queries, or a kind of query cannot be asked of an attribute it is asked of.
        """
        workload = cls.__new__(cls)
        workload._set(domain, tuple(blocks), kinds)
        object.__setattr__(workload, "_set_limit", set_limit)
        return workload

    def _set(self, domain: Domain, blocks: tuple[QueryBlock, ...], kinds: tuple[Kind, ...]) -> None:
        for block in blocks:
            for array in (block.attributes, block.kinds, block.weights):
                frozen(array)
        if not any(len(block) for block in blocks):
            raise WorkloadError("the workload has no queries; name at least one table to publish")
        require_distinct(kinds)
        for name, value in (("domain", domain), ("blocks", blocks), ("kinds", kinds)):
            object.__setattr__(self, name, value)
        if kinds != (Identity(),):
            for attribute, code in np.argwhere(self.asked).tolist():
                kinds[code].require_fit(domain.attributes[attribute])

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[tuple[str, ...] | dict[str, Kind]]:
        for block in self.blocks:
            for attributes, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True):
                yield query_of(self.domain, attributes, [self.kinds[code] for code in codes])

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(block):,} of order {order}" for order, block in enumerate(self.blocks) if len(block))
        return f"<Workload of {len(self):,} queries over {len(self.domain)} attributes: {counts}>"

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
            mine, theirs = _block(self, order), _block(other, order)
            blocks.append(
                _merged(
                    np.concatenate([mine.attributes, theirs.attributes]),
                    np.concatenate([mine.kinds, recode[theirs.kinds]]),
                    np.concatenate([mine.weights, theirs.weights]),
                )
            )
        return Workload.from_blocks(self.domain, blocks, kinds)

    def take(self, numbers: ArrayLike) -> "Workload":
        """The queries with the given numbers (m,), ascending, in the order of iteration.

        Example:
            >>> list(Workload(Domain({"a": 2, "b": 2}), [("a",), ("b",), ("a", "b")]).take([1, 2]))
            [('b',), ('a', 'b')]
        """
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[np.asarray(numbers)] = True
        blocks, start = [], 0
        for block in self.blocks:
            part = chosen[start : start + len(block)]
            start += len(block)
            blocks.append(QueryBlock(block.attributes[part], block.kinds[part], block.weights[part]))
        return Workload.from_blocks(self.domain, blocks, self.kinds)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of every query in the order of iteration, (m,)."""
        return np.concatenate([block.weights for block in self.blocks])

    @property
    def orders(self) -> NDArray[np.int64]:
        """How many attributes every query has, (m,)."""
        return np.repeat(np.arange(len(self.blocks)), [len(block) for block in self.blocks])

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Whether some query asks the kind of the attribute, (d, kinds): kinds need not fit other attributes."""
        found = np.zeros((len(self.domain), len(self.kinds)), dtype=np.bool_)
        for block in self.blocks:
            found[block.attributes, block.kinds] = True
        return frozen(found)

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """How many answers every query has, (m,); floating point, since a query may have more than 2**63."""
        rows = np.zeros(self.asked.shape)
        for attribute, code in np.argwhere(self.asked).tolist():
            rows[attribute, code] = self.kinds[code].rows(self.domain.sizes[attribute])
        return frozen(np.concatenate([rows[block.attributes, block.kinds].prod(axis=1) for block in self.blocks]))

    @cached_property
    def closure(self) -> Closure:
        """Every subset of a query's attributes, each once: the sets whose residuals are measured.

        Attributes of a single value are left out, since they do not change a table.

        Raises:
            WorkloadError: the closure is too large.
        """
        count = len(self.domain)
        sets = AttributeSets(tuple(unique_rows(block.attributes, count) for block in self.blocks), count)
        trivial = np.array(self.domain.sizes, dtype=np.float64) == 1
        return downward_closure(sets, trivial, set_limit=self._set_limit)


def _checked_weights(weights: ArrayLike | None, count: int) -> NDArray[np.float64]:
    if not count:
        raise WorkloadError("the workload has no queries; name at least one table to publish")
    if weights is None:
        return np.ones(count)
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise WorkloadError("weights must be numbers, one for each query") from None
    if array.shape != (count,):
        raise WorkloadError(f"one weight for each query: got {count} queries and weights of shape {array.shape}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise WorkloadError("weights must be finite and at least 0")
    if not (array > 0).any():
        raise WorkloadError("all weights are 0; at least one query must matter")
    return array


def _block(workload: Workload, order: int) -> QueryBlock:
    if order < len(workload.blocks):
        return workload.blocks[order]
    empty = np.empty((0, order))
    return QueryBlock(empty.astype(np.int32), empty.astype(np.int16), np.empty(0))


def _merged(attributes: PositionArray, kinds: NDArray[np.int16], weights: NDArray[np.float64]) -> QueryBlock:
    """One block of queries given in any order, with repetitions; the larger weight of equal queries holds."""
    columns = [*kinds.T[::-1], *attributes.T[::-1]]
    order = np.lexsort([-weights, *columns])
    rows = np.concatenate([attributes, kinds], axis=1)[order]
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    chosen = order[first]
    return QueryBlock(attributes[chosen], kinds[chosen], weights[chosen])
