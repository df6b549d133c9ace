"""The best noise for any convex loss of the variances, by a convex solver; and the least cost that reaches a loss.

Reads: numbers only, and the loss as a function on CVXPY expressions.  Gives: NoiseChoice.
Source: spec eq. (18).  CVXPY's only home; it is imported when a loss needs it.

The solver is not trusted.  Its noise is checked, rescaled to the exact privacy cost, its loss is evaluated again, and
the bound is computed here: where the loss is above its tangent with slopes lambda >= 0, no noise can do better than the
closed form does for that tangent.  The slopes are the solver's dual values; the tangent is compared with the loss along
the rays through the answer and through the tangent's own optimum, and lowered by as much as it is above it.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from residualplanner._checks import FloatArray, frozen, frozen_float_array, require_positive
from residualplanner.errors import BudgetError, SolverError, WorkloadError
from residualplanner.selection.choice import NoiseChoice

#: From a CVXPY vector of variances (q,), one per query, to a convex scalar CVXPY expression.
ConvexFunction = Callable[[Any], Any]

_USABLE = ("optimal", "optimal_inaccurate")
#: Where on a ray the tangent is compared with the loss, 1 being the noise of the allowed cost.
_FACTORS = (0.5, 0.9, 1.0, 1.1, 2.0)
#: Variances are measured in units of this part of the largest one, or more; solvers fail on far smaller units.
_LEAST_SIZE = 1e-6


def minimize_convex_loss(
    pcost_coefficient: ArrayLike,
    variance_coefficient: sparse.csr_array,
    loss: ConvexFunction,
    *,
    pcost: float,
    solver: str = "CLARABEL",
) -> NoiseChoice:
    """Minimize ``loss(M s)`` over ``s > 0`` subject to ``sum_A p_A / s_A = pcost``.

    Args:
        pcost_coefficient (m,) or (c, m): p_A > 0, the privacy cost of base mechanism A at unit noise; or one row for
            each of several ways D in which neighbors may differ, of which the largest sum counts.
        variance_coefficient (q, m): M >= 0, sparse; row Q gives Q's variance from the noise variances.
        loss: a convex function of the vector of variances (q,), on CVXPY expressions.
        pcost: the privacy cost to spend in total, > 0.
        solver: a solver of CVXPY, such as "CLARABEL" or "ECOS".

    Returns:
        The solver's choice at exactly this cost (at less, if the loss is smaller for it), its loss, and a lower bound
        from the solver's dual values.

    Raises:
        BudgetError: ``pcost`` is not a positive finite number.
        SolverError: the solver is not installed or gave no usable answer.
        WorkloadError: the loss is not a convex scalar by CVXPY's rules.

    Source: spec eq. (18).

    Example:
        >>> import cvxpy
        >>> M = sparse.csr_array([[1.0, 0.0], [0.5, 1.0]])
        >>> choice = minimize_convex_loss([1.0, 0.5], M, cvxpy.sum, pcost=1.0)
        >>> round(choice.loss, 4)  # (sqrt(1.5 * 1) + sqrt(1 * 0.5)) ** 2
        3.7321
    """
    import cvxpy

    model = _model(pcost_coefficient, variance_coefficient, require_positive("pcost", pcost))
    _expression(loss, model.variance)
    solved_cost = pcost * _free_unit(loss, model.size)
    model = _model(model.rows, model.M, solved_cost)
    limit = (model.rows / model.scale / solved_cost) @ cvxpy.inv_pos(model.unit) <= 1
    status = _solve(cvxpy.Minimize(_expression(loss, model.variance)), [limit, model.link], solver)

    noise_variance, slope = _spending(model, loss, _noise(model), pcost), _slope(model)
    value, cost = _reached(loss, model.M @ noise_variance), _weighted_cost(model, limit.dual_value)
    bound = _intercept(model, loss, noise_variance, slope, cost) + _least_weighted_sum(model, slope, cost) / pcost
    return NoiseChoice(frozen(noise_variance), value, _proved(bound, value, -np.inf), f"{solver.lower()}: {status}")


def minimize_privacy_cost(
    pcost_coefficient: ArrayLike,
    variance_coefficient: sparse.csr_array,
    loss: ConvexFunction,
    *,
    at_most: float,
    solver: str = "CLARABEL",
) -> NoiseChoice:
    """Minimize ``sum_A p_A / s_A`` over ``s > 0`` subject to ``loss(M s) <= at_most``.

    Args:
        pcost_coefficient (m,) or (c, m): p_A > 0, the privacy cost of base mechanism A at unit noise; or one row for
            each of several ways D in which neighbors may differ, of which the largest sum counts.
        variance_coefficient (q, m): M >= 0, sparse; row Q gives Q's variance from the noise variances.
        loss: a convex function of the vector of variances (q,), on CVXPY expressions.
        at_most: the largest loss allowed.
        solver: a solver of CVXPY, such as "CLARABEL" or "ECOS".

    Returns:
        The solver's choice; its ``loss`` and ``bound`` are privacy costs.

    Raises:
        BudgetError: ``at_most`` is not finite, or no noise reaches it.
        SolverError: the solver is not installed or gave no usable answer.
        WorkloadError: the loss is not a convex scalar by CVXPY's rules.

    Source: spec eq. (18), the utility-constrained twin.

    Example:
        >>> import cvxpy
        >>> M = sparse.csr_array([[1.0, 0.0], [0.5, 1.0]])
        >>> round(minimize_privacy_cost([1.0, 0.5], M, cvxpy.sum, at_most=2.0).loss, 4)  # 3.7321 / 2
        1.866
    """
    import cvxpy

    if not np.isfinite(at_most):
        raise BudgetError(f"at_most must be finite, got {at_most!r}")
    model = _model(pcost_coefficient, variance_coefficient, 1.0)
    _expression(loss, model.variance)
    likely_cost = _likely_cost(_value(loss, model.size), at_most)
    free_unit = _free_unit(loss, model.size / likely_cost)
    model = _model(model.rows, model.M, likely_cost * free_unit)
    largest, unit_cost = cvxpy.Variable(), _cost(model, model.scale)
    costs = (model.rows / model.scale / unit_cost) @ cvxpy.inv_pos(model.unit) <= largest
    limit = _expression(loss, model.variance) <= at_most / free_unit
    status = _solve(cvxpy.Minimize(largest), [costs, limit, model.link], solver, at_most=at_most)

    noise_variance = _within(loss, model.M, _noise(model) * free_unit, at_most)
    value, bound, cost = _cost(model, noise_variance), 0.0, _weighted_cost(model, costs.dual_value)
    multiplier = float(np.max(np.asarray(limit.dual_value, dtype=np.float64)))
    if multiplier > 0:
        slope = _slope(model) / multiplier
        room = at_most - _intercept(model, loss, noise_variance, slope, cost)
        bound = _least_weighted_sum(model, slope, cost) / room if room > 0 else 0.0
    return NoiseChoice(frozen(noise_variance), value, _proved(bound, value, 0.0), f"{solver.lower()}: {status}")


@dataclass(frozen=True, eq=False, slots=True)
class _Model:
    """The problem in CVXPY's terms, in units near the optimum for good conditioning.

    ``unit`` times ``scale`` is the noise variance; ``variance`` is the expression of the queries' variances in the
    user's units; ``link`` ties the two and its dual value is the slope of the loss.
    """

    rows: FloatArray
    M: sparse.csr_array
    scale: FloatArray
    size: FloatArray
    unit: Any
    variance: Any
    link: Any


def _model(pcost_coefficient: ArrayLike, variance_coefficient: sparse.csr_array, pcost: float) -> _Model:
    import cvxpy

    rows = np.atleast_2d(np.array(pcost_coefficient, dtype=np.float64))
    rows = frozen_float_array("pcost_coefficient", rows, ndim=2)
    M, p = sparse.csr_array(variance_coefficient), rows.max(axis=0)
    v = M.T @ (1 / np.maximum(M @ np.ones(p.size), np.finfo(np.float64).tiny))
    if not ((rows >= 0).all() and (p > 0).all() and (v > 0).all()):
        raise ValueError("pcost_coefficient must be positive, and every base mechanism must matter to some query")
    scale = np.sqrt(p / v) * float(np.sqrt(p * v).sum()) / pcost
    size = M @ scale
    size = np.maximum(size, _LEAST_SIZE * size.max())
    relative = sparse.csr_array(sparse.diags_array(1 / size) @ M @ sparse.diags_array(scale))
    unit, share = cvxpy.Variable(p.size), cvxpy.Variable(M.shape[0])
    return _Model(rows, M, scale, size, unit, cvxpy.multiply(size, share), relative @ unit == share)


def _expression(loss: ConvexFunction, variance: Any) -> Any:
    """The loss as a convex scalar CVXPY expression."""
    import cvxpy

    try:
        expression = cvxpy.Expression.cast_to_const(loss(variance))
    except (TypeError, ValueError, AttributeError) as error:
        message = f"the loss could not be applied to a CVXPY vector of variances: {error}"
        raise WorkloadError(message) from error
    if not expression.is_scalar() or not expression.is_convex():
        raise WorkloadError(
            "the loss must give one convex number by CVXPY's rules, such as cvxpy.norm(variance, 4); "
            f"got shape {expression.shape}, curvature {expression.curvature.lower()}"
        )
    if expression.is_constant() and not variance.is_constant():
        raise WorkloadError("the loss must depend on the variances it is given; this one is a constant")
    return expression


def _value(loss: ConvexFunction, variance: FloatArray) -> float:
    import cvxpy

    with np.errstate(all="ignore"):
        return float(np.asarray(_expression(loss, cvxpy.Constant(variance)).value).reshape(()))


def _solve(objective: Any, constraints: list[Any], solver: str, *, at_most: float | None = None) -> str:
    """Solve, and return the solver's status if its answer can be used."""
    import cvxpy

    problem = cvxpy.Problem(objective, constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=solver)
        except (cvxpy.error.SolverError, ArithmeticError, ValueError) as error:
            raise SolverError(
                f"{solver} failed: {error}; try another of {cvxpy.installed_solvers()}", status="error"
            ) from error
    status = str(problem.status)
    if at_most is not None and status.startswith("infeasible"):
        raise BudgetError(f"no noise brings the loss down to at_most={at_most!r}; allow a larger loss")
    if status not in _USABLE:
        raise SolverError(f"{solver} gave no usable answer (status {status!r}); try another solver", status=status)
    return status


def _noise(model: _Model) -> FloatArray:
    if model.unit.value is None:
        raise SolverError("the solver stopped without an answer; try another solver", status="no value")
    noise_variance: FloatArray = np.asarray(model.unit.value, dtype=np.float64) * model.scale
    if not (np.isfinite(noise_variance) & (noise_variance > 0)).all():
        raise SolverError("the solver's noise variances are not all positive and finite", status="not positive")
    return noise_variance


def _slope(model: _Model) -> FloatArray:
    """The slopes of the loss at the solver's answer, one per query; NaN where the loss falls as a variance grows."""
    relative = np.asarray(model.link.dual_value, dtype=np.float64)
    tolerance = 1e-6 * float(np.abs(relative).max())
    slope: FloatArray = np.where(relative < -tolerance, np.nan, np.maximum(relative, 0.0) / model.size)
    return slope


def _cost(model: _Model, noise_variance: FloatArray) -> float:
    """The privacy cost of this noise, the largest over the ways to differ."""
    return float((model.rows @ (1 / noise_variance)).max())


def _weighted_cost(model: _Model, dual_value: Any) -> FloatArray:
    """The costs of all sets at unit noise, averaged over the ways to differ with the solver's dual weights, (m,)."""
    weights = np.maximum(np.atleast_1d(np.asarray(dual_value, dtype=np.float64)), 0.0)
    if not 0 < weights.sum() < np.inf:
        weights = np.ones(len(model.rows))
    average: FloatArray = (weights / weights.sum()) @ model.rows
    return average


def _least_weighted_sum(model: _Model, weights: FloatArray, cost: FloatArray) -> float:
    """The least weighted sum of variances where ``cost`` (m,) over the noise adds up to 1, spec eq. (14)."""
    return float(np.sqrt(cost * (model.M.T @ weights)).sum()) ** 2


def _intercept(
    model: _Model, loss: ConvexFunction, noise_variance: FloatArray, slope: FloatArray, cost: FloatArray
) -> float:
    """The tangent at variance 0, lowered until it is nowhere seen above the loss; NaN if the loss rewards noise."""
    if not (np.isfinite(slope).all() and (slope > 0).any()):
        return np.nan
    weights = np.maximum(model.M.T @ slope, np.finfo(np.float64).tiny)
    best = np.sqrt(np.maximum(cost, np.finfo(np.float64).tiny) / weights)
    best *= _cost(model, best) / _cost(model, noise_variance)
    heights = []
    for ray in (model.M @ noise_variance, model.M @ best):
        values = np.array([_value(loss, ray * factor) for factor in _FACTORS])
        if not (np.diff(values) >= -1e-9 * np.abs(values[1:])).all():
            return np.nan
        heights.append(values - np.array(_FACTORS) * float(slope @ ray))
    return float(np.min(heights))


def _spending(model: _Model, loss: ConvexFunction, noise_variance: FloatArray, pcost: float) -> FloatArray:
    """The noise at exactly this cost; or as it is, where it costs less and the loss is smaller for it."""
    cost = _cost(model, noise_variance)
    whole: FloatArray = noise_variance * (cost / pcost)
    is_better = cost < pcost and _value(loss, model.M @ noise_variance) < _value(loss, model.M @ whole)
    return noise_variance if is_better else whole


def _reached(loss: ConvexFunction, variance: FloatArray) -> float:
    value = _value(loss, variance)
    if not np.isfinite(value):
        raise SolverError("the loss is not a finite number at the solver's answer", status="not finite")
    return value


def _proved(bound: float, value: float, worst: float) -> float:
    """A bound that is a number and not above the value reached, else the worst one."""
    return min(bound, value) if np.isfinite(bound) else worst


def _free_unit(loss: ConvexFunction, variance: FloatArray) -> float:
    """A unit near these variances (q,) where the loss is proportional to them, so that any unit will do; else 1."""
    unit = float(np.exp(np.log(variance).mean()))
    for point in (variance, variance * np.linspace(1, 2, variance.size)):
        for factor in (0.5, 1 / unit):
            if not math.isclose(_value(loss, point * factor), _value(loss, point) * factor, rel_tol=1e-9):
                return 1.0
    return unit


def _likely_cost(loss_at_unit_cost: float, at_most: float) -> float:
    """The cost that reaches ``at_most`` if the loss is proportional to noise; used for scaling only."""
    ratio = loss_at_unit_cost / at_most if at_most else 1.0
    return ratio if np.isfinite(ratio) and ratio > 0 else 1.0


def _within(loss: ConvexFunction, M: sparse.csr_array, noise_variance: FloatArray, at_most: float) -> FloatArray:
    """Shrink the noise by the little that the solver's tolerance left above the limit."""
    for excess in (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        shrunk: FloatArray = noise_variance * (1 - excess)
        if _value(loss, M @ shrunk) <= at_most:
            return shrunk
    raise SolverError("the solver's answer misses at_most by more than its tolerance", status="inaccurate")
