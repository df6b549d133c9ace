"""The loss of a mixture and its slope, beside definitions written out and finite differences."""

from itertools import combinations

import numpy as np
import pytest

from residualplanner.fits.mixtures.loss import View, features_of, loss_of
from residualplanner.fits.mixtures.mixture import OneHot, product_sums
from residualplanner.fits.mixtures.terms import Measured, prefix_terms

SIZES = (3, 2, 4)
RNG = np.random.default_rng(7)


def mixture_arrays(classes, seed=0, sizes=SIZES):
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
    offsets = np.cumsum([0, *SIZES])
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
    loss = loss_of(OneHot(SIZES), views, tables, 50.0)
    expected = sum(
        each.precision * ((50 * table_of(probabilities, weights, matrices, each.views) - each.values) ** 2).sum()
        for each in tables
    )
    value, *_ = loss.evaluate(probabilities.astype(loss.dtype), weights.astype(loss.dtype))
    assert value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("sets", [ALL_SETS, [(0, 1, 2)], [(0, 1), (2,)]])
def test_the_slope_is_that_of_finite_differences(sets):
    views, matrices = views_and_matrices()
    tables = measured_sets(matrices, sets)
    scaled = [Measured(t.views, t.values * 2e7, t.precision, t.freedom) for t in tables]
    loss = loss_of(OneHot(SIZES), views, scaled, 1e9)  # so many records that all is in double precision
    assert loss.dtype is np.float64
    probabilities, weights = mixture_arrays(4)
    _, slope, slope_of_weights = loss.evaluate(probabilities, weights)
    for _ in range(5):
        one, other = RNG.normal(size=probabilities.shape), RNG.normal(size=weights.shape)
        step = 1e-6
        # centered views take it for granted that probabilities add up to 1, which a step must keep
        shift = OneHot(SIZES).repeated(OneHot(SIZES).sums(one) / np.array(SIZES)[:, None])
        kept = one - shift
        up, *_ = loss.evaluate(probabilities + step * kept, weights + step * other)
        down, *_ = loss.evaluate(probabilities - step * kept, weights - step * other)
        expected = (slope * kept).sum() + (slope_of_weights * other).sum()
        assert (up - down) / (2 * step) == pytest.approx(expected, rel=1e-6)


def test_tables_with_views_in_common_are_put_together_and_are_those_one_by_one():
    sizes = (3, 2, 4, 2)
    probabilities, weights = mixture_arrays(5, sizes=sizes)
    features = features_of(OneHot(sizes), [View(i, np.eye(size)) for i, size in enumerate(sizes)])
    sets = [(0,), (2,), (0, 1), (0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 1, 2, 3), (2, 3)]
    tables, found = measured_sets([np.eye(size) for size in sizes], sets), []
    point = features.apply(probabilities), weights * 50
    together = list(prefix_terms(features.layout, tables, np.float64))
    assert len(together) < len(tables)
    assert max(len(term.prefixes) for term in together) > 1
    assert any(isinstance(term.rows, slice) for term in together)
    for terms in (together, [term for each in tables for term in prefix_terms(features.layout, [each], np.float64)]):
        slope, variances = tuple(map(np.zeros_like, point)), np.zeros((len(features.views), len(point[1])))
        loss = sum(term.add(point, slope) for term in terms)
        for term in terms:
            term.add_variances(point, variances)
        found.append((loss, *slope, variances))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_noise_gives_slopes_the_variances_that_are_stated():
    views, matrices = views_and_matrices()
    views[0], matrices[0] = View(0, np.eye(3)), np.eye(3)
    probabilities, weights = mixture_arrays(4)
    rng, slopes, sets = np.random.default_rng(1), [], [(0, 1), (0, 1, 2), (1, 2), (2,)]
    for _ in range(1500):
        tables = []
        for members in sets:
            truth = 100 * table_of(probabilities, weights, matrices, members)
            tables.append(Measured(members, truth + 2 * rng.normal(size=truth.shape), 1 / 4, truth.size))
        loss = loss_of(OneHot(SIZES), views, tables, 100.0)
        slopes.append(loss.evaluate(probabilities.astype(loss.dtype), weights.astype(loss.dtype))[1])
    stated = loss.slope_variances(probabilities.astype(loss.dtype), weights.astype(loss.dtype))
    np.testing.assert_allclose(np.var(slopes, axis=0), stated, rtol=0.2)


@pytest.mark.parametrize("shape", [(3,), (3, 4), (2, 3, 4), (4, 1, 2, 3)])
def test_product_sums_are_those_of_the_definition(shape):
    factors = [RNG.normal(size=(size, 6)) for size in shape]
    weights = RNG.normal(size=6)
    letters = "abde"[: len(shape)]
    expected = np.einsum(",".join(["c", *(f"{x}c" for x in letters)]) + "->" + letters, weights, *factors)
    np.testing.assert_allclose(product_sums(factors, weights), expected, atol=1e-12)
