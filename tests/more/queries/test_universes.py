"""Queries about some of the records are written, ordered and collected into families."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from random_plans import mechanism
from universes import DOMAIN, universe_workloads, universes

WIDE = rp.Domain({"a": 3, "b": 2, "c": 4, "d": 2, "one": 1})


def marginals_one_by_one(domain, orders, selected):
    """The queries of a family, written one by one."""
    members = [name for name in domain.names if len(selected.get(name, [])) != 1 or domain[name].size == 1]
    return [rp.Among(names, where=selected) for order in orders for names in itertools.combinations(members, order)]


def least_sum(rows, steps=2000):
    """A bound on the sum of the variances of these rows at cost 1, over all linear mechanisms: (33) with weights."""
    weights = np.full(rows.shape[1], 1 / rows.shape[1])
    best = 0.0
    for _ in range(steps):
        _, roots, vectors = np.linalg.svd(rows * np.sqrt(weights), full_matrices=False)
        best = max(best, float(roots.sum()) ** 2)
        weights = (vectors * vectors * roots[:, None]).sum(axis=0)
        weights /= weights.sum()
    return best


@given(selected=universes(WIDE), order=st.integers(0, 2), is_exact=st.booleans())
def test_a_family_has_the_queries_that_are_written_one_by_one(selected, order, is_exact):
    orders = [order] if is_exact else range(order + 1)
    family = rp.marginals(WIDE, where=selected, **({"order": order} if is_exact else {"up_to": order}))
    expected = rp.Workload(WIDE, marginals_one_by_one(WIDE, orders, selected))
    assert dict(zip(family, family.cells, strict=True)) == dict(zip(expected, expected.cells, strict=True))


def test_a_family_has_only_tables_of_few_selected_cells_and_the_kinds_of_attributes_in_its_tables():
    family = rp.marginals(WIDE, max_cells=4, where={"c": [0, 1]})
    assert rp.Among(("b", "c"), where={"c": [0, 1]}) in list(family)
    assert max(family.cells) == 4
    family = rp.marginals(WIDE, order=1, kinds={"a": rp.Prefix(), "c": rp.Range()}, where={"c": [1, 2]})
    for kinds in ({"a": rp.Prefix()}, {"c": rp.Range()}):
        assert rp.Among(kinds, where={"c": [1, 2]}) in list(family)


def test_the_order_in_which_a_query_is_written_is_that_of_its_axes():
    asked = {"employed": rp.Selection("no"), "sex": rp.Identity(), "age": rp.Identity()}
    query = rp.Workload(DOMAIN, [asked]).query_at(0)
    assert query.positions == (1, 0, 2)
    assert query.table_axes.positions == (1, 0)
    assert query.words(DOMAIN) == "sex × age among employed: no"
    several = rp.Workload(DOMAIN, [rp.Among(("age",), where={"employed": "no", "sex": 1})]).query_at(0)
    assert several.words(DOMAIN) == "age among sex: 1, employed: no"
    assert list(rp.Workload(DOMAIN, [rp.Among(("sex", "age"), where={"employed": "no"})])) == [
        rp.Among(("sex", "age"), where={"employed": "no"})
    ]


def test_equal_queries_are_one_and_others_are_not():
    one = rp.Among(("age",), where={"employed": ["yes", "no"], "sex": 1})
    assert {one: 1}[rp.Among("age", where={"sex": [1], "employed": ["yes", "no"]})] == 1
    assert one != rp.Among(("age",), where={"employed": ["yes"], "sex": 1})
    assert rp.Among(("sex", "age"), where={"employed": "no"}) != rp.Among(("age", "sex"), where={"employed": "no"})
    twice = rp.Workload(DOMAIN, [one, rp.Among(("age",), where={"employed": ["no", "yes"], "sex": "1"})])
    assert len(twice) == 1
    assert eval(repr(one), {"Among": rp.Among}) == one


def test_a_query_about_some_can_be_narrowed():
    employed = rp.Among(("age",), where={"employed": "yes"})
    assert list(rp.Workload(DOMAIN, [rp.Among(employed, where={"sex": 2})])) == [
        rp.Among(("age",), where={"sex": 2, "employed": "yes"})
    ]
    with pytest.raises(rp.errors.WorkloadError, match="not of a selection"):
        rp.Among(rp.Among(("employed",), where={"employed": "yes"}), where={"employed": ["yes", "no"]})


def test_nothing_selected_from_is_the_query_itself():
    assert list(rp.Workload(DOMAIN, [rp.Among(("age", "sex"), where={})])) == [("age", "sex")]
    amounts = rp.Domain({"income": rp.Numeric(0, 100, unit=1, bins=4), "sex": 2})
    bins = ["[0, 25)", "[25, 50)", "[50, 75)", "[75, 100]"]
    for domain, every in ((DOMAIN, {}), (DOMAIN, {"sex": [1, 2]}), (amounts, {"income": bins})):
        for order in (1, 2):
            assert list(rp.marginals(domain, order=order, where=every)) == list(rp.marginals(domain, order=order))
    assert list(rp.Workload(amounts, [rp.Among(("sex",), where={"income": bins})])) == [("sex",)]
    low = rp.Among(("sex",), where={"income": "[0, 25)"})
    assert list(rp.marginals(amounts, order=1, where={"income": "[0, 25)"})) == [low]


def test_thresholds_are_about_records_that_others_select():
    among = rp.Among(rp.Threshold(("age", "sex"), 1), where={"employed": "yes"})
    assert list(rp.Workload(DOMAIN, [among])) == [among]
    with pytest.raises(rp.errors.WorkloadError, match="an attribute that a threshold matches cannot be selected from"):
        rp.Among(rp.Threshold(("age", "sex"), 1), where={"sex": 1})


@pytest.mark.parametrize("query", [3, None, [1, 2], ("age", 3)])
def test_something_else_than_a_query_is_refused_and_a_name_that_is_written_twice(query):
    with pytest.raises(rp.errors.WorkloadError, match="the query of Among must be names"):
        rp.Among(query, where={"employed": "yes"})
    with pytest.raises(rp.errors.DomainError, match="occurs twice"):
        rp.Workload(DOMAIN, [rp.Among(("age", "age"), where={"employed": "yes"})])


EMPLOYED = {"employed": "yes"}


@settings(max_examples=12)
@given(problem=universe_workloads())
def test_cost_and_variances_are_those_of_explicit_matrices(problem):
    workload, queries = problem
    plan = rp.select(workload, budget=rp.pcost(1))
    answers, covariance = mechanism(plan)
    assert dense.privacy_cost(answers, covariance) == pytest.approx(plan.pcost, rel=1e-8)
    for query, rows in queries:
        found = dense.least_squares_covariance(answers, covariance, rows)
        np.testing.assert_allclose(plan.covariance(query), found, rtol=1e-6, atol=1e-6 * found.max())
        np.testing.assert_allclose(plan.variance(query).ravel(), np.diag(found), rtol=1e-6)
        weights = np.arange(1.0, 1 + len(rows))
        shaped = weights.reshape(plan.variance(query).shape)
        assert plan.combination_variance(query, shaped) == pytest.approx(weights @ found @ weights, rel=1e-6)


@pytest.mark.thorough
@settings(max_examples=12)
@given(problem=universe_workloads())
def test_no_plan_states_a_distance_below_the_true_one(problem):
    workload, queries = problem
    numbers = [list(workload).index(next(iter(rp.Workload(workload.domain, [query])))) for query, _ in queries]
    rows = np.vstack([*{number: rows for number, (_, rows) in zip(numbers, queries, strict=True)}.values()])
    plan = rp.select(workload, budget=rp.pcost(1))
    assert plan.loss_value / (1 + plan.suboptimality) ** 2 <= least_sum(rows) * (1 + 1e-4)


@pytest.mark.parametrize("weight", [1.0, 0.25, 9.0])
@pytest.mark.parametrize("labels", ["yes", ["yes", "part time"]])
def test_the_same_tables_of_everybody_and_of_some_have_the_least_sum_of_all_mechanisms(weight, labels):
    tables = [(), ("age",), ("sex",), ("age", "sex")]
    among = [rp.Among(table, where={"employed": labels}) for table in tables]
    weights = [1.0] * len(tables) + [weight] * len(tables)
    both = rp.select(rp.Workload(DOMAIN, tables + among, weights=weights), budget=rp.pcost(1))
    everybody = rp.select(rp.Workload(DOMAIN, tables), budget=rp.pcost(1))
    factor = 1 + weight / 2 + math.sqrt(weight + weight**2 / 4)
    assert both.loss_value == pytest.approx(factor * everybody.loss_value, rel=1e-5)  # (109)


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_what_no_query_needs_gets_next_to_no_part_of_the_budget(loss):
    among = rp.Workload(DOMAIN, [rp.Among(("age", "sex"), where=EMPLOYED)])
    plan = rp.select(among, budget=rp.pcost(1), loss=loss, bases={"employed": [[1, 0, 0], [0, 1, -1]]})
    np.testing.assert_allclose(plan.variance(rp.Among(("age", "sex"), where=EMPLOYED)), 1, rtol=1e-6)
    needed = plan.noise_variance_of["age", "sex", "employed"]
    assert plan.noise_variance_of["age", "sex"] > 1e8 * needed
    assert math.isfinite(plan.noise_variances.max())


def test_error_tables_name_the_universe_and_count_the_axes():
    queries = [
        (),
        ("sex", "age"),
        rp.Among((), EMPLOYED),
        rp.Among({"age": rp.Prefix(), "sex": rp.Identity()}, EMPLOYED),
    ]
    queries += [rp.Among(("employed", "sex"), {"employed": ["yes", "no"], "age": "[18, 65)"})]
    errors = rp.select(rp.Workload(DOMAIN, queries), budget=rp.pcost(1)).errors()
    assert errors[["query", "kinds", "order", "cells"]].values.tolist() == [
        ["(total)", "", 0, 1],
        ["(total) among employed: yes", "", 0, 1],
        ["sex × age", "identity × identity", 2, 8],
        ["age × sex among employed: yes", "prefix × identity", 2, 8],
        ["employed × sex among employed: yes or no, age: [18, 65)", "identity × identity", 2, 4],
    ]


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        ({"employed": "retired"}, rp.errors.DomainError, "'employed' has no value 'retired'; its values are"),
        ({"employed": "yess"}, rp.errors.DomainError, "did you mean 'yes'"),
        ({"employd": "yes"}, rp.errors.DomainError, "employd"),
        ({"employed": []}, rp.errors.WorkloadError, "where, 'employed': a selection of no values counts no records"),
        ({"employed": [None]}, rp.errors.WorkloadError, "where, 'employed': a selection has labels of values"),
        ({"employed": 1.5}, rp.errors.WorkloadError, "where, 'employed': a selection has labels of values"),
        (["employed"], rp.errors.WorkloadError, "where must be a mapping from names to labels"),
    ],
)
def test_what_selects_nothing_known_is_refused(where, error, message):
    with pytest.raises(error, match=message):
        rp.Workload(DOMAIN, [rp.Among(("age",), where=where)])
    with pytest.raises(error, match=message):
        rp.marginals(DOMAIN, order=1, where=where)
