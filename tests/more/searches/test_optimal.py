"""The best residual basis is a convex problem: its solution, its certificate, and its integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import residualplanner as rp
from random_plans import basis_of
from residualplanner import Hierarchy, Prefix, Range
from residualplanner.more.searches.optimal import optimal_residuals, zero_sum_basis
from residualplanner.more.searches.rounding import rounded_matrix

KINDS = [Prefix(), Range()]


def objective(S, present, absent):
    """``p tr(V_t G G^T) + u^T V_s u`` by its definition."""
    inverse = np.linalg.inv(np.vstack([np.ones(S.shape[1]), S]))
    u, G = inverse[:, 0], inverse[:, 1:]
    return (S * S).sum(axis=0).max() * np.trace(present @ G @ G.T) + u @ absent @ u


def random_gram(seed, size):
    rows = np.random.default_rng(seed).normal(size=(size + 2, size))
    return rows.T @ rows


@given(seed=st.integers(0, 999), size=st.integers(2, 7), weight=st.sampled_from([0.01, 1.0, 30.0]))
@settings(max_examples=40)
def test_no_basis_does_better_than_the_bound(seed, size, weight):
    """Random bases, and bases near the solution: none is better by more than the gap."""
    present, absent = random_gram(seed, size), weight * random_gram(seed + 1, size)
    found = optimal_residuals(present, absent)
    value = objective(found.S, present, absent)
    assert found.gap <= 5e-3
    generator = np.random.default_rng(seed)
    for scale in np.repeat([1e-3, 1e-2, 0.1, 1.0], 20):
        other = found.S + scale * generator.normal(size=found.S.shape)
        assert objective(other, present, absent) >= value * (1 - found.gap - 1e-12)


@given(seed=st.integers(0, 999), size=st.integers(2, 12))
@settings(max_examples=40)
def test_a_kept_u_is_kept_and_the_best_among_its_bases(seed, size):
    generator = np.random.default_rng(seed)
    present, nothing, u = random_gram(seed, size), np.zeros((size, size)), generator.dirichlet(np.ones(size))
    found = optimal_residuals(present, u=u)
    assert np.allclose(found.S @ u, 0, atol=1e-9)
    value, keeps_u = objective(found.S, present, nothing), np.eye(size) - np.outer(u, np.ones(size))
    for scale in np.repeat([1e-2, 0.3], 20):
        other = (found.S + scale * generator.normal(size=found.S.shape)) @ keeps_u
        assert objective(other, present, nothing) >= value * (1 - found.gap - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "weight", "better"),
    [(kind, weight, 0.0) for kind in KINDS for weight in (0.1, 1.0)] + [(Prefix(), 20.0, 0.05)],
)
def test_a_general_optimizer_finds_nothing_better(kind, weight, better):
    """Equation (29) by L-BFGS over ``K = A^T A`` with columns of length 1, from several starts.

    Where the total matters much, bases whose columns are not all equally long are better than any such K.
    """
    size = 6
    gram = kind.gram(size)

    def loss(flat):
        A = flat.reshape(size, size)
        K_inverse = np.linalg.inv((A / np.linalg.norm(A, axis=0)).T @ (A / np.linalg.norm(A, axis=0)))
        c = 1 / K_inverse.sum()
        u = c * K_inverse.sum(axis=1)
        s = u @ gram @ u
        return (np.trace(gram @ K_inverse) - s / c) * (1 - c) + weight * s

    generator = np.random.default_rng(0)
    starts = [np.linalg.cholesky(gram).T, *(np.eye(size) + 0.3 * generator.normal(size=(size, size)) for _ in range(4))]
    theirs = min(minimize(loss, start.ravel(), method="L-BFGS-B", options={"maxiter": 2000}).fun for start in starts)
    ours = objective(optimal_residuals(gram, weight * gram, gap=1e-7).S, gram, weight * gram)
    assert ours <= theirs * (1 - better + 1e-6)
    assert ours >= theirs * (0.8 if better else 1 - 1e-4)


def test_identity_has_the_orthogonal_basis():
    found = optimal_residuals(np.eye(5), 3 * np.eye(5), gap=1e-9)
    assert np.allclose(found.u, 0.2)
    assert np.allclose(found.S.T @ found.S, (np.eye(5) - 0.2) / 0.8, atol=1e-6)


@given(seed=st.integers(0, 999), size=st.sampled_from([32, 33, 48]), weight=st.sampled_from([0.0, 1.0, 30.0]))
@settings(max_examples=10)
def test_problems_that_reversal_leaves_alone_are_solved_in_halves_to_the_same_optimum(seed, size, weight):
    """A little that is not the same from both ends has the same problem solved whole."""
    form = random_gram(seed, size)
    gram = form + np.flip(form)
    slope = np.random.default_rng(seed).normal(size=size)
    slope += slope[::-1]
    tilted = gram + 1e-9 * np.diag(np.arange(size))
    how = {"linear": 0.1 * slope, "constant": 10.0, "gap": 1e-6} if weight else {"gap": 1e-6}
    halves, whole = (optimal_residuals(each, weight * each if weight else None, **how) for each in (gram, tilted))
    assert max(halves.gap, whole.gap) <= 2e-6
    assert np.allclose(halves.u, halves.u[::-1])
    assert np.allclose(halves.multipliers, halves.multipliers[::-1])
    assert halves.bound <= objective(whole.S, gram, weight * gram) + (0.2 * slope @ whole.u + 10 if weight else 0)
    value = objective(halves.S, gram, weight * gram) + (0.2 * slope @ halves.u + 10 if weight else 0)
    assert whole.bound * (1 - 1e-6) <= value <= halves.bound / (1 - halves.gap) * (1 + 1e-9)


def test_a_later_solution_starts_from_an_earlier_one():
    gram = Prefix().gram(40)
    before = optimal_residuals(gram, gram)
    after = optimal_residuals(gram, 1.01 * gram, start=before, steps=3)
    assert after.gap < 1e-3
    assert optimal_residuals(gram, 1.01 * gram, steps=3).gap > 10 * after.gap


def test_what_no_query_depends_on_costs_next_to_nothing():
    """A Gram matrix of rank 2 on 6 values: nearly what the two rows alone would cost."""
    rows = np.vstack([np.ones(6), np.arange(6.0)])
    gram = rows.T @ rows
    found, alone = optimal_residuals(gram, gram), optimal_residuals(gram + 1e-3 * np.eye(6), gram)
    assert objective(found.S, gram, gram) <= objective(alone.S, gram, gram)
    assert np.isfinite(np.linalg.inv(np.vstack([np.ones(6), found.S]))).all()


@pytest.mark.parametrize("size", [2, 3, 50])
def test_zero_sum_basis_is_orthonormal_and_sums_to_zero(size):
    Z = zero_sum_basis(size)
    assert np.allclose(Z.T @ Z, np.eye(size - 1))
    assert np.allclose(Z.sum(axis=0), 0)


@pytest.mark.parametrize("kind", [*KINDS, Hierarchy([4, 2])], ids=lambda kind: kind.name)
@pytest.mark.parametrize("size", [8, 40])
def test_columns_of_integers_keep_their_lengths(kind, size):
    """Rounding to the nearest would lengthen some column by far more, and the longest is paid for."""
    gram = Prefix().gram(size) if kind.name == "hierarchy" else kind.gram(size)
    found = optimal_residuals(gram, gram, gap=1e-6)
    for exponent in (7, 9, 11):
        scaled = np.ldexp(found.S, exponent)
        wanted, lengths = ((x * x).sum(axis=0).max() for x in (scaled, rounded_matrix(found.S, exponent)))
        nearest = (np.rint(scaled) ** 2).sum(axis=0).max()
        assert abs(lengths - wanted) <= max(abs(nearest - wanted) / 3, 8 * 2.0**exponent / size)
        assert np.abs(rounded_matrix(found.S, exponent) - scaled).max() < 8


@pytest.mark.parametrize("slack", [0.0, 1e-5, 1e-3])
def test_lengths_within_the_slack_are_left_alone(slack):
    S = np.random.default_rng(1).normal(size=(9, 10))
    wanted = np.ldexp(S, 14)
    longest = (wanted**2).sum(axis=0).max()
    matrix, nearest = rounded_matrix(S, 14, slack), np.rint(wanted)
    off = abs((nearest**2).sum(axis=0) - (wanted**2).sum(axis=0)) / longest
    assert (matrix[:, off <= slack] == nearest[:, off <= slack]).all()
    assert (abs((matrix.astype(float) ** 2).sum(axis=0) - (wanted**2).sum(axis=0)) <= max(slack, 1e-6) * longest).all()
    if slack == 0.0:
        assert (matrix != nearest).any()


def test_integers_lose_a_hundredth_of_a_percent_with_ten_digits():
    for kind in KINDS:
        gram = kind.gram(60)
        found = optimal_residuals(gram, gram, gap=1e-6)
        least = objective(found.S, gram, gram)
        assert objective(rounded_matrix(found.S, 10).astype(float), gram, gram) < least * (1 + 1e-4)
        assert objective(np.rint(np.ldexp(found.S, 10)), gram, gram) > least * (1 + 3e-4)


@given(seed=st.integers(0, 999), size=st.integers(2, 8), extra=st.integers(0, 3), noisy=st.booleans())
def test_algorithm_4_keeps_what_a_strategy_says_apart_from_the_total(seed, size, extra, noisy):
    S = np.random.default_rng(seed).normal(size=(size + extra, size))
    C = random_gram(seed + 1, size + extra) + np.eye(size + extra) if noisy else None
    Sub = rp.strategies.orthogonal_residuals(S, C)
    centered = S - S.mean(axis=1, keepdims=True)
    precision = np.eye(size + extra) if C is None else np.linalg.inv(C)
    assert Sub.shape == (size - 1, size)
    assert np.allclose(Sub @ np.ones(size), 0)
    assert np.allclose(Sub.T @ Sub, centered.T @ precision @ centered)


@pytest.mark.parametrize(
    ("strategy", "covariance", "words"),
    [
        (np.ones(3), None, "shape"),
        (np.eye(3)[:1], None, "shape"),
        (np.full((3, 3), np.nan), None, "finite"),
        (np.ones((4, 3)), None, "independent columns"),
        (np.eye(3), np.eye(2), "covariance must be symmetric"),
        (np.eye(3), -np.eye(3), "positive definite"),
    ],
)
def test_strategies_that_cannot_be_are_refused(strategy, covariance, words):
    with pytest.raises(rp.errors.WorkloadError, match=words):
        rp.strategies.orthogonal_residuals(strategy, covariance)


@pytest.mark.parametrize(
    "matrix", [[[1, 1, 1], [1, 0, -1]], [[1, -1, 0], [10**6, -(10**6), 0]], [[0, 0, 0], [1, 0, 0]]]
)
def test_an_integer_basis_must_be_well_conditioned(matrix):
    with pytest.raises(rp.errors.WorkloadError, match="independent"):
        basis_of(3, matrix)
