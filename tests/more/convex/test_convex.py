"""Any convex loss: nothing is better than the noise that is found, in either form, and the gap is a proof of that."""

import math
import sys

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

import residualplanner as rp
from inner_parts import minimize_maximum_variance
from residualplanner.method.noise.choice import minimize_weighted_variance
from residualplanner.more.convex.convex import minimize_convex_loss
from residualplanner.more.convex.convex_noise import minimize_privacy_cost
from slowness import slow

SOLVERS = ["CLARABEL", slow("ECOS")]
SLOPES = np.array([0.3, 2.0, 1.0, 0.1, 5.0])
P, M = np.array([1.0, 0.5]), sparse.csr_array([[1.0, 0.0], [0.3, 0.5]])
seeds = st.integers(0, 2**32 - 1)

#: Losses that are proportional to their argument.
PROPORTIONAL = {
    "sum": cvxpy.sum,
    "weighted sum": lambda v: SLOPES[: v.size] @ v,
    "max": cvxpy.max,
    "norm 4": lambda v: cvxpy.norm(v, 4),
    "norm 2": cvxpy.norm2,
    "sum and max": lambda v: cvxpy.sum(v) + 3 * cvxpy.max(v),
}
#: Losses with kinks, or to which units matter.
BENT = {
    "with a constant": lambda v: cvxpy.sum(v) + 1,
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
        lambda v: cvxpy.sum(cvxpy.power(v, 3)) + SLOPES[: v.size] @ v,
        lambda y: (y**3).sum() + SLOPES[: y.size] @ y,
        lambda y: 3 * y**2 + SLOPES[: y.size],
    ),
    "softplus": (
        lambda v: cvxpy.sum(cvxpy.logistic(v - 3)),
        lambda y: np.logaddexp(0, y - 3).sum(),
        lambda y: 1 / (1 + np.exp(3 - y)),
    ),
}


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """The costs of some sets, and how the variances of some queries come from them."""
    queries, sets = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(seeds))
    matrix = rng.uniform(0.05, 1, size=(queries, sets)) * (rng.random((queries, sets)) < 0.7)
    matrix[rng.integers(queries, size=sets), np.arange(sets)] += 0.1
    matrix[matrix.sum(axis=1) == 0, 0] = 0.1
    return rng.uniform(0.2, 1, size=sets), matrix


@st.composite
def several_costs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Several rows of costs, in which entries may be 0 but no column is, with a matrix."""
    p, matrix = draw(problems())
    rng, ways = np.random.default_rng(draw(seeds)), draw(st.integers(1, 5))
    rows = p * rng.uniform(0.2, 1, size=(ways, p.size)) * (rng.random((ways, p.size)) < 0.7)
    rows[rng.integers(ways, size=p.size), np.arange(p.size)] += 0.1
    return rows, matrix


def values_of(loss, variances):
    """The loss of each row of variances (n, q), by CVXPY."""
    variance = cvxpy.Variable(variances.shape[1])
    expression, found = loss(variance), []
    for variance.value in variances:
        found.append(float(expression.value))
    return np.array(found)


def others(noise, rows, pcost, seed, spreads=(1e-4, 1e-2, 0.3)):
    """Other noise of the same cost, near and far."""
    rng = np.random.default_rng(seed)
    moved = np.concatenate([noise * np.exp(rng.normal(scale=spread, size=(20, noise.size))) for spread in spreads])
    return moved * (np.atleast_2d(rows) @ (1 / moved).T).max(axis=0)[:, None] / pcost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "pcost"),
    [(name, 1.0) for name in PROPORTIONAL] + [(name, pcost) for name in BENT for pcost in (1e-2, 1.0, 1e2)],
)
@settings(max_examples=5)
@given(problem=problems(), seed=seeds)
@pytest.mark.cases(3)
def test_two_solvers_agree_and_nothing_is_below_their_bounds_nor_reached_at_less(name, pcost, problem, seed):
    p, matrix = problem
    loss, coefficients = (PROPORTIONAL | BENT)[name], sparse.csr_array(matrix)
    choice, other = (
        minimize_convex_loss(p, coefficients, loss, pcost=pcost, solver=solver) for solver in ("CLARABEL", "ECOS")
    )
    assert (p / choice.noise_variance).sum() == pytest.approx(pcost, rel=1e-12)
    tried = values_of(
        loss, np.vstack([choice.noise_variance, others(choice.noise_variance, p, pcost, seed)]) @ matrix.T
    )
    assert choice.loss == pytest.approx(tried[0], rel=1e-10)
    assert max(choice.bound, other.bound) <= min(choice.loss, other.loss, *tried) * (1 + 1e-11)
    assert choice.loss == pytest.approx(other.loss, rel=1e-6)
    assert choice.gap < 1e-6
    back = minimize_privacy_cost(p, coefficients, loss, at_most=choice.loss)
    assert back.bound <= pcost * (1 + 1e-11)
    assert back.loss == pytest.approx((p / back.noise_variance).sum(), rel=1e-12)
    assert back.loss <= pcost * (1 + 1e-6)
    assert values_of(loss, (matrix @ back.noise_variance)[None])[0] <= choice.loss * (1 + 1e-12)


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
@pytest.mark.cases(2)
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


def test_a_problem_that_the_solver_cannot_scale_is_planned_all_the_same():
    """Its solver calls it infeasible, or fails: the noise comes from the tangents alone, and is proved."""
    loss, value, slope = SMOOTH["cubes and variances"]
    matrix, p = np.array([[1.0, 0.2, 0.0], [0.1, 0.5, 0.3]]), np.array([0.5, 1.0, 0.3])
    best = least(p, matrix, value, slope, 1e-5)
    choice = minimize_convex_loss(p, sparse.csr_array(matrix), loss, pcost=1e-5)
    assert choice.bound <= best * (1 + 1e-12)
    assert choice.loss == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=10)
@given(problem=problems(), pcost=st.sampled_from([1e-12, 1e-3, 1.0, 1e5]))
def test_it_agrees_with_the_closed_form_and_the_minimax_search(solver, problem, pcost):
    p, matrix = problem
    exact = minimize_weighted_variance(p, matrix.T @ SLOPES[: len(matrix)], pcost=pcost)
    largest = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-9)
    for name, known, close in (("weighted sum", exact.loss, 1e-10), ("max", largest.loss, 1e-7)):
        choice = minimize_convex_loss(p, sparse.csr_array(matrix), PROPORTIONAL[name], pcost=pcost, solver=solver)
        assert choice.loss == pytest.approx(known, rel=1e-6)
        assert choice.bound <= known * (1 + close)
        assert choice.gap < 1e-5


@pytest.mark.cases(3)
@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["weighted sum", "max", "norm 4", "sum and max"])
@settings(max_examples=8)
@given(problem=several_costs(), pcost=st.sampled_from([0.5, 1.0, 4.0]), seed=seeds)
def test_of_several_costs_the_largest_counts_and_no_other_noise_of_it_does_better(solver, name, problem, pcost, seed):
    rows, matrix = problem
    loss, coefficients = PROPORTIONAL[name], sparse.csr_array(matrix)
    choice = minimize_convex_loss(rows, coefficients, loss, pcost=pcost, solver=solver)
    assert (rows @ (1 / choice.noise_variance)).max() == pytest.approx(pcost, rel=1e-9)
    assert choice.gap < 1e-3
    tried = np.vstack([choice.noise_variance, others(choice.noise_variance, rows, pcost, seed, (1e-3, 0.05, 1.0))])
    own, *found = values_of(loss, tried @ matrix.T)
    assert choice.loss == pytest.approx(own, rel=1e-9)
    assert min(found) >= max(choice.loss * (1 - 1e-5), choice.bound * (1 - 1e-7))
    if name == "max":
        searched = minimize_maximum_variance(rows, coefficients, pcost=pcost, gap=1e-8)
        assert choice.loss == pytest.approx(searched.loss, rel=1e-5)
        assert choice.bound <= searched.loss * (1 + 1e-6)
    back = minimize_privacy_cost(rows, coefficients, loss, at_most=choice.loss, solver=solver)
    assert back.loss == pytest.approx(pcost, rel=1e-4)
    assert (rows @ (1 / back.noise_variance)).max() == pytest.approx(back.loss, rel=1e-9)
    assert values_of(loss, (matrix @ back.noise_variance)[None])[0] <= choice.loss * (1 + 1e-12)


def test_a_loss_that_is_0_from_some_noise_on_is_reached_there():
    choice = minimize_privacy_cost([1.0], sparse.csr_array([[1.0]]), lambda v: cvxpy.sum(cvxpy.pos(v - 2)), at_most=0.0)
    assert choice.loss == pytest.approx(0.5, rel=1e-6)
    assert choice.bound <= 0.5


@pytest.mark.parametrize("solver", SOLVERS)
def test_losses_that_reward_noise_have_a_bound_only_where_no_set_is_rewarded(solver):
    endless = minimize_convex_loss(P, M, lambda v: cvxpy.sum(cvxpy.inv_pos(v)), pcost=1.0, solver=solver)
    assert (P / endless.noise_variance).sum() <= 1 + 1e-12
    assert endless.gap == math.inf
    saving = minimize_convex_loss(P, M, lambda v: cvxpy.sum_squares(v - 100), pcost=1.0, solver=solver)
    np.testing.assert_allclose(M @ saving.noise_variance, 100, rtol=1e-3)
    assert (P / saving.noise_variance).sum() < 0.1
    one = minimize_convex_loss(P, M, lambda v: 10 * v[1] + cvxpy.pos(50 - v[0]), pcost=1.0, solver=solver)
    slopes = M.T @ np.array([-1.0, 10.0])
    assert one.loss == pytest.approx(50 + minimize_weighted_variance(P, slopes, pcost=1.0).loss, rel=1e-6)
    assert one.gap < 1e-7


def test_a_loss_of_which_cvxpy_has_no_gradient_has_no_bound_and_says_so():
    choice = minimize_convex_loss(P, M, lambda v: cvxpy.sum(cvxpy.cummax(v)), pcost=1.0)
    assert choice.gap == math.inf
    assert choice.status.endswith("no bound: CVXPY has no gradient of this loss that proves one")
    back = minimize_privacy_cost(P, M, lambda v: cvxpy.sum(cvxpy.cummax(v)), at_most=choice.loss)
    assert back.loss == pytest.approx(1.0, rel=1e-6)
    assert back.gap == math.inf


def test_a_wrong_gradient_proves_nothing(monkeypatch):
    atom = type(cvxpy.sum_squares(cvxpy.Variable(2)))
    right = atom._grad
    monkeypatch.setattr(atom, "_grad", lambda self, values: [3 * part for part in right(self, values)])
    assert minimize_convex_loss(P, M, cvxpy.sum_squares, pcost=1.0).gap == math.inf


def broken(_variance):
    raise KeyError("no such table")


SHAPE = r"must give one convex number .*got \(2,\), affine"
EXPRESSION = "the loss must give one convex CVXPY expression, such as .*; it gave "
CONSTANT = "the loss must depend on the variances"
APPLIED = "could not be applied .*: "


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (broken, "could not be applied to a CVXPY vector of variances: KeyError: 'no such table'; write a function"),
        (lambda: 1.0, f"{APPLIED}TypeError: .*; write a function of that one vector with CVXPY's own"),
        (lambda v: v["age"], APPLIED),
        (lambda v: v.nonsense, APPLIED),
        (max, f"{APPLIED}NotImplementedError: .*not with those of NumPy or Python"),
        (np.sqrt, f"{APPLIED}RuntimeError: .*not with those of NumPy or Python"),
        (np.max, f"{APPLIED}TypeError: .*not with those of NumPy or Python"),
        (lambda v: cvxpy.sqrt(cvxpy.sum(v)), "must give one convex number .*concave"),
        (lambda v: cvxpy.log(cvxpy.sum_squares(v)), "must give one convex number .*quasiconvex"),
        (lambda v: v, SHAPE),
        (lambda v: cvxpy.sum(v) * math.nan, "holds a number that is not finite"),
        (lambda v: cvxpy.sum(v) + math.inf, "holds a number that is not finite"),
        (lambda v: cvxpy.sum(v) * 1j, "got complex numbers"),
        (lambda v: cvxpy.Minimize(cvxpy.sum(v)), f"{EXPRESSION}Minimize"),
        (lambda v: cvxpy.sum(v) <= 3, f"{EXPRESSION}Inequality"),
        (lambda v: (cvxpy.sum(v), 1), f"{EXPRESSION}tuple"),
        (lambda v: "small", f"{EXPRESSION}str"),
        (lambda v: 3.0, CONSTANT),
        (lambda v: math.nan, CONSTANT),
        (lambda v: None, CONSTANT),
        (lambda v: cvxpy.sum(v) + cvxpy.pos(cvxpy.Variable()), "must not have CVXPY variables of its own"),
        (lambda v: cvxpy.sum(v) * cvxpy.Parameter(nonneg=True), "a CVXPY parameter without a value"),
    ],
)
@pytest.mark.parametrize(("search", "limit"), [(minimize_convex_loss, "pcost"), (minimize_privacy_cost, "at_most")])
def test_what_is_wrong_with_a_loss_is_told_with_what_to_write(loss, message, search, limit):
    with pytest.raises(rp.errors.WorkloadError, match=message) as caught:
        search(P, M, loss, **{limit: 1.0})
    if loss is broken:
        assert isinstance(caught.value.__cause__, KeyError)


def test_limits_that_no_noise_or_any_noise_reaches_are_refused():
    for solver in ("CLARABEL", "ECOS"):
        with pytest.raises(rp.errors.BudgetError, match="no noise brings the loss down to at_most=3"):
            minimize_privacy_cost(P, M, lambda v: cvxpy.max(v) + 5, at_most=3, solver=solver)
    with pytest.raises(rp.errors.BudgetError, match="at_most=5 is reached by noise of any size"):
        minimize_privacy_cost(P, M, lambda v: cvxpy.sum(cvxpy.inv_pos(v)), at_most=5)


def test_a_loss_that_overflows_is_refused():
    with pytest.raises(rp.errors.SolverError):
        minimize_convex_loss(P, M, lambda v: cvxpy.sum(cvxpy.exp(v)), pcost=1e-6)


def test_without_cvxpy_a_loss_of_ones_own_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"CVXPY.*pip install 'residualplanner\[convex\]'") as caught:
        minimize_convex_loss(P, M, cvxpy.max, pcost=1.0)
    assert caught.value.extra == "convex"


@pytest.mark.parametrize(
    ("solver", "error", "message"),
    [
        ("NOPE", rp.errors.SolverError, "the solver NOPE is not installed; write one of"),
        ("MOSEK", rp.errors.SolverError, "the solver MOSEK is not installed; write one of"),
        ("ECOS", rp.errors.MissingExtraError, "the solver ECOS is not installed"),
        ("ecos", rp.errors.MissingExtraError, "the solver ECOS is not installed"),
    ],
)
def test_a_solver_that_is_not_there_is_named_and_ecos_is_an_extra(monkeypatch, solver, error, message):
    monkeypatch.setattr(cvxpy, "installed_solvers", lambda: ["CLARABEL", "SCS"])
    with pytest.raises(error, match=message) as caught:
        minimize_convex_loss(P, M, cvxpy.max, pcost=1.0, solver=solver)
    assert getattr(caught.value, "extra", "ecos") == "ecos"
    assert getattr(caught.value, "status", "error") == "error"
