"""One query as users write it: which attributes, and what is asked of each.

Reads: names, or a mapping from name to kind of query.  Gives: positions in a domain and kinds; and the way back.
"""

from collections.abc import Mapping, Sequence

from residualplanner.domain import Domain
from residualplanner.errors import WorkloadError
from residualplanner.queries import Identity, Kind, asked_of

#: How many different kinds of query a workload may have: blocks number them in 16 bits.
KIND_LIMIT = 2**15 - 1
#: A query as users write it: attribute names (identity on each), one name, or a mapping from name to kind of query.
QueryLike = str | tuple[str, ...] | Sequence[str] | Mapping[str, Kind]
#: Kinds that have been tied to an attribute, so that each is checked once and not for every query.
TiedKinds = dict[tuple[int, Kind], Kind]


def read_query(domain: Domain, query: QueryLike) -> tuple[tuple[int, ...], tuple[Kind, ...]]:
    """The attribute positions of a query, ascending, and the kind asked of each, tied to it.

    Raises:
        DomainError: an attribute is not in the domain, or is named twice.
        WorkloadError: the query is neither names nor a mapping from names to kinds of query, or a kind of query cannot
            be asked of its attribute.
    """
    return read_tied(domain, query, {})


def require_kind(name: str, kind: object) -> None:
    """Raise WorkloadError, naming the attribute, unless ``kind`` is a kind of query."""
    if not callable(getattr(kind, "gram", None)) or isinstance(kind, type):
        raise WorkloadError(f"the kind of query on {name!r} must be one such as Identity() or Prefix(), got {kind!r}")


def require_distinct(kinds: tuple[Kind, ...]) -> None:
    """Raise WorkloadError where a workload's kinds of query repeat, or are more than 16 bits can number."""
    if len(kinds) > KIND_LIMIT:
        raise WorkloadError(f"a workload may have at most {KIND_LIMIT:,} different kinds of query, got {len(kinds):,}")
    if len(set(kinds)) < len(kinds):
        raise WorkloadError("a workload must list each of its kinds of query once")


def read_tied(domain: Domain, query: QueryLike, tied: TiedKinds) -> tuple[tuple[int, ...], tuple[Kind, ...]]:
    """As `read_query`; kinds that are tied already are looked up in ``tied``, and others are added to it."""
    if isinstance(query, str):
        query = (query,)
    if not isinstance(query, Mapping | Sequence | frozenset | set):
        raise WorkloadError(f"a query is a tuple of attribute names or a mapping name -> kind, got {query!r}")
    asked = dict(query) if isinstance(query, Mapping) else {}
    for name, kind in asked.items():
        require_kind(name, kind)
    positions = domain.positions(tuple(query))
    kinds = [asked.get(domain.names[position], Identity()) for position in positions]
    for pair in zip(positions, kinds, strict=True):
        if pair not in tied:
            tied[pair] = asked_of(pair[1], domain.attributes[pair[0]])
    return positions, tuple(tied[pair] for pair in zip(positions, kinds, strict=True))


def query_of(domain: Domain, attributes: Sequence[int], kinds: Sequence[Kind]) -> tuple[str, ...] | dict[str, Kind]:
    """Write a query as users do: names where every kind is the identity, else a mapping from name to kind."""
    names = tuple(domain.names[position] for position in attributes)
    if all(kind == Identity() for kind in kinds):
        return names
    return dict(zip(names, kinds, strict=True))
