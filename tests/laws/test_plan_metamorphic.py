"""How a plan changes when its problem is restated: not at all, or in step."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Domain, Workload, marginals, pcost, select
from strategies import NAMES, cases, names_of

losses = st.sampled_from(["sum", "max", rp.losses.SumOfVariances("sqrt")])
TIGHT = 1e-10


def same_noise(left, right, *, factor: float = 1.0) -> None:
    """The two plans measure the same sets, the right one with ``factor`` times the noise of the left one."""
    assert set(map(frozenset, left.noise_variance_of)) == set(map(frozenset, right.noise_variance_of))
    for names, variance in left.noise_variance_of.items():
        assert right.noise_variance_of[names] == pytest.approx(factor * variance, rel=1e-9)


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


@given(case=cases(most_cells=48), loss=losses, data=st.data())
def test_a_constant_attribute_changes_nothing(case, loss, data):
    place = data.draw(st.integers(0, len(case.sizes)))
    names = list(case.domain.names)
    pairs = list(zip(names, case.sizes, strict=True))
    wider = dict([*pairs[:place], ("constant", 1), *pairs[place:]])
    queries = [(*query, "constant") if data.draw(st.booleans()) else query for query in case.named]
    assume(len({frozenset(query) for query in queries}) == len({frozenset(query) for query in case.named}))
    left = select(case.workload, budget=pcost(1), loss=loss)
    right = select(Workload(Domain(wider), queries, weights=case.weights), budget=pcost(1), loss=loss)
    same_noise(left, right)
    for query, with_constant in zip(case.named, queries, strict=True):
        np.testing.assert_allclose(right.variance(with_constant).ravel(), left.variance(query).ravel(), rtol=1e-9)
    np.testing.assert_allclose(right.covariance((*case.named[0],)), left.covariance(case.named[0]), rtol=1e-8)


@given(case=cases(most_cells=48), loss=losses, data=st.data())
def test_permuting_attributes_permutes_everything(case, loss, data):
    order = data.draw(st.permutations(range(len(case.sizes))))
    permuted = Domain({NAMES[i]: case.sizes[i] for i in order})
    left = select(case.workload, budget=pcost(1), loss=loss)
    right = select(Workload(permuted, case.named, weights=case.weights), budget=pcost(1), loss=loss)
    same_noise(left, right)
    assert right.rmse == pytest.approx(left.rmse, rel=1e-9)
    for members in case.distinct:
        weights = np.arange(float(math.prod(case.sizes[i] for i in members))) ** 2
        weights = weights.reshape([case.sizes[i] for i in members])
        assert right.combination_variance(names_of(members), weights) == pytest.approx(
            left.combination_variance(names_of(members), weights), rel=1e-9, abs=TIGHT
        )


@given(case=cases(), loss=losses, factor=st.floats(1e-3, 1e3))
def test_a_budget_c_times_as_large_gives_noise_variances_c_times_smaller(case, loss, factor):
    left = select(case.workload, budget=pcost(1), loss=loss)
    right = select(case.workload, budget=pcost(factor), loss=loss)
    same_noise(left, right, factor=1 / factor)
    assert right.loss_value * factor == pytest.approx(left.loss_value, rel=1e-9)
    assert right.rmse * math.sqrt(factor) == pytest.approx(left.rmse, rel=1e-9)


@given(case=cases(), data=st.data())
def test_a_workload_may_be_put_together_from_parts(case, data):
    cut = data.draw(st.integers(0, len(case.queries)))
    assume(0 < cut < len(case.queries))
    halves = [
        Workload(case.domain, case.named[part], weights=None if case.weights is None else case.weights[part])
        for part in (slice(None, cut), slice(cut, None))
    ]
    whole = select(case.workload, budget=pcost(1))
    for left, right in (halves, halves[::-1]):
        np.testing.assert_array_equal(select(left + right, budget=pcost(1)).noise_variances, whole.noise_variances)


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
    by_shape = itertools.groupby(
        sorted(
            (tuple(sorted(domain[name].size for name in names)), noise)
            for names, noise in plan.noise_variance_of.items()
        ),
        key=lambda pair: pair[0],
    )
    for _, group in by_shape:
        noise = [variance for _, variance in group]
        np.testing.assert_allclose(noise, noise[0], rtol=1e-3)
