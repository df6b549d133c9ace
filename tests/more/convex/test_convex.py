"""Any convex loss: the solver's noise spends the cost, nothing near it is better, and the bound holds."""

import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import residualplanner as rp
from noise_problems import problems
from residualplanner.method.noise.choice import minimize_weighted_variance
from residualplanner.method.noise.minimax import minimize_maximum_variance
from residualplanner.more.convex.convex import minimize_convex_loss
from residualplanner.more.convex.convex_noise import minimize_privacy_cost
from slowness import slow

SOLVERS = ["CLARABEL", slow("ECOS")]
SLOPES = np.array([0.3, 2.0, 1.0, 0.1, 5.0])
#: Losses as CVXPY functions, and the same on NumPy vectors.
LOSSES = {
    "sum": (cvxpy.sum, np.sum),
    "weighted sum": (lambda v: SLOPES[: v.size] @ v, lambda v: SLOPES[: v.size] @ v),
    "max": (cvxpy.max, np.max),
    "norm 4": (lambda v: cvxpy.norm(v, 4), lambda v: (v**4).sum() ** 0.25),
    "norm 2": (cvxpy.norm2, lambda v: (v**2).sum() ** 0.5),
    "sum and max": (lambda v: cvxpy.sum(v) + 3 * cvxpy.max(v), lambda v: v.sum() + 3 * v.max()),
}
#: Not proportional to their argument, so that units matter.
BENT = {
    "squares": (cvxpy.sum_squares, lambda v: (v**2).sum()),
    "above a target": (
        lambda v: cvxpy.sum(cvxpy.pos(v - 2)) + 0.1 * cvxpy.max(v),
        lambda v: np.maximum(v - 2, 0).sum() + 0.1 * v.max(),
    ),
    "with a constant": (lambda v: cvxpy.sum(v) + 1, lambda v: v.sum() + 1),
}
ALL = LOSSES | BENT


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=8)
@given(problem=problems(), pcost=st.sampled_from([0.5, 1.0, 4.0]), seed=st.integers(0, 2**32 - 1))
def test_no_other_noise_of_the_same_cost_does_better(solver, name, problem, pcost, seed):
    p, matrix = problem
    loss, value = ALL[name]
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=pcost, solver=solver)
    assert (p / choice.noise_variance).sum() == pytest.approx(pcost, rel=1e-12)
    assert choice.loss == pytest.approx(value(matrix @ choice.noise_variance), rel=1e-10)
    assert choice.bound <= choice.loss
    assert choice.gap < 1e-3
    rng = np.random.default_rng(seed)
    for spread in (1e-3, 0.03, 0.5):
        others = choice.noise_variance * np.exp(rng.normal(scale=spread, size=(60, p.size)))
        others *= (p / others).sum(axis=1, keepdims=True) / pcost
        least = min(value(matrix @ other) for other in others)
        assert least >= choice.loss * (1 - 1e-5)
        assert least >= choice.bound * (1 - 1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=10)
@given(problem=problems(), pcost=st.sampled_from([1e-12, 1e-3, 1.0, 1e5]))
def test_it_agrees_with_the_closed_form_and_the_minimax_search(solver, problem, pcost):
    p, matrix = problem
    weights = SLOPES[: len(matrix)]
    exact = minimize_weighted_variance(p, matrix.T @ weights, pcost=pcost)
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), LOSSES["weighted sum"][0], pcost=pcost, solver=solver)
    assert choice.loss == pytest.approx(exact.loss, rel=1e-6)
    assert choice.bound <= exact.loss * (1 + 1e-10)
    assert choice.gap < 1e-6
    exact = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-9)
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), cvxpy.max, pcost=pcost, solver=solver)
    assert choice.loss == pytest.approx(exact.loss, rel=1e-6)
    assert choice.bound <= exact.loss * (1 + 1e-7)
    assert choice.gap < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=8)
@given(problem=problems())
def test_two_solvers_agree_and_neither_bound_is_above_the_other_loss(name, problem):
    p, matrix = problem
    left, right = (
        minimize_convex_loss(p, sparse.csr_array(matrix), ALL[name][0], pcost=1.0, solver=solver)
        for solver in ("CLARABEL", "ECOS")
    )
    assert left.loss == pytest.approx(right.loss, rel=1e-5)
    assert left.bound <= right.loss * (1 + 1e-7)
    assert right.bound <= left.loss * (1 + 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=8)
@given(problem=problems(), factor=st.sampled_from([0.7, 1.0, 3.0]))
def test_the_least_cost_reaches_the_loss_and_a_little_less_does_not(solver, name, problem, factor):
    p, matrix = problem
    loss, value = ALL[name]
    free = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=1.0, solver=solver)
    at_most = free.loss * factor if name in LOSSES else free.loss
    choice = minimize_privacy_cost(p, sparse.csr_array(matrix), loss, at_most=at_most, solver=solver)
    assert value(matrix @ choice.noise_variance) <= at_most * (1 + 1e-12)
    assert choice.loss == pytest.approx((p / choice.noise_variance).sum(), rel=1e-12)
    assert choice.loss == pytest.approx(1 / factor if name in LOSSES else 1, rel=1e-4)
    assert choice.bound <= (1 / factor if name in LOSSES else 1) * (1 + 1e-6)
    assert choice.gap < 1e-3
    back = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=choice.loss * 0.999, solver=solver)
    assert back.loss > at_most


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("pcost", [1e-30, slow(1e-8), slow(1e8), 1e30])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_proportional_to_noise_are_solved_as_well_at_every_cost(solver, pcost, name):
    p, matrix = np.array([1.0, 0.5, 0.25]), np.array([[1.0, 0.0, 0.0], [0.25, 0.5, 0.0], [0.01, 0.2, 0.9]])
    unit = minimize_convex_loss(p, sparse.csr_array(matrix), LOSSES[name][0], pcost=1.0, solver=solver)
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), LOSSES[name][0], pcost=pcost, solver=solver)
    assert choice.loss * pcost == pytest.approx(unit.loss, rel=1e-7)
    assert choice.gap < 1e-6
    twin = minimize_privacy_cost(p, sparse.csr_array(matrix), LOSSES[name][0], at_most=1 / pcost, solver=solver)
    assert twin.loss / pcost == pytest.approx(unit.loss, rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loss_that_rewards_noise_without_end_has_no_proved_bound(solver):
    p, matrix = np.array([1.0, 0.5]), sparse.csr_array([[1.0, 0.0], [0.3, 0.5]])
    choice = minimize_convex_loss(p, matrix, lambda v: cvxpy.sum(cvxpy.inv_pos(v)), pcost=1.0, solver=solver)
    assert (p / choice.noise_variance).sum() <= 1 + 1e-12
    assert choice.gap == math.inf


@pytest.mark.parametrize("solver", SOLVERS)
def test_cost_is_saved_where_the_loss_asks_for_more_noise(solver):
    p, matrix = np.array([1.0, 0.5]), sparse.csr_array([[1.0, 0.0], [0.3, 0.5]])
    choice = minimize_convex_loss(p, matrix, lambda v: cvxpy.sum_squares(v - 100), pcost=1.0, solver=solver)
    np.testing.assert_allclose(matrix @ choice.noise_variance, 100, rtol=1e-3)
    assert (p / choice.noise_variance).sum() < 0.1


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loss_that_rewards_noise_in_one_query_has_a_proved_bound_where_no_set_is_rewarded(solver):
    p, matrix = np.array([1.0, 0.5]), sparse.csr_array([[1.0, 0.0], [0.3, 0.5]])

    def loss(variance):
        return 10 * variance[1] + cvxpy.pos(50 - variance[0])

    choice = minimize_convex_loss(p, matrix, loss, pcost=1.0, solver=solver)
    slopes = matrix.T @ np.array([-1.0, 10.0])
    assert choice.loss == pytest.approx(50 + minimize_weighted_variance(p, slopes, pcost=1.0).loss, rel=1e-6)
    assert choice.gap < 1e-7


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loss_that_no_noise_reaches_is_refused(solver):
    p, matrix = np.array([1.0, 0.5]), sparse.csr_array([[1.0, 0.0], [0.3, 0.5]])
    with pytest.raises(rp.errors.BudgetError, match="no noise brings the loss down to at_most=3"):
        minimize_privacy_cost(p, matrix, lambda v: cvxpy.max(v) + 5, at_most=3, solver=solver)


@pytest.mark.parametrize("at_most", [math.nan, math.inf, -math.inf])
def test_at_most_must_be_finite(at_most):
    with pytest.raises(rp.errors.BudgetError, match="at_most must be finite"):
        minimize_privacy_cost([1.0], sparse.csr_array([[1.0]]), cvxpy.sum, at_most=at_most)


@pytest.mark.parametrize("pcost", [0.0, -1.0, math.nan, math.inf])
def test_bad_budget_is_refused(pcost):
    with pytest.raises(rp.errors.BudgetError, match="pcost must be positive and finite"):
        minimize_convex_loss([1.0], sparse.csr_array([[1.0]]), cvxpy.sum, pcost=pcost)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda v: cvxpy.sqrt(cvxpy.sum(v)), "must give one convex number .*curvature concave"),
        (lambda v: cvxpy.log(cvxpy.sum_squares(v)), "must give one convex number .*curvature quasiconvex"),
        (lambda v: v, r"must give one convex number .*got shape \(2,\), curvature affine"),
        (lambda v: "small", "the loss must give one convex CVXPY expression, such as .*; it gave str"),
        (lambda v: v["age"], "the loss could not be applied"),
        (lambda v: v.nonsense, "the loss could not be applied"),
        (lambda v: 3.0, "the loss must depend on the variances"),
        (lambda v: math.nan, "the loss must depend on the variances"),
        (lambda v: None, "the loss must depend on the variances"),
    ],
)
def test_losses_that_are_none_are_refused(loss, message):
    matrix = sparse.csr_array([[1.0, 0.0], [0.3, 0.5]])
    with pytest.raises(rp.errors.WorkloadError, match=message):
        minimize_convex_loss([1.0, 0.5], matrix, loss, pcost=1.0)
    with pytest.raises(rp.errors.WorkloadError, match=message):
        minimize_privacy_cost([1.0, 0.5], matrix, loss, at_most=1.0)


@pytest.mark.parametrize("solver", ["NOPE", "MOSEK"])
def test_a_solver_that_is_not_there_is_named(solver):
    with pytest.raises(rp.errors.SolverError, match=f"the solver {solver} is not installed; write one of") as caught:
        minimize_convex_loss([1.0], sparse.csr_array([[1.0]]), cvxpy.max, pcost=1.0, solver=solver)
    assert caught.value.status == "error"


def test_a_base_mechanism_that_matters_to_no_query_is_refused():
    with pytest.raises(ValueError, match="every base mechanism must matter to some query"):
        minimize_convex_loss([1.0, 1.0], sparse.csr_array([[1.0, 0.0]]), cvxpy.max, pcost=1.0)


@st.composite
def several_costs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Several rows of costs, in which entries may be 0 but no column is, with a matrix."""
    p, matrix = draw(problems())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ways = draw(st.integers(1, 5))
    rows = p * rng.uniform(0.2, 1, size=(ways, p.size)) * (rng.random((ways, p.size)) < 0.7)
    rows[rng.integers(ways, size=p.size), np.arange(p.size)] += 0.1
    return rows, matrix


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=8)
@given(problem=several_costs(), pcost=st.sampled_from([0.5, 1.0, 4.0]), seed=st.integers(0, 2**32 - 1))
def test_of_several_costs_the_largest_counts_and_no_other_noise_of_it_does_better(solver, name, problem, pcost, seed):
    rows, matrix = problem
    loss, value = LOSSES[name]
    choice = minimize_convex_loss(rows, sparse.csr_array(matrix), loss, pcost=pcost, solver=solver)
    assert (rows @ (1 / choice.noise_variance)).max() == pytest.approx(pcost, rel=1e-9)
    assert choice.loss == pytest.approx(value(matrix @ choice.noise_variance), rel=1e-9)
    assert choice.gap < 1e-3
    rng = np.random.default_rng(seed)
    for spread in (1e-3, 0.05, 1.0):
        others = choice.noise_variance * np.exp(rng.normal(scale=spread, size=(50, rows.shape[1])))
        others *= (rows @ (1 / others).T).max(axis=0)[:, None] / pcost
        least = min(value(matrix @ other) for other in others)
        assert least >= choice.loss * (1 - 1e-5)
        assert least >= choice.bound * (1 - 1e-7)
    back = minimize_privacy_cost(rows, sparse.csr_array(matrix), loss, at_most=choice.loss, solver=solver)
    assert back.loss == pytest.approx(pcost, rel=1e-4)
    assert (rows @ (1 / back.noise_variance)).max() == pytest.approx(back.loss, rel=1e-9)
    assert value(matrix @ back.noise_variance) <= choice.loss * (1 + 1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=20)
@given(problem=several_costs())
def test_with_several_costs_a_maximum_is_what_the_search_finds(solver, problem):
    rows, matrix = problem
    searched = minimize_maximum_variance(rows, sparse.csr_array(matrix), pcost=1.0, gap=1e-8)
    choice = minimize_convex_loss(rows, sparse.csr_array(matrix), cvxpy.max, pcost=1.0, solver=solver)
    assert choice.loss == pytest.approx(searched.loss, rel=1e-5)
    assert choice.bound <= searched.loss * (1 + 1e-6)
