"""The best noise for any convex loss of the variances, and the least cost that reaches a loss.

Source: eq. (18).

The solver is not trusted.  Its noise is where the search for better noise begins, its loss is evaluated anew, and the
bound is an average of planes that touch the loss, of which none can be above it.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from residualplanner.ground.checks import FloatArray, frozen, frozen_float_array, require_positive
from residualplanner.ground.errors import MissingExtraError, SolverError
from residualplanner.method.noise.choice import NoiseChoice
from residualplanner.more.convex.bundle import ConvexProblem, Refined, refine, solve
from residualplanner.more.convex.loss_function import ConvexFunction, loss_expression, normalized, read_loss_function

#: The gap within which noise is accepted though the solver failed.
_PROVED = 1e-4
#: Variances are measured in units of this part of the largest one, or more; solvers fail on far smaller units.
_LEAST_SIZE = 1e-6
#: That a solver's answer is none.
_NOT_POSITIVE = "not positive"


def minimize_convex_loss(
    pcost_coefficient: ArrayLike,
    variance_coefficient: sparse.csr_array,
    loss: ConvexFunction,
    *,
    pcost: float,
    solver: str = "CLARABEL",
) -> NoiseChoice:
    """Minimize ``loss(M s)`` over ``s > 0`` subject to ``sum_A p_A / s_A <= pcost``, or each of several such sums.

    The best choice found has exactly this cost (less, if the loss is smaller for it); its bound is a proof up to
    rounding: an average of tangents of the loss, by CVXPY's gradients.  Where CVXPY has no gradient, or the tangents
    reward noise without end, the bound is minus infinity and the gap infinite.

    The costs (m,) or (c, m) at unit noise have a row for each way in which neighbors may differ; row Q of M (q, m) has
    the variance of Q; the loss is a convex function of CVXPY's vector of these (q,).  Source: eq. (18).
    """
    cost = require_positive("pcost", pcost)
    problem = convex_problem(pcost_coefficient, variance_coefficient, loss, solver)
    solved, status = solved_for(problem, cost)
    return NoiseChoice(frozen(solved.noise_variance), solved.value, min(solved.bound(cost), solved.value), status)


def convex_problem(
    pcost_coefficient: ArrayLike, variance_coefficient: sparse.csr_array, loss: ConvexFunction, solver: str
) -> ConvexProblem:
    """What is to be planned, checked."""
    rows = np.atleast_2d(np.array(pcost_coefficient, dtype=np.float64))
    rows = frozen_float_array("pcost_coefficient", rows, ndim=2)
    M, p = sparse.csr_array(variance_coefficient), rows.max(axis=0)
    if not ((rows >= 0).all() and (p > 0).all() and (M.sum(axis=0) > 0).all()):
        raise ValueError("pcost_coefficient must be positive, and every base mechanism must matter to some query")
    return ConvexProblem(rows, M, read_loss_function(loss, M.shape[0]), loss, solver)


def solved_for(problem: ConvexProblem, pcost: float) -> tuple[Refined, str]:
    """The best noise of this cost: a solver's, improved and judged; and the solver's status."""
    _require_installed(problem.solver)
    try:
        noise_variance, slope, likely_cost, status = _by_solver(problem, pcost)
    except SolverError as error:
        if error.status == _NOT_POSITIVE:
            raise
        return _without_the_solver(problem, pcost, error)
    solved = refine(problem, problem.spending(noise_variance, pcost), slope, likely_cost, pcost=pcost)
    if not math.isfinite(solved.value):
        raise SolverError("the loss is not a finite number at the solver's answer", status="not finite")
    remark = "" if solved.planes else "; no bound: CVXPY has no gradient of this loss that proves one"
    return solved, f"{problem.solver.lower()}: {status}{remark}"


def _without_the_solver(problem: ConvexProblem, pcost: float, error: SolverError) -> tuple[Refined, str]:
    """What is found from noise in proportion, if it is proved to be good; else the solver's error stands."""
    start = problem.spending(proportional_noise(problem, pcost), pcost)
    likely_slope = np.full(problem.M.shape[0], np.nan)
    solved = refine(problem, start, likely_slope, problem.rows.mean(axis=0), pcost=pcost)
    bound = solved.bound(pcost)
    if not (math.isfinite(bound) and solved.value - bound <= _PROVED * abs(bound)):
        raise error
    return solved, f"certified, though {problem.solver.lower()} failed ({error.status})"


def proportional_noise(problem: ConvexProblem, pcost: float) -> FloatArray:
    """Noise of about this cost that gives all queries variances of like sizes."""
    p = problem.rows.max(axis=0)
    v = problem.M.T @ (1 / np.maximum(problem.M @ np.ones(p.size), np.finfo(np.float64).tiny))
    return np.asarray(np.sqrt(p / v) * float(np.sqrt(p * v).sum()) / pcost)


def _by_solver(problem: ConvexProblem, pcost: float) -> tuple[FloatArray, FloatArray, FloatArray, str]:
    """A solver's noise (m,), slopes (q,) of the loss there, costs (m,) averaged over the ways to differ, its status.

    The problem is written in units near the optimum, for good conditioning.
    """
    import cvxpy

    scale = proportional_noise(problem, pcost)
    size = problem.M @ scale
    size = np.maximum(size, _LEAST_SIZE * size.max())
    relative = sparse.csr_array(sparse.diags_array(1 / size) @ problem.M @ sparse.diags_array(scale))
    degree = problem.loss.degree(size)
    free = 1.0 if degree is None else float(np.exp(np.log(size).mean()))
    start = size / free
    rate = float(np.abs(problem.loss.subgradient(start)) @ start)
    rate = rate if 0 < rate < np.inf else 1.0
    unit, variance = cvxpy.Variable(scale.size), cvxpy.Variable(size.size)
    loss = loss_expression(problem.function, cvxpy.multiply(start, variance)) / rate
    limit = (problem.rows / scale / pcost) @ cvxpy.inv_pos(unit) <= 1
    link = relative @ unit == variance  # its dual value, in these units, is the slope of the loss
    status = solve(cvxpy.Problem(cvxpy.Minimize(loss), [limit, link]), problem.solver)
    noise_variance = _numbers(unit.value, scale.size) * scale
    if not (np.isfinite(noise_variance) & (noise_variance > 0)).all():
        raise SolverError("the solver's noise variances are not all positive and finite", status=_NOT_POSITIVE)
    ways = normalized(np.nan_to_num(_numbers(limit.dual_value, len(problem.rows))))
    slope = _numbers(link.dual_value, size.size) * (rate / start * free ** ((degree or 1.0) - 1))
    return noise_variance, slope, ways @ problem.rows, status


def _require_installed(solver: str) -> None:
    import cvxpy

    installed = cvxpy.installed_solvers()
    if solver.upper() == "ECOS" and "ECOS" not in installed:
        message = "the solver ECOS is not installed: pip install 'residualplanner[ecos]', or use CLARABEL, the default"
        raise MissingExtraError(message, extra="ecos")
    if solver.upper() not in installed:
        raise SolverError(f"the solver {solver} is not installed; write one of {installed}", status="error")


def _numbers(value: Any, size: int) -> FloatArray:
    """A solver's values, (size,); NaN where it gives none."""
    return np.full(size, np.nan) if value is None else np.asarray(value, dtype=np.float64).reshape(-1)
