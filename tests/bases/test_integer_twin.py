"""A twin is whole, close to what it stands for, costs exactly what it says, and answers without bias."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residualplanner.bases import IntegerTwin, integer_twin
from residualplanner.errors import WorkloadError
from residualplanner.kron import differences_of_tables, integer_products
from residualplanner.measurement.discrete_gaussian import InsecureTestBits, Scales
from residualplanner.measurement.discrete_gaussian.drawing import draw_flat


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


@given(S=bases)
@settings(max_examples=150)
def test_a_twin_is_the_rounded_matrix_and_costs_exactly_its_largest_column(S):
    twin = integer_twin(S)
    assert twin.matrix.dtype == np.int64
    assert (twin.matrix == np.rint(S * 2.0**twin.exponent)).all()
    assert twin.pcost == max(sum(int(x) ** 2 for x in column) for column in twin.matrix.T)
    assert type(twin.pcost) is int
    assert twin.largest_entry == max(abs(int(x)) for x in twin.matrix.ravel())


@given(S=bases, rows=st.integers(1, 8), seed=st.integers(0, 999))
@settings(max_examples=150)
def test_at_equal_cost_variances_grow_by_less_than_one_in_ten_thousand(S, rows, seed):
    """For random queries, and for all at once: the largest generalized eigenvalue is within the stated loss."""
    twin = integer_twin(S)
    u, G = parts(S)
    cost = (S**2).sum(axis=0).max()
    W = np.random.default_rng(seed).normal(size=(rows, S.shape[1]))
    for query in (W, np.eye(S.shape[1])):
        before = cost * ((query @ G) ** 2).sum(axis=1)
        after = float(twin.pcost) * ((query @ twin.G) ** 2).sum(axis=1)
        assert (after <= before * (1 + 1e-4 + 1e-9)).all()
    assert (twin.u**2).sum() <= (u**2).sum() * (1 + 1e-4 + 1e-9)
    assert np.linalg.norm(twin.u - u) <= 5.1e-5 * np.linalg.norm(u)
    assert 0 <= max(twin.loss, 0) < 1e-4


def largest_loss(S, B):
    """For the worst query: the largest generalized eigenvalue of the two covariances; and what u loses."""
    (u, G), (own_u, own_G) = parts(S), parts(B)
    size = S.shape[1]
    space = np.linalg.svd(np.ones((1, size)))[2][1:].T
    before, after = (space.T @ X @ X.T @ space for X in (G, own_G))
    ratio = np.linalg.eigvals(np.linalg.solve(before, after)).real.max()
    moved = 1 + np.linalg.norm(own_u - u) / np.linalg.norm(u)
    return max(ratio * (B**2).sum(axis=0).max() / (S**2).sum(axis=0).max(), moved**2) - 1


@given(S=bases)
@settings(max_examples=100)
def test_the_loss_is_the_worst_querys_and_one_bit_less_would_lose_too_much(S):
    twin = integer_twin(S)
    assert largest_loss(S, twin.matrix.astype(float)) == pytest.approx(twin.loss, rel=1e-3, abs=1e-8)
    shorter = np.rint(np.ldexp(S, twin.exponent - 1))
    first = -math.floor(math.log2(np.abs(S).max()))
    if (
        twin.exponent > first
        and np.linalg.cond(np.vstack([np.ones(S.shape[1]), shorter / max(np.abs(shorter).max(), 1)])) < 1e6
    ):
        assert largest_loss(S, shorter) > 0.999e-4


def test_a_whole_number_matrix_is_its_own_twin():
    sums = np.tril(np.ones((6, 6)))[:-1]
    twin = integer_twin(sums * 1024)
    assert (twin.matrix == sums).all()
    assert (twin.exponent, twin.pcost) == (-10, 5)
    assert twin.loss == pytest.approx(0, abs=1e-12)


@given(S=bases)
@settings(max_examples=100)
def test_answers_give_back_the_counts(S):
    """[u | G] is the inverse of the row of ones above B: estimates are unbiased."""
    twin = integer_twin(S)
    size = S.shape[1]
    B = twin.matrix.astype(float)
    identity = np.outer(twin.u, np.ones(size)) + twin.G @ B
    np.testing.assert_allclose(identity, np.eye(size), atol=1e-9)
    np.testing.assert_allclose(B @ twin.u, 0, atol=1e-9 * np.abs(B).max())
    np.testing.assert_allclose(twin.G.sum(axis=0), 0, atol=1e-9 * np.abs(twin.G).max())
    assert twin.u.sum() == pytest.approx(1)


def exact_inverse(matrix):
    """Gauss and Jordan in fractions."""
    size = len(matrix)
    rows = [[*map(Fraction, row), *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = next(row for row in range(column, size) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for other in range(size):
            if other != column:
                factor = rows[other][column]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    return [row[size:] for row in rows]


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_u_and_g_are_the_exact_inverse_rounded(size):
    twin = integer_twin(random_basis(size, size))
    exact = exact_inverse([[1] * size, *twin.matrix.tolist()])
    for row, u, G in zip(exact, twin.u, twin.G, strict=True):
        assert u == pytest.approx(float(row[0]), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(G, [float(x) for x in row[1:]], rtol=1e-7, atol=1e-12 * np.abs(twin.G).max())


#: One attribute with a twin of a random basis, one with the identity, one with a twin of centered prefix sums.
TWINS = (integer_twin(random_basis(4, 1)), None, integer_twin(prefix_basis(3)))
SIZES = (4, 3, 3)


def dense_rows(twin, size):
    return twin.matrix.astype(object) if twin is not None else size * np.eye(size, dtype=int).astype(object) - 1


def dense_product():
    product = np.ones((1, 1), dtype=object)
    for twin, size in zip(TWINS, SIZES, strict=True):
        product = np.kron(product, dense_rows(twin, size))
    return product


def attribute_cost(twin: IntegerTwin | None, size: int) -> int:
    return size * (size - 1) if twin is None else twin.pcost


def test_twins_and_identity_attributes_are_measured_exactly_in_one_product():
    counts = np.random.default_rng(2).integers(0, 10**12, (2, *SIZES))
    matrices = [None if twin is None else twin.matrix for twin in TWINS]
    room = int(counts.sum()) * math.prod(3 if twin is None else twin.largest_entry for twin in TWINS)
    found = integer_products(counts.astype(object), matrices)
    for table, answers in zip(counts, found, strict=True):
        assert (answers.ravel() == dense_product() @ table.ravel().astype(object)).all()
    assert max(abs(found.ravel())) <= room
    small = counts % 1000
    assert (integer_products(small, matrices) == integer_products(small.astype(object), matrices)).all()


def test_a_record_moves_the_answers_by_at_most_the_product_of_the_costs():
    """The largest column of the dense matrix: its cell has every attribute's largest column at once."""
    columns = dense_product().T
    largest = max(sum(entry**2 for entry in column) for column in columns)
    assert largest == math.prod(attribute_cost(twin, size) for twin, size in zip(TWINS, SIZES, strict=True))


def test_the_answers_have_the_dense_covariance_and_the_tables_no_bias():
    """2,000 draws of fixed bits: estimates by u and G of the part that all three attributes share.

    Power: a variance off by 15% is found with probability above 0.99.
    """
    repeats, gamma2 = 2000, 10**12
    counts = np.random.default_rng(2).integers(0, 50, SIZES)
    matrices = [None if twin is None else twin.matrix for twin in TWINS]
    exact = integer_products(counts[None], matrices)
    noise = draw_flat(Scales.of_ratios([gamma2], [1]), [repeats * exact.size], InsecureTestBits(8))
    noisy = exact + noise.reshape(repeats, *exact.shape[1:])
    # After the noise the identity's attribute takes differences, as ever.
    answers = differences_of_tables(noisy.transpose(0, 1, 3, 2).reshape(-1, SIZES[1]))
    answers = answers.reshape(repeats, noisy.shape[1], noisy.shape[3], SIZES[1] - 1).transpose(0, 1, 3, 2) / SIZES[1]

    subtraction = np.hstack([np.ones((2, 1)), -np.eye(2)])
    back = [TWINS[0].G, np.linalg.pinv(subtraction), TWINS[2].G]
    rows = [TWINS[0].matrix, subtraction, TWINS[2].matrix]
    factor = [TWINS[0].G, np.linalg.pinv(subtraction) @ subtraction / SIZES[1], TWINS[2].G]
    G, S, F = (np.kron(np.kron(a, b), c).astype(float) for a, b, c in (back, rows, factor))
    estimates = answers.reshape(repeats, -1) @ G.T
    truth = G @ S @ counts.ravel()
    covariance = gamma2 * F @ F.T
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values.max() * 1e-9
    assert kept.sum() == math.prod(size - 1 for size in SIZES)
    white = (estimates - truth) @ vectors[:, kept] / np.sqrt(values[kept])
    assert np.abs(white.mean(axis=0)).max() < 5.5 / math.sqrt(repeats)
    assert np.abs(white.var(axis=0) - 1).max() < 6 * math.sqrt(2 / repeats)
    correlation = (white.T @ white / repeats)[~np.eye(white.shape[1], dtype=bool)]
    assert np.abs(correlation).max() < 6 / math.sqrt(repeats)


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
    with pytest.raises(WorkloadError, match=reason):
        integer_twin(basis)


def test_a_loss_that_no_whole_numbers_reach_is_refused():
    with pytest.raises(WorkloadError, match="no whole-number matrix comes close enough to this one"):
        integer_twin(random_basis(5, 3), loss=0.0)
