"""Non-negative tables of a mixture agree with one another, keep to facts, and say that nothing is proved of them."""

import math

import numpy as np
import pytest

import residualplanner as rp

DOMAIN = rp.Domain({"a": 4, "b": 3, "c": 2})


def people(count=400):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, count)
    return np.stack([a, (a + (rng.random(count) < 0.3)) % 3, rng.integers(0, 2, count)], axis=1)


@pytest.fixture(scope="module")
def release():
    plan = rp.select(rp.marginals(DOMAIN, order=2), budget=rp.zcdp(0.05))
    return rp.reconstruct(rp.measure(plan, people(), noise="gaussian", seed=3))


@pytest.fixture(scope="module")
def tables(release):
    return rp.nonnegative(release, method="mixture", known={"c": [210, 190]}, impossible=[{"a": 0, "b": 2}])


def test_tables_agree_and_facts_hold_and_nothing_is_proved(tables):
    pair, other = tables["a", "b"].estimate, tables["b", "c"].estimate
    assert (pair >= 0).all()
    np.testing.assert_allclose(pair.sum(axis=0), other.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(tables["b"].estimate, other.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(tables["c"].estimate, [210, 190], rtol=1e-9)
    assert pair[0, 2] == 0
    assert tables.product.facts == ("the table of c", "that there is no record in which a is 0 and b is 2")
    assert tables.product.is_nonnegative
    assert tables.numbers.gap == math.inf
    assert repr(tables) == "<Release of 3 tables: non-negative, of a mixture; no guarantee: seeded, not private>"


def test_they_are_those_that_synthesize_expects_and_nearer_to_sparse_tables_than_the_unbiased_ones(release):
    table, made = rp.nonnegative(release, method="mixture")["a", "b"].estimate, rp.synthesize(release, 0)
    np.testing.assert_allclose(table, made.expected(["a", "b"]), rtol=1e-9, atol=1e-9)
    truth = np.zeros((4, 3))
    np.add.at(truth, tuple(people()[:, :2].T), 1)
    assert np.abs(table - truth).sum() < np.abs(release["a", "b"].estimate - truth).sum()


@pytest.mark.slow
def test_they_can_be_rounded_and_their_errors_are_simulated(tables):
    whole = rp.rounded(tables)["a", "b"].estimate
    assert (whole == np.rint(whole)).all()
    errors = rp.fits.published_errors(tables, simulations=10).to_frame()
    assert errors["rmse"].between(0.01, 60).all()
