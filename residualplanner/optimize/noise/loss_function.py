"""A user's convex loss as a function of numbers: its value, and a slope by which it stays above its tangent.

Reads: a function on CVXPY expressions.  Gives: ConvexLossFunction.
Source: spec eq. (18).
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.errors import WorkloadError

#: From a CVXPY vector of variances (q,), one per query, to a convex scalar CVXPY expression.
ConvexFunction = Callable[[Any], Any]

_EXAMPLE = "such as lambda variances: cvxpy.norm(variances, 4)"


@dataclass(frozen=True, eq=False, slots=True)
class ConvexLossFunction:
    """A convex loss that can be evaluated.

    Attributes:
        expression: the loss as a CVXPY expression of ``variance``.
        variance: a CVXPY vector, one variance per query.
    """

    expression: Any
    variance: Any

    def value(self, variance: FloatArray) -> float:
        """The loss at these variances (q,); NaN where it has no value."""
        self._set(variance)
        with np.errstate(all="ignore"):
            value = self.expression.value
        return math.nan if value is None else float(np.asarray(value, dtype=np.float64).reshape(()))

    def subgradient(self, variance: FloatArray) -> FloatArray:
        """Slopes (q,) of a plane that touches the loss at these variances (q,), from CVXPY's rules; NaN if it has none.

        CVXPY applies the chain rule to the expression and takes, at a kink, one subgradient of several.
        """
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
    """The loss of the variances of so many queries.

    Raises:
        WorkloadError: it cannot be applied to a CVXPY vector, or is not a convex scalar by CVXPY's rules.
    """
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
    """The loss of this CVXPY vector as a convex scalar CVXPY expression.

    Raises:
        As `read_loss_function`.
    """
    import cvxpy

    expression = _applied(loss, variance)
    if not isinstance(expression, cvxpy.Expression):
        try:
            expression = cvxpy.Expression.cast_to_const(expression)
        except (TypeError, ValueError) as error:
            raise WorkloadError(
                f"the loss must give one convex CVXPY expression, {_EXAMPLE}; it gave {type(expression).__name__}"
            ) from error
    if not expression.is_scalar() or expression.is_complex() or not expression.is_convex():
        raise WorkloadError(
            "the loss must give one convex number by CVXPY's rules, such as cvxpy.norm(variance, 4); got "
            f"{'complex numbers, ' if expression.is_complex() else ''}"
            f"shape {expression.shape}, curvature {expression.curvature.lower()}"
        )
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
        raise WorkloadError(
            f"{message}; write a function of that one vector with CVXPY's own functions, {_EXAMPLE}, "
            "not with those of NumPy or Python"
        ) from error


def _require_closed(expression: Any, variance: Any) -> None:
    """Refuse variables besides the variances, and parameters without a value."""
    own = {variable.id for variable in variance.variables()}
    if any(variable.id not in own for variable in expression.variables()):
        raise WorkloadError("the loss must not have CVXPY variables of its own; use the vector that it is given only")
    numbers: list[Any] = [leaf.value for leaf in (*expression.parameters(), *expression.constants())]
    if any(value is None for value in numbers):
        raise WorkloadError("the loss has a CVXPY parameter without a value; give it one, or write a number")
    if not all(np.isfinite(value.toarray() if hasattr(value, "toarray") else value).all() for value in numbers):
        raise WorkloadError("the loss holds a number that is not finite; write finite numbers")
