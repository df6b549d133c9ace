"""Answers for bases by set become those of reference bases, and counts of any size lose nothing on the way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from made_releases import any_release, exact_release
from random_plans import bases_by_set, basis_of, measured_of, plan_by_set, plans_by_set, query_rows, sample_workload
from replayed_measuring import noise_left_out
from residualplanner.release.reference_answers import reference_answers as rebased


def counts(plan, seed, most=10):
    return np.random.default_rng(seed).integers(0, most, plan.domain.sizes)


@given(plan=plans_by_set(), seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_the_answers_of_the_references_are_what_these_would_have_answered(plan, seed):
    """Without noise: (kron R) v of every set, in the order of a plan with one basis for each attribute."""
    data = counts(plan, seed)
    found = rebased(exact_release(plan, data).measurement)
    for number, members in enumerate(plan.closure):
        R = [measured_of(plan.strategy.of_attributes[i])[0] for i in members]
        expected = dense.product(R) @ (dense.marginal(plan.domain.sizes, members) @ data.ravel())
        block = found.block(found.groups.group[number])[found.groups.row[number]]
        np.testing.assert_allclose(block.ravel(), expected, atol=1e-8)


@given(plan=plans_by_set(most_bases=1))
def test_one_basis_in_all_sets_gives_the_tables_of_a_plan_with_one_basis_to_the_bit(plan):
    one = replace(plan, strategy=rp.strategies.constant_strategy(plan.closure, plan.strategy.of_attributes))
    release, other = any_release(plan), any_release(one)
    for query in plan.workload:
        assert (release[query].estimate == other[query].estimate).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [10, 10**6, 10**15])
def test_exact_counts_of_any_size_come_back(monkeypatch, seed, most):
    """Integers beyond 2**53, and beyond int64, lose the last bits of a float and no more."""
    plan = plan_by_set(sample_workload(), seed)
    data = counts(plan, seed, most)
    noise_left_out(monkeypatch)
    release = rp.reconstruct(rp.measure(plan, {plan.domain.names: data}))
    for query in plan.workload:
        expected = query_rows(plan, query) @ data.ravel().astype(float)
        np.testing.assert_allclose(release[query].estimate.ravel(), expected, rtol=1e-11, atol=1e-11 * data.sum())


def test_answers_that_int64_cannot_hold_are_rounded_once(monkeypatch):
    """Entries of 2**45 in two attributes: the answers of pairs have 30 digits, the tables are right to 10 of them."""
    workload = rp.Workload(rp.Domain({"a": 3, "b": 4}), [{"a": rp.Prefix(), "b": rp.Prefix()}])
    by_set = bases_by_set(workload, np.random.default_rng(4), most=3)
    large = tuple(
        basis_of(basis.size, basis.matrix * 2**45 + np.eye(*basis.matrix.shape, dtype=np.int64))
        for basis in by_set.bases
    )
    by_set = rp.strategies.varying_strategy(
        by_set.closure, workload.domain.sizes, large, by_set.factor_bases, by_set.messages
    )
    plan = replace(plan_by_set(workload, 1), strategy=by_set, noise_variances=np.full(4, 1e60))
    data = counts(plan, 2, 1000)
    noise_left_out(monkeypatch)
    measurement = rp.measure(plan, {plan.domain.names: data})
    assert measurement.residuals.wide
    table = rp.reconstruct(measurement)[{"a": rp.Prefix(), "b": rp.Prefix()}]
    np.testing.assert_allclose(table.estimate, data.cumsum(axis=0).cumsum(axis=1), rtol=1e-10)
