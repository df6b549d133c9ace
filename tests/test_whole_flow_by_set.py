"""Bases by set from a plan to tables, through files, with exact noise; and errors that are what the matrices say."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import dense
import residualplanner as rp
from random_plans import mechanism, plan_by_set, query_rows, sample_workload

RECORDS = 3_000
#: Queries that nobody planned for, on attributes that were measured together.
UNASKED = [("a",), {"a": rp.Prefix(), "c": rp.Identity()}, ("one",), ("c",), ()]


@dataclass(frozen=True)
class Made:
    """A release that went through files, and the counts that it is about."""

    plan: rp.Plan
    release: rp.Release
    counts: np.ndarray

    def true(self, query):
        return query_rows(self.plan, query) @ self.counts.ravel()


def searched(seed):
    domain = rp.Domain({"a": 6, "b": 4, "c": 3, "one": 1})
    asked = [{"a": rp.Prefix()}, {"a": rp.Identity(), "b": rp.Identity(), "c": rp.Identity()}, {"b": rp.Prefix()}]
    return rp.select(rp.Workload(domain, asked), budget=rp.zcdp("0.5"), bases="optimal_by_set")


MAKERS = {"random": lambda seed: plan_by_set(sample_workload(), seed), "searched": searched}


@pytest.fixture(scope="module", params=MAKERS)
def made(request, tmp_path_factory) -> Made:
    folder = tmp_path_factory.mktemp("flow")
    MAKERS[request.param](6).save(folder / "plan")
    plan = rp.load_plan(folder / "plan")
    assert plan.strategy.varying.any()
    random = np.random.default_rng(11)
    records = np.column_stack([random.integers(0, size, RECORDS) for size in plan.domain.sizes])
    rp.measure(plan, records).save(folder / "measurement")
    counts = np.zeros(plan.domain.sizes)
    np.add.at(counts, tuple(records.T), 1)
    return Made(plan, rp.reconstruct(rp.load_measurement(folder / "measurement")), counts)


def test_estimates_are_within_six_standard_errors_of_the_truth(made):
    for query in [*made.plan.workload, *UNASKED]:
        table = made.release[query]
        assert (np.abs(table.estimate.ravel() - made.true(query)) < 6 * table.std_err.ravel()).all()


def test_standard_errors_are_not_overstated(made):
    """Were they three times too large, so many cells would not come so near to them."""
    found = [
        (made.release[query].estimate.ravel() - made.true(query)) / made.release[query].std_err.ravel()
        for query in made.plan.workload
    ]
    assert np.sqrt(np.mean(np.concatenate(found) ** 2)) > 1 / 3


def test_tables_agree(made):
    """Prefix sums, single values and totals are those of the same counts, whoever was asked together."""
    release, atol = made.release, 1e-7
    for query in made.plan.workload:
        asked = dict(query) if isinstance(query, dict) else dict.fromkeys(query, rp.Identity())
        if "a" not in asked:
            continue
        others = {name: kind for name, kind in asked.items() if name != "a"}
        values = release[{"a": rp.Identity(), **others}].estimate
        np.testing.assert_allclose(release[{"a": rp.Prefix(), **others}].estimate, values.cumsum(axis=0), atol=atol)
        np.testing.assert_allclose(release[others].estimate, values.sum(axis=0), atol=atol)
        np.testing.assert_allclose(
            release[{"a": asked["a"], **others}].estimate.ravel(),
            np.tensordot(asked["a"].matrix(made.plan.domain.sizes[0]), values, (1, 0)).ravel(),
            atol=atol,
        )


def test_the_noise_is_exact_and_within_the_budget(made):
    noise = made.release.measurement.noise
    assert noise.kind == "discrete"
    assert noise.pcost <= made.plan.budget.pcost_exact
    assert "exact discrete Gaussian noise from the operating system's random bits" in noise.guarantee


def test_a_release_as_a_folder_says_how_it_was_made(made, tmp_path):
    made.release.save(tmp_path / "out", format="csv", profile="gls")
    tables = rp.load_tables(tmp_path / "out")
    for query in made.plan.workload:
        found = tables[query]["estimate"].to_numpy()
        np.testing.assert_array_equal(found, made.release[query].estimate.ravel())
    assert "messages" in tables.manifest["noise"]["precision"]
    assert rp.load_plan(tmp_path / "out" / "release.plan").pcost == made.plan.pcost


RUNS = 800


def test_tables_of_many_measurements_spread_with_the_covariance_of_least_squares():
    """By explicit matrices over all answers, and by the plan.

    Power: a standard error off by a fifth, or a correlation of 0.3 in place of none, is found.
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
