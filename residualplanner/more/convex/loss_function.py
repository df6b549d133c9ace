"""A user's convex loss as a function of numbers, and planes that touch it from below.

Source: eqs. (16) and (18).

Each plane touches the loss at one point with a subgradient of the loss there, so by convexity the loss is nowhere below
it; nor is it below an average of such planes.  For a plane the best noise is known in closed form.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError, needing

#: From a CVXPY vector of variances (q,), one per query, to a convex scalar CVXPY expression.
ConvexFunction = Callable[[Any], Any]

_EXAMPLE = "such as lambda variances: cvxpy.norm(variances, 4)"
#: How far evaluating the loss and its slopes may be off by rounding, relative to the terms; planes are lowered by it.
_ROUNDING = 2.0**-43
#: A plane that is above the loss by more than this anywhere is none: the gradient or the convexity was wrong.
_CONTRADICTION = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class ConvexLossFunction:
    """A convex loss that can be evaluated."""

    expression: Any  # the loss as a CVXPY expression of the variances
    variance: Any  # a CVXPY vector, one per query

    def value(self, variance: FloatArray) -> float:
        """The loss at these variances (q,); NaN where it has no value."""
        self._set(variance)
        with np.errstate(all="ignore"):
            value = self.expression.value
        return math.nan if value is None else float(np.asarray(value, dtype=np.float64).reshape(()))

    def subgradient(self, variance: FloatArray) -> FloatArray:
        """Slopes (q,) of a plane that touches the loss at these variances (q,), by CVXPY's rules; NaN without one."""
        self._set(variance)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                gradient = self.expression.grad.get(self.variance)
            except (NotImplementedError, ArithmeticError, ValueError, np.linalg.LinAlgError):
                gradient = None  # some atoms of CVXPY have no gradient, and say so in several ways
        if gradient is None:
            return np.full(variance.size, np.nan)
        dense = gradient.toarray() if hasattr(gradient, "toarray") else np.asarray(gradient)
        return np.asarray(dense, dtype=np.float64).reshape(-1)

    def _set(self, variance: FloatArray) -> None:
        # ``value`` would check the numbers anew each time, and refuses some that a trial point may have.
        self.variance.save_value(np.asarray(variance, dtype=np.float64))

    def degree(self, variance: FloatArray) -> float | None:
        """The k with ``loss(f * variance) = f**k * loss(variance)``, so that any unit will do; None without one."""
        unit = float(np.exp(np.log(variance).mean()))
        start, twice = self.value(variance), self.value(2 * variance)
        if not (0 < start < math.inf and 0 < twice < math.inf):
            return None
        degree = math.log2(twice / start)
        for point in (variance, variance * np.linspace(1, 2, variance.size)):
            for factor in (0.5, 1 / unit):
                with np.errstate(all="ignore"):
                    expected = float(np.power(factor, degree)) * self.value(point)
                if not math.isclose(self.value(point * factor), expected, rel_tol=1e-9):
                    return None
        return degree


def read_loss_function(loss: ConvexFunction, queries: int) -> ConvexLossFunction:
    """The loss of the variances of so many queries; MissingExtraError without CVXPY."""
    with needing("a loss of your own is a function of CVXPY, which is not installed", "convex"):
        import cvxpy

    variance = cvxpy.Variable(queries)
    return ConvexLossFunction(_with_gradients(loss_expression(loss, variance)), variance)


def _with_gradients(expression: Any) -> Any:
    """The same with ``max(abs(x))`` for the norm of infinity, of which CVXPY has no gradient."""
    import cvxpy

    arguments = [_with_gradients(argument) for argument in expression.args]
    if isinstance(expression, cvxpy.norm_inf) and expression.axis is None:
        return cvxpy.max(cvxpy.abs(arguments[0]))
    is_new = any(new is not old for new, old in zip(arguments, expression.args, strict=True))
    return expression.copy(arguments) if is_new else expression


def loss_expression(loss: ConvexFunction, variance: Any) -> Any:
    """The loss of this CVXPY vector as a convex scalar CVXPY expression; errors as of `read_loss_function`."""
    import cvxpy

    expression = _applied(loss, variance)
    if not isinstance(expression, cvxpy.Expression):
        try:
            expression = cvxpy.Expression.cast_to_const(expression)
        except (TypeError, ValueError) as error:
            problem = f"the loss must give one convex CVXPY expression, {_EXAMPLE}"
            raise WorkloadError(f"{problem}; it gave {type(expression).__name__}") from error
    if not expression.is_scalar() or expression.is_complex() or not expression.is_convex():
        what = "complex numbers" if expression.is_complex() else f"{expression.shape}, {expression.curvature.lower()}"
        raise WorkloadError(f"the loss must give one convex number by CVXPY's rules, {_EXAMPLE}; got {what}")
    if expression.is_constant():
        raise WorkloadError("the loss must depend on the variances it is given; this one is a constant")
    _require_closed(expression, variance)
    return expression


def _applied(loss: ConvexFunction, variance: Any) -> Any:
    """The value of the loss; whatever it raises is reported with what to write instead."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return loss(variance)
    except Exception as error:
        reason = " ".join(str(error).split())
        message = f"the loss could not be applied to a CVXPY vector of variances: {type(error).__name__}: {reason}"
        problem = f"{message}; write a function of that one vector with CVXPY's own functions"
        raise WorkloadError(f"{problem}, {_EXAMPLE}, not with those of NumPy or Python") from error


def _require_closed(expression: Any, variance: Any) -> None:
    own = {variable.id for variable in variance.variables()}
    if any(variable.id not in own for variable in expression.variables()):
        raise WorkloadError("the loss must not have CVXPY variables of its own; use the vector that it is given only")
    numbers: list[Any] = [leaf.value for leaf in (*expression.parameters(), *expression.constants())]
    if any(value is None for value in numbers):
        raise WorkloadError("the loss has a CVXPY parameter without a value; give it one, or write a number")
    if not all(np.isfinite(value.toarray() if hasattr(value, "toarray") else value).all() for value in numbers):
        raise WorkloadError("the loss holds a number that is not finite; write finite numbers")


@dataclass(frozen=True, eq=False, slots=True)
class Tangents:
    """Planes ``intercept + slope @ variance`` below a loss, and the points at which it was seen."""

    intercept: FloatArray  # (k,): the planes' heights at variance 0, less what rounding may have added
    slope: FloatArray  # (k, q): their slopes
    points: FloatArray  # (n, q): variances at which the loss was evaluated
    values: FloatArray  # (n,): the loss there
    are_wrong: bool = False  # whether a plane was seen above the loss: it is not convex, or CVXPY gets its slopes wrong

    def joined(self, loss: ConvexLossFunction, points: FloatArray) -> "Tangents":
        """These and the tangents at more points (n, q), where the loss and its slopes are finite."""
        values = np.array([loss.value(point) for point in points])
        slope = np.array([loss.subgradient(point) for point in points]).reshape(points.shape)
        with np.errstate(all="ignore"):
            reach, rise = (np.abs(slope) * points).sum(axis=1), (slope * points).sum(axis=1)
            intercept = values - rise - _ROUNDING * (np.abs(values) + reach)
        is_plane = np.isfinite(slope).all(axis=1) & np.isfinite(intercept)
        seen = ~np.isnan(values)
        joined = Tangents(
            np.concatenate([self.intercept, intercept[is_plane]]),
            np.vstack([self.slope, slope[is_plane]]),
            np.vstack([self.points, points[seen]]),
            np.concatenate([self.values, values[seen]]),
        )
        return replace(joined, are_wrong=self.are_wrong or joined._are_above())

    def of(self, counts: NDArray[np.bool_]) -> "Tangents":
        """Some of the planes, and all of the points."""
        return replace(self, intercept=self.intercept[counts], slope=self.slope[counts])

    def _are_above(self) -> bool:
        with np.errstate(all="ignore"):
            heights = self.points @ self.slope.T + self.intercept
            size = self.points @ np.abs(self.slope).T + np.abs(self.intercept) + np.abs(self.values)[:, None]
            return bool((heights > self.values[:, None] + _CONTRADICTION * size).any())


@dataclass(frozen=True, eq=False, slots=True)
class Plane:
    """One plane below the loss, in the noise of the base mechanisms.  Source: eq. (18)."""

    intercept: float  # its height where there is no noise
    rise: float  # (sum_A sqrt(p_A (M^T slope)_A))**2: times 1/c, how far above the intercept it is at best for cost c

    def least_loss(self, pcost: float) -> float:
        """No noise of this privacy cost has a smaller loss.  Source: eq. (18)."""
        return self.intercept + self.rise / pcost

    def least_cost(self, at_most: float) -> float:
        """No noise of a smaller privacy cost has a loss of at most this; inf if none has.  Source: eq. (18)."""
        room = at_most - self.intercept + _ROUNDING * abs(at_most)
        if room > 0:
            return self.rise / room
        return np.inf if room < 0 or self.rise > 0 else 0.0


def plane_of(M: sparse.csr_array, intercept: float, slope: FloatArray, cost: FloatArray) -> Plane | None:
    """A plane of slopes (q,), for costs (m,) at unit noise; None where it falls without end as some noise grows."""
    weights = M.T @ slope
    if not (weights >= 0).all():
        return None
    rise = float(np.sqrt(cost * weights).sum()) ** 2
    return Plane(intercept, rise) if np.isfinite(rise) else None


def normalized(weights: FloatArray) -> FloatArray:
    """The weights (m,) with sum 1, those below 0 left out; equal ones where nothing is left."""
    kept = np.maximum(weights, 0.0)
    total = float(kept.sum())
    return kept / total if 0 < total < np.inf else np.full(len(kept), 1 / max(len(kept), 1))
