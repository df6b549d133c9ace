"""A workload is a set of queries with weights, whatever way it was written."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Custom, Domain, Hierarchy, Identity, Prefix, Range, Workload, marginals
from residualplanner.method.workload.attribute_sets import QueryBlock
from residualplanner.method.workload.query import written_query
from strategies import Case, cases, names_of

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


def test_a_part_of_a_family_has_no_larger_sets_in_its_closure():
    part = marginals(ABC, up_to=3).take([1, 2])
    assert list(part) == [("a",), ("b",)]
    assert list(part.closure) == [(), (0,), (1,)]


def test_queries_may_be_written_in_every_way():
    written = ["a", ("b", "a"), ["c"], {"a": Identity(), "c": Identity()}, frozenset({"b"}), ()]
    assert list(Workload(ABC, written)) == [(), ("a",), ("b",), ("c",), ("b", "a"), ("a", "c")]
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
    with pytest.raises(rp.errors.DomainError, match=r"unknown attribute .*the domain has \['a', 'b', 'c'\]"):
        Workload(ABC, queries)


def test_an_attribute_twice_in_one_query_is_refused():
    with pytest.raises(rp.errors.DomainError, match=r"attribute 'a' occurs twice") as caught:
        Workload(ABC, [("a", "b", "a")])
    assert caught.value.attributes == ("a",)


@pytest.mark.parametrize("queries", [[], iter(())])
def test_a_workload_without_queries_is_refused(queries):
    with pytest.raises(rp.errors.WorkloadError, match="has no queries; name at least one table"):
        Workload(ABC, queries)


@pytest.mark.parametrize("queries", ["a", {"a": Identity()}, None, 5])
def test_one_query_instead_of_a_list_is_refused(queries):
    with pytest.raises(rp.errors.WorkloadError, match=r"queries must be a list of queries; write \[query\]"):
        Workload(ABC, queries)


@pytest.mark.parametrize("query", [3, None, 1.5])
def test_something_else_than_a_query_is_refused(query):
    with pytest.raises(
        rp.errors.WorkloadError, match="a query is a tuple of attribute names or a mapping name -> kind"
    ):
        Workload(ABC, [query])


def test_each_attribute_is_queried_in_its_own_kind():
    trend = Custom([[1, 1, 1], [0, 1, 2]])
    workload = Workload(ABC, [{"c": Range(), "a": trend}, {"a": Prefix()}, ("a", "c"), {"c": Range()}])
    assert list(workload) == [{"a": Prefix()}, {"c": Range()}, {"a": trend, "c": Range()}, ("a", "c")]
    assert workload.cells.tolist() == [3.0, 10.0, 20.0, 12.0]
    asked = {(ABC.names[i], workload.kinds[k]) for i, k in np.argwhere(workload.uses).tolist()}
    assert asked == {("a", trend), ("a", Prefix()), ("a", Identity()), ("c", Range()), ("c", Identity())}


def test_the_same_query_of_other_kinds_is_another_query():
    workload = Workload(ABC, [("a",), {"a": Prefix()}, {"a": Prefix()}], weights=[1, 2, 3])
    assert content(workload) == [(("a",), 1.0, 3.0), ({"a": Prefix()}, 3.0, 3.0)]


def test_matrices_that_fit_one_attribute_are_not_tried_on_another():
    workload = Workload(ABC, [{"a": Custom([[1, 1, 1], [1, 0, 0]])}, {"b": Custom([[1, 1], [1, 0], [3, 0]])}])
    assert workload.cells.tolist() == [2.0, 3.0]
    joined = workload + Workload(ABC, [{"c": Custom([[1, 1, 1, 1], [0, 1, 0, 0]])}])
    assert joined.cells.tolist() == [2.0, 3.0, 2.0]
    assert joined.take([2]).cells.tolist() == [2.0]


def test_hierarchies_are_tied_to_their_attribute():
    domain = Domain({"state": ["CA", "TX", "WA"], "home": ["TX", "CA", "WA"]})
    regions = Hierarchy([{"West": ["CA", "WA"], "South": ["TX"]}], leaves=False)
    workload = Workload(domain, [{"state": regions}, {"home": regions}])
    tied = [kind for query in workload for kind in query.values()]
    assert tied == [regions.on(domain["state"]), regions.on(domain["home"])]
    np.testing.assert_array_equal(tied[0].matrix(3), [[1, 1, 1], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(tied[1].matrix(3), [[1, 1, 1], [0, 1, 1], [1, 0, 0]])
    assert list(Workload(domain, list(workload))) == list(workload)
    assert written_query(domain, {"home": regions}) == ((1,), (tied[1],))


def test_kinds_keep_their_numbers_when_workloads_are_joined():
    left = Workload(ABC, [{"a": Prefix(), "c": Range()}])
    right = Workload(ABC, [{"a": Range(), "c": Prefix()}, ("a", "c")])
    assert list(left + right) == [{"a": Prefix(), "c": Range()}, {"a": Range(), "c": Prefix()}, ("a", "c")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"a": Custom([[1, 1]])}, "the matrix for 'a' must have a column for each of its 3 values, it has 2"),
        ({"a": Custom([[1, 0, 0]])}, "the values 1, 2 are in no row"),
        (
            {"a": Custom([[5, 5, 5]])},
            "gives nothing but the total of 'a'; leave the attribute out of the query instead",
        ),
        ({"a": Hierarchy([{"x": ["CA"]}])}, "the hierarchy on 'a': 'CA', a member of 'x', is not a value"),
    ],
)
def test_a_kind_that_does_not_fit_its_attribute_is_refused(query, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Workload(ABC, [("b",), query])
    with pytest.raises(rp.errors.WorkloadError, match=message):
        written_query(ABC, query)
    with pytest.raises(rp.errors.WorkloadError, match=message):
        marginals(ABC, order=1, kinds=query)
    block = QueryBlock(np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int16), np.ones(1))
    total = QueryBlock(np.zeros((0, 0), np.int32), np.zeros((0, 0), np.int16), np.ones(0))
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Workload.from_blocks(ABC, [total, block], (query["a"],))


def test_a_workload_of_arrays_lists_each_kind_once():
    with pytest.raises(rp.errors.WorkloadError, match="must list each of its kinds of query once"):
        Workload.from_blocks(ABC, marginals(ABC, order=1).blocks, (Identity(), Identity()))


def test_more_kinds_than_can_be_numbered_are_refused(monkeypatch):
    monkeypatch.setattr("residualplanner.method.workload.query.KIND_LIMIT", 2)
    few, more = Workload(ABC, ["a", {"a": Prefix()}]), Workload(ABC, [{"a": Range()}])
    message = "at most 2 different kinds of query, got 3"
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Workload(ABC, [*few, *more])
    with pytest.raises(rp.errors.WorkloadError, match=message):
        few + more
    with pytest.raises(rp.errors.WorkloadError, match=message):
        marginals(ABC, order=1, kinds={"a": Prefix(), "b": Range()})


@pytest.mark.parametrize("kind", ["identity", Identity, None])
def test_something_else_than_a_kind_is_refused(kind):
    with pytest.raises(rp.errors.WorkloadError, match=r"the kind of query on 'a' must be one such as Identity\(\)"):
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
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Workload(ABC, [("a",), ("b",)], weights=weights)


def test_only_workloads_of_one_domain_can_be_added():
    with pytest.raises(rp.errors.WorkloadError, match="only workloads over the same domain can be added"):
        marginals(ABC, order=1) + marginals(Domain({"a": 3, "b": 2}), order=1)
    with pytest.raises(TypeError):
        operator.add(marginals(ABC, order=1), [("a",)])


@pytest.mark.parametrize("width", [25, 40])
def test_a_query_whose_closure_is_too_large_is_refused_when_its_closure_is_wanted(width):
    domain = Domain({f"x{i}": 2 for i in range(width)})
    workload = Workload(domain, [domain.names])
    assert workload.cells.tolist() == [2.0**width]
    with pytest.raises(rp.errors.WorkloadError, match="too large"):
        _ = workload.closure


def test_a_weight_that_no_float_can_hold_is_refused():
    with pytest.raises(rp.errors.WorkloadError, match="weights must be numbers, one for each query"):
        Workload(Domain({"a": 2}), [("a",)], weights=[10**400])
