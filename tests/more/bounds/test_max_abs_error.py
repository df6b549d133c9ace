"""The bound on the mean of the largest error: exact for independent cells, never below the mechanism's."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import simpson
from scipy.special import erf

import residualplanner as rp
from random_plans import basis_of, plan_by_hand, plans, table_covariance
from residualplanner import Prefix, Range
from residualplanner.more.bounds.max_abs_error import independent_mean_max, mean_max_bound, mean_max_bounds

KINDS = rp.Workload(
    rp.Domain({"a": 5, "b": 6, "c": 3}),
    [{"a": Prefix()}, {"b": Range()}, {"a": Prefix(), "b": Range()}, ("c", "b"), ("a", "b", "c"), ()],
)
PLAN = rp.select(KINDS, budget=rp.zcdp(0.5))


def by_simpson(std_err, cells):
    """The integral by Simpson's rule, piece by piece, from the definition."""
    std_err, cells = np.asarray(std_err), np.asarray(cells)
    most = std_err.max() * (math.sqrt(2 * math.log(cells.sum())) + 9)
    ends = std_err.min() * 2.0 ** np.arange(-2, 40, 0.5)
    total = 0.0
    for first, last in pairwise([0.0, *ends[ends < most], most]):
        t = np.linspace(first, last, 801)
        product = np.prod(erf(t[:, None] / (std_err * math.sqrt(2))) ** cells, axis=1)
        total += simpson(1 - product, x=t)
    return total


def simulated(covariance, seed=1, draws=20_000):
    """The mean of the largest of jointly Gaussian errors, and its standard error."""
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.clip(values, 0, None))
    largest = np.abs(factor @ np.random.default_rng(seed).normal(size=(len(factor), draws))).max(axis=0)
    return largest.mean(), largest.std() / math.sqrt(draws)


@pytest.mark.parametrize(
    ("cells", "mean"),
    [(1, math.sqrt(2 / math.pi)), (2, 2 / math.sqrt(math.pi)), *((n, by_simpson([1], [n])) for n in (10, 1e3, 1e9))],
)
def test_independent_cells_have_the_known_means_and_those_of_the_integral(cells, mean):
    assert independent_mean_max(np.array([float(cells)]))[0] == pytest.approx(mean, rel=1e-12 if cells < 3 else 1e-8)


def test_a_polynomial_stands_for_many_different_numbers_of_cells():
    cells = np.unique(np.round(np.exp(np.random.default_rng(0).uniform(0, 30, 3000))))
    assert len(cells) > 1000
    several = independent_mean_max(cells)
    each = np.concatenate([independent_mean_max(part) for part in np.array_split(cells, 60)])
    np.testing.assert_allclose(several, each, rtol=1e-9)
    assert (np.diff(several) > 0).all()


@given(
    logs=st.lists(st.floats(-7, 0), min_size=1, max_size=5), powers=st.lists(st.floats(0, 6), min_size=5, max_size=5)
)
@settings(max_examples=10)
def test_unequal_deviations_have_the_value_of_the_integral(logs, powers):
    std_err, cells = np.sort(np.exp(logs)), np.round(10.0 ** np.array(powers[: len(logs)]))
    assert mean_max_bound(std_err, cells) == pytest.approx(by_simpson(std_err, cells), rel=1e-8)


@given(plan=plans(most_cells=24, most_queries=2))
@settings(max_examples=25)
def test_the_dense_mechanism_is_not_above_the_bound_nor_far_below(plan):
    for query in plan.workload:
        covariance = table_covariance(plan, query)
        mean, error = simulated(covariance, draws=4000)
        bound = plan.expected_max_abs_error(query)
        assert mean - 4 * error <= bound
        assert bound >= math.sqrt(2 / math.pi * np.diag(covariance).max()) * (1 - 1e-9)
        most = math.sqrt(np.diag(covariance).max()) * independent_mean_max(np.array([float(len(covariance))]))[0]
        assert bound <= most * (1 + 1e-9)


def test_the_column_is_the_bound_of_every_query():
    errors = PLAN.errors()
    place = list(errors.columns).index("expected_abs_error")
    assert errors.columns[place + 1] == "expected_max_abs_error"
    for query, found in zip(KINDS, errors["expected_max_abs_error"], strict=True):
        assert found == pytest.approx(PLAN.expected_max_abs_error(query), rel=1e-9)
        assert found == pytest.approx(
            by_simpson(PLAN.variance(query).ravel() ** 0.5, np.ones(PLAN.variance(query).size))
        )
    assert (errors["expected_max_abs_error"] >= errors["expected_abs_error"] * (1 - 1e-12)).all()


def test_marginals_of_any_size_have_their_standard_error_times_that_of_as_many_independent_cells():
    marginals = rp.marginals(rp.Domain({"a": 7, "b": 1, "c": 30}), up_to=3)
    large = rp.marginals(rp.Domain({f"a{i}": 200 for i in range(9)}), order=9)
    for workload, query in ((marginals, ("c", "a")), (large, large.domain.names)):
        plan = rp.select(workload, budget=rp.zcdp(0.5))
        errors = plan.errors()
        expected = errors["std_err"] * independent_mean_max(errors["cells"].to_numpy(dtype=float))
        np.testing.assert_allclose(errors["expected_max_abs_error"], expected, rtol=1e-12)
        row = list(workload).index(tuple(sorted(query)))
        assert plan.expected_max_abs_error(query) == pytest.approx(expected[row], rel=1e-9)


@pytest.mark.parametrize("size", [2_000, 2_100])
def test_cells_of_more_than_four_million_variances_count_as_the_average_one_and_as_the_largest(size):
    workload = rp.Workload(rp.Domain({"a": size, "b": size}), [{"a": Prefix(), "b": Prefix()}])
    strategy = rp.strategies.constant_strategy(workload.closure, [basis_of(size, None)] * 2)
    (row,) = plan_by_hand(workload, strategy, np.ones(4)).errors().to_dict("records")
    of_average = math.sqrt(2 / math.pi) * row["std_err"]
    of_largest = row["max_std_err"] * independent_mean_max(np.array([float(size**2)]))[0]
    if size**2 > 2**22:
        assert row["expected_abs_error"] == pytest.approx(of_average, rel=1e-12)
        assert row["expected_max_abs_error"] == pytest.approx(of_largest, rel=1e-12)
    else:
        assert row["expected_abs_error"] < of_average * 0.95
        assert row["expected_max_abs_error"] < of_largest * 0.95


def test_groups_of_deviations_only_raise_the_bound():
    """Of ten thousand queries each gets eight groups, of the 105 deviations that it has."""
    variance = PLAN.variance({"a": Prefix(), "b": Range()}).ravel()
    exact = mean_max_bound(np.sort(variance**0.5), np.ones(105))
    grouped = mean_max_bounds(np.full(10_000, 105.0), [(np.array([4]), variance[None])])[4]
    one_group = math.sqrt(variance.max()) * independent_mean_max(np.array([105.0]))[0]
    assert exact < grouped < one_group
    assert grouped == pytest.approx(exact, rel=0.04)


@pytest.mark.slow
@pytest.mark.thorough
def test_discrete_noise_is_no_further_off_than_its_sub_gaussian_bound():
    """Discrete Gaussians are sub-Gaussian with the variance of their continuous twins; a coarse lattice on purpose."""
    plan = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 2}), order=2), budget=rp.zcdp(20))
    found = [
        np.abs(rp.reconstruct(rp.measure(plan, np.zeros((0, 2), dtype=np.int64)))["a", "b"].estimate).max()
        for _ in range(300)
    ]
    std_err = float(plan.errors()["std_err"][0])
    assert np.mean(found) - 4 * np.std(found) / math.sqrt(300) <= std_err * math.sqrt(2 * math.log(2 * 4))
    assert np.mean(found) > 0


def test_a_query_that_is_not_answered_is_refused():
    with pytest.raises(rp.errors.WorkloadError, match="the plan does not answer"):
        rp.select(rp.marginals(KINDS.domain, up_to=1), budget=rp.zcdp(1)).expected_max_abs_error(("a", "b"))
