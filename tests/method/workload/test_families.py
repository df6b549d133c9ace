"""Families of marginals are the ones itertools lists, however large their domain."""

import itertools
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Custom, Domain, Identity, Prefix, Range, marginals, pcost, select
from strategies import NAMES

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


def test_the_cells_that_are_limited_are_answers():
    domain = domain_of([2, 3, 4])
    assert list(marginals(domain, order=2, max_cells=12)) == [("a", "b"), ("a", "c"), ("b", "c")]
    limited = marginals(domain, order=2, max_cells=12, kinds={"c": Range(), "a": Custom([[1, 1]] * 3 + [[0, 1]])})
    assert list(limited) == [{"a": Custom([[1, 1]] * 3 + [[0, 1]]), "b": Identity()}]


def test_counts_of_cells_beyond_64_bits_are_kept_as_floats():
    domain = Domain({f"x{i}": 2**40 for i in range(3)})
    workload = marginals(domain, order=3)
    assert workload.cells.tolist() == [2.0**120]
    assert select(workload, budget=pcost(1)).errors()["cells"].tolist() == [2.0**120]


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
            r"on 'a' must be one such as Identity\(\) or Prefix\(\), got 'prefix'",
        ),
        ({"order": 1, "kinds": {"a": Prefix}}, "the kind of query on 'a' must be one such as"),
        ({"order": 1, "kinds": [("a", Prefix())]}, "kinds must be a mapping from attribute name to kind of query"),
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
