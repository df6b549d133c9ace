"""How a plan changes when its problem is restated: not at all, or in step."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Domain, Workload, marginals, pcost, select
from strategies import NAMES, cases, names_of

losses = st.sampled_from(["sum", "max", rp.losses.SumOfVariances("sqrt")])


@given(case=cases(), loss=losses, data=st.data())
def test_the_order_of_names_and_queries_and_repetitions_are_irrelevant(case, loss, data):
    shuffled = [data.draw(st.permutations(names)) for names in case.named]
    weights = case.weights or (1.0,) * len(shuffled)
    order = data.draw(st.permutations(range(len(shuffled))))
    twice = [*order, *data.draw(st.lists(st.sampled_from(order)))]
    other = Workload(case.domain, [shuffled[i] for i in twice], weights=[weights[i] for i in twice])
    left = select(case.workload, budget=pcost(1), loss=loss)
    right = select(other, budget=pcost(1), loss=loss)
    np.testing.assert_array_equal(left.noise_variances, right.noise_variances)
    named, renamed = left.errors(), right.errors()
    assert named.drop(columns="query").equals(renamed.drop(columns="query"))
    assert [set(query.split(" × ")) for query in named["query"]] == [set(q.split(" × ")) for q in renamed["query"]]


@given(case=cases(), loss=losses, factor=st.floats(1e-3, 1e3))
def test_a_budget_c_times_as_large_gives_noise_variances_c_times_smaller(case, loss, factor):
    left = select(case.workload, budget=pcost(1), loss=loss)
    right = select(case.workload, budget=pcost(factor), loss=loss)
    np.testing.assert_allclose(right.noise_variances, left.noise_variances / factor, rtol=1e-9)
    assert right.loss_value * factor == pytest.approx(left.loss_value, rel=1e-9)
    assert right.rmse * math.sqrt(factor) == pytest.approx(left.rmse, rel=1e-9)


@given(case=cases(), factor=st.floats(1e-3, 1e3), loss=losses)
def test_multiplying_all_weights_changes_the_loss_and_not_the_noise(case, factor, loss):
    weights = case.distinct_weights
    left = select(Workload(case.domain, map(names_of, case.distinct), weights), budget=pcost(1), loss=loss)
    heavier = Workload(case.domain, map(names_of, case.distinct), np.array(weights) * factor)
    right = select(heavier, budget=pcost(1), loss=loss)
    np.testing.assert_allclose(right.noise_variances, left.noise_variances, rtol=1e-4 if loss == "max" else 1e-9)
    assert right.loss_value == pytest.approx(factor * left.loss_value, rel=2e-6)


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5), data=st.data())
def test_equal_attributes_get_equal_noise_in_a_symmetric_workload(sizes, data):
    domain = Domain(dict(zip(NAMES, sizes, strict=False)))
    plan = select(marginals(domain, up_to=data.draw(st.integers(0, 3))), budget=pcost(1), loss="max", gap=1e-9)
    by_sizes = {}
    for names, noise in plan.noise_variance_of.items():
        by_sizes.setdefault(tuple(sorted(domain[name].size for name in names)), []).append(noise)
    for noise in by_sizes.values():
        np.testing.assert_allclose(noise, noise[0], rtol=1e-3)
