"""Plans for r-of-k thresholds, alone and among other queries, are what explicit matrices say, and the best of all."""

import itertools
import math

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from benchmarks.published import DOMAINS
from benchmarks.thresholds import RMSE
from random_plans import basis_of, mechanism, plan_by_hand, random_matrix
from residualplanner.more.bounds.svd_bound import greatest_over_choices
from residualplanner.more.bounds.svd_maximum import greatest_bound
from residualplanner.more.queries.thresholds import (
    threshold_count,
    threshold_distance,
    threshold_factors,
    threshold_map,
    threshold_probability,
)
from strategies import NAMES
from thresholds import rows_of, threshold_workloads

TRIPLE = rp.Domain({"a": 3, "b": 2, "c": 4})
PAIR = rp.Workload(TRIPLE, [rp.Threshold(("a", "b"), 1)])


def dense_covariance(plan, query):
    """The covariance of the least squares table of a query from all answers."""
    return dense.least_squares_covariance(*mechanism(plan), rows_of(plan.domain.sizes, query))


@st.composite
def plans_by_hand(draw):
    """Plans with any noise; attributes that have other kinds than single values may have bases of their own."""
    workload, sizes = draw(threshold_workloads())
    seed = draw(st.integers(0, 99))
    matched = {i for query in workload for i, name in enumerate(NAMES) if name in query and is_joint(query, name)}
    bases = [
        basis_of(size, None if i in matched or size == 1 else random_matrix(size, size - 1, seed))
        for i, size in enumerate(sizes)
    ]
    noise = np.random.default_rng(seed).lognormal(sigma=0.7, size=len(workload.closure))
    return plan_by_hand(workload, rp.strategies.constant_strategy(workload.closure, bases), noise)


def is_joint(query, name):
    return isinstance(query, dict | rp.Threshold) and query[name].at_least > 0


@settings(max_examples=20)
@given(plan=plans_by_hand(), seed=st.integers(0, 99))
def test_variances_covariances_and_errors_are_those_of_least_squares(plan, seed):
    for number, query in enumerate(plan.workload):
        covariance = dense_covariance(plan, query)
        variances, shape = np.diag(covariance), plan.variance(query).shape
        close = {"rtol": 1e-8, "atol": 1e-8 * covariance.max()}
        np.testing.assert_allclose(plan.covariance(query), covariance, **close)
        np.testing.assert_allclose(plan.variance(query).ravel(), variances, **close)
        weights = np.random.default_rng(seed).normal(size=shape)
        expected = weights.ravel() @ covariance @ weights.ravel()
        np.testing.assert_allclose(plan.combination_variance(query, weights), expected, **close)
        assert plan.average_variances[number] == pytest.approx(variances.mean(), rel=1e-8)
        assert plan.max_variances[number] == pytest.approx(variances.max(), rel=1e-8)
        mean = math.sqrt(2 / math.pi) * np.sqrt(variances).mean()
        assert plan.errors()["expected_abs_error"][number] == pytest.approx(mean, rel=1e-7)


def dense_bound(workload):
    """Eq. (33) as it is written, for the average cell of each query times its number of cells."""
    rows = [rows_of(workload.domain.sizes, query) for query in workload]
    scaled = [np.sqrt(weight) * part for weight, part in zip(workload.weights, rows, strict=True)]
    values = np.linalg.svd(np.vstack(scaled), compute_uv=False)
    return float(values.sum()) ** 2 / scaled[0].shape[1]


@settings(max_examples=30)
@given(problem=threshold_workloads(exchangeable=True))
def test_thresholds_and_marginals_reach_the_singular_value_bound(problem):
    workload, _ = problem
    plan = rp.select(workload, budget=rp.pcost(1))
    expected = dense_bound(workload)
    assert plan.loss_value == pytest.approx(expected, rel=1e-7)
    assert plan.suboptimality == 0


@settings(max_examples=15)
@given(problem=threshold_workloads(exchangeable=True, smallest=2))
def test_the_largest_variance_reaches_the_greatest_bound(problem):
    workload, _ = problem
    plan = rp.select(workload, budget=rp.pcost(1), loss="max")
    largest = max(
        weight * np.diag(dense_covariance(plan, query)).max()
        for query, weight in zip(workload, workload.weights, strict=True)
    )
    assert largest == pytest.approx(plan.loss_value, rel=1e-4)
    least = greatest_over_choices(
        greatest_bound, workload, plan.loss.importance(workload), {}, replaced=False, seconds=math.inf
    )
    assert plan.loss_value <= least * (1 + 6e-4)


def test_a_residual_on_which_no_threshold_depends_costs_next_to_nothing_and_may_be_measured():
    query = rp.Threshold(("a", "b", "c"), 2)  # (z - 1)**2 (z + 1) has 0 from z**2 on
    plan = rp.select(rp.Workload(TRIPLE, [query]), budget=rp.pcost(1))
    number = list(plan.closure).index((0, 2))
    assert 0 < plan.strategy.bases[0].pcost / plan.noise_variances[number] < 1e-12
    expected = dense.marginal_covariance((3, 2, 4), (0, 1, 2), {A: 0.0 if A == (0, 2) else v for A, v in noise(plan)})
    T = dense.threshold((3, 2, 4), (0, 1, 2), 2)
    np.testing.assert_allclose(plan.covariance(query), T @ expected @ T.T, rtol=1e-9, atol=1e-9)
    records = np.random.default_rng(0).integers(0, 2, (100, 3))
    release = rp.reconstruct(rp.measure(plan, records))
    truth = (T @ dense.counts((3, 2, 4), records).ravel()).reshape(3, 2, 4)
    assert (np.abs(release[query].estimate - truth) < 8 * plan.variance(query) ** 0.5).all()


def noise(plan):
    return zip(plan.closure, plan.noise_variances.tolist(), strict=True)


@pytest.mark.parametrize(("order", "at_least"), [(k, r) for k in (2, 3, 4) for r in range(1, k + 1)])
def test_rmse_of_all_thresholds_of_adult_is_the_figure_of_the_specification(order, at_least):
    domain = rp.Domain({f"a{i}": size for i, size in enumerate(DOMAINS["Adult"])})
    plan = rp.select(rp.marginals(domain, order=order, at_least=at_least), budget=rp.pcost(1))
    assert plan.rmse == pytest.approx(RMSE[order, at_least], abs=1e-4)
    assert plan.suboptimality == 0


def test_a_threshold_of_all_its_attributes_is_the_marginal_and_families_are_those_written_one_by_one():
    workload = rp.Workload(TRIPLE, [rp.Threshold(("a", "b"), 2), ("a", "b"), rp.Threshold(("b", "a"), 1)])
    assert list(workload) == [("a", "b"), rp.Threshold(("b", "a"), 1)]
    family = rp.marginals(TRIPLE, order=2, at_least=1)
    assert list(family) == [rp.Threshold(pair, 1) for pair in itertools.combinations("abc", 2)]
    assert list(rp.marginals(TRIPLE, order=2, at_least=2)) == list(rp.marginals(TRIPLE, order=2))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (lambda: rp.Threshold("ab", 1), "must be names in order"),
        (lambda: rp.Threshold({"a", "b"}, 1), "must be names in order"),
        *((lambda least=least: rp.Threshold(("a", "b"), least), "from 1 to 2") for least in (0, 3, -1, True, 1.5)),
        (lambda: rp.Threshold((), 1), "from 1 to 0"),
        *((lambda least=least: rp.Matching(least), f"at least 1, got {least}") for least in (0, True)),
        (lambda: rp.Workload(TRIPLE, [{"a": rp.Matching(1)}]), "more than 1 attribute of a query"),
        (lambda: rp.Workload(TRIPLE, [{"a": rp.Matching(2), "b": rp.Matching(2)}]), "where all must, write Identity"),
        (lambda: rp.marginals(TRIPLE, up_to=2, at_least=1), "at_least goes with order="),
        (lambda: rp.marginals(TRIPLE, order=2, at_least=1, kinds={"a": rp.Prefix()}), "not with kinds="),
        (lambda: rp.marginals(TRIPLE, order=2, at_least=3), "from 1 to 2"),
        (
            lambda: rp.select(PAIR, budget=rp.pcost(1), bases={"a": [[1, -1, 0], [0, 1, -2]]}),
            "'a' tells its values apart, and a threshold treats them all",
        ),
    ],
)
def test_what_is_no_threshold_is_refused(query, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        query()


def test_an_attribute_of_a_threshold_has_the_subtraction_basis_whatever_else_it_has():
    queries = [rp.Threshold(("a", "b"), 1), {"a": rp.Range()}, {"c": rp.Range()}]
    for loss, bases in itertools.product(["sum", "max"], ["optimal", "orthogonal"]):
        plan = rp.select(rp.Workload(TRIPLE, queries), budget=rp.pcost(1), loss=loss, bases=bases)
        assert [basis.is_symmetric for basis in plan.strategy.of_attributes] == [True, True, False]
        for query in plan.workload:
            np.testing.assert_allclose(plan.covariance(query), dense_covariance(plan, query), atol=1e-7)
        assert plan.status.endswith("'a' is in thresholds and has other kinds of query than single values")


@pytest.mark.parametrize("names", [("a",), ("b",), ("c",)])
def test_a_threshold_that_every_record_meets_is_as_accurate_as_the_total_however_little_it_weighs(names):
    domain = rp.Domain({"a": 4, "b": 5, "one": 1, "c": 2})
    every = rp.Threshold(("a", "b", "one", "c"), 1)
    plan = rp.select(rp.Workload(domain, [(), names, every], weights=[300, 100, 1]), budget=rp.pcost(1), loss="max")
    np.testing.assert_allclose(plan.variance(every), plan.variance(()), rtol=1e-9)
    assert plan.errors().set_index("query")["std_err"].iloc[-1] ** 2 == pytest.approx(
        float(plan.variance(())), rel=1e-9
    )


@st.composite
def thresholds(draw, *, least=1, orders=4):
    sizes = draw(st.lists(st.integers(least, 4), min_size=1, max_size=orders))
    return tuple(sizes), draw(st.integers(1, len(sizes)))


def matrix(sizes, at_least):
    return dense.threshold(sizes, tuple(range(len(sizes))), at_least)


def integers(*shape):
    return np.random.default_rng(math.prod(shape)).integers(0, 9, shape)


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=lambda xp: xp.__name__)
@given(threshold=thresholds())
def test_the_map_counts_the_records_that_match_often_enough(xp, threshold):
    sizes, at_least = threshold
    table = integers(*sizes)
    found = threshold_map(xp.asarray(table), at_least)
    assert type(found) is type(xp.asarray(table))
    np.testing.assert_array_equal(np.asarray(found).ravel(), matrix(sizes, at_least) @ table.ravel())


@given(threshold=thresholds(), seed=st.integers(0, 9))
def test_the_tail_is_the_sum_over_all_outcomes(threshold, seed):
    sizes, at_least = threshold
    p = np.random.default_rng(seed).random((len(sizes), 3))
    expected = sum(
        np.prod([q if hit else 1 - q for q, hit in zip(p, outcome, strict=True)], axis=0)
        for outcome in itertools.product([False, True], repeat=len(sizes))
        if sum(outcome) >= at_least
    )
    np.testing.assert_allclose(threshold_probability(list(p), at_least), expected, rtol=1e-13)


@given(threshold=thresholds(least=2), data=st.data())
def test_two_records_differ_in_as_many_cells_as_counting_says(threshold, data):
    sizes, at_least = threshold
    agreeing = data.draw(st.sets(st.sampled_from(range(len(sizes)))))
    answers = matrix(sizes, at_least).reshape(-1, *sizes)
    first, other = np.zeros(len(sizes), dtype=int), np.array([int(i not in agreeing) for i in range(len(sizes))])
    expected = np.abs(answers[(..., *first)] - answers[(..., *other)]).sum()
    assert threshold_distance(sizes, at_least, agreeing=tuple(agreeing)) == expected


@given(threshold=thresholds())
def test_a_residual_is_an_eigenvector_of_the_map_and_every_record_counts_as_often_as_counting_says(threshold):
    sizes, at_least = threshold
    columns = matrix(sizes, at_least).sum(axis=0)
    np.testing.assert_array_equal(columns, threshold_count(sizes, at_least))
    answers, whole = matrix(sizes, at_least), tuple(range(len(sizes)))
    factors = np.rint(threshold_factors(np.ones((1, len(sizes)), dtype=bool), np.array([sizes]), at_least)[0])
    for part in dense.subsets(whole):
        vectors, factor = dense.residual(sizes, part), factors[sum(1 << axis for axis in part)]
        np.testing.assert_array_equal(vectors @ answers, factor * vectors)
