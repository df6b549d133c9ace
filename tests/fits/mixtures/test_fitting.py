"""Fits find mixtures that are there, stop at the noise, and repeat themselves."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

import residualplanner as rp
from residualplanner.fits.mixtures.fitting import StartLogits, denoised, fit, fit_ensemble, start_at, start_near
from residualplanner.fits.mixtures.loss import CenteredView, loss_of
from residualplanner.fits.mixtures.mixture import OneHot, mixture_of, raked
from residualplanner.fits.mixtures.support import Possible, supports
from residualplanner.fits.mixtures.terms import Measured

SIZES = (4, 3, 5)
BLOCKS = OneHot(SIZES)


def truth(seed=0):
    rng = np.random.default_rng(seed)
    logits = np.concatenate([2 * rng.normal(size=(size, 3)) for size in SIZES])
    return mixture_of(BLOCKS, np.array([0.5, 0.3, 0.2]), BLOCKS.softmax(logits))


def noisy_loss(mixture, records, scale, seed=0):
    rng, tables = np.random.default_rng(seed), []
    for members in [(0,), (1,), (2,), *combinations(range(3), 2)]:
        table = records * mixture.table(members) + scale * rng.normal(size=[SIZES[i] for i in members])
        for axis in range(table.ndim):
            table -= table.mean(axis=axis, keepdims=True)
        tables.append(Measured(members, table, 1 / scale**2, int(np.prod([SIZES[i] - 1 for i in members]))))
    return loss_of(BLOCKS, [CenteredView(i) for i in range(3)], tables, records)


def near(mixture, classes, generator):
    return start_near([mixture.table((i,)) for i in range(3)], classes, 0.3, generator)


def test_a_fit_comes_as_near_to_the_answers_as_their_noise_allows():
    mixture = truth()
    loss = noisy_loss(mixture, 10_000.0, 5.0)
    found = fit(loss, near(mixture, 20, np.random.default_rng(1)), rp.fits.Descent(steps=400))
    alone = np.log(np.concatenate([mixture.table((i,)) for i in range(3)]))[:, None]
    start, _ = loss.evaluate(BLOCKS.softmax(alone).astype(loss.dtype), np.ones(1, loss.dtype))
    assert found.loss < 2 * loss.freedom < start / 10
    for members in combinations(range(3), 2):
        assert np.abs(found.mixture.table(members) - mixture.table(members)).sum() / 2 < 0.01


@pytest.mark.parametrize("is_possible", [True, False])
def test_a_fit_of_very_many_records_comes_as_near_to_them_as_their_noise_is(is_possible):
    """The last steps of Adam alone are off by a tenth of a percent, a hundred million records."""
    whole = truth()
    weights, probabilities = whole.weights, whole.probabilities.copy()
    probabilities[0] *= is_possible
    mixture = mixture_of(BLOCKS, weights, probabilities)

    def start(classes, generator):
        made = start_near([whole.table((i,)) for i in range(3)], classes, 0.3, generator)
        made.logits[0] = made.logits[0] if is_possible else -np.inf
        return made

    ensemble = rp.fits.Ensemble(2, 20, rp.fits.Descent(steps=150))
    found, _ = fit_ensemble(noisy_loss(mixture, 1e11, 5.0), start, ensemble)
    for members in combinations(range(3), 2):
        assert np.abs(found.table(members) - mixture.table(members)).sum() / 2 < 1e-8
    assert (found.probabilities[0] > 0).all() == is_possible


def test_a_fit_stops_where_it_would_fit_the_noise():
    mixture = truth()
    loss = noisy_loss(mixture, 10_000.0, 5.0)
    found = fit(
        loss,
        near(mixture, 20, np.random.default_rng(1)),
        rp.fits.Descent(steps=400, caution=0),
        enough=3 * loss.freedom,
    )
    assert found.steps < 400
    assert found.loss <= 3 * loss.freedom


def test_where_there_is_nothing_but_noise_a_cautious_fit_stays_near_its_start():
    rng = np.random.default_rng(0)
    flat = mixture_of(BLOCKS, np.ones(1), BLOCKS.softmax(rng.normal(size=(12, 1))))
    loss = noisy_loss(flat, 10_000.0, 300.0, seed=5)
    away = {}
    for caution in (0.0, 4.0):
        found = fit(
            loss, near(flat, 10, np.random.default_rng(2)), rp.fits.Descent(steps=100, caution=caution), enough=0.0
        )
        away[caution] = np.abs(found.mixture.table((0, 1)) - flat.table((0, 1))).sum() / 2
    assert away[4.0] < 0.75 * away[0.0]


def test_values_that_cannot_be_keep_probability_0():
    mixture = truth()
    start = near(mixture, 10, np.random.default_rng(3))
    logits = start.logits.copy()
    logits[2] = -np.inf
    found = fit(
        noisy_loss(mixture, 10_000.0, 5.0), StartLogits(logits, start.weights), rp.fits.Descent(steps=50)
    ).mixture
    assert (found.probabilities[2] == 0).all()
    assert found.table((0, 1))[2].tolist() == [0, 0, 0]
    np.testing.assert_allclose(BLOCKS.sums(found.probabilities), 1, atol=1e-12)


def test_an_ensemble_is_the_mean_of_its_members_and_the_same_for_the_same_seed():
    mixture = truth()
    loss, small = noisy_loss(mixture, 10_000.0, 20.0), rp.fits.Ensemble(3, 5, rp.fits.Descent(steps=20))
    seen = []
    (one, members), (other, _) = (
        fit_ensemble(loss, lambda n, g: near(mixture, n, g), small, seed=4, report=lambda *a: seen.append(a))
        for _ in range(2)
    )
    assert seen == [(1, 3), (2, 3), (3, 3)] * 2
    mean = np.mean([each.mixture.table((0, 2)) for each in members], axis=0)
    np.testing.assert_allclose(one.table((0, 2)), mean, atol=1e-14)
    assert (one.probabilities == other.probabilities).all()


def test_the_mean_of_an_ensemble_comes_nearer_when_it_is_fitted_further():
    mixture = truth()
    loss = noisy_loss(mixture, 10_000.0, 5.0)
    values = []
    for together in (0, 60):
        small = rp.fits.Ensemble(3, 5, rp.fits.Descent(steps=40), rp.fits.Descent(steps=together, rate=0.1))
        found, _ = fit_ensemble(loss, lambda n, g: near(mixture, n, g), small, seed=4)
        arrays = found.probabilities.astype(loss.dtype), found.weights.astype(loss.dtype)
        values.append(loss.evaluate(*arrays)[0])
    assert values[1] < 0.7 * values[0]


def test_a_fit_from_a_mixture_starts_at_it():
    mixture = truth()
    loss = noisy_loss(mixture, 10_000.0, 5.0)
    same = fit(loss, start_at(mixture), rp.fits.Descent(steps=0)).mixture
    np.testing.assert_allclose(same.probabilities, mixture.probabilities, atol=1e-6)
    np.testing.assert_allclose(same.weights, mixture.weights, atol=1e-6)


def test_raking_gives_the_tables_and_keeps_what_attributes_say_of_one_another():
    """Raking leaves all odds ratios of two attributes as they are where each is raked by itself."""
    one = mixture_of(OneHot((2, 2)), np.array([0.5, 0.5]), np.array([[0.9, 0.3], [0.1, 0.7], [0.2, 0.6], [0.8, 0.4]]))
    known = {0: np.array([0.25, 0.75]), 1: np.array([0.6, 0.4])}
    found = raked(one, known)
    for attribute, table in known.items():
        np.testing.assert_allclose(found.table((attribute,)), table, atol=1e-10)
    odds = [table[0, 0] * table[1, 1] / table[0, 1] / table[1, 0] for table in (one.table((0, 1)), found.table((0, 1)))]
    assert odds[0] == pytest.approx(odds[1], rel=1e-9)


def test_what_the_values_of_a_class_combine_to_is_possible_and_every_possible_cell_is_in_some_class():
    possible = np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
    even = [np.full(size, 1 / size) for size in SIZES]
    found = supports(BLOCKS, even, [Possible((0, 1), possible)], 60, np.random.default_rng(0))
    reached = np.zeros((4, 3), dtype=bool)
    for values in found.T:
        cells = np.outer(values[:4], values[4:7])
        assert not (cells & (possible == 0)).any()
        reached |= cells
    assert (reached == (possible > 0)).all()
    assert found[7:].all()


def test_tables_of_a_mixture_agree_with_one_another():
    mixture = truth()
    table = mixture.table((2, 0, 1))
    np.testing.assert_allclose(table.sum(axis=(0, 2)), mixture.table((0,)), atol=1e-15)
    np.testing.assert_allclose(table.transpose(1, 2, 0), mixture.table((0, 1, 2)), atol=1e-15)
    cells = np.argwhere(table >= 0)
    np.testing.assert_allclose(mixture.answers((2, 0, 1), cells), table.ravel(), atol=1e-15)


def test_other_names_of_the_values_give_the_same_tables():
    mixture, order = truth(), np.array([2, 0, 3, 1])
    whole = np.concatenate([order, np.arange(4, 12)])
    same = mixture_of(BLOCKS, mixture.weights, mixture.probabilities[whole])
    np.testing.assert_array_equal(same.table((0, 1)), mixture.table((0, 1))[order])


@pytest.mark.parametrize("table", [[5.0, -30.0, 2.0], [0.0, 0.0], [-4.0, -1.0], [7.0]])
def test_noisy_counts_become_positive_probabilities(table):
    found = denoised(np.array(table), 3.0)
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize(("table", "scale"), [([90.0, 13.0, -3.0], 10.0), ([5.0, -30.0, 40.0, 2.0], 3.0)])
def test_denoised_counts_are_the_most_probable_under_a_weak_prior(table, scale):
    """No other probabilities of the same sum have a larger density, by a generic solver."""
    noisy = np.array(table)
    total = noisy.sum()

    def surprise(logits):
        counts = total * np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        return ((counts - noisy) ** 2).sum() / (2 * scale**2) - 0.2 * np.log(counts).sum()

    best = minimize(surprise, np.log(np.maximum(noisy, 1.0)), method="BFGS", options={"gtol": 1e-9})
    assert surprise(np.log(denoised(noisy, scale))) <= best.fun + 1e-6


@pytest.mark.parametrize("change", [{"steps": -1}, {"steps": "5"}, {"rate": np.nan}, {"rate": -1}, {"caution": None}])
def test_a_descent_that_cannot_be_made_is_refused(change):
    [name] = change
    with pytest.raises(rp.errors.ArgumentError, match=name):
        rp.fits.Descent(**change)


@pytest.mark.parametrize("name", ["descent", "together"])
def test_an_ensemble_descends_by_a_descent(name):
    with pytest.raises(rp.errors.ArgumentError, match=f"{name} must be a Descent"):
        rp.fits.Ensemble(**{name: 100})


def test_a_known_table_is_its_own_denoised():
    """Whatever the bisection meets: the table of one value makes it look at 0 first."""
    for table in ([7.0, 0.0, 0.0], [0.0, 7.0], [3.0, 4.0]):
        np.testing.assert_allclose(denoised(np.array(table), 0.0) * sum(table), table, atol=1e-7)


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (1.5, 5), ("2", 5), (True, 5)])
def test_an_ensemble_of_nothing_is_refused(sizes):
    with pytest.raises(rp.errors.ArgumentError, match="1 or more mixtures"):
        rp.fits.Ensemble(*sizes)
