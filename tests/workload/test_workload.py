"""A workload is a set of queries with weights, whatever way it was written."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residualplanner.domain import Domain
from residualplanner.errors import DomainError, WorkloadError
from residualplanner.queries import Identity
from residualplanner.workload import Workload, marginals
from strategies import Case, cases, names_of

ABC = Domain({"a": 3, "b": 2, "c": 4})


def content(workload: Workload) -> list[tuple[object, float, float]]:
    return list(zip(workload, workload.weights.tolist(), workload.cells.tolist(), strict=True))


def weighted(case: Case) -> dict[tuple[int, ...], float]:
    return dict(zip(case.distinct, case.distinct_weights, strict=True))


@given(case=cases())
def test_iteration_gives_each_query_once_with_its_largest_weight(case):
    workload = case.workload
    assert list(workload) == [names_of(members) for members in case.distinct]
    assert workload.weights.tolist() == case.distinct_weights
    assert workload.cells.tolist() == [case.domain.cells(names) for names in workload]
    assert workload.orders.tolist() == [len(members) for members in case.distinct]
    assert len(workload) == len(case.distinct)


@given(case=cases())
def test_iterating_a_workload_and_making_one_of_it_gives_it_back(case):
    again = Workload(case.domain, list(case.workload), weights=case.workload.weights)
    assert content(again) == content(case.workload)


@given(case=cases(), other=cases())
def test_adding_keeps_every_query_with_the_larger_weight(case, other):
    queries = tuple(tuple(i for i in members if i < len(case.sizes)) for members in other.queries)
    right = Case(case.sizes, queries, other.weights)
    total = case.workload + right.workload
    expected = weighted(case)
    for members, weight in weighted(right).items():
        expected[members] = max(weight, expected.get(members, 0.0))
    ordered = sorted(expected, key=lambda row: (len(row), row))
    assert list(total) == [names_of(members) for members in ordered]
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


def test_a_part_of_a_family_has_no_larger_sets_in_its_closure():
    part = marginals(ABC, up_to=3).take([1, 2])
    assert list(part) == [("a",), ("b",)]
    assert list(part.closure) == [(), (0,), (1,)]


def test_queries_may_be_written_in_every_way():
    written = ["a", ("b", "a"), ["c"], {"a": Identity(), "c": Identity()}, frozenset({"b"}), ()]
    assert list(Workload(ABC, written)) == [(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c")]
    assert list(Workload(ABC, (name for name in ("b", "a")))) == [("a",), ("b",)]


def test_the_total_alone_is_a_workload():
    workload = Workload(ABC, [()])
    assert list(workload) == [()]
    assert list(workload.closure) == [()]
    assert workload.cells.tolist() == [1.0]


def test_a_workload_cannot_be_changed():
    workload = marginals(ABC, up_to=2)
    with pytest.raises(AttributeError):
        workload.domain = ABC
    for block in workload.blocks:
        for array in (block.attributes, block.kinds, block.weights):
            assert not array.flags.writeable
    assert not workload.cells.flags.writeable


def test_weights_given_as_an_array_are_copied():
    weights = np.array([1.0, 2.0])
    workload = Workload(ABC, [("a",), ("b",)], weights=weights)
    weights[0] = 9.0
    assert workload.weights.tolist() == [1.0, 2.0]


def test_the_words_for_a_workload_say_how_large_it_is():
    assert (
        repr(marginals(ABC, up_to=2))
        == "<Workload of 7 queries over 3 attributes: 1 of order 0, 3 of order 1, 3 of order 2>"
    )


@pytest.mark.parametrize("queries", [[("a", "z")], [{"z": Identity()}], ["z"], [(1,)]])
def test_an_unknown_attribute_is_named(queries):
    with pytest.raises(DomainError, match=r"unknown attributes .*the domain has \['a', 'b', 'c'\]"):
        Workload(ABC, queries)


def test_an_attribute_twice_in_one_query_is_refused():
    with pytest.raises(DomainError, match=r"attributes \['a'\] come twice") as caught:
        Workload(ABC, [("a", "b", "a")])
    assert caught.value.attributes == ("a",)


@pytest.mark.parametrize("queries", [[], iter(())])
def test_a_workload_without_queries_is_refused(queries):
    with pytest.raises(WorkloadError, match="has no queries; name at least one table"):
        Workload(ABC, queries)


@pytest.mark.parametrize("queries", ["a", {"a": Identity()}, None, 5])
def test_one_query_instead_of_a_list_is_refused(queries):
    with pytest.raises(WorkloadError, match=r"queries must be a list of queries; write \[query\]"):
        Workload(ABC, queries)


@pytest.mark.parametrize("query", [3, None, 1.5])
def test_something_else_than_a_query_is_refused(query):
    with pytest.raises(WorkloadError, match="a query is a tuple of attribute names or a mapping name -> kind"):
        Workload(ABC, [query])


@pytest.mark.parametrize("kind", ["identity", Identity, None])
def test_something_else_than_a_kind_is_refused(kind):
    with pytest.raises(WorkloadError, match=r"the kind of query on 'a' must be one such as Identity\(\)"):
        Workload(ABC, [{"a": kind}])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "one weight for each query: got 2 queries and weights of shape \\(1,\\)"),
        ([1.0, 2.0, 3.0], "one weight for each query"),
        ([[1.0, 2.0]], "one weight for each query"),
        (1.0, "one weight for each query"),
        ([1.0, -1.0], "weights must be finite and at least 0"),
        ([1.0, float("nan")], "weights must be finite and at least 0"),
        ([1.0, float("inf")], "weights must be finite and at least 0"),
        ([0.0, 0.0], "all weights are 0; at least one query must matter"),
        (["heavy", "light"], "weights must be numbers, one for each query"),
        ({("a",): 1.0}, "weights must be numbers, one for each query"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, message):
    with pytest.raises(WorkloadError, match=message):
        Workload(ABC, [("a",), ("b",)], weights=weights)


def test_only_workloads_of_one_domain_can_be_added():
    with pytest.raises(WorkloadError, match="only workloads over the same domain can be added"):
        marginals(ABC, order=1) + marginals(Domain({"a": 3, "b": 2}), order=1)
    with pytest.raises(TypeError):
        operator.add(marginals(ABC, order=1), [("a",)])


@pytest.mark.parametrize("width", [25, 40])
def test_a_query_whose_closure_is_too_large_is_refused_when_it_is_asked_for(width):
    domain = Domain({f"x{i}": 2 for i in range(width)})
    workload = Workload(domain, [domain.names])
    assert workload.cells.tolist() == [2.0**width]
    with pytest.raises(WorkloadError, match="too large"):
        _ = workload.closure
