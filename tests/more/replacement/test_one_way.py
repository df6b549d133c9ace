"""Where records are replaced, attributes that only one-way tables are about are measured as well as any mechanism can.

The least loss of all mechanisms is that of a convex problem over explicit matrices, solved by CVXPY.
"""

import math
from functools import reduce

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp


def kinds(size):
    rows = np.random.default_rng(size).integers(-2, 4, (3, size))
    halves = rp.Hierarchy([{"low": list(range(size // 2)), "high": list(range(size // 2, size))}])
    return [rp.Prefix(), rp.Range(), rp.Identity(), rp.Custom(np.vstack([np.ones(size), rows])), halves]


def least_loss(sizes, queries, weights, of_maximum):
    """Over all K with d^T K d <= 1 for the differences d of any two records: the total of them is known."""
    N = math.prod(sizes)
    Z = np.linalg.qr(np.column_stack([np.ones(N), np.eye(N)[:, 1:]]))[0][:, 1:]
    K, t = cvxpy.Variable((N - 1, N - 1), PSD=True), cvxpy.Variable()
    limits, total = [], 0
    for kinds_of, weight in zip(queries, weights, strict=True):
        factors = (kinds_of[i].matrix(n) if i in kinds_of else np.ones((1, n)) for i, n in enumerate(sizes))
        rows = math.sqrt(weight) * reduce(np.kron, factors) @ Z
        if of_maximum:
            limits += [cvxpy.matrix_frac(row, K) <= t for row in rows]
        else:
            total += cvxpy.matrix_frac(rows.T, K)
    for first in range(N):
        for second in range(first):
            d = Z[first] - Z[second]
            limits.append(d @ K @ d <= 1)
    return cvxpy.Problem(cvxpy.Minimize(t if of_maximum else total), limits).solve(solver="CLARABEL")


def plan_of(sizes, queries, weights, loss):
    domain = rp.Domain({f"a{i}": size for i, size in enumerate(sizes)})
    named = [{f"a{i}": kind for i, kind in query.items()} for query in queries]
    return rp.select(rp.Workload(domain, named, weights=weights), budget=rp.pcost(1), loss=loss, neighbors="replace")


@settings(max_examples=12)
@given(data=st.data(), loss=st.sampled_from(["sum", "max"]))
def test_one_way_tables_have_the_least_loss_of_all_mechanisms(data, loss):
    sizes = data.draw(st.sampled_from([(5,), (3, 3), (4, 2), (2, 2, 2)]))
    chosen = [data.draw(st.lists(st.sampled_from(kinds(n)), min_size=1, max_size=2, unique=True)) for n in sizes]
    queries = [{i: kind} for i, own in enumerate(chosen) for kind in own]
    weights = [data.draw(st.sampled_from([1.0, 0.3, 4.0])) for _ in queries]
    plan = plan_of(sizes, queries, weights, loss)
    least = least_loss(sizes, queries, weights, loss == "max")
    assert plan.loss_value >= least * (1 - 1e-4)
    assert plan.loss_value <= least * (1 + 3e-3)
    assert math.sqrt(plan.loss_value / least) - 1 <= plan.suboptimality + 1e-4
    assert plan.suboptimality < 2e-3


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_beside_tables_of_pairs_the_stated_distance_is_that_of_the_pairs(loss):
    pair = {1: rp.Identity(), 2: rp.Identity()}
    queries = [{0: rp.Prefix()}, pair, {1: rp.Identity()}, {}]
    plan = plan_of((7, 4, 3), queries, None, loss)
    assert plan.suboptimality < 0.01
    assert plan.gap < 1e-5
    assert float(plan.bases["a0"].gap) < 1e-4


def test_an_attribute_that_is_in_a_set_with_another_one_is_not_measured_apart():
    apart = plan_of((6, 3), [{0: rp.Prefix()}, {1: rp.Identity()}], None, "sum")
    together = plan_of((6, 3), [{0: rp.Prefix()}, {0: rp.Prefix(), 1: rp.Identity()}], None, "sum")
    assert apart.bases["a0"].key != together.bases["a0"].key


def test_a_basis_that_is_given_stays():
    given_basis = np.array([[1, -1, 0, 0], [0, 1, -1, 0], [0, 0, 1, -1]])
    workload = rp.Workload(rp.Domain({"a": 4, "b": 3}), [{"a": rp.Prefix()}, {"b": rp.Prefix()}])
    plan = rp.select(workload, budget=rp.pcost(1), neighbors="replace", bases={"a": given_basis})
    np.testing.assert_array_equal(plan.bases["a"].matrix, given_basis)
    own = rp.select(workload, budget=rp.pcost(1), neighbors="replace")
    assert plan.bases["b"].key == own.bases["b"].key
    assert own.loss_value < plan.loss_value


def test_the_farthest_pair_of_columns_is_that_of_all_pairs():
    workload = rp.Workload(rp.Domain({"a": 9}), [{"a": rp.Range()}])
    basis = rp.select(workload, budget=rp.pcost(1), neighbors="replace").bases["a"]
    columns = basis.matrix.T.astype(float)
    farthest = max(((x - y) ** 2).sum() for x in columns for y in columns)
    (pair,) = basis.farthest_pair
    assert pair[0] + pair[1] - 2 * pair[2] == pytest.approx(farthest, rel=1e-12)
    assert pair.tolist() in basis.extreme_pairs.tolist()
