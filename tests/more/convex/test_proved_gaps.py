"""A gap of a convex loss is a proof: no noise is better than it allows, whatever the loss, its scale and its kinks."""

import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

import residualplanner as rp
from noise_problems import problems
from residualplanner.more.convex.convex import minimize_convex_loss
from residualplanner.more.convex.convex_noise import minimize_privacy_cost
from slowness import slow

WEIGHTS = np.array([0.3, 2.0, 1.0, 0.1, 5.0])
P, M = np.array([1.0, 0.5]), sparse.csr_array([[1.0, 0.0], [0.3, 0.5]])


def powers(exponent):
    return (
        lambda v: cvxpy.sum(cvxpy.power(v, exponent)),
        lambda y: (y**exponent).sum(),
        lambda y: exponent * y ** (exponent - 1),
    )


#: Losses as CVXPY functions, and their values and slopes written by hand.
SMOOTH = {
    "cubes": powers(3),
    "powers of 1.2": powers(1.2),
    "squares": powers(2),
    "eighth powers": powers(8),
    "cubes and variances": (
        lambda v: cvxpy.sum(cvxpy.power(v, 3)) + WEIGHTS[: v.size] @ v,
        lambda y: (y**3).sum() + WEIGHTS[: y.size] @ y,
        lambda y: 3 * y**2 + WEIGHTS[: y.size],
    ),
    "softplus": (
        lambda v: cvxpy.sum(cvxpy.logistic(v - 3)),
        lambda y: np.logaddexp(0, y - 3).sum(),
        lambda y: 1 / (1 + np.exp(3 - y)),
    ),
}
#: Losses with kinks, on CVXPY vectors.
BENT = {
    "max": cvxpy.max,
    "norm of infinity": lambda v: cvxpy.norm(v, "inf"),
    "sum of the two largest": lambda v: cvxpy.sum_largest(v, min(2, v.size)),
    "max and squares": lambda v: cvxpy.max(v) + 0.3 * cvxpy.sum_squares(v),
    "above a target": lambda v: cvxpy.sum(cvxpy.pos(v - 2)) + 0.1 * cvxpy.max(v),
    "huber": lambda v: cvxpy.sum(cvxpy.huber(v, 1)),
    "largest of norms": lambda v: cvxpy.maximum(cvxpy.norm(v, 2), 0.7 * cvxpy.norm(v, 1)),
    "norm above a target": lambda v: cvxpy.norm(cvxpy.pos(v - 1), 2) + 0.2 * cvxpy.sum(v),
    "quadratic over linear": lambda v: cvxpy.quad_over_lin(v, 1 + cvxpy.sum(v)),
    "ordered weights": lambda v: cvxpy.dotsort(v, np.arange(v.size) + 1.0),
    "tiny": lambda v: 1e-12 * cvxpy.max(v),
    "huge": lambda v: 1e12 * cvxpy.max(v),
    "one query": lambda v: v[0],
}


def least(p, matrix, value, slope, pcost):
    """The least loss by a quasi-Newton search over logarithms of the noise, in which increasing losses are convex."""

    def spent(x):
        u = np.exp(x)
        return u, u * (p / u).sum() / pcost

    def objective(x):
        u, s = spent(x)
        y = matrix @ s
        g = matrix.T @ slope(y)
        return value(y), g * s - (g @ u) * (p / u) / pcost

    size = value(matrix @ spent(np.zeros(p.size))[1])
    found = optimize.minimize(
        lambda x: tuple(np.array(part) / size for part in objective(x)),
        np.zeros(p.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-13},
    )
    return objective(found.x)[0]


@pytest.mark.slow
@pytest.mark.parametrize("pcost", [slow(1e-2), 1.0, slow(1e3)])
@pytest.mark.parametrize("name", SMOOTH)
@settings(max_examples=6)
@given(problem=problems())
def test_both_forms_find_the_optimum_and_neither_bound_is_above_it(name, pcost, problem):
    p, matrix = problem
    loss, value, slope = SMOOTH[name]
    best = least(p, matrix, value, slope, pcost)
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=pcost)
    assert choice.bound <= best * (1 + 1e-12)
    assert choice.loss == pytest.approx(best, rel=1e-6)
    assert choice.gap < 1e-5
    twin = minimize_privacy_cost(p, sparse.csr_array(matrix), loss, at_most=best)
    assert value(matrix @ twin.noise_variance) <= best
    assert twin.bound <= pcost * (1 + 1e-7)
    assert twin.loss <= pcost * (1 + 1e-4)
    assert twin.loss <= twin.bound * (1 + twin.gap) * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("pcost", [slow(1e-2), 1.0, slow(1e2)])
@pytest.mark.parametrize("name", BENT)
@settings(max_examples=5)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_at_kinks_the_gap_is_small_and_nothing_is_below_the_bound(name, pcost, problem, seed):
    p, matrix = problem
    loss = BENT[name]
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=pcost)
    other = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=pcost, solver="ECOS")
    variance = cvxpy.Variable(len(matrix))
    expression, rng = loss(variance), np.random.default_rng(seed)
    values = [choice.loss, other.loss]
    for spread in (1e-4, 1e-2, 0.3):
        noise = choice.noise_variance * np.exp(rng.normal(scale=spread, size=(20, p.size)))
        noise *= (p / noise).sum(axis=1, keepdims=True) / pcost
        for point in noise @ matrix.T:
            variance.value = point
            values.append(float(expression.value))
    assert max(choice.bound, other.bound) <= min(values) * (1 + 1e-11)
    assert choice.loss == pytest.approx(other.loss, rel=1e-6)
    assert choice.gap < 1e-6
    back = minimize_privacy_cost(p, sparse.csr_array(matrix), loss, at_most=choice.loss)
    assert back.bound <= pcost * (1 + 1e-11)
    assert back.loss <= pcost * (1 + 1e-6)


def test_cubes_reach_their_loss_at_the_cost_in_closed_form():
    """Of one query on one set ``(p / c)**3`` is the loss."""
    choice = minimize_privacy_cost([0.5], sparse.csr_array([[1.0]]), SMOOTH["cubes"][0], at_most=(0.5 / 1000) ** 3)
    assert choice.loss == pytest.approx(1000, rel=1e-10)
    assert choice.gap < 1e-9


def test_a_loss_of_which_cvxpy_has_no_gradient_has_no_bound_and_says_so():
    def loss(variance):
        return cvxpy.sum(cvxpy.cummax(variance))

    choice = minimize_convex_loss(P, M, loss, pcost=1.0)
    assert choice.gap == math.inf
    assert choice.status.endswith("no bound: CVXPY has no gradient of this loss that proves one")
    back = minimize_privacy_cost(P, M, loss, at_most=choice.loss)
    assert back.loss == pytest.approx(1.0, rel=1e-6)
    assert back.gap == math.inf


def test_a_wrong_gradient_proves_nothing(monkeypatch):
    atom = type(cvxpy.sum_squares(cvxpy.Variable(2)))
    right = atom._grad
    monkeypatch.setattr(atom, "_grad", lambda self, values: [3 * part for part in right(self, values)])
    assert minimize_convex_loss(P, M, cvxpy.sum_squares, pcost=1.0).gap == math.inf


@pytest.mark.slow
def test_a_loss_that_is_0_from_some_noise_on_is_reached_there():
    choice = minimize_privacy_cost([1.0], sparse.csr_array([[1.0]]), lambda v: cvxpy.sum(cvxpy.pos(v - 2)), at_most=0.0)
    assert choice.loss == pytest.approx(0.5, rel=1e-6)
    assert choice.bound <= 0.5


def test_a_loss_that_any_noise_keeps_within_is_refused():
    with pytest.raises(rp.errors.BudgetError, match="at_most=5 is reached by noise of any size"):
        minimize_privacy_cost(P, M, lambda v: cvxpy.sum(cvxpy.inv_pos(v)), at_most=5)


def test_a_loss_that_overflows_is_refused():
    with pytest.raises(rp.errors.SolverError):
        minimize_convex_loss(P, M, lambda v: cvxpy.sum(cvxpy.exp(v)), pcost=1e-6)


def broken(_variance):
    raise KeyError("no such table")


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (broken, "could not be applied to a CVXPY vector of variances: KeyError: 'no such table'; write a function"),
        (lambda: 1.0, "could not be applied .*: TypeError: .*; write a function of that one vector with CVXPY's own"),
        (max, "could not be applied .*: NotImplementedError: .*not with those of NumPy or Python"),
        (np.sqrt, "could not be applied .*: RuntimeError: .*not with those of NumPy or Python"),
        (np.max, "could not be applied .*: TypeError: .*not with those of NumPy or Python"),
        (lambda v: cvxpy.sum(v) * math.nan, "holds a number that is not finite"),
        (lambda v: cvxpy.sum(v) + math.inf, "holds a number that is not finite"),
        (lambda v: cvxpy.sum(v) * 1j, "got complex numbers"),
        (lambda v: cvxpy.Minimize(cvxpy.sum(v)), "must give one convex CVXPY expression, such as .*; it gave Minimize"),
        (lambda v: cvxpy.sum(v) <= 3, "must give one convex CVXPY expression, such as .*; it gave Inequality"),
        (lambda v: (cvxpy.sum(v), 1), "must give one convex CVXPY expression, such as .*; it gave tuple"),
        (lambda v: cvxpy.sum(v) + cvxpy.pos(cvxpy.Variable()), "must not have CVXPY variables of its own"),
        (lambda v: cvxpy.sum(v) * cvxpy.Parameter(nonneg=True), "a CVXPY parameter without a value"),
    ],
)
@pytest.mark.parametrize("limit", ["pcost", "at_most"])
def test_what_is_wrong_with_a_loss_is_told_with_what_to_write(loss, message, limit):
    search = minimize_convex_loss if limit == "pcost" else minimize_privacy_cost
    with pytest.raises(rp.errors.WorkloadError, match=message) as caught:
        search(P, M, loss, **{limit: 1.0})
    if loss is broken:
        assert isinstance(caught.value.__cause__, KeyError)


def test_an_interrupt_in_a_loss_stays_one():
    def loss(_variance):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimize_convex_loss(P, M, loss, pcost=1.0)


@pytest.mark.parametrize("solver", ["ECOS", "ecos"])
def test_ecos_is_an_extra_and_its_absence_names_it(monkeypatch, solver):
    monkeypatch.setattr(cvxpy, "installed_solvers", lambda: ["CLARABEL", "SCS"])
    with pytest.raises(rp.errors.MissingExtraError, match="the solver ECOS is not installed") as caught:
        minimize_convex_loss(P, M, cvxpy.max, pcost=1.0, solver=solver)
    assert caught.value.extra == "ecos"


def test_a_problem_that_the_solver_cannot_scale_is_planned_all_the_same():
    """Its solver calls it infeasible, or fails: the noise comes from the tangents alone, and is proved."""
    loss, value, slope = SMOOTH["cubes and variances"]
    matrix = np.array([[1.0, 0.2, 0.0], [0.1, 0.5, 0.3]])
    p = np.array([0.5, 1.0, 0.3])
    best = least(p, matrix, value, slope, 1e-5)
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=1e-5)
    assert choice.bound <= best * (1 + 1e-12)
    assert choice.loss == pytest.approx(best, rel=1e-5)
