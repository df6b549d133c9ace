"""A workload is a set of queries with weights, whatever way it was written."""

import itertools
import math
import operator
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Custom, Domain, Hierarchy, Identity, Prefix, Range, Workload, marginals
from strategies import NAMES, Case, cases, names_of

ABC = Domain({"a": 3, "b": 2, "c": 4})


def content(workload: Workload) -> list[tuple[object, float, float]]:
    return list(zip(workload, workload.weights.tolist(), workload.cells.tolist(), strict=True))


def weighted(case: Case) -> dict[tuple[int, ...], float]:
    return dict(zip(case.distinct, case.distinct_weights, strict=True))


@given(case=cases())
def test_iteration_gives_each_query_once_with_its_largest_weight(case):
    workload = case.workload
    assert list(workload) == [names_of(members) for members in case.written]
    assert workload.weights.tolist() == case.distinct_weights
    assert workload.cells.tolist() == [case.domain.cells(names) for names in workload]
    assert workload.orders.tolist() == [len(members) for members in case.distinct]
    assert len(workload) == len(case.distinct)
    assert content(Workload(case.domain, list(workload), weights=workload.weights)) == content(workload)


@given(case=cases(), other=cases())
def test_adding_keeps_every_query_with_the_larger_weight(case, other):
    queries = tuple(tuple(i for i in members if i < len(case.sizes)) for members in other.queries)
    right = Case(case.sizes, queries, other.weights)
    total = case.workload + right.workload
    expected = weighted(case)
    for members, weight in weighted(right).items():
        expected[members] = max(weight, expected.get(members, 0.0))
    ordered = sorted(expected, key=lambda row: (len(row), row))
    both = Case(case.sizes, case.queries + queries, None)
    assert list(total) == [names_of(members) for members in both.written]
    assert total.weights.tolist() == [expected[members] for members in ordered]
    assert content(total) == content(right.workload + case.workload)
    assert content(total + total) == content(total)
    assert list(total.closure) == list((right.workload + case.workload).closure)


@given(case=cases(), data=st.data())
def test_take_gives_the_queries_with_those_numbers_and_their_own_closure(case, data):
    everything = content(case.workload)
    numbers = sorted(data.draw(st.sets(st.integers(0, len(everything) - 1), min_size=1)))
    part = case.workload.take(numbers)
    assert content(part) == [everything[number] for number in numbers]
    alone = Workload(case.domain, list(part), weights=part.weights)
    assert list(part.closure) == list(alone.closure)


def test_queries_may_be_written_in_every_way():
    written = ["a", ("b", "a"), ["c"], {"a": Identity(), "c": Identity()}, frozenset({"b"}), ()]
    assert list(Workload(ABC, written)) == [(), ("a",), ("b",), ("c",), ("b", "a"), ("a", "c")]
    assert list(Workload(ABC, (name for name in ("b", "a")))) == [("a",), ("b",)]


def test_a_workload_cannot_be_changed_and_weights_are_copied():
    weights = np.array([1.0, 2.0])
    workload = Workload(ABC, [("a",), ("b",)], weights=weights)
    weights[0] = 9.0
    assert workload.weights.tolist() == [1.0, 2.0]
    with pytest.raises(AttributeError):
        workload.domain = ABC
    arrays = [array for block in workload.blocks for array in (block.attributes, block.kinds, block.weights)]
    assert not any(array.flags.writeable for array in [*arrays, workload.cells])


NONE, ONE, WEIGHT = (
    "has no queries; name at least one table",
    r"must be a list of queries; write \[query\]",
    "one weight for",
)
UNKNOWN, FINITE = r"unknown attribute .*the domain has \['a', 'b', 'c'\]", "weights must be finite and at least 0"
NUMBERS, ALL = "weights must be numbers, one for each query", [("a",), ("b",)]


@pytest.mark.parametrize(
    ("queries", "weights", "message"),
    [
        *((queries, None, UNKNOWN) for queries in ([("a", "z")], [{"z": Identity()}], ["z"], [(1,)])),
        ([("a", "b", "a")], None, "attribute 'a' occurs twice"),
        *((queries, None, NONE) for queries in ([], iter(()))),
        *((queries, None, ONE) for queries in ("a", {"a": Identity()}, None, 5)),
        *(([query], None, "a query is a tuple of attribute names or a mapping") for query in (3, None, 1.5)),
        *(
            ([{"a": kind}], None, r"the kind of query on 'a' must be one such as Prefix\(\)")
            for kind in ("identity", Identity, None)
        ),
        (ALL, [1.0], f"{WEIGHT} each query: got 2 queries and weights of shape \\(1,\\)"),
        *((ALL, weights, WEIGHT) for weights in ([1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0)),
        *((ALL, [1.0, bad], FINITE) for bad in (-1.0, float("nan"), float("inf"))),
        (ALL, [0.0, 0.0], "all weights are 0; at least one query must matter"),
        *((ALL, weights, NUMBERS) for weights in (["heavy", "light"], {("a",): 1.0}, [1.0, 10**400])),
    ],
)
def test_what_is_no_list_of_queries_with_weights_is_refused(queries, weights, message):
    with pytest.raises((rp.errors.DomainError, rp.errors.WorkloadError), match=message) as caught:
        Workload(ABC, queries, weights=weights)
    if "twice" in message:
        assert caught.value.attributes == ("a",)


def test_each_attribute_is_queried_in_its_own_kind():
    trend = Custom([[1, 1, 1], [0, 1, 2]])
    workload = Workload(ABC, [{"c": Range(), "a": trend}, {"a": Prefix()}, ("a", "c"), {"c": Range()}])
    assert list(workload) == [{"a": Prefix()}, {"c": Range()}, {"a": trend, "c": Range()}, ("a", "c")]
    assert workload.cells.tolist() == [3.0, 10.0, 20.0, 12.0]
    asked = {(ABC.names[i], workload.kinds[k]) for i, k in np.argwhere(workload.uses).tolist()}
    assert asked == {("a", trend), ("a", Prefix()), ("a", Identity()), ("c", Range()), ("c", Identity())}
    same = Workload(ABC, [("a",), {"a": Prefix()}, {"a": Prefix()}], weights=[1, 2, 3])
    assert content(same) == [(("a",), 1.0, 3.0), ({"a": Prefix()}, 3.0, 3.0)]


def test_kinds_are_of_their_attributes_also_where_workloads_are_joined():
    workload = Workload(ABC, [{"a": Custom([[1, 1, 1], [1, 0, 0]])}, {"b": Custom([[1, 1], [1, 0], [3, 0]])}])
    joined = workload + Workload(ABC, [{"c": Custom([[1, 1, 1, 1], [0, 1, 0, 0]])}])
    assert joined.cells.tolist() == [2.0, 3.0, 2.0]
    assert joined.take([2]).cells.tolist() == [2.0]
    left = Workload(ABC, [{"a": Prefix(), "c": Range()}])
    right = Workload(ABC, [{"a": Range(), "c": Prefix()}, ("a", "c")])
    assert list(left + right) == [{"a": Prefix(), "c": Range()}, {"a": Range(), "c": Prefix()}, ("a", "c")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"a": Custom([[1, 1]])}, "the matrix for 'a' must have a column for each of its 3 values, it has 2"),
        ({"a": Custom([[1, 0, 0]])}, "the closest one gives 1 the weight 0; add rows"),
        (
            {"a": Custom([[5, 5, 5]])},
            "gives nothing but the total of 'a'; leave it out of the query",
        ),
        ({"a": Hierarchy([{"x": ["CA"]}])}, "the hierarchy on 'a': 'CA', a member of 'x', is not a value"),
    ],
)
def test_a_kind_that_does_not_fit_its_attribute_is_refused(query, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Workload(ABC, [("b",), query])
    with pytest.raises(rp.errors.WorkloadError, match=message):
        marginals(ABC, order=1, kinds=query)
    total, single = marginals(ABC, up_to=1).blocks
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Workload.from_blocks(ABC, [total.part([]), single.part([0])], (query["a"],))


def test_only_workloads_of_one_domain_can_be_added():
    with pytest.raises(rp.errors.WorkloadError, match="only workloads over the same domain can be added"):
        marginals(ABC, order=1) + marginals(Domain({"a": 3, "b": 2}), order=1)
    with pytest.raises(TypeError):
        operator.add(marginals(ABC, order=1), [("a",)])


shapes = st.lists(st.integers(1, 6), max_size=6)


def domain_of(sizes) -> Domain:
    return Domain(dict(zip(NAMES, sizes, strict=False)))


def listed(domain: Domain, orders, most_cells: float = math.inf) -> list[tuple[str, ...]]:
    return [
        names
        for order in orders
        for names in itertools.combinations(domain.names, order)
        if domain.cells(names) <= most_cells
    ]


@given(
    sizes=shapes, most_cells=st.none() | st.integers(1, 300), orders=st.none() | st.integers(0, 8), exact=st.booleans()
)
def test_marginals_of_some_orders_or_of_few_cells_are_those_and_no_others(sizes, most_cells, orders, exact):
    domain = domain_of(sizes)
    asked = {} if most_cells is None else {"max_cells": most_cells}
    if orders is None:
        chosen, asked = range(len(sizes) + 1), asked or {"up_to": len(sizes)}
    else:
        chosen = [orders] if exact else range(orders + 1)
        asked["order" if exact else "up_to"] = orders
    expected = listed(domain, chosen, math.inf if most_cells is None else most_cells)
    if not expected:
        too_many = f"order={orders}, but the domain has only {len(domain)} attribute"
        message = too_many if exact and orders and orders > len(sizes) else "no table of these orders has at most"
        with pytest.raises(rp.errors.WorkloadError, match=message):
            marginals(domain, **asked)
        return
    workload = marginals(domain, **asked)
    assert list(workload) == expected
    assert set(workload.weights) == {1.0}
    assert workload.cells.tolist() == [domain.cells(names) for names in workload]
    assert workload.orders.tolist() == list(map(len, expected))


def test_kinds_given_by_name_hold_wherever_the_attribute_occurs():
    domain = domain_of([2, 3, 4])
    family = marginals(domain, up_to=2, kinds={"c": Range(), "a": Prefix()})
    a, c = {"a": Prefix()}, {"c": Range()}
    b = {"b": Identity()}
    assert list(family) == [(), a, ("b",), c, a | b, a | c, b | c]
    assert family.cells.tolist() == [1.0, 2.0, 3.0, 10.0, 6.0, 20.0, 30.0]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "say which marginals: order=, up_to= or max_cells="),
        ({"order": 1, "up_to": 2}, "give order= or up_to=, not both"),
        ({"order": -1}, "order must be an integer, at least 0, got -1"),
        ({"up_to": 1.5}, "up_to must be an integer, at least 0, got 1.5"),
        ({"order": True}, "order must be an integer, at least 0, got True"),
        ({"max_cells": 0}, "max_cells must be an integer, at least 1, got 0"),
        ({"max_cells": float("nan")}, "max_cells must be an integer"),
        ({"order": "2"}, "order must be an integer"),
        ({"order": 1, "kinds": {"z": Identity()}}, "unknown attribute 'z'"),
        (
            {"order": 1, "kinds": {"a": "prefix"}},
            r"on 'a' must be one such as Prefix\(\), got 'prefix'; write Prefix\(\)$",
        ),
        ({"order": 1, "kinds": {"a": "standard deviation"}}, r"; write StandardDeviation\(\)$"),
        ({"order": 1, "kinds": {"a": "hierarchy"}}, r"; write Hierarchy\(\[...\]\)$"),
        ({"order": 1, "kinds": {"a": "anything"}}, "got 'anything'$"),
        ({"order": 1, "kinds": {"a": Prefix}}, "the kind of query on 'a' must be one such as"),
        ({"order": 1, "kinds": [("a", Prefix())]}, "kinds must be a mapping from name to kind of query"),
    ],
)
def test_a_family_that_is_not_one_is_refused(asked, message):
    with pytest.raises((rp.errors.DomainError, rp.errors.WorkloadError), match=message):
        marginals(domain_of([2, 3, 4]), **asked)


@pytest.mark.parametrize(
    ("size", "count", "asked"),
    [
        *((10, 200, asked) for asked in ({"order": 6}, {"up_to": 6}, {"order": 100}, {"max_cells": 10**9})),
        *((2, 30, asked) for asked in ({"up_to": 30}, {"up_to": 29}, {"max_cells": 2**30}, {"max_cells": 2**12})),
    ],
)
def test_families_too_large_to_plan_for_are_counted_and_not_made(size, count, asked):
    domain = Domain({f"x{i}": size for i in range(count)})
    tracemalloc.start()
    try:
        with pytest.raises(rp.errors.WorkloadError, match=r"too large: .*the limit is 20,000,000"):
            marginals(domain, **asked)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
