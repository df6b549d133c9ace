"""What mbi gets is what was measured: its sum of squares is the likelihood that explicit matrices give."""

import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import residualplanner as rp
from made_releases import answers_of, any_release, exact_release
from random_plans import basis_of, mechanism, plan_by_hand, random_matrix
from workloads_by_set import TINY

DOMAIN = rp.Domain({"a": ["x", "y", "z"], "b": 2, "one": 1, "c": 4})
WORKLOAD = rp.Workload(DOMAIN, [("a", "b"), ("c", "b"), ("one", "a"), rp.Threshold(("a", "c"), 1)])


class Factor(NamedTuple):
    table: np.ndarray

    def datavector(self, flatten=True):
        return self.table.ravel() if flatten else self.table


class Measurement(NamedTuple):
    noisy_measurement: np.ndarray
    clique: tuple[str, ...]
    stddev: float
    query: object = Factor.datavector


@pytest.fixture
def stand_in(monkeypatch):
    """In place of mbi, which need not be installed, what the bridge uses of it."""
    module = SimpleNamespace(Domain=lambda *about: about, LinearMeasurement=Measurement)
    monkeypatch.setitem(sys.modules, "mbi", module)


def planned():
    return rp.select(WORKLOAD, budget=rp.pcost(1))


def with_given_bases():
    workload = rp.Workload(DOMAIN, [("a", "b"), ("c", "b"), ("one", "a")])
    matrices = [None, random_matrix(2, 1, 1), None, random_matrix(4, 3, 2)]
    strategy = rp.strategies.constant_strategy(workload.closure, list(map(basis_of, DOMAIN.sizes, matrices)))
    return plan_by_hand(workload, strategy, np.random.default_rng(0).lognormal(size=len(workload.closure)))


def by_set():
    return rp.select(TINY, budget=rp.pcost(1), bases="optimal_by_set")


def project(data, domain, clique):
    """The table of some attributes, in the order in which they are named."""
    axes = [domain.names.index(name) for name in clique]
    rest = tuple(axis for axis in range(data.ndim) if axis not in axes)
    return Factor(data.sum(axis=rest).transpose(np.argsort(np.argsort(axes))))


@pytest.mark.parametrize("plan_of", [planned, with_given_bases, by_set])
def test_the_sum_of_squares_is_the_likelihood_of_what_was_measured_and_norms_are_singular_values(plan_of, stand_in):
    plan = plan_of()
    release, data = any_release(plan), np.random.default_rng(3).normal(size=plan.domain.sizes)
    domain, measurements = release.to_mbi()
    assert domain[:2] == (plan.domain.names, plan.domain.sizes)
    found = 0.0
    for each in measurements:
        wrong = each.query(project(data, plan.domain, each.clique)) - each.noisy_measurement
        found += (wrong**2).sum() / each.stddev**2
    for each in measurements[1:]:
        sizes = [plan.domain[name].size for name in each.clique]
        matrix = np.array([each.query(Factor(unit.reshape(sizes))) for unit in np.eye(int(np.prod(sizes)))]).T
        assert each.query.op_norm_sq() == pytest.approx(np.linalg.norm(matrix, 2) ** 2, rel=1e-9)
    rows, covariance = mechanism(plan)
    wrong = rows @ data.ravel() - np.concatenate(list(answers_of(release).values()))
    assert found == pytest.approx(wrong @ np.linalg.solve(covariance, wrong), rel=1e-9)


def test_a_total_that_is_public_has_the_least_noise_of_the_others(stand_in):
    plan = rp.select(WORKLOAD, budget=rp.pcost(1), neighbors="replace")
    total, *others = any_release(plan).to_mbi().measurements
    assert total.clique == ()
    assert total.stddev == min(each.stddev for each in others) > plan.noise_variances[0] ** 0.5
    (only,) = any_release(rp.select(rp.Workload(DOMAIN, [()]), budget=rp.pcost(1))).to_mbi().measurements
    assert only.stddev == pytest.approx(1)


def test_without_mbi_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"to_mbi needs mbi.*residualplanner\[mbi\]"):
        any_release(rp.select(WORKLOAD, budget=rp.pcost(1))).to_mbi()


@pytest.mark.slow
def test_mbi_fits_the_records_that_were_measured():
    mbi = pytest.importorskip("mbi")
    from mbi import estimation

    data = np.random.default_rng(0).poisson(20, DOMAIN.sizes).astype(float)
    release = exact_release(rp.select(WORKLOAD, budget=rp.pcost(1)), data)
    problem = release.to_mbi()
    assert isinstance(problem.domain, mbi.Domain)
    assert estimation.minimum_variance_unbiased_total(problem.measurements) == pytest.approx(data.sum(), rel=1e-6)
    model = estimation.MirrorDescent().estimate(*problem, iters=2000)
    for names in (("a", "b"), ("c", "b"), ("one", "a")):
        table = np.asarray(model.project(names).datavector(flatten=False))
        np.testing.assert_allclose(table, release[names].estimate, rtol=0.02, atol=1.0)
