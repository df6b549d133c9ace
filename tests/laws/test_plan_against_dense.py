"""Every closed form of a plan agrees with the explicit matrices of its mechanism on random small domains."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import dense
import residualplanner as rp
from residualplanner import Domain, Plan, Workload, marginals, pcost, select, zcdp
from strategies import Case, cases, names_of, noise_of

SUMS = [rp.losses.SumOfVariances("equal"), rp.losses.SumOfVariances("sqrt")]
losses = st.sampled_from(["sum", "max", *SUMS, rp.losses.MaxVariance("sqrt")])
limits = st.floats(1e-6, 1e6).map(pcost)
budgets = st.sampled_from([pcost(1), pcost("0.37"), zcdp(0.1), rp.privacy.gdp(3)]) | limits


def whole_noise(case: Case, plan: Plan) -> dict[dense.Members, float]:
    """The plan's noise for the whole closure; any will do for a set with an attribute of size 1: it has no residual."""
    found = noise_of(plan)
    return {members: found.get(members, 1.0) for members in dense.closure(case.queries)}


@given(case=cases(), loss=losses, budget=budgets)
def test_the_cost_is_the_largest_diagonal_entry_of_the_stacked_mechanism_and_at_most_the_budget(case, loss, budget):
    plan = select(case.workload, budget=budget, loss=loss)
    assert plan.budget == budget
    assert dense.exact_cost(case.sizes, noise_of(plan)) <= Fraction(plan.pcost) <= budget.pcost_exact
    cost = dense.privacy_cost(*dense.mechanism(case.sizes, whole_noise(case, plan)))
    assert plan.pcost == pytest.approx(cost, rel=1e-9)
    assert cost == pytest.approx(float(budget.pcost_exact), rel=1e-9)
    varied = [tuple(i for i in members if case.sizes[i] > 1) for members in case.queries]
    assert list(plan.closure) == dense.closure(varied)
    assert list(plan.noise_variance_of) == [names_of(members) for members in dense.closure(varied)]


@pytest.mark.parametrize("limit", [1e-307, 1e-300, 1e-30, 1e30, 1e300, 1.7e308])
@pytest.mark.parametrize("loss", ["sum", "max"])
def test_extreme_budgets_are_kept_too(limit, loss):
    workload = marginals(Domain({"a": 2, "b": 3, "c": 2, "d": 5}), up_to=4)
    plan = select(workload, budget=pcost(limit), loss=loss)
    cost = dense.exact_cost((2, 3, 2, 5), noise_of(plan))
    assert cost <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    assert float(cost / Fraction(limit)) == pytest.approx(1, rel=1e-9)


@given(case=cases(most_cells=120), loss=losses, data=st.data())
def test_every_table_within_the_workload_has_its_covariance_too(case, loss, data):
    plan = select(case.workload, budget=pcost(1), loss=loss)
    members = data.draw(st.sampled_from(dense.closure(case.queries)))
    written = data.draw(st.permutations(members))
    turned = dense.transposition([case.sizes[i] for i in members], [members.index(i) for i in written])
    expected = turned @ dense.marginal_covariance(case.sizes, members, noise_of(plan)) @ turned.T
    shape, names = tuple(case.sizes[i] for i in written), names_of(written)
    np.testing.assert_allclose(plan.covariance(names), expected, rtol=1e-10, atol=1e-12 * np.max(expected))
    assert plan.variance(names).shape == shape
    np.testing.assert_allclose(plan.variance(names), np.diag(expected).reshape(shape), rtol=1e-10)
    weights = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=len(expected), max_size=len(expected))))
    assert plan.combination_variance(names, weights.reshape(shape)) == pytest.approx(
        float(weights @ expected @ weights), rel=1e-9, abs=1e-9
    )


@settings(max_examples=25)
@given(data=st.data(), loss=losses)
def test_wide_domains_and_large_tables_follow_the_same_sums(data, loss):
    sizes = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 10, 999, 10**6]), min_size=6, max_size=9)))
    members = st.lists(st.integers(0, len(sizes) - 1), unique=True, max_size=6).map(sorted).map(tuple)
    queries = data.draw(st.lists(members, min_size=1, max_size=8, unique=True))
    domain = Domain({f"x{i}": size for i, size in enumerate(sizes)})
    workload = Workload(domain, [tuple(f"x{i}" for i in query) for query in queries])
    plan = select(workload, budget=pcost(1), loss=loss)
    noise = noise_of(plan)
    assert dense.exact_cost(sizes, noise) <= Fraction(plan.pcost) <= 1
    assert float(dense.exact_cost(sizes, noise)) == pytest.approx(1, rel=1e-9)
    ordered = sorted(queries, key=lambda row: (len(row), row))
    expected = [dense.cell_variance(sizes, query, noise) for query in ordered]
    np.testing.assert_allclose(plan.average_variances, expected, rtol=1e-11)
    for query, variance in zip(ordered, expected, strict=True):
        if math.prod(sizes[i] for i in query) > 2**59:
            continue
        table = plan.variance(tuple(f"x{i}" for i in query))
        assert table.shape == tuple(sizes[i] for i in query)
        assert table[(0,) * len(query)] == pytest.approx(variance, rel=1e-11)


def privacy_shares(case: Case, noise: dict[dense.Members, float]) -> list[float]:
    """Each base mechanism's cost, split over the queries by weight times trace of its part of their covariances."""
    shares = [0.0] * len(case.distinct)
    for part, variance in noise.items():
        cost = float(dense.cost_coefficients(case.sizes, [part])[0]) / variance
        amounts = [
            weight * np.trace(dense.covariance_share(case.sizes, members, part)) if set(part) <= set(members) else 0.0
            for members, weight in zip(case.distinct, case.distinct_weights, strict=True)
        ]
        for number, amount in enumerate(amounts):
            shares[number] += cost * amount / sum(amounts)
    return [share / sum(shares) for share in shares]


@given(case=cases(most_cells=120), loss=losses, level=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_error_table_and_the_summaries_are_those_computed_query_by_query(case, loss, level):
    plan = select(case.workload, budget=pcost(1), loss=loss)
    table = plan.errors(level=level)
    variances = [np.diag(dense.marginal_covariance(case.sizes, members, noise_of(plan))) for members in case.distinct]
    std_err, every = np.sqrt([found.mean() for found in variances]), np.concatenate(variances)
    np.testing.assert_allclose(plan.average_variances, std_err**2, rtol=1e-10)
    assert plan.rmse == pytest.approx(math.sqrt(every.mean()), rel=1e-10)
    assert plan.max_variance == pytest.approx(every.max(), rel=1e-10)
    assert list(table["query"]) == [" × ".join(names_of(members)) or "(total)" for members in case.written]
    assert list(table["kinds"]) == [" × ".join(["identity"] * len(members)) for members in case.distinct]
    assert list(table["order"]) == [len(members) for members in case.distinct]
    assert list(table["cells"]) == [math.prod(case.sizes[i] for i in members) for members in case.distinct]
    assert table["cells"].dtype == np.int64
    np.testing.assert_array_equal(table["weight"], case.distinct_weights)
    np.testing.assert_allclose(table["std_err"], std_err, rtol=1e-10)
    np.testing.assert_allclose(table["max_std_err"], [math.sqrt(found.max()) for found in variances], rtol=1e-10)
    np.testing.assert_allclose(table["moe"], (norm.ppf(0.5 + level / 2) + 2**-18) * std_err, rtol=1e-9)
    assert set(table["conf_level"]) == {level}
    np.testing.assert_allclose(table["expected_abs_error"], norm.expect(np.abs) * std_err, rtol=1e-7)
    assert table["privacy_share"].sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(table["privacy_share"], privacy_shares(case, noise_of(plan)), rtol=1e-9)
