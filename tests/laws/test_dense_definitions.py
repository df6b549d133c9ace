"""The dense definitions agree with each other and with the examples in the mathematics."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
from strategies import sizes


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_subtraction_inverse_is_the_pseudo_inverse(size):
    matrix = dense.subtraction(size)
    assert matrix.shape == (size - 1, size)
    np.testing.assert_allclose(dense.subtraction_inverse(size), np.linalg.pinv(matrix), atol=1e-14)


@given(shape=sizes(most_cells=40))
def test_residuals_of_different_sets_are_orthogonal_and_span_everything(shape):
    sets = dense.subsets(range(len(shape)))
    for one, other in itertools.combinations(sets, 2):
        assert not (dense.residual(shape, one) @ dense.residual(shape, other).T).any()
    stacked = np.vstack([dense.residual(shape, members) for members in sets])
    assert stacked.shape == (np.prod(shape), np.prod(shape))
    assert np.linalg.matrix_rank(stacked) == np.prod(shape)


@given(shape=sizes(most_cells=40), data=st.data())
def test_literal_reconstruction_is_least_squares(shape, data):
    members = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1)))))
    parts = dense.subsets(members)
    noise = {part: data.draw(st.floats(0.1, 10)) for part in parts}
    queries, covariance = dense.mechanism(shape, noise)
    literal = np.hstack([dense.reconstruction(shape, members, part) for part in parts])
    wanted = dense.marginal(shape, members)
    np.testing.assert_allclose(literal @ queries, wanted, atol=1e-12)
    np.testing.assert_allclose(dense.least_squares(queries, covariance, wanted), literal, atol=1e-9)
    closed = dense.marginal_covariance(shape, members, noise)
    np.testing.assert_allclose(dense.least_squares_covariance(queries, covariance, wanted), closed, atol=1e-9)
    np.testing.assert_allclose(np.diag(closed), dense.cell_variance(shape, members, noise), rtol=1e-12)


@given(shape=sizes(most_cells=40), variance=st.floats(0.01, 100))
def test_exact_cost_is_the_cost_of_the_stacked_mechanism(shape, variance):
    noise = {part: variance * (1 + len(part)) for part in dense.subsets(range(len(shape)))}
    folded = {part: value for part, value in noise.items() if all(shape[i] > 1 for i in part)}
    cost = dense.privacy_cost(*dense.mechanism(shape, noise))
    assert cost == pytest.approx(float(dense.exact_cost(shape, folded)), rel=1e-11)
    shares = dense.cost_coefficients(shape, list(folded)) / list(folded.values())
    assert cost == pytest.approx(shares.sum(), rel=1e-11)
