"""Workloads of many kinds from the schema to the tables, through files, with exact noise and bases of every sort."""

import math

import numpy as np
import pytest

import dense
import residualplanner as rp
from random_plans import mechanism, plan_by_set, query_rows, sample_workload

#: Queries that nobody planned for, on attributes that were measured together.
UNPLANNED = [("a",), {"a": rp.Prefix(), "c": rp.Identity()}, ("one",), ("c",), ()]


def with_one_basis(word):
    workload = sample_workload()
    return rp.select(rp.Workload(workload.domain, list(workload)), budget=rp.zcdp("0.5"), loss="max", bases=word)


def searched_by_set(neighbors):
    domain = rp.Domain({"a": 6, "b": 4, "c": 3, "one": 1})
    queries = [{"a": rp.Prefix()}, {"a": rp.Identity(), "b": rp.Identity(), "c": rp.Identity()}, {"b": rp.Prefix()}]
    return rp.select(rp.Workload(domain, queries), budget=rp.zcdp("0.5"), bases="optimal_by_set", neighbors=neighbors)


MAKERS = {
    "optimal": lambda: with_one_basis("optimal"),
    "orthogonal": lambda: with_one_basis("orthogonal"),
    "random by set": lambda: plan_by_set(sample_workload(), 6),
    "searched by set": lambda: searched_by_set("add-remove"),
    "searched by set, replaced": lambda: searched_by_set("replace"),
}


def errors_of(plan, release, query, counts):
    """Estimates less the truth, and standard errors, in domain order."""
    table = release[query]
    order = np.argsort(table.positions)
    found, std_err = (values.transpose(order).ravel() for values in (table.estimate, table.std_err))
    return found - query_rows(plan, query) @ counts.ravel(), std_err


@pytest.mark.cases(1)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_plan_measured_and_saved_gives_tables_as_near_to_the_truth_as_it_says(maker, tmp_path):
    MAKERS[maker]().save(tmp_path / "plan")
    plan, chance = rp.load_plan(tmp_path / "plan"), np.random.default_rng(11)
    assert plan.strategy.varying.any() == ("by set" in maker)
    records = np.column_stack([chance.integers(0, size, 3_000) for size in plan.domain.sizes])
    rp.measure(plan, records).save(tmp_path / "measurement")
    rp.reconstruct(rp.load_measurement(tmp_path / "measurement")).save(tmp_path / "out", "csv", profile="gls")
    tables = rp.load_tables(tmp_path / "out")
    release, counts = rp.reconstruct(tables), dense.counts(plan.domain.sizes, records)
    found = [errors_of(plan, release, query, counts) for query in [*plan.workload, *UNPLANNED]]
    ratios = np.concatenate([errors / std_err for errors, std_err in found])
    assert np.abs(ratios).max() < 6
    assert np.sqrt(np.mean(ratios**2)) > 1 / 3  # were standard errors overstated threefold, few would come near them
    assert release.noise.pcost <= plan.pcost <= plan.budget.pcost_exact
    assert "exact discrete Gaussian noise from the operating system's random bits" in release.noise.guarantee
    rule = tables.numbers.manifest["noise"]["precision"]
    assert ("messages" in rule, "two records" in rule) == (
        "by set" in maker and "replaced" not in maker,
        "replaced" in maker,
    )
    for query in plan.workload:
        np.testing.assert_array_equal(tables[query].estimate, release[query].estimate)
    if "by set" not in maker:
        worst = max(release[query].variance.max() for query in plan.workload)
        assert worst == pytest.approx(plan.max_variance) == pytest.approx(plan.loss_value)


RUNS = 600


@pytest.mark.slow
@pytest.mark.usefixtures("memory_asked_once")
@pytest.mark.thorough
def test_tables_of_many_measurements_spread_with_the_covariance_of_least_squares():
    """By explicit matrices over all answers, and by the plan.

    Power: a standard error off by a quarter, or a correlation of 0.35 in place of none, is found.
    """
    plan = plan_by_set(sample_workload(), 6)
    counts = np.random.default_rng(5).integers(0, 9, plan.domain.sizes)
    data = {plan.domain.names: counts}
    releases = [rp.reconstruct(rp.measure(plan, data, noise="gaussian", seed=seed)) for seed in range(RUNS)]
    rows, noise = mechanism(plan)
    for query in plan.workload:
        wanted = query_rows(plan, query)
        covariance = dense.least_squares_covariance(rows, noise, wanted)
        np.testing.assert_allclose(plan.covariance(query), covariance, rtol=1e-6, atol=1e-6 * covariance.max())
        drawn = np.array([release[query].estimate.ravel() for release in releases]) - wanted @ counts.ravel()
        values, vectors = np.linalg.eigh(covariance)
        kept = values > 1e-9 * values.max()
        white = drawn @ vectors[:, kept] / np.sqrt(values[kept])
        assert np.abs(drawn @ vectors[:, ~kept]).max(initial=0) < 1e-6 * math.sqrt(values.max())
        assert np.abs(white.mean(axis=0)).max() < 5.5 / math.sqrt(RUNS)
        spread = white.T @ white / RUNS - np.eye(kept.sum())
        assert np.abs(np.diag(spread)).max() < 6 * math.sqrt(2 / RUNS)
        assert np.abs(spread - np.diag(np.diag(spread))).max() < 6.5 / math.sqrt(RUNS)
