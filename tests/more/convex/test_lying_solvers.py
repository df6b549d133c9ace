"""Whatever a solver says, no budget is overspent and no gap is understated; most of it is refused."""

import contextlib
import itertools

import cvxpy
import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Domain, marginals, pcost, select
from slowness import slow

WORKLOAD = marginals(Domain({"a": 3, "b": 2, "c": 4}), up_to=2)
OPTIMUM = select(WORKLOAD, budget=pcost(1), loss="sum").loss_value
STATUSES = [
    "optimal",
    "optimal_inaccurate",
    "infeasible",
    "infeasible_inaccurate",
    "unbounded",
    "unbounded_inaccurate",
    "user_limit",
    "solver_error",
    None,
]


def weighted_cells(variance):
    """The loss "sum", as a convex loss."""
    return variance @ WORKLOAD.cells


def honest(problem: cvxpy.Problem) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The noise in the solver's units and the dual values, as a real solver gives them."""
    REAL_SOLVE(problem, solver="CLARABEL")
    noise = [np.array(variable.value) for variable in problem.variables()]
    return noise, [np.array(constraint.dual_value) for constraint in problem.constraints]


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
DUALS = {
    "true": lambda value: value,
    "nothing": lambda value: None,
    "nan": lambda value: np.full_like(value, np.nan),
    "zero": np.zeros_like,
    "negative": lambda value: -value,
    "tiny": lambda value: value * 1e-9,
    "huge": lambda value: value * 1e9,
}
NO_NOISE = ("nothing", "nan", "one nan", "zero", "one zero", "negative", "infinite")
LIES = list(itertools.product(ANSWERS, DUALS))


def lie(monkeypatch, answer: str, dual: str, status: str | None = "optimal") -> None:
    """Make all answers from the honest one to the first problem of its shape, which saves the solving of hundreds."""
    known: dict[object, tuple[list[np.ndarray], list[np.ndarray]]] = {}

    def solve(problem: cvxpy.Problem, **options: object) -> None:
        shape = tuple(part.shape for part in (*problem.variables(), *problem.constraints))
        if shape not in known:
            known[shape] = honest(problem)
        noise, duals = known[shape]
        for variable, value in zip(problem.variables(), noise, strict=True):
            variable.save_value(ANSWERS[answer](value))
        for constraint, value in zip(problem.constraints, duals, strict=True):
            constraint.save_dual_value(DUALS[dual](value))
        problem._status = status

    monkeypatch.setattr(cvxpy.Problem, "solve", solve)


@pytest.mark.parametrize(("answer", "dual"), LIES)
def test_a_wrong_answer_never_overspends_nor_understates_its_gap(monkeypatch, answer, dual):
    lie(monkeypatch, answer, dual)
    if answer in NO_NOISE:
        with pytest.raises(rp.errors.SolverError, match=r"stopped without an answer|not all positive and finite"):
            select(WORKLOAD, budget=pcost(1), loss=weighted_cells)
        return
    plan = select(WORKLOAD, budget=pcost(1), loss=weighted_cells)
    assert plan.pcost <= 1
    assert plan.loss_value == pytest.approx(float(WORKLOAD.cells @ plan.average_variances), rel=1e-9)
    assert plan.gap >= plan.loss_value / OPTIMUM - 1 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "dual"), [slow(*lie) if number % 6 else lie for number, lie in enumerate(LIES)])
def test_a_wrong_answer_to_the_twin_never_misses_the_loss_nor_understates_its_gap(monkeypatch, answer, dual):
    lie(monkeypatch, answer, dual)
    with contextlib.suppress(rp.errors.SolverError):
        plan = select(WORKLOAD, at_most=OPTIMUM, loss=weighted_cells)
        assert answer not in NO_NOISE
        assert float(WORKLOAD.cells @ plan.average_variances) <= OPTIMUM * (1 + 1e-9)
        assert plan.gap >= plan.pcost - 1 - 1e-9
        return
    assert answer not in ("true", "far too small")


@pytest.mark.parametrize("status", STATUSES)
def test_only_a_status_that_claims_an_answer_is_believed(monkeypatch, status):
    lie(monkeypatch, "true", "true", status)
    if status in ("optimal", "optimal_inaccurate"):
        plan = select(WORKLOAD, budget=pcost(1), loss=weighted_cells)
        assert status in plan.status
        return
    with pytest.raises(rp.errors.SolverError, match=r"gave no usable answer .*try another solver") as caught:
        select(WORKLOAD, budget=pcost(1), loss=weighted_cells)
    assert caught.value.status == str(status)
    with pytest.raises(rp.errors.SolverError, match=r"gave no usable answer .*try another solver"):
        select(WORKLOAD, at_most=OPTIMUM, loss=weighted_cells)


@pytest.mark.parametrize(
    "error", [cvxpy.error.SolverError("no progress"), ValueError("bad data"), ZeroDivisionError("division by zero")]
)
def test_a_solver_that_fails_is_named_with_its_own_words(monkeypatch, error):
    def solve(problem: cvxpy.Problem, **options: object) -> None:
        raise error

    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    with pytest.raises(rp.errors.SolverError, match=f"ECOS failed: {error}; try another of .*CLARABEL"):
        select(WORKLOAD, budget=pcost(1), loss=rp.losses.ConvexLoss(cvxpy.max, "ECOS"))


def test_an_answer_left_from_another_problem_is_no_answer(monkeypatch):
    def solve(problem: cvxpy.Problem, **options: object) -> None:
        problem._status = "optimal"

    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    with pytest.raises(rp.errors.SolverError, match="the solver stopped without an answer; try another solver"):
        select(WORKLOAD, budget=pcost(1), loss=cvxpy.max)
