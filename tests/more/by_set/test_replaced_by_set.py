"""Bases by set where records are replaced: cost and loss by explicit matrices over all pairs of records."""

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from benchmarks.dense_optimum import workload
from benchmarks.stated_distance import least_loss
from more.limits import limited
from random_plans import basis_of, mechanism, plans_by_set, query_rows, random_matrix
from residualplanner.method.strategy.costs import cost_upper_bound
from slowness import slow
from workloads_by_set import IDENTITY, ODD, PREFIX, THREE, TINY

BY_SET, REPLACE = "optimal_by_set", rp.privacy.Neighbors("replace")
LIMIT = "for up to 33,554,432 pairs of records times sets of attributes, not for"


def columns_of(basis):
    """What a basis measures of each value; for the subtraction basis columns that have the same products."""
    if basis.matrix is None:
        n = basis.size
        return [[Fraction(int(i == j)) - Fraction(1, n) for i in range(n)] for j in range(n)]
    return [[Fraction(int(entry)) for entry in column] for column in basis.matrix.T]


def exact_cost_of_pairs(strategy, sizes, noise):
    """The largest squared distance of the answers for two records, by its definition in fractions."""
    largest = Fraction(0)
    records = list(itertools.product(*map(range, sizes)))
    columns = {number: columns_of(basis) for number, basis in enumerate(strategy.bases)}
    factors = iter(strategy.factor_bases.tolist())
    sets = [
        ([(i, columns[next(factors)]) for i in members], w) for members, w in zip(strategy.closure, noise, strict=True)
    ]
    for pair in itertools.combinations(records, 2):
        cost = Fraction(0)
        for factors_of, variance in sets:
            first, second, both = (
                math.prod(
                    (sum(x * y for x, y in zip(S[one[i]], S[other[i]], strict=True)) for i, S in factors_of),
                    start=Fraction(1),
                )
                for one, other in ((pair[0], pair[0]), (pair[1], pair[1]), pair)
            )
            cost += (first + second - 2 * both) / Fraction(variance)
        largest = max(largest, cost)
    return largest


@settings(max_examples=60, deadline=None)
@given(
    plan=plans_by_set(most_cells=16),
    size=st.sampled_from([1e-290, 1e-9, 1.0, 1e9, 1e290]),
    people=st.integers(1, 10**6),
)
def test_the_stated_cost_is_at_least_that_of_every_pair_of_records_and_hardly_more(plan, size, people):
    noise = plan.noise_variances * size
    exact = exact_cost_of_pairs(plan.strategy, plan.domain.sizes, noise.tolist()) * people**2
    stated = cost_upper_bound(plan.strategy, noise, replace(REPLACE, records_per_person=people))
    longest = sum(
        math.prod(float(plan.strategy.basis(members, i).pcost) for i in members) / Fraction(variance)
        for members, variance in zip(plan.closure, noise.tolist(), strict=True)
        if members
    )
    rounded = people**2 * (Fraction(longest) * Fraction(1, 10**12) + Fraction(1, 10**280))
    assert exact <= Fraction(stated) <= exact * (1 + Fraction(1, 10**12)) + rounded


def with_constant_attributes(strategy):
    """The same where attributes that have one basis in all sets do not vary."""
    varying = strategy.varying & [len(strategy.numbers_of(i)) > 1 for i in range(len(strategy.varying))]
    kept = np.flatnonzero(varying[strategy.closure.attribute_of_factor[strategy.varies]])
    messages = [np.empty(0), *map(strategy.messages_at, kept.tolist())]
    return replace(strategy, varying=varying, of_factor=strategy.of_factor[kept], messages=np.concatenate(messages))


@pytest.mark.parametrize("seed", [None, *range(20)])
def test_few_pairs_of_values_are_enough_for_attributes_with_one_basis(seed):
    """Without a seed, two values of c have the longer column in one record beside a, and in the other beside b."""
    pairs, chance = (
        rp.Workload(rp.Domain(dict.fromkeys("abc", 3)), [("a", "c"), ("b", "c")]),
        np.random.default_rng(seed),
    )
    own, forth, back = ([[x, y, 0], [0, 0, 1]] for x, y in ((10, -1), (10, 1), (1, 10)))
    matrices, noise = [own, own, own, forth, back], np.array([1, 1e9, 1e9, 1e9, 1, 1])
    if seed is not None:
        matrices = [random_matrix(3, 2, int(chance.integers(10**6))) for _ in range(5)]
        noise = chance.lognormal(sigma=2.0, size=6)
    bases = [basis_of(3, np.array(matrix)) for matrix in matrices]
    every = rp.strategies.varying_strategy(pairs.closure, [3] * 3, bases, [0, 1, 2, 0, 3, 1, 4], np.zeros(3 * 4))
    constant = with_constant_attributes(every)
    assert constant.varying.tolist() == [False, False, True]
    expected = cost_upper_bound(every, noise, REPLACE)
    assert cost_upper_bound(constant, noise, REPLACE) == pytest.approx(expected, rel=1e-11)


@pytest.mark.thorough
def test_a_search_that_knows_some_pairs_of_records_comes_to_the_costliest():
    how = {"budget": rp.pcost(1), "loss": "max", "neighbors": "replace"}
    with limited("more.by_set.replacement_cost", PAIRS=150):
        plan = rp.select(TINY, **how)
    assert plan.strategy.varying.any()
    assert plan.gap < 1e-5
    assert plan.loss_value < rp.select(TINY, **how).loss_value * 1.005


def test_the_cost_of_noise_that_is_next_to_none_is_infinite():
    plan = rp.select(TINY, budget=rp.pcost(1), neighbors="replace")
    noise = np.where(plan.closure.orders == 2, 1e-310, plan.noise_variances)
    assert cost_upper_bound(plan.strategy, noise, REPLACE) == math.inf


def largest_cost(plan):
    """The largest squared distance of the answers for two records, by explicit matrices; the total is public."""
    rows, covariance = mechanism(plan)
    products = rows[1:].T @ np.linalg.solve(covariance[1:, 1:], rows[1:])
    own = np.diag(products)
    return float((own[:, None] + own - 2 * products).max())


TARGETS = rp.losses.Targets([(query, 3.0 + number) for number, query in enumerate(TINY)])


@pytest.mark.parametrize(
    ("case", "loss"),
    [
        (TINY, "max"),
        (TINY, TARGETS),
        (ODD, "sum"),
        slow(TINY, "sum"),
        slow(ODD, "max"),
        slow(THREE, "sum"),
        slow(THREE, "max"),
    ],
)
@pytest.mark.cases(1)
def test_plans_spend_the_cost_of_explicit_matrices_and_are_as_near_the_best_as_they_say(case, loss):
    one, plan = (
        rp.select(case, budget=rp.zcdp("0.37"), loss=loss, neighbors="replace", **how)
        for how in ({"bases": "optimal"}, {})
    )
    assert plan.strategy.varying.any()
    assert plan.loss_value < one.loss_value
    assert "noise certified for bases by set from a local search, errors " in plan.status
    assert 0 <= plan.gap < 2e-5
    assert largest_cost(plan) == pytest.approx(0.74, rel=1e-7)
    assert 0.74 * (1 - 1e-9) <= plan.pcost <= 0.74
    rows, covariance = mechanism(plan)
    importance = plan.loss.importance(case) / (case.cells if loss == "sum" else 1)
    variances = [
        weight * dense.least_squares_covariance(rows, covariance, query_rows(plan, query)).diagonal()
        for query, weight in zip(case, importance.tolist(), strict=True)
    ]
    reached = np.concatenate(variances).sum() if loss == "sum" else np.concatenate(variances).max()
    assert plan.loss_value == pytest.approx(plan.loss.stated(reached), rel=1e-7)
    wanted = np.vstack(
        [math.sqrt(weight) * query_rows(plan, query) for query, weight in zip(case, importance.tolist(), strict=True)]
    )
    least, most = least_loss(wanted[np.abs(wanted).any(axis=1)], of_maximum=loss != "sum", replaced=True)
    true = math.sqrt(reached * 0.74 / most) - 1
    assert true - 1e-6 <= plan.suboptimality < math.sqrt(reached * 0.74 / least) - 1 + 1e-3
    assert true < 0.015


@pytest.mark.thorough
def test_no_noise_for_the_same_bases_does_better():
    plan, chance = rp.select(TINY, budget=rp.pcost(1), loss="max", neighbors="replace"), np.random.default_rng(3)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            noise = plan.noise_variances * np.exp(scale * chance.normal(size=len(plan.noise_variances)))
            noise[0] = plan.noise_variances[0]
            noise = noise * cost_upper_bound(plan.strategy, noise, REPLACE)
            other = replace(plan, noise_variances=noise * (1 + 1e-12), budget=rp.pcost(2))
            assert float((TINY.weights * other.max_variances).max()) >= plan.loss_value * (1 - 1e-6)


@pytest.mark.parametrize(("limit", "people"), [({"budget": rp.pcost("1e-9")}, 1), ({"at_most": 10.0}, 3)])
def test_every_budget_is_spent_and_never_exceeded(limit, people):
    plan = rp.select(TINY, **limit, bases=BY_SET, neighbors="replace", records_per_person=people)
    exact = exact_cost_of_pairs(plan.strategy, plan.domain.sizes, plan.noise_variances.tolist()) * people**2
    assert plan.budget.pcost_exact * (1 - Fraction(1, 10**9)) <= exact <= Fraction(plan.pcost)
    assert Fraction(plan.pcost) <= plan.budget.pcost_exact
    assert plan.loss_value <= limit.get("at_most", math.inf)


@pytest.mark.thorough
def test_where_there_are_too_many_pairs_of_records_attributes_have_one_basis_by_default():
    how = {"budget": rp.pcost(1), "loss": "max", "neighbors": "replace"}
    by_set = rp.select(TINY, **how)
    with limited("more.varying.varying_cost", _LIMIT=400 * 4 - 1):
        one, plan = rp.select(TINY, **how, bases="optimal"), rp.select(TINY, **how)
        assert "bases from a local search, errors " in plan.status
        assert not plan.strategy.varying.any()
        assert by_set.loss_value < plan.loss_value < one.loss_value * 0.99
        with pytest.raises(rp.errors.WorkloadError, match=r"for up to 1,599 pairs .*, not for 400 times 4;"):
            rp.select(TINY, **how, bases=BY_SET)
        with pytest.raises(rp.errors.WorkloadError, match='not for 400 times 4; use bases="optimal"'):
            replace(by_set)
    with limited("more.varying.varying_cost", _LIMIT=400 * 4):
        assert replace(by_set).pcost == by_set.pcost


def test_too_many_pairs_of_records_are_refused_at_once():
    large = workload((90, 80), [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}])
    with pytest.raises(rp.errors.WorkloadError, match=re.escape(f"{LIMIT} 51,840,000 times 4")):
        rp.select(large, budget=rp.pcost(1), neighbors="replace", bases=BY_SET)


def test_values_that_no_set_tells_apart_count_once():
    plan = rp.select(ODD, budget=rp.pcost(1), neighbors="replace")
    with limited("more.varying.varying_cost", _LIMIT=9 * 9 * 2 * len(ODD.closure)):
        assert replace(plan).pcost == plan.pcost


@pytest.mark.parametrize("bases", ["optimal", None])
def test_the_public_total_has_no_share_of_the_cost_and_the_others_about_that_of_the_loss(bases):
    tables = workload((5, 4), [{}, {0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}])
    plan = rp.select(tables, budget=rp.pcost(1), neighbors="replace", bases=bases)
    shares, loss = plan.errors()["privacy_share"].to_numpy(), plan.average_variances * tables.cells
    assert shares[0] == 0
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares, loss / loss.sum(), atol=0.15)


def test_tables_are_as_accurate_as_stated_though_no_query_needs_a_set_that_they_are_made_of():
    """Its noise is so large that it costs next to nothing, and no larger: what is left of it would be rounding."""
    domain = rp.Domain({"a": 2, "b": 3, "c": 2})
    queries = [("a", "b"), ("a", "c"), rp.Among(("b", "c"), where={"a": [0]})]
    plan = rp.select(
        rp.Workload(domain, queries), budget=rp.pcost(1), loss="max", neighbors=REPLACE.notion, bases=BY_SET
    )
    assert max(plan.noise_variances[1:]) < 1e17 * min(plan.noise_variances[1:])
    records = np.random.default_rng(0).integers(0, domain.sizes, (500, 3))
    release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=0))
    some = records[records[:, 0] == 0]
    truth = np.histogramdd(some[:, 1:], bins=(range(4), range(3)))[0]
    table = release[queries[-1]]
    assert np.abs(table.estimate - truth).max() < 5 * table.std_err.max()
