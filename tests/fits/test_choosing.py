"""Errors against the truth, the search over T and K, histories with more added, and the bound, by another road."""

import math
from itertools import product

import numpy as np
import pytest

import residualplanner as rp

DOMAIN = rp.Domain({"a": 3, "b": 2, "c": 2})
PAIRS = rp.marginals(DOMAIN, order=2)
RECORDS = np.random.default_rng(0).integers(0, DOMAIN.sizes, (400, 3))
FEW = rp.fits.rap.ProjectionSettings(relaxed_records=30, steps=20)


def truth(query):
    positions = [DOMAIN.names.index(name) for name in query]
    table = np.zeros([DOMAIN.sizes[position] for position in positions])
    np.add.at(table, tuple(RECORDS[:, positions].T), 1)
    return table


def test_errors_are_the_largest_of_all_and_the_mean_of_the_largest_of_each():
    plan = rp.fits.rap.RapPlan(PAIRS, budget=rp.zcdp(1), neighbors="replace", rounds=1, choices=3, projection=FEW)
    result = rp.fits.rap.rap(plan, RECORDS)
    each = [np.abs(result.table(names) - truth(names)).max() / 400 for names in (("a", "b"), ("a", "c"), ("b", "c"))]
    assert rp.fits.present_error(result, truth) == pytest.approx(max(each))
    later = [("b", "c"), ("b", "c"), ("a", "b")]
    assert rp.fits.future_error(result, truth, later) == pytest.approx((2 * each[2] + each[0]) / 3)


def test_a_history_gets_thresholds_like_its_own_and_none_twice():
    domain = rp.Domain(dict.fromkeys("abcde", 2))
    history = rp.Workload(domain, [rp.Threshold(("b", "a", "d"), 2), rp.Threshold(("a", "c", "e"), 2)])
    more = rp.fits.augmented_history(history, 7, seed=3)
    sets = {frozenset(query) for query in more}
    assert {frozenset("bad"), frozenset("ace")} < sets
    assert len(sets) == len(more) == 7
    tables = rp.fits.rap.RapPlan(more, budget=rp.zcdp(1), rounds=1, choices=1).thresholds
    assert {each.at_least for each in tables} == {2}
    added = [{*map(frozenset, rp.fits.augmented_history(history, 3, seed=seed))} for seed in range(400)]
    firsts = [next(iter(each - {frozenset("bad"), frozenset("ace")})) for each in added]
    counts = [firsts.count(each) for each in set(firsts)]
    assert len(counts) == 8  # of 10 sets all but the two, each as often
    assert max(abs(count - 50) for count in counts) < 30
    assert len(rp.fits.augmented_history(history, 10)) == 10
    for count in (1, 11):
        with pytest.raises(rp.errors.WorkloadError, match="from 2 to 10"):
            rp.fits.augmented_history(history, count)


@pytest.mark.parametrize("best", [4, 64, 1024, 16384])
def test_the_search_finds_the_best_product_and_then_the_best_of_its_factors(best):
    grid = list(product((1, 4, 16, 64), (4, 16, 64, 256)))

    def error(rounds, choices):
        return abs(math.log(rounds * choices / best)) + 0.01 * rounds

    found, trials = rp.fits.best_rounds_and_choices(error)
    assert found == min(grid, key=lambda each: error(*each))
    assert len(trials) <= 8
    assert trials == {each: error(*each) for each in trials}


def simplex_projection(answers, vertices):
    """The nearest point of the hull of all records' answers, by Frank and Wolfe with the exact step."""
    point = vertices.mean(axis=0)
    for _ in range(4000):
        vertex = vertices[np.argmin(vertices @ (point - answers))]
        move = vertex - point
        if -move @ (point - answers) < 1e-10:
            break
        point = point + np.clip(-(point - answers) @ move / (move @ move), 0, 1) * move
    return point


@pytest.mark.thorough
@pytest.mark.parametrize("sensitivity", ["per-cell", "joint"])
@pytest.mark.cases(1)
def test_the_bound_holds_of_exact_projections_and_is_not_ten_times_as_large(sensitivity):
    given = {"budget": rp.zcdp("0.02"), "neighbors": "replace", "rounds": 1, "choices": None}
    plan = rp.fits.rap.RapPlan(PAIRS, sensitivity=sensitivity, projection=FEW, **given)
    cells = np.array(list(product(*map(range, DOMAIN.sizes))))
    vertices = np.array([np.concatenate([truth_of(cell, names) for names in PAIRS]) for cell in cells])
    exact = np.concatenate([truth(names).ravel() for names in PAIRS]) / len(RECORDS)
    m, generator = len(exact), np.random.default_rng(1)
    deviation = math.sqrt(plan.bound({each: each.cells for each in plan.thresholds}, plan.protected) / plan.cost)
    errors = [
        float(np.sqrt(((simplex_projection(exact + noise / len(RECORDS), vertices) - exact) ** 2).mean()))
        for noise in generator.normal(0, deviation, (60, m))
    ]
    bound = rp.fits.rap_accuracy_bound(plan, len(RECORDS), failure=0.05)
    of_noise = bound - math.sqrt(3 / (m * 30))  # of 30 relaxed records in place of any number
    assert np.quantile(errors, 0.95) <= of_noise <= 10 * np.quantile(errors, 0.95)


def truth_of(record, names):
    table = np.zeros([DOMAIN.sizes[DOMAIN.names.index(name)] for name in names])
    table[tuple(record[DOMAIN.names.index(name)] for name in names)] = 1
    return table.ravel()


@pytest.mark.thorough
def test_so_many_relaxed_records_are_as_near_as_the_bound_says():
    """Of all sets of few records, the nearest to noisy answers is within sqrt(w / n') of the nearest of any number."""
    vertices = np.array([np.concatenate([truth_of(cell, names) for names in PAIRS]) for cell in np.ndindex(3, 2, 2)])
    generator = np.random.default_rng(2)
    for records in (1, 2, 3):
        sets = np.array([vertices[list(each)].mean(axis=0) for each in product(range(12), repeat=records)])
        for _ in range(10):
            answers = generator.normal(0.2, 0.5, vertices.shape[1])
            nearest = simplex_projection(answers, vertices)
            found = sets[np.argmin(((sets - answers) ** 2).sum(axis=1))]
            assert ((found - nearest) ** 2).sum() <= 3 / records + 1e-6


def test_the_bound_falls_with_records_budget_and_relaxed_records_as_published():
    def bound(budget="0.1", records=1000, relaxed=10**9):
        plan = rp.fits.rap.RapPlan.published(PAIRS, budget=rp.zcdp(budget), rounds=1, choices=None)
        settings = rp.fits.rap.ProjectionSettings.published(relaxed_records=relaxed)
        object.__setattr__(plan, "projection", settings)
        return rp.fits.rap_accuracy_bound(plan, records)

    assert bound(records=4000) == pytest.approx(bound() / 2, rel=1e-3)  # 1 / sqrt(epsilon n)
    assert bound(budget="1.6") == pytest.approx(bound() / 2, rel=1e-3)  # rho is about epsilon**2
    assert bound(relaxed=4) - bound() == pytest.approx(2 * (bound(relaxed=16) - bound()), rel=1e-3)


def test_the_bound_is_refused_where_it_does_not_hold():
    plans = [
        rp.fits.rap.RapPlan(PAIRS, budget=rp.zcdp(1), neighbors="replace", rounds=1, choices=1),
        rp.fits.rap.RapPlan(PAIRS, budget=rp.zcdp(1), rounds=1, choices=None),  # the number of records is measured
    ]
    for plan in plans:
        with pytest.raises(rp.errors.WorkloadError, match="the bound is of"):
            rp.fits.rap_accuracy_bound(plan, 100)
