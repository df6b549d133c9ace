"""Families of queries: all marginals of some orders, built as arrays and never one by one."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, is_integer, require_type, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.labels import Label
from residualplanner.method.queries.identity import Identity, Matching, require_threshold
from residualplanner.method.queries.kind import Kind, tied_kind
from residualplanner.method.workload import attribute_sets
from residualplanner.method.workload.query import require_distinct, require_kind
from residualplanner.method.workload.workload import Workload


def marginals(
    domain: Domain,
    *,
    order: int | None = None,
    up_to: int | None = None,
    max_cells: int | None = None,
    kinds: Mapping[str, Kind] | None = None,
    at_least: int | None = None,
    where: Mapping[str, Label | Iterable[Label]] | None = None,
) -> Workload:
    """All tables of ``order`` attributes, of at most ``up_to`` attributes, or of at most ``max_cells`` cells.

    Args:
        domain: the schema.
        order: exactly this many attributes.
        up_to: at most this many attributes, from the total (none) upwards.
        max_cells: leave out tables with more cells than this; alone, it gives tables of any order.
        kinds: kinds of query for some attributes, instead of one count per value.
        at_least: thresholds in place of marginals: records are counted where they match at least so many of the
            ``order`` attributes.
        where: the records that all tables are about: from attribute names to a label, or several, as of `Among`.  An
            attribute with one selected value is in no table, one with several has these in tables.

    Returns:
        The workload, each query with weight 1.

    Raises:
        WorkloadError: both ``order`` and ``up_to``, or none of the three; no table qualifies, or too many do; a kind of
            query does not fit its attribute; ``at_least`` is not from 1 to ``order``, or goes with ``kinds``; ``where``
            is no mapping to labels.
        DomainError: ``kinds`` or ``where`` names an attribute that is not in the domain, or a label that is none.

    Example:
        >>> domain = Domain({"age": 85, "sex": 2, "race": 5})
        >>> list(marginals(domain, up_to=1))
        [(), ('age',), ('sex',), ('race',)]
        >>> list(marginals(domain, order=2, max_cells=100))
        [('sex', 'race')]
        >>> list(marginals(domain, order=2, at_least=1, max_cells=100))
        [Threshold(attributes=('sex', 'race'), at_least=1)]
        >>> list(marginals(domain, order=1, where={"sex": 1}))
        [Among(('age',), where={'sex': [1]}), Among(('race',), where={'sex': [1]})]
    """
    require_type("marginals", "domain", domain, Domain, 'write marginals(Domain({"age": 85, ...}), up_to=2)')
    orders = _orders(domain, order, up_to, max_cells)
    chosen = _matching(domain, order, kinds, at_least)
    limit = math.inf if max_cells is None else max_cells
    if where is None:
        return Workload.from_blocks(domain, *all_tables(domain, orders, chosen, range(len(domain)), limit))
    from residualplanner.more.queries.among import universe_of  # a door

    universe = universe_of(domain, where, {} if at_least is None else chosen)
    members = universe.members(domain)
    if order is not None and order > len(members):
        raise WorkloadError(f"order={order}, but where leaves only {count_text(len(members), 'attribute')} for tables")
    blocks, distinct = all_tables(domain, orders, universe.applied(chosen), members, limit)
    return Workload.from_blocks(domain, *universe.selected(blocks, distinct))


def all_tables(
    domain: Domain, orders: range, kinds: Mapping[str, Kind], members: Sequence[int], limit: float
) -> tuple[list[attribute_sets.QueryBlock], tuple[Kind, ...]]:
    """All tables of some orders over ``members`` (m,) with at most ``limit`` cells, and the kinds that they number."""
    distinct, codes = _kinds(domain, kinds)
    among = np.array(members, dtype=np.int32)
    rows = np.array([distinct[codes[i]].rows(domain.sizes[i]) for i in members], dtype=np.float64)
    attribute_sets.require_set_count(_least_count(orders, rows, limit), what="sets of attributes, or more")
    blocks, found = [], np.empty((1, 0), dtype=np.int32)
    for k in range(max(orders, default=0) + 1):
        found = _sets(k, found, rows, limit, wanted=k in orders)
        chosen_sets = found if k in orders else found[:0]
        of_order = chosen_sets if len(members) == len(domain) else among[chosen_sets]
        blocks.append(attribute_sets.QueryBlock(of_order, codes[of_order], np.ones(len(of_order))))
        if not len(found):
            break
    if not any(map(len, blocks)):
        raise WorkloadError(f"no table of these orders has at most {limit} cells; raise max_cells")
    return blocks, distinct


def _matching(
    domain: Domain, order: int | None, kinds: Mapping[str, Kind] | None, at_least: int | None
) -> Mapping[str, Kind]:
    if at_least is None:
        if not isinstance(kinds, Mapping | None):
            raise WorkloadError(f"kinds must be a mapping from name to kind of query, got {value_text(kinds)}")
        return kinds or {}
    if order is None or kinds:
        raise WorkloadError("at_least goes with order=, the number of attributes of a threshold, and not with kinds=")
    require_threshold(at_least, order)
    return dict.fromkeys(domain.names, Matching(at_least)) if at_least < order else {}


def _orders(domain: Domain, order: int | None, up_to: int | None, max_cells: int | None) -> range:
    if order is not None and up_to is not None:
        raise WorkloadError("give order= or up_to=, not both")
    for name, value in (("order", order), ("up_to", up_to), ("max_cells", max_cells)):
        least = 1 if name == "max_cells" else 0
        if value is not None and not is_integer(value, least=least):
            raise WorkloadError(f"{name} must be an integer, at least {least}, got {value_text(value)}")
    if order is not None:
        if order > len(domain):
            raise WorkloadError(f"order={order}, but the domain has only {count_text(len(domain), 'attribute')}")
        return range(order, order + 1)
    if up_to is None and max_cells is None:
        raise WorkloadError("say which marginals: order=, up_to= or max_cells=")
    return range(min(len(domain), up_to if up_to is not None else len(domain)) + 1)


def _kinds(domain: Domain, kinds: Mapping[str, Kind]) -> tuple[tuple[Kind, ...], NDArray[np.int16]]:
    domain.positions(tuple(kinds))
    for name, kind in kinds.items():
        require_kind(name, kind)
    by_attribute = [tied_kind(kinds.get(each.name, Identity()), each) for each in domain.attributes]
    distinct = tuple(dict.fromkeys(by_attribute)) or (Identity(),)
    require_distinct(distinct)
    number = {kind: code for code, kind in enumerate(distinct)}
    return distinct, np.array([number[kind] for kind in by_attribute], dtype=np.int16)


def _least_count(orders: range, rows: FloatArray, limit: float) -> int:
    """How many sets of these orders have a table of at most ``limit`` cells, at least, as far as it matters.

    Any k of the j attributes with the fewest rows are a set of at most so many cells as the k largest of these have.
    """
    fewest, count = np.sort(rows).tolist(), 0
    most = len(fewest)
    for k in orders:
        while most >= k and math.prod(fewest[most - k : most]) > limit:
            most -= 1
        count += math.comb(most, k)
        if most < k or count > attribute_sets.SET_LIMIT:
            break
    return count


def _sets(
    order: int, smaller: attribute_sets.PositionArray, rows: FloatArray, limit: float, *, wanted: bool
) -> attribute_sets.PositionArray:
    if limit == math.inf and not wanted:
        return np.empty((1, order), dtype=np.int32)
    if limit == math.inf:
        return attribute_sets.combinations(np.arange(len(rows)), order)
    longer = attribute_sets.extensions(smaller, len(rows)) if order else smaller
    return np.asarray(longer[rows[longer].prod(axis=1) <= limit])
