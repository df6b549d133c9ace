"""Queries about some of the records cost, vary and are planned as their explicit matrices say."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from dense import Matrix
from random_plans import mechanism
from universes import DOMAIN, rows_about, universe_workloads

EMPLOYED = {"employed": "yes"}


def least_sum(rows: Matrix, steps: int = 2000) -> float:
    """A bound on the sum of the variances of these rows at cost 1, over all linear mechanisms: (33) with weights."""
    weights = np.full(rows.shape[1], 1 / rows.shape[1])
    best = 0.0
    for _ in range(steps):
        _, roots, vectors = np.linalg.svd(rows * np.sqrt(weights), full_matrices=False)
        best = max(best, float(roots.sum()) ** 2)
        weights = (vectors * vectors * roots[:, None]).sum(axis=0)
        weights /= weights.sum()
    return best


@settings(max_examples=12)
@given(problem=universe_workloads())
def test_cost_and_variances_are_those_of_explicit_matrices(problem):
    workload, queries = problem
    plan = rp.select(workload, budget=rp.pcost(1))
    answers, covariance = mechanism(plan)
    assert dense.privacy_cost(answers, covariance) == pytest.approx(plan.pcost, rel=1e-9)
    for query, rows in queries:
        found = dense.least_squares_covariance(answers, covariance, rows)
        np.testing.assert_allclose(plan.covariance(query), found, rtol=1e-6, atol=1e-6 * found.max())
        np.testing.assert_allclose(plan.variance(query).ravel(), np.diag(found), rtol=1e-6)
        weights = np.arange(1.0, 1 + len(rows))
        shaped = weights.reshape(plan.variance(query).shape)
        assert plan.combination_variance(query, shaped) == pytest.approx(weights @ found @ weights, rel=1e-6)


@given(parts=st.lists(universe_workloads(domain=DOMAIN), min_size=1, max_size=3))
@settings(max_examples=12)
def test_names_of_queries_are_in_the_order_of_the_workload(parts):
    workload = reduce(rp.Workload.__add__, [part for part, _ in parts])
    words = [workload.query_at(number).words(DOMAIN) for number in range(len(workload))]
    assert rp.select(workload, budget=rp.pcost(1), bases="orthogonal").errors()["query"].tolist() == words


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


def test_tables_of_the_employed_alone_cost_nothing_for_all_others():
    tables = [("age",), ("sex",), ("age", "sex")]
    others = rp.Domain({name: DOMAIN[name] for name in ("age", "sex")})
    alone = rp.select(rp.Workload(others, tables), budget=rp.pcost(1))
    among = rp.Workload(DOMAIN, [rp.Among(table, where=EMPLOYED) for table in tables])
    for loss in ("sum", "max"):
        expected = rp.select(alone.workload, budget=rp.pcost(1), loss=loss).loss_value
        assert rp.select(among, budget=rp.pcost(1), loss=loss).loss_value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("rest", "above"), [("no", 1.001), ("yes or no", 1.03)])
def test_bases_by_set_come_close_to_the_bound_where_universes_have_different_tables(rest, above):
    domain = rp.Domain({"age": 4, "sex": 2, "employed": ["yes", "no"]})
    others = {"no": {"employed": (1,)}, "yes or no": {}}[rest]
    pair, one = rows_about(domain, ("age", "sex"), {"employed": (0,)}), rows_about(domain, ("age",), others)
    among = [rp.Among(("age", "sex"), EMPLOYED), rp.Among(("age",), {"employed": rest.split(" or ")})]
    bound = least_sum(np.vstack([pair, one]), steps=500)
    plan = rp.select(rp.Workload(domain, among), budget=rp.pcost(1), bases="optimal_by_set")
    assert bound * (1 - 1e-9) <= plan.loss_value <= bound * above


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_what_no_query_needs_gets_next_to_no_part_of_the_budget(loss):
    among = rp.Workload(DOMAIN, [rp.Among(("age", "sex"), where=EMPLOYED)])
    plan = rp.select(among, budget=rp.pcost(1), loss=loss, bases={"employed": [[1, 0, 0], [0, 1, -1]]})
    np.testing.assert_allclose(plan.variance(rp.Among(("age", "sex"), where=EMPLOYED)), 1, rtol=1e-6)
    needed = plan.noise_variance_of["age", "sex", "employed"]
    assert plan.noise_variance_of["age", "sex"] > 1e8 * needed
    assert math.isfinite(plan.noise_variances.max())


def test_many_universes_of_one_attribute_share_their_kinds():
    domain = rp.Domain({"a": 3, "b": 2, "place": 12})
    workload = rp.marginals(domain, up_to=1)
    for place in range(12):
        workload = workload + rp.marginals(domain, up_to=2, where={"place": place})
    assert len(workload) == 4 + 12 * 4
    assert len(workload.kinds) == 1 + 12
    assert rp.select(workload, budget=rp.pcost(1)).pcost == pytest.approx(1)


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
        (
            {"employed": "retired"},
            rp.errors.DomainError,
            "'employed' has no value 'retired' to select; its labels are 'yes'",
        ),
        ({"employed": "yess"}, rp.errors.DomainError, "did you mean 'yes'"),
        ({"employd": "yes"}, rp.errors.DomainError, "employd"),
        ({"employed": []}, rp.errors.WorkloadError, "where, 'employed': a selection of no values counts no records"),
        ({"employed": [None]}, rp.errors.WorkloadError, "where, 'employed': a selection has labels of values"),
        ({"employed": 1.5}, rp.errors.WorkloadError, "where, 'employed': a selection has labels of values"),
        (["employed"], rp.errors.WorkloadError, "where must be a mapping from attribute names to labels"),
    ],
)
def test_what_selects_nothing_known_is_refused(where, error, message):
    with pytest.raises(error, match=message):
        rp.Workload(DOMAIN, [rp.Among(("age",), where=where)])
    with pytest.raises(error, match=message):
        rp.marginals(DOMAIN, order=1, where=where)
