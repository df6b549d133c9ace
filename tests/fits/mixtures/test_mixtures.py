"""Mixtures: the loss and its slope, fits that find them and stop at the noise, and exchanges among their records."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

import residualplanner as rp
from inner_parts import correct_margins
from inner_parts import mixture as mixture_part
from residualplanner.fits.mixtures import drawing, fitting
from residualplanner.fits.mixtures import loss as losses
from residualplanner.fits.mixtures.denoising import denoised
from residualplanner.fits.mixtures.fitting import fit, fit_ensemble, start_at, start_near
from residualplanner.fits.mixtures.loss import Measured, View, loss_of

# The loss, beside definitions written out and finite differences.

SMALL = (3, 2, 4)
RNG = np.random.default_rng(7)


def mixture_arrays(classes, seed=0, sizes=SMALL):
    rng = np.random.default_rng(seed)
    probabilities = np.concatenate([rng.dirichlet(np.ones(size), classes).T for size in sizes])
    return probabilities, rng.dirichlet(np.ones(classes))


def centering(size):
    return np.eye(size) - 1 / size


def views_and_matrices():
    basis = np.array([[1.0, -1, 0, 0], [1, 1, -1, -1]])
    return [View(0), View(1, np.eye(2)), View(2, basis)], [centering(3), np.eye(2), basis]


def table_of(probabilities, weights, matrices, attributes):
    """The table of features written out: the joint table of all attributes, summed, and a matrix along each axis."""
    offsets = np.cumsum([0, *SMALL])
    parts = [probabilities[offsets[i] : offsets[i + 1]] for i in range(3)]
    joint = np.einsum("c,ac,bc,dc->abd", weights, *parts)
    away = tuple(axis for axis in range(3) if axis not in attributes)
    table = joint.sum(axis=away)
    for axis, attribute in enumerate(attributes):
        table = np.moveaxis(np.tensordot(matrices[attribute], table, axes=(1, axis)), 0, axis)
    return table


def measured_sets(matrices, sets, seed=3):
    rng = np.random.default_rng(seed)
    return [
        Measured(members, rng.normal(size=[len(matrices[i]) for i in members]) * 20, float(rng.uniform(0.5, 2)), 1)
        for members in sets
    ]


ALL_SETS = [members for order in (1, 2, 3) for members in combinations(range(3), order)]


@pytest.mark.parametrize("sets", [ALL_SETS, [(0,), (1, 2)], [(0, 1, 2)], [(0, 1), (0, 2), (1, 2)]])
def test_the_loss_is_the_sum_of_squared_distances_in_units_of_the_noise(sets):
    views, matrices = views_and_matrices()
    tables, (probabilities, weights) = measured_sets(matrices, sets), mixture_arrays(5)
    loss = loss_of(mixture_part.OneHot(SMALL), views, tables, 50.0)
    expected = sum(
        each.precision * ((50 * table_of(probabilities, weights, matrices, each.views) - each.values) ** 2).sum()
        for each in tables
    )
    value, *_ = loss.evaluate(probabilities.astype(loss.dtype), weights.astype(loss.dtype))
    assert value == pytest.approx(expected, rel=1e-5)


PULLS = [None, np.array([[0, 3e17, 1e17], [3e17, 0, 0], [1e17, 0, 0]])]


@pytest.mark.parametrize("strengths", PULLS, ids=["without a pull", "with a pull"])
@pytest.mark.parametrize("sets", [ALL_SETS, [(0, 1, 2)], [(0, 1), (2,)]])
def test_the_slope_is_that_of_finite_differences(sets, strengths):
    views, matrices = views_and_matrices()
    tables = measured_sets(matrices, sets)
    scaled = [Measured(t.views, t.values * 2e7, t.precision, t.freedom) for t in tables]
    # so many records that all is in double precision
    near = [np.arange(1, size + 1) / (size * (size + 1) / 2) for size in SMALL]
    loss = loss_of(mixture_part.OneHot(SMALL), views, scaled, 1e9, near=near, strengths=strengths)
    assert loss.dtype is np.float64
    probabilities, weights = mixture_arrays(4)
    *_, slope, slope_of_weights = loss.evaluate(probabilities, weights)
    for _ in range(5):
        one, other = RNG.normal(size=probabilities.shape), RNG.normal(size=weights.shape)
        step = 1e-6
        # centered views take it for granted that probabilities add up to 1, which a step must keep
        shift = mixture_part.OneHot(SMALL).repeated(mixture_part.OneHot(SMALL).sums(one) / np.array(SMALL)[:, None])
        kept = one - shift
        ends = [(probabilities + at * kept, weights + at * other) for at in (step, -step)]
        up, down = (sum(loss.evaluate(*end)[:2]) for end in ends)
        expected = (slope * kept).sum() + (slope_of_weights * other).sum()
        assert (up - down) / (2 * step) == pytest.approx(expected, rel=1e-6)


def test_the_pull_is_the_chi_square_of_pairs_from_independence():
    probabilities, weights = mixture_arrays(4)
    blocks = mixture_part.OneHot(SMALL)
    near = [np.arange(1, size + 1) / (size * (size + 1) / 2) for size in SMALL]
    strengths = np.array([[0, 3.0, 1.0], [3.0, 0, 0], [1.0, 0, 0]])
    loss = loss_of(blocks, [View(0)], [], 50.0, near=near, strengths=strengths)
    parts = [probabilities[blocks.rows(attribute)] for attribute in range(3)]
    expected = 0.0
    for one, other in [(0, 1), (0, 2)]:
        table = (parts[one] * weights) @ parts[other].T
        scale = np.outer(near[one] + 1 / 50, near[other] + 1 / 50)
        expected += strengths[one, other] * ((table - np.outer(near[one], near[other])) ** 2 / scale).sum()
    found = loss.evaluate(probabilities.astype(loss.dtype), weights.astype(loss.dtype))
    assert (found.distance, found.pull) == (0, pytest.approx(expected, rel=1e-5))


# Fits.


SIZES = (4, 3, 5)
BLOCKS = mixture_part.OneHot(SIZES)


def truth(seed=0):
    rng = np.random.default_rng(seed)
    logits = np.concatenate([2 * rng.normal(size=(size, 3)) for size in SIZES])
    return mixture_part.mixture_of(BLOCKS, np.array([0.5, 0.3, 0.2]), BLOCKS.softmax(logits))


def noisy_loss(mixture, records, scale, seed=0):
    rng, tables = np.random.default_rng(seed), []
    for members in [(0,), (1,), (2,), *combinations(range(3), 2)]:
        table = records * mixture.table(members) + scale * rng.normal(size=[SIZES[i] for i in members])
        for axis in range(table.ndim):
            table -= table.mean(axis=axis, keepdims=True)
        tables.append(Measured(members, table, 1 / scale**2, int(np.prod([SIZES[i] - 1 for i in members]))))
    return loss_of(BLOCKS, [View(i) for i in range(3)], tables, records)


def distance(loss, mixture):
    return loss.evaluate(mixture.probabilities.astype(loss.dtype), mixture.weights.astype(loss.dtype)).distance


def near(mixture, classes, generator):
    return start_near([mixture.table((i,)) for i in range(3)], classes, 0.3, generator)


def test_a_fit_comes_as_near_to_the_answers_as_their_noise_allows():
    mixture = truth()
    loss = noisy_loss(mixture, 10_000.0, 5.0)
    found = fit(loss, near(mixture, 20, np.random.default_rng(1)), rp.fits.Descent(400, caution=0.3))
    alone = np.log(np.concatenate([mixture.table((i,)) for i in range(3)]))[:, None]
    start, *_ = loss.evaluate(BLOCKS.softmax(alone).astype(loss.dtype), np.ones(1, loss.dtype))
    assert distance(loss, found) < 2 * loss.freedom < start / 10
    for members in combinations(range(3), 2):
        assert np.abs(found.table(members) - mixture.table(members)).sum() / 2 < 0.01


@pytest.mark.parametrize("is_possible", [True, False])
def test_a_fit_of_very_many_records_comes_as_near_to_them_as_their_noise_is(is_possible):
    """The last steps of Adam alone are off by a tenth of a percent, a hundred million records."""
    whole = truth()
    weights, probabilities = whole.weights, whole.probabilities.copy()
    probabilities[0] *= is_possible
    mixture = mixture_part.mixture_of(BLOCKS, weights, probabilities)

    def start(classes, generator):
        logits, of_classes = near(whole, classes, generator)
        logits[0] = logits[0] if is_possible else -np.inf
        return logits, of_classes

    ensemble = rp.fits.Ensemble(2, 20, rp.fits.Descent(steps=150))
    found = fit_ensemble(noisy_loss(mixture, 1e11, 5.0), start, ensemble)
    for members in combinations(range(3), 2):
        assert np.abs(found.table(members) - mixture.table(members)).sum() / 2 < 1e-8
    assert (found.probabilities[0] > 0).all() == is_possible
    np.testing.assert_allclose(BLOCKS.sums(found.probabilities), 1, atol=1e-12)


@pytest.mark.parametrize(("records", "is_far"), [(1e5, True), (100.0, False)])
def test_a_mean_far_from_the_answers_is_fitted_further(monkeypatch, records, is_far):
    """Where noise explains where it ended, it is left as it is."""
    loss, ends = noisy_loss(truth(), records, 5.0), []

    def recorded(*arguments, **options):
        found = fit(*arguments, **options)
        ends.append((arguments[2].steps, distance(loss, found) / loss.freedom))
        return found

    monkeypatch.setattr(fitting, "fit", recorded)
    ensemble = rp.fits.Ensemble(2, 10, rp.fits.Descent(20), rp.fits.Descent(30, 0.1))
    found = fit_ensemble(loss, lambda *how: near(truth(), *how), ensemble)
    assert [steps for steps, _ in ends] == [20, 20, 30, 60][: 4 if is_far else 3]
    assert (ends[2][1] > 1.2) == is_far
    assert distance(loss, found) / loss.freedom == pytest.approx(ends[-1][1])
    assert ends[-1][1] < ends[2][1] / 1.5 or not is_far


def test_a_fit_stops_where_it_would_fit_the_noise_and_starts_at_the_mixture_given(monkeypatch):
    mixture, steps = truth(), []
    loss = noisy_loss(mixture, 10_000.0, 5.0)
    monkeypatch.setattr(losses, "_ENOUGH", 3 * loss.freedom / loss.enough * losses._ENOUGH)
    start, descent = near(mixture, 20, np.random.default_rng(1)), rp.fits.Descent(steps=400, caution=0)
    found = fit(loss, start, descent, report=lambda done, _: steps.append(done))
    assert steps[-1] < 380
    assert 2 * loss.freedom < distance(loss, found) <= loss.enough * (1 + 1e-5)
    same = fit(loss, start_at(mixture), rp.fits.Descent(steps=0))
    np.testing.assert_allclose(same.probabilities, mixture.probabilities, atol=1e-6)
    np.testing.assert_allclose(same.weights, mixture.weights, atol=1e-6)


@pytest.mark.parametrize(("table", "scale"), [([90.0, 13.0, -3.0], 10.0), ([5.0, -30.0, 40.0, 2.0], 3.0)])
def test_denoised_counts_are_the_most_probable_under_a_weak_prior(table, scale):
    """No other probabilities of the same sum have a larger density, by a generic solver."""
    noisy = np.array(table)
    total = noisy.sum()

    def surprise(logits):
        counts = total * np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        return ((counts - noisy) ** 2).sum() / (2 * scale**2) - 0.4 * np.log(counts).sum()

    best = minimize(surprise, np.log(np.maximum(noisy, 1.0)), method="BFGS", options={"gtol": 1e-9})
    assert surprise(np.log(denoised(noisy, scale))) <= best.fun + 1e-6


@pytest.mark.parametrize("size", [8, 100])
def test_counts_of_many_values_are_denoised_by_how_they_are_distributed(size):
    """Most values are rare, which the others tell of each: the error is about half that of the noisy counts."""
    rng, noise, mine, noisy = np.random.default_rng(0), 20.0, [], []
    for _ in range(50):
        is_common = rng.random(size) < 0.25
        counts = np.where(is_common, rng.integers(200, 2000, size), rng.integers(0, 5, size)).astype(float)
        counts[0] = 1000
        seen = counts + noise * rng.normal(size=size)
        found = denoised(seen, noise)
        assert found.min() > 0
        assert found.sum() == pytest.approx(1)
        mine.append(np.abs(found * seen.sum() - counts).sum())
        noisy.append(np.abs(seen - counts).sum())
    assert np.mean(mine) < 0.65 * np.mean(noisy)


def test_a_value_of_nearly_all_records_stays_so_among_many_of_none():
    """What noise makes of a hundred empty values is not taken from the one that stands five standard errors above 0."""
    rng, found = np.random.default_rng(1), []
    for _ in range(20):
        counts = np.zeros(100)
        counts[7] = 1000
        noise = 180 * rng.normal(size=100)
        found.append(denoised(counts + noise - noise.mean(), 180.0)[7])
    assert np.mean(found) > 0.8
    assert min(found) > 0.5


@pytest.mark.parametrize(
    ("make", "match"),
    [
        *((lambda bad=bad: rp.fits.Descent(steps=bad), "steps") for bad in (-1, "5")),
        *((lambda bad=bad: rp.fits.Descent(rate=bad), "rate") for bad in (np.nan, -1)),
        (lambda: rp.fits.Descent(caution=None), "caution"),
        *((lambda bad=bad: rp.fits.Descent(decay=bad), "decay must be below 1") for bad in (1, -0.1, np.nan)),
        (lambda: rp.fits.Ensemble(descent=100), "descent must be a Descent"),
        (lambda: rp.fits.Ensemble(together=100), "together must be a Descent"),
        *(
            (lambda sizes=sizes: rp.fits.Ensemble(*sizes), "1 or more mixtures")
            for sizes in [(0, 5), (5, 0), (1.5, 5), ("2", 5), (True, 5)]
        ),
    ],
)
def test_descents_and_ensembles_that_mean_nothing_are_refused(make, match):
    with pytest.raises(rp.errors.ArgumentError, match=match):
        make()


# Exchanges of values change the loss as they promise, and lower it.


@pytest.fixture
def mixture():
    rng = np.random.default_rng(0)
    probabilities = np.concatenate([rng.dirichlet(np.ones(size), 3).T for size in SMALL])
    return mixture_part.mixture_of(mixture_part.OneHot(SMALL), np.array([0.5, 0.3, 0.2]), probabilities)


@pytest.fixture
def codes():
    return np.random.default_rng(1).integers(0, SMALL, (60, 3))


@pytest.mark.parametrize("attribute", [0, 1, 2])
def test_exchanges_change_the_loss_as_they_promise(mixture, codes, attribute):
    tables, rows = drawing._tables_of(mixture, attribute, len(codes)), codes + mixture.blocks.offsets[:-1]
    away = tables.away(rows)
    promised = tables.changes(away, rows, np.arange(8), np.arange(8, 16))
    for one, other in zip(range(8), range(8, 16), strict=True):
        if rows[one, attribute] != rows[other, attribute]:
            changed = rows.copy()
            changed[[one, other], attribute] = rows[[other, one], attribute]
            after = tables.loss(tables.away(changed))
            assert promised[one] == pytest.approx(after - tables.loss(away), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_exchanges_never_raise_the_loss_of_their_attribute_and_keep_its_values_in_their_class(mixture, codes, share):
    rng, classes = np.random.default_rng(2), np.repeat([0, 1, 2], [21, 20, 19])
    rows, shares = codes + mixture.blocks.offsets[:-1], np.full(3, share)
    for attribute in (0, 1, 2) * 5:
        tables, old = drawing._tables_of(mixture, attribute, 60), rows.copy()
        before = tables.loss(tables.away(rows))
        drawing._exchange(tables, rows, drawing._pairs_within(classes, rng), shares, rng)
        assert tables.loss(tables.away(rows)) <= before
        for number in range(3):
            assert (np.sort(rows[classes == number], axis=0) == np.sort(old[classes == number], axis=0)).all()
    assert (rows != codes + mixture.blocks.offsets[:-1]).any()


def test_values_are_corrected_only_within_what_their_class_has_and_as_few_as_it_takes():
    """Class 0 has the values 0 and 1, class 1 has 2 alone: nobody there can give or get one."""
    mixture = mixture_part.mixture_of(
        mixture_part.OneHot((3,)), np.array([0.5, 0.5]), np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    )
    codes, classes = np.array([0, 0, 0, 1, 2, 2, 2, 2])[:, None], np.repeat([0, 1], 4)
    old = codes.copy()
    correct_margins(mixture, codes, classes, np.random.default_rng(0))
    assert np.bincount(codes[:, 0]).tolist() == [2, 2, 4]
    assert (codes != old).sum() == 1
    codes = np.array([0, 0, 1, 1, 2, 2, 2, 2, 2])[:, None]  # one record too many of class 1
    correct_margins(mixture, codes, np.repeat([0, 1], [4, 5]), np.random.default_rng(0))
    assert codes[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 2]
