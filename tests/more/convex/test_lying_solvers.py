"""Whatever a solver says, no budget is overspent and no gap is understated; most of it is refused."""

import contextlib
import itertools

import cvxpy
import numpy as np
import pytest

import residualplanner as rp

WORKLOAD = rp.marginals(rp.Domain({"a": 3, "b": 2, "c": 4}), up_to=2)
OPTIMUM = rp.select(WORKLOAD, budget=rp.pcost(1), loss="sum").loss_value
REAL_SOLVE = cvxpy.Problem.solve
ANSWERS = {
    "true": lambda value: value,
    "nothing": lambda value: None,
    "nan": lambda value: np.full_like(value, np.nan),
    "one nan": lambda value: np.where(np.arange(value.size) == 0, np.nan, value),
    "zero": np.zeros_like,
    "one zero": lambda value: np.where(np.arange(value.size) == 0, 0.0, value),
    "negative": lambda value: -value,
    "infinite": lambda value: np.full_like(value, np.inf),
    "far too small": lambda value: value * 1e-6,
    "far too large": lambda value: value * 1e6,
    "lopsided": lambda value: value * np.geomspace(0.01, 100, value.size),
    "reversed": np.flip,
    "equal": np.ones_like,
}
DUALS = {name: ANSWERS[name] for name in ("true", "nothing", "nan", "zero", "negative")}
DUALS |= {"tiny": lambda value: value * 1e-9, "huge": lambda value: value * 1e9}
NO_NOISE = ("nothing", "nan", "one nan", "zero", "one zero", "negative", "infinite")
LIES = list(itertools.product(ANSWERS, DUALS))


def weighted_cells(variance):
    """The loss "sum", as a convex loss."""
    return variance @ WORKLOAD.cells


@pytest.fixture
def solver(monkeypatch):
    """A function that puts another in the place in which CVXPY solves."""
    return lambda solve: monkeypatch.setattr(cvxpy.Problem, "solve", solve)


def liar(answer: str, dual: str, status: str | None = "optimal"):
    """Makes all answers from the honest one to the first problem of its shape, which saves the solving of hundreds."""
    known: dict[object, tuple[list[np.ndarray], list[np.ndarray]]] = {}

    def solve(problem: cvxpy.Problem, **options: object) -> None:
        shape = tuple(part.shape for part in (*problem.variables(), *problem.constraints))
        if shape not in known:
            REAL_SOLVE(problem, solver="CLARABEL")
            duals = [np.array(constraint.dual_value) for constraint in problem.constraints]
            known[shape] = [np.array(variable.value) for variable in problem.variables()], duals
        noise, duals = known[shape]
        for variable, value in zip(problem.variables(), noise, strict=True):
            variable.save_value(ANSWERS[answer](value))
        for constraint, value in zip(problem.constraints, duals, strict=True):
            constraint.save_dual_value(DUALS[dual](value))
        problem._status = status

    return solve


@pytest.mark.cases(46)
@pytest.mark.parametrize(("answer", "dual"), LIES)
def test_a_wrong_answer_never_overspends_nor_understates_its_gap(solver, answer, dual):
    solver(liar(answer, dual))
    if answer in NO_NOISE:
        with pytest.raises(rp.errors.SolverError, match="not all positive and finite"):
            rp.select(WORKLOAD, budget=rp.pcost(1), loss=weighted_cells)
        return
    plan = rp.select(WORKLOAD, budget=rp.pcost(1), loss=weighted_cells)
    assert plan.pcost <= 1
    assert plan.loss_value == pytest.approx(float(WORKLOAD.cells @ plan.average_variances), rel=1e-9)
    assert plan.gap >= plan.loss_value / OPTIMUM - 1 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "dual"),
    [(answer, dual) for answer, dual in LIES if dual in ("true", "nothing", "huge") or answer == "lopsided"],
)
@pytest.mark.cases(3)
def test_a_wrong_answer_to_the_twin_never_misses_the_loss_nor_understates_its_gap(solver, answer, dual):
    solver(liar(answer, dual))
    with contextlib.suppress(rp.errors.SolverError):
        plan = rp.select(WORKLOAD, at_most=OPTIMUM, loss=weighted_cells)
        assert answer not in NO_NOISE
        assert float(WORKLOAD.cells @ plan.average_variances) <= OPTIMUM * (1 + 1e-9)
        assert plan.gap >= plan.pcost - 1 - 1e-9
        return
    assert answer not in ("true", "far too small")


@pytest.mark.parametrize("status", ["optimal", "optimal_inaccurate"])
def test_a_status_that_claims_an_answer_is_believed(solver, status):
    solver(liar("true", "true", status))
    assert status in rp.select(WORKLOAD, budget=rp.pcost(1), loss=weighted_cells).status


@pytest.mark.parametrize("limit", [{"budget": rp.pcost(1)}, {"at_most": OPTIMUM}], ids=["budget", "at most"])
@pytest.mark.parametrize(
    "status",
    ["infeasible", "infeasible_inaccurate", "unbounded", "unbounded_inaccurate", "user_limit", "solver_error", None],
)
def test_a_status_that_claims_none_is_told(solver, status, limit):
    solver(liar("true", "true", status))
    with pytest.raises(rp.errors.SolverError, match=r"gave no usable answer .*try another solver") as caught:
        rp.select(WORKLOAD, **limit, loss=weighted_cells)
    assert caught.value.status == str(status)


@pytest.mark.parametrize(
    "error", [cvxpy.error.SolverError("no progress"), ValueError("bad data"), ZeroDivisionError("division by zero")]
)
def test_a_solver_that_fails_or_leaves_no_answer_is_named_with_its_own_words(solver, error):
    def fail(problem: cvxpy.Problem, **options: object) -> None:
        raise error

    def leave(problem: cvxpy.Problem, **options: object) -> None:
        problem._status = "optimal"

    solver(fail)
    with pytest.raises(rp.errors.SolverError, match=f"ECOS failed: {error}; try another solver"):
        rp.select(WORKLOAD, budget=rp.pcost(1), loss=rp.losses.ConvexLoss(cvxpy.max, "ECOS"))
    solver(leave)
    with pytest.raises(rp.errors.SolverError, match="not all positive and finite"):
        rp.select(WORKLOAD, budget=rp.pcost(1), loss=cvxpy.max)
