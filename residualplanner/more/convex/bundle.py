"""Better noise for a convex loss than a solver's, and a proof of how good it is.

Source: eq. (18).

A bundle method: planes that touch the loss near the best noise so far stand for the loss, the noise that is best for
them is tried, and new planes follow.  At a kink, as where two variances are both the largest, the average
of several planes is the proof that none of them is.  The averages come from a solver, too, but any average is a proof.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import SolverError
from residualplanner.more.convex.loss_function import (
    ConvexFunction,
    ConvexLossFunction,
    Plane,
    Tangents,
    normalized,
    plane_of,
)

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
    """Noise and planes after as many steps as bring something."""
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
    plane = plane_of(
        problem.M, float(weights @ tangents.intercept), weights @ tangents.slope, np.asarray(ways @ problem.rows)
    )
    trial = noise * np.clip(np.asarray(unit.value), 1e-6, 1e6)
    return plane, trial, tangents.of(weights > _COUNTS)


def _weights_of(dual_value: Any) -> FloatArray | None:
    """A solver's dual values as weights that add up to 1."""
    weights = np.maximum(np.atleast_1d(np.asarray(dual_value, dtype=np.float64)), 0.0)
    return normalized(weights) if 0 < weights.sum() < math.inf else None


def solve(problem: Any, solver: str) -> str:
    """Solve a problem of CVXPY, and return the solver's status; noise and bounds are judged by whoever uses them.

    Raises SolverError: the solver failed, or gave no usable answer.
    """
    import cvxpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=solver)
        except (cvxpy.error.SolverError, ArithmeticError, ValueError) as error:
            problem = f'{solver} failed: {error}; try another of {cvxpy.installed_solvers()}"'
            raise SolverError(f'{problem}, status="error', status="error") from error
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
