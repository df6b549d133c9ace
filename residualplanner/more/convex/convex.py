"""The best noise for any convex loss of the variances, with a proof of how good it is.

Source: eq. (18).

The solver is not trusted.  Its noise is where the search for better noise begins, its loss is evaluated anew, and the
bound is an average of planes that touch the loss, of which none can be above it.

The search is a bundle method: planes that touch the loss near the best noise so far stand for the loss, the noise that
is best for them is tried, and new planes follow.  At a kink, as where two variances are both the largest, the average
of several planes is the proof that none of them is.  The averages come from a solver, too, but any average is a proof.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import MissingExtraError, SolverError
from residualplanner.method.noise.choice import NoiseChoice
from residualplanner.more.convex.loss_function import (
    ConvexFunction,
    ConvexLossFunction,
    Plane,
    Tangents,
    loss_expression,
    normalized,
    plane_of,
    read_loss_function,
)

#: The gap within which noise is accepted though the solver failed.
_PROVED = 1e-4
#: Variances are measured in units of this part of the largest one, or more; solvers fail on far smaller units.
_LEAST_SIZE = 1e-6
#: That a solver's answer is none.
_NOT_POSITIVE = "not positive"
#: A gap at which the search ends.
_CLOSE = 1e-8
#: The most planes' problems that are solved for one budget, and the most without half of a gap gained.
_STEPS, _PATIENCE = 40, 6
#: How far from the best variances the loss is touched to see the other sides of a kink; the square of it is lost.
_NEAR = 1e-5
#: Planes of less weight than this are dropped.
_COUNTS = 1e-12
#: Factors of the best variances where the loss is seen as well.
_RAY = (1.0, 0.5, 0.9, 1.1, 2.0)


@dataclass(frozen=True, eq=False, slots=True)
class ConvexProblem:
    """The noise to choose, for a privacy cost or a loss."""

    rows: FloatArray  # (c, m): the costs of base mechanisms at unit noise, for each way in which neighbors may differ
    M: sparse.csr_array  # (q, m): the queries' variances from the noise variances
    loss: ConvexLossFunction  # of the queries' variances
    function: ConvexFunction  # the same on vectors of CVXPY
    solver: str  # of CVXPY

    def cost(self, noise_variance: FloatArray) -> float:
        """The privacy cost of this noise, the largest over the ways to differ."""
        with np.errstate(divide="ignore", over="ignore"):
            return float((self.rows @ (1 / noise_variance)).max())

    def value(self, noise_variance: FloatArray) -> float:
        """The loss of this noise."""
        return self.loss.value(self.M @ noise_variance)

    def spending(self, noise_variance: FloatArray, pcost: float) -> FloatArray:
        """The noise at exactly this cost; or as it is, where it costs less and the loss is smaller for it."""
        cost = self.cost(noise_variance)
        scaled: FloatArray = noise_variance * (cost / pcost)
        is_better = cost < pcost and self.value(noise_variance) < self.value(scaled)
        return noise_variance if is_better else scaled


@dataclass(frozen=True, eq=False, slots=True)
class Refined:
    """Noise for a privacy cost, and planes below the loss."""

    noise_variance: FloatArray  # (m,): the best noise found
    value: float  # its loss
    planes: tuple[Plane, ...]  # below the loss; none if CVXPY has no gradient of the loss, or a wrong one
    tangents: Tangents  # what they are averages of

    def bound(self, pcost: float) -> float:
        """No noise of this cost has a smaller loss; minus infinity where nothing is known."""
        return max((plane.least_loss(pcost) for plane in self.planes), default=-math.inf)

    def least_cost(self, at_most: float) -> float:
        """No noise of a smaller cost has a loss of at most this; 0 where nothing is known, inf where none has."""
        return max((plane.least_cost(at_most) for plane in self.planes), default=0.0)

    def is_close(self, pcost: float) -> bool:
        """Whether the noise is proved to be good enough."""
        return self.value - self.bound(pcost) <= _CLOSE * abs(self.value)


def refine(
    problem: ConvexProblem,
    noise_variance: FloatArray,
    likely_slope: FloatArray,
    likely_cost: FloatArray,
    *,
    pcost: float,
) -> Refined:
    """Better noise of this privacy cost than some (m,) of this cost, and a proof.

    The slopes (q,) of the loss at the optimum are likely, as a solver has them, and so are the costs (m,) averaged over
    the ways to differ; any others do, but take longer.
    """
    variance = problem.M @ noise_variance
    none = np.zeros((0, variance.size))
    tangents = Tangents(np.zeros(0), none, none, np.zeros(0)).joined(problem.loss, np.outer(_RAY, variance))
    best = Refined(noise_variance, problem.value(noise_variance), (), tangents)
    if not len(tangents.intercept) or not math.isfinite(best.value):
        return best
    first = plane_of(problem.M, float(tangents.intercept[0]), tangents.slope[0], likely_cost)
    best = replace(best, planes=(first,) if first else ())
    if not best.is_close(pcost):
        points = np.array([*_sides(problem.loss, variance, likely_slope)]).reshape(-1, variance.size)
        best = _descended(problem, replace(best, tangents=tangents.joined(problem.loss, points)), pcost)
    return replace(best, planes=()) if best.tangents.are_wrong else best


def _descended(problem: ConvexProblem, best: Refined, pcost: float) -> Refined:
    idle, gap = 0, math.inf
    for _ in range(_STEPS):
        plane, trial, tangents = _lowest(problem, best, pcost)
        planes = (*best.planes, plane) if plane else best.planes
        noise, value = best.noise_variance, best.value
        if trial is not None:
            noise, value, points = _towards(problem, best, trial, pcost)
            tangents = tangents.joined(problem.loss, points)
        best = Refined(noise, value, planes, tangents)
        left = best.value - best.bound(pcost)
        idle, gap = (0, left) if left < gap / 2 else (idle + 1, gap)
        if trial is None or idle >= _PATIENCE or best.is_close(pcost):
            break
    return best


def _towards(
    problem: ConvexProblem, best: Refined, trial: FloatArray, pcost: float
) -> tuple[FloatArray, float, FloatArray]:
    """The best noise on the way to the trial, its loss, and where to touch the loss next."""
    noise, value = best.noise_variance, best.value
    for step in 0.5 ** np.arange(0, 24, 2):
        other = problem.spending((1 - step) * best.noise_variance + step * trial, pcost)
        if problem.value(other) < value:
            noise, value = other, problem.value(other)
    near = noise * (1 + _NEAR * _bounded(trial / noise - 1))
    return noise, value, np.array([problem.M @ noise, problem.M @ trial, problem.M @ near])


def _bounded(direction: FloatArray) -> FloatArray:
    largest = float(np.abs(direction).max())
    return direction / largest if 0 < largest < math.inf else np.zeros_like(direction)


def _lowest(problem: ConvexProblem, best: Refined, pcost: float) -> tuple[Plane | None, FloatArray | None, Tangents]:
    """The average of planes that proves most, the noise where their maximum is least, and the planes that count."""
    import cvxpy

    tangents, noise = best.tangents, best.noise_variance
    slope = (problem.M.T @ tangents.slope.T).T
    rate = float(np.abs(slope @ noise).max()) or 1.0
    rise = slope * noise / rate
    height = (tangents.intercept - best.value) / rate
    unit, highest = cvxpy.Variable(noise.size), cvxpy.Variable()
    planes = height + rise @ unit <= highest
    costs = (problem.rows / noise / pcost) @ cvxpy.inv_pos(unit) <= 1
    try:
        solve(cvxpy.Problem(cvxpy.Minimize(highest), [planes, costs]), problem.solver)
    except SolverError:
        return None, None, tangents
    weights, ways = _weights_of(planes.dual_value), _weights_of(costs.dual_value)
    if weights is None or ways is None or unit.value is None:
        return None, None, tangents
    cost = np.asarray(ways @ problem.rows)
    plane = plane_of(problem.M, float(weights @ tangents.intercept), weights @ tangents.slope, cost)
    trial = noise * np.clip(np.asarray(unit.value), 1e-6, 1e6)
    return plane, trial, tangents.of(weights > _COUNTS)


def _weights_of(dual_value: Any) -> FloatArray | None:
    weights = np.maximum(np.atleast_1d(np.asarray(dual_value, dtype=np.float64)), 0.0)
    return normalized(weights) if 0 < weights.sum() < math.inf else None


def solve(problem: Any, solver: str) -> str:
    """Solve a problem of CVXPY, and return the solver's status; noise and bounds are judged by whoever uses them."""
    import cvxpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=solver)
        except (cvxpy.error.SolverError, ArithmeticError, ValueError) as error:
            raise SolverError(f"{solver} failed: {error}; try another solver", status="error") from error
    status = str(problem.status)
    if status not in ("optimal", "optimal_inaccurate"):
        raise SolverError(f"{solver} gave no usable answer (status {status!r}); try another solver", status=status)
    return status


def _sides(loss: ConvexLossFunction, variance: FloatArray, likely_slope: FloatArray) -> Iterator[FloatArray]:
    """Points near these variances whose tangents average to the likely slopes, by the method of Frank and Wolfe."""
    target, mean = likely_slope * variance, loss.subgradient(variance) * variance
    if not (np.isfinite(target).all() and np.isfinite(mean).all()):
        target = np.zeros_like(mean)
    for _ in range(3 * variance.size + 10):
        if not np.isfinite(mean).all() or np.abs(target - mean).max() <= 1e-9 * np.abs(target).max():
            return
        point = variance * (1 + _NEAR * _bounded(target - mean))
        yield point
        touch = loss.subgradient(point) * variance - mean
        length = float(touch @ touch)
        step = float((target - mean) @ touch) / length if length > 0 else 0.0
        if not step > 0:
            return
        mean = mean + min(step, 1.0) * touch


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
    reward noise without end, the bound is minus infinity and the gap infinite.  The costs (m,) or (c, m) at unit noise
    have a row for each way in which neighbors may differ; row Q of M (q, m) has the variance of Q; the loss is a convex
    function of CVXPY's vector of these (q,).  Source: eq. (18).
    """
    problem = convex_problem(pcost_coefficient, variance_coefficient, loss, solver)
    solved, status = solved_for(problem, pcost)
    return NoiseChoice(frozen(solved.noise_variance), solved.value, min(solved.bound(pcost), solved.value), status)


def convex_problem(
    pcost_coefficient: ArrayLike, variance_coefficient: sparse.csr_array, loss: ConvexFunction, solver: str
) -> ConvexProblem:
    """What is to be planned; all costs are at least 0, and every base mechanism costs something and has a variance."""
    rows, M = np.atleast_2d(np.array(pcost_coefficient, dtype=np.float64)), sparse.csr_array(variance_coefficient)
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
    return np.full(size, np.nan) if value is None else np.asarray(value, dtype=np.float64).reshape(-1)
