"""A twin is whole, as short as can be, and close to what it stands for."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from random_plans import basis_of
from residualplanner.more.searches.basis_options import integer_twin


def random_basis(size, seed, scale=1.0):
    return np.random.default_rng(seed).normal(size=(size - 1, size)) * scale


def prefix_basis(size, _seed=0, scale=1.0):
    """Prefix sums, each less its share of the total: orthogonal to the row of ones."""
    sums = np.tril(np.ones((size, size)))[:-1]
    return (sums - sums.mean(axis=1, keepdims=True)) * scale


bases = st.builds(
    lambda make, size, seed, power: make(size, seed, 10.0**power),
    st.sampled_from([random_basis, prefix_basis]),
    st.integers(2, 12),
    st.integers(0, 10**6),
    st.integers(-8, 8),
).filter(lambda S: np.linalg.cond(np.vstack([np.ones(S.shape[1]), S / np.abs(S).max()])) < 1e4)


def parts(S):
    """The parts u and G by their definition, from the inverse of the matrix with its row of ones."""
    inverse = np.linalg.inv(np.vstack([np.ones(S.shape[1]), S]))
    return inverse[:, 0], inverse[:, 1:]


def largest_loss(S, B):
    """For the worst query: the largest generalized eigenvalue of the two covariances; and what u loses."""
    (u, G), (own_u, own_G) = parts(S), parts(B)
    space = np.linalg.svd(np.ones((1, S.shape[1])))[2][1:].T
    before, after = (space.T @ X @ X.T @ space for X in (G, own_G))
    ratio = np.linalg.eigvals(np.linalg.solve(before, after)).real.max()
    moved = 1 + np.linalg.norm(own_u - u) / np.linalg.norm(u)
    return max(ratio * (B**2).sum(axis=0).max() / (S**2).sum(axis=0).max(), moved**2) - 1


@given(S=bases)
@settings(max_examples=150)
def test_a_twin_is_the_rounded_matrix_and_costs_exactly_its_largest_column(S):
    matrix, exponent, _ = integer_twin(S)
    assert matrix.dtype == np.int64
    assert not matrix.flags.writeable
    assert (matrix == np.rint(S * 2.0**exponent)).all()
    basis = basis_of(S.shape[1], matrix)
    assert basis.pcost == max(sum(int(x) ** 2 for x in column) for column in matrix.T)
    assert basis.largest_entry == max(abs(int(x)) for x in matrix.ravel())


@given(S=bases, rows=st.integers(1, 8), seed=st.integers(0, 999))
@settings(max_examples=150)
def test_the_loss_is_the_worst_querys_and_below_one_in_ten_thousand_which_a_bit_less_would_not_be(S, rows, seed):
    matrix, exponent, loss = integer_twin(S)
    (u, G), (own_u, own_G) = parts(S), parts(matrix.astype(float))
    cost, own = (S**2).sum(axis=0).max(), (matrix.astype(float) ** 2).sum(axis=0).max()
    W = np.random.default_rng(seed).normal(size=(rows, S.shape[1]))
    for query in (W, np.eye(S.shape[1])):
        before, after = cost * ((query @ G) ** 2).sum(axis=1), own * ((query @ own_G) ** 2).sum(axis=1)
        assert (after <= before * (1 + 1e-4 + 1e-9)).all()
    assert (own_u**2).sum() <= (u**2).sum() * (1 + 1e-4 + 1e-9)
    assert np.linalg.norm(own_u - u) <= 5.1e-5 * np.linalg.norm(u)
    assert 0 <= max(loss, 0) < 1e-4
    assert largest_loss(S, matrix.astype(float)) == pytest.approx(loss, rel=1e-3, abs=1e-8)
    shorter = np.rint(np.ldexp(S, exponent - 1))
    scaled = np.vstack([np.ones(S.shape[1]), shorter / max(np.abs(shorter).max(), 1)])
    if exponent > -math.floor(math.log2(np.abs(S).max())) and np.linalg.cond(scaled) < 1e6:
        assert largest_loss(S, shorter) > 0.999e-4


def test_a_matrix_of_integers_is_its_own_twin():
    sums = np.tril(np.ones((6, 6)))[:-1]
    matrix, exponent, loss = integer_twin(sums * 1024)
    assert (matrix == sums).all()
    assert exponent == -10
    assert loss == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("basis", "reason"),
    [
        ([[1.0, 2.0, 3.0]], r"of shape \(n-1, n\) with n >= 2, got shape \(1, 3\)"),
        ([[1.0]], "got shape"),
        ([1.0, 2.0], "got shape"),
        (np.empty((0, 1)), "got shape"),
        ([[1.0, np.nan]], "must be finite"),
        ([[1.0, np.inf]], "must be finite"),
        ([[1.0, 1.0]], "independent"),
        ([[0.0, 0.0]], "independent"),
        ([[1.0, -1.0, 0.0], [2.0, -2.0, 0.0]], "independent"),
        ([[1.0, -1.0, 0.0], [1.0, -1.0, 1e-14]], "independent"),
    ],
)
def test_matrices_that_are_no_basis_are_refused(basis, reason):
    with pytest.raises(rp.errors.WorkloadError, match=reason):
        integer_twin(basis)
    with pytest.raises(rp.errors.WorkloadError, match="no integer matrix comes close enough to this one"):
        integer_twin(random_basis(5, 3), loss=0.0)
