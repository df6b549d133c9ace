"""One query as users write it: its attributes and their kinds of query."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, is_data, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import COUNTS, JOIN, query_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind, answered_jointly, require_joint, statistic_among, tied_kind
from residualplanner.method.workload.attribute_sets import QueryBlock, block_as_written, merged

#: The most different kinds of query of a workload: blocks number them in 16 bits.
KIND_LIMIT = 2**15 - 1
#: A query as users write it: attribute names (identity on each), one name, or a mapping from name to kind of query,
#: of which a threshold is one, and a query about some of the records another.
QueryLike = str | tuple[str, ...] | Sequence[str] | Mapping[str, Kind]
#: A query as this library writes it: names, or a mapping, of which `Threshold` and `Among` are two.
QueryKey = tuple[str, ...] | Mapping[str, Kind]
#: Kinds that have been tied to an attribute, so that each is checked once and not for every query.
TiedKinds = dict[tuple[int, Kind], Kind]
#: The words that specs have for kinds of query, and what to write in Python.
_WORDS = ["identity", "prefix", "range", "sum", "mean", "quantiles", "standard deviation", "moments", "proportions"]
_NOUNS = {word: f"{word.title().replace(' ', '')}()" for word in _WORDS}
_NOUNS |= {"hierarchy": "Hierarchy([...])", "custom": "Custom([...])", "matching": "Matching(1)"}


class WrittenQuery(NamedTuple):
    """A query with its attributes in the order in which they were written, the order of its table's axes.

    Attributes in which records are only selected, and which are no axes, come last, in the domain's order.
    """

    positions: tuple[int, ...]  # of the attributes in the domain
    kinds: tuple[Kind, ...]  # of query of each, tied to it

    @property
    def axes(self) -> tuple[int, ...]:
        """The axis of each attribute in a table in domain order, as in NumPy's ``transpose``."""
        return tuple(map(sorted(self.positions).index, self.positions))

    @property
    def in_domain_order(self) -> "WrittenQuery":
        """The same query with its attributes ascending, which does not depend on the order in which it was written."""
        by_position = sorted(zip(self.positions, self.kinds, strict=True), key=itemgetter(0))
        return WrittenQuery(tuple(position for position, _ in by_position), tuple(kind for _, kind in by_position))

    def unit(self, domain: Domain) -> str:
        """The unit of its answers in words: "counts", or that of the amounts and weights that are summed up."""
        units = (kind.unit(domain.attributes[i]) for kind, i in zip(self.kinds, self.positions, strict=True))
        return JOIN.join(filter(None, (*units, domain.weight.unit_name))) or COUNTS

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """How many answers each attribute has: one where records are only selected."""
        return tuple(kind.rows(domain.sizes[i]) for i, kind in zip(self.positions, self.kinds, strict=True))

    def cells(self, domain: Domain) -> int:
        """How many answers the query has."""
        return math.prod(self.shape(domain))

    def put_together(self, domain: Domain, answers: FloatArray, *, first_axis: int = 0) -> FloatArray:
        """Its table, from one in which each of its attributes was answered for itself, in the order as written.

        Joint attributes are answered together, and those in which records are only selected have no axis any more.
        ``answers`` (.., q_1, .., q_k) have the axis of the first attribute at ``first_axis``; all before it are of
        stacks. Source: eqs. (58) and (108).
        """
        found = answered_jointly(answers, self.kinds, first_axis=first_axis)
        return found.reshape((*found.shape[:first_axis], *self.table_axes.shape(domain)))

    @property
    def table_axes(self) -> "WrittenQuery":
        """The attributes along which its table has an axis, with their kinds."""
        return self._of([kind.is_axis for kind in self.kinds])

    @property
    def universe(self) -> "WrittenQuery":
        """The attributes in which records are selected, with their kinds."""
        return self._of([bool(kind.where) for kind in self.kinds])

    def words(self, domain: Domain) -> str:
        """The attributes of its table, and which records it is about: ``age × sex among employed: yes``."""
        return query_text([domain.names[position] for position in self.table_axes.positions], self.about(domain))

    def about(self, domain: Domain) -> list[str]:
        """Of each attribute in which records are selected, which: ``["employed: yes"]``."""
        return [selection_text(domain.names[position], kind) for position, kind in zip(*self.universe, strict=True)]

    def summed(self, names: Collection[str], domain: Domain) -> "WrittenQuery":
        """The query without the axes of some attributes; where only some of their values are counted, about these."""
        gone, every = domain.positions(names), zip(*self, strict=True)
        kinds = tuple(kind.universe if position in gone else kind for position, kind in every)
        kept = [position not in gone or bool(kind.where) for position, kind in zip(self.positions, kinds, strict=True)]
        return _universe_last(domain, WrittenQuery(self.positions, kinds)._of(kept))

    def _of(self, is_kept: Sequence[bool]) -> "WrittenQuery":
        return WrittenQuery(tuple(compress(self.positions, is_kept)), tuple(compress(self.kinds, is_kept)))


def selection_text(name: str, kind: Kind) -> str:
    """Which records are selected in an attribute, in words such as "employed: yes"."""
    return f"{name}: {kind.where_words}"


def require_kind(name: str, kind: object) -> None:
    """Raise WorkloadError, naming the attribute, unless ``kind`` is a kind of query."""
    if not callable(getattr(kind, "gram", None)) or isinstance(kind, type):
        noun = f"; write {_NOUNS[kind]}" if isinstance(kind, str) and kind in _NOUNS else ""
        raise WorkloadError(f"the kind of query on {name!r} must be one such as Prefix(), got {value_text(kind)}{noun}")


def require_distinct(kinds: tuple[Kind, ...]) -> None:
    """Raise WorkloadError where a workload's kinds of query repeat, or are more than 16 bits can number."""
    if len(kinds) > KIND_LIMIT:
        raise WorkloadError(f"a workload may have at most {KIND_LIMIT:,} different kinds of query, got {len(kinds):,}")
    if len(set(kinds)) < len(kinds):
        raise WorkloadError("a workload must list each of its kinds of query once")


def written_query(domain: Domain, query: QueryLike, tied: TiedKinds | None = None) -> WrittenQuery:
    """The positions of a query's attributes in the order in which it was written, and the kind of each, tied to it.

    A set of names has the domain's order.  Kinds are looked up in ``tied``, and new ones added.
    """
    tied = {} if tied is None else tied
    given = kinds_by_name(domain, query)
    positions, kinds = domain.positions_as_written(tuple(given)), given.values()
    for pair in zip(positions, kinds, strict=True):
        if pair not in tied:
            tied[pair] = tied_kind(pair[1], domain.attributes[pair[0]])
    found = tuple(tied[pair] for pair in zip(positions, kinds, strict=True))
    require_joint(found, np.arange(len(found), dtype=np.int16)[None])
    statistic_among(found)
    return _universe_last(domain, WrittenQuery(positions, found))


def kinds_by_name(domain: Domain, query: QueryLike) -> dict[str, Kind]:
    """The kind of query of each attribute, as they were written; a set of names has the domain's order.

    Errors as of `written_query`, but that kinds may not fit their attributes.
    """
    if isinstance(query, str):
        query = (query,)
    if not isinstance(query, Mapping | Sequence | frozenset | set):
        raise WorkloadError(f"a query is a tuple of attribute names or a mapping name -> kind, got {value_text(query)}")
    given = dict(query) if isinstance(query, Mapping) else {}
    for name, kind in given.items():
        require_kind(name, kind)
    read = domain.positions if isinstance(query, frozenset | set) else domain.positions_as_written
    names = [domain.names[position] for position in read(tuple(query))]
    return {name: given.get(name, Identity()) for name in names}


def _universe_last(domain: Domain, query: WrittenQuery) -> WrittenQuery:
    """The query with attributes that are no axes last; without those of which every record is selected."""
    axes, pairs = query.table_axes, zip(*query, strict=True)
    if axes == query:
        return query
    others = sorted(((position, kind) for position, kind in pairs if not kind.is_axis), key=itemgetter(0))
    some = [(position, kind) for position, kind in others if len(kind.where) < domain.attributes[position].by_bin.size]
    return WrittenQuery(
        (*axes.positions, *(position for position, _ in some)), (*axes.kinds, *(kind for _, kind in some))
    )


def query_of(domain: Domain, attributes: Sequence[int], kinds: Sequence[Kind]) -> QueryKey:
    """Write a query as users do: names where every kind is the identity, a threshold, or a mapping."""
    if any(kind.where or kind.at_least for kind in kinds):
        from residualplanner.more.queries.among import query_as_written  # a door

        return query_as_written(domain, WrittenQuery(tuple(attributes), tuple(kinds)))
    names, written = tuple(domain.names[position] for position in attributes), [kind.written for kind in kinds]
    return names if all(kind == Identity() for kind in written) else dict(zip(names, written, strict=True))


def blocks_of_queries(
    domain: Domain, queries: Iterable[QueryLike], weights: ArrayLike | None
) -> tuple[tuple[QueryBlock, ...], tuple[Kind, ...]]:
    """The queries of order 0, 1, .., each once, and the kinds that occur; arguments as those of `Workload`."""
    if isinstance(queries, str | Mapping | Domain) or not isinstance(queries, Iterable) or is_data(queries):
        raise WorkloadError("queries must be a list of queries; write [query] for a single one")
    tied: TiedKinds = {}
    read = [written_query(domain, query, tied) for query in queries]
    if not read:
        raise WorkloadError("the workload has no queries; name at least one table to publish")
    given = np.ones(len(read)) if weights is None else checked_weights(weights, len(read))
    if not (given > 0).any():
        raise WorkloadError("all weights are 0; at least one query must matter")
    kinds = tuple(dict.fromkeys(kind for query in read for kind in query.in_domain_order.kinds)) or (Identity(),)
    require_distinct(kinds)
    codes = {kind: code for code, kind in enumerate(kinds)}
    orders = np.array([len(query.positions) for query in read])
    blocks = []
    for order in range(orders.max() + 1):
        chosen = np.flatnonzero(orders == order)
        rows = [read[i] for i in chosen.tolist()]
        written = np.array([query.positions for query in rows], dtype=np.int32).reshape(len(rows), order)
        numbers = np.array([[codes[kind] for kind in query.kinds] for query in rows], dtype=np.int16)
        blocks.append(merged(block_as_written(written, numbers.reshape(len(rows), order), given[chosen])))
    return tuple(blocks), kinds


def checked_weights(weights: ArrayLike, count: int) -> FloatArray:
    """Weights of so many queries, (q,); WorkloadError where they are of another number, negative, or not finite."""
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise WorkloadError("weights must be numbers, one for each query") from None
    if array.shape != (count,):
        raise WorkloadError(f"one weight for each query: got {count} queries and weights of shape {array.shape}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise WorkloadError("weights must be finite and at least 0")
    return array
