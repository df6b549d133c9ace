"""A basis of integers: its parts invert it, its numbers are those of its columns, equal ones are known as such.

The numbers of the subtraction basis are those of its explicit matrices.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
import residualplanner as rp
from random_plans import basis_of
from residualplanner.testing.bases import check_basis, require_basis


def integer_basis(matrix):
    return basis_of(np.shape(matrix)[-1], matrix)


def subtraction_basis(size):
    return basis_of(size, None)


def random_matrix(size, rows, seed, most=20):
    """Integers whose rows, with a row of ones, are far from dependent."""
    chance = np.random.default_rng(seed)
    while True:
        B = chance.integers(-most, most, (rows, size), endpoint=True)
        if np.linalg.cond(np.vstack([np.ones(size), B / max(1, np.abs(B).max())])) < 1e3:
            return B


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    size = draw(st.integers(2, 9))
    return random_matrix(size, draw(st.integers(1, size - 1)), draw(st.integers(0, 10**6)))


@given(B=matrices())
def test_a_basis_has_the_parts_the_costs_and_the_pairs_of_its_matrix(B):
    basis = integer_basis(B)
    assert (require_basis(basis) == B).all()
    assert isinstance(basis.pcost, Fraction)


@given(B=matrices(), seed=st.integers(0, 99))
def test_exactly_the_combinations_of_the_rows_and_the_total_are_spanned(B, seed):
    basis, chance = integer_basis(B), np.random.default_rng(seed)
    T = np.vstack([np.ones(basis.size), B])
    assert basis.spans_rows(chance.normal(size=(3, len(T))) @ T)
    assert basis.spans_rows(np.eye(basis.size)) == (len(B) == basis.size - 1)
    outside = np.eye(basis.size) - np.linalg.pinv(T) @ T
    if len(B) < basis.size - 1:
        assert not basis.spans_rows(np.vstack([T, 1e-5 * outside / np.abs(outside).max()]))


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_u_and_g_are_the_exact_inverse_rounded(size):
    basis = integer_basis(random_matrix(size, size - 1, size, most=3000))
    exact = dense.exact_inverse([[1] * size, *basis.matrix.tolist()])
    for row, u, G in zip(exact, basis.u, basis.G, strict=True):
        assert u == pytest.approx(float(row[0]), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(G, [float(x) for x in row[1:]], rtol=1e-7, atol=1e-12 * np.abs(basis.G).max())


def test_bases_have_one_key_exactly_where_they_are_equal():
    B, other = [[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 2, 0]]
    bases = [
        subtraction_basis(3),
        integer_basis(B),
        subtraction_basis(4),
        integer_basis(other),
        integer_basis(np.array(B)),
        subtraction_basis(3),
        integer_basis(B[:1]),
    ]
    keys = [basis.key for basis in bases]
    assert [keys.index(key) for key in keys] == [0, 1, 2, 3, 1, 0, 6]


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([[1.0, -1.0]], r"integers of shape \(m, n\), 1 <= m < n, got float64 \(1, 2\)"),
        ([1, -1], "got int64"),
        ([[1]], "got int64"),
        ([[1, 0], [0, 1]], "got int64"),
        (np.empty((0, 3), dtype=int), "got int64"),
        ([[2**50 + 1, 0]], r"entries of at most 2\*\*50"),
        ([[-(2**63), 0]], r"entries of at most 2\*\*50"),
        ([[1, 1]], "independent of one another and of a row of ones"),
        ([[0, 0]], "independent"),
        ([[1, -1, 0], [2, -2, 0]], "independent"),
        ([[2**50, 2**50 - 1, 2**50]], "independent"),
    ],
)
def test_matrices_that_are_no_basis_are_refused(matrix, reason):
    with pytest.raises(rp.errors.WorkloadError, match=reason):
        integer_basis(matrix)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12])
def test_the_subtraction_basis_has_the_cost_and_covariances_of_its_matrices(size):
    basis = subtraction_basis(size)
    check_basis(basis)
    assert basis.pcost == Fraction(size - 1, size)
