"""What a plan may be asked to make small."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from residualplanner._checks import FloatArray, value_text
from residualplanner._words import suggestion
from residualplanner.errors import WorkloadError
from residualplanner.losses.targets import Targets
from residualplanner.workload import QueryLike, Workload, read_query

#: Weights of queries: a rule, a mapping from query to weight, or one number per query in the workload's order.
Weights = Literal["cells", "equal", "sqrt"] | Mapping[Any, float] | Sequence[float] | FloatArray

_RULES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "cells": lambda cells: cells,
    "equal": np.ones_like,
    "sqrt": np.sqrt,
}


@dataclass(frozen=True, eq=False, slots=True)
class SumOfVariances:
    """The weighted sum over queries of the variance of an average cell.

    Attributes:
        weights: "cells" (a query counts as often as it has cells: the sum of all cell variances), "equal", "sqrt" (the
            square root of its cells), a mapping from query to weight, or a weight per query.  The workload's own
            weights multiply these.

    Source: spec eq. (14); paper section 6.
    """

    weights: Weights = "cells"


@dataclass(frozen=True, eq=False, slots=True)
class MaxVariance:
    """The largest (weighted) cell variance of the workload.

    Attributes:
        weights: a weight that multiplies each query's variance, as for `SumOfVariances`; None for equal ones.  The
            workload's own weights multiply these.  A query of weight 0 does not count.

    Source: spec eq. (15).
    """

    weights: Weights | None = None


@dataclass(frozen=True, eq=False, slots=True)
class ConvexLoss:
    """Any convex function of the variances of the queries' average cells.

    Attributes:
        function: from a CVXPY vector, one variance per query in the workload's order, to a convex CVXPY expression.
        solver: the solver CVXPY uses, such as "CLARABEL" or "ECOS".

    Source: spec eq. (18).
    """

    function: Callable[[Any], Any]
    solver: str = "CLARABEL"


#: What may be meant by a word that is none, and how it is written.
_NAMES = {"sum": "'sum'", "max": "'max'"} | {
    name: f"{name}(...)" for name in ("SumOfVariances", "MaxVariance", "Targets", "ConvexLoss")
}
#: What `select` accepts as a loss.
Loss = Literal["sum", "max"] | SumOfVariances | MaxVariance | Targets | ConvexLoss | Callable[[Any], Any]
#: A loss as an object.
LossObject = SumOfVariances | MaxVariance | Targets | ConvexLoss


def read_loss(loss: Loss) -> LossObject:
    """The loss as an object.

    Raises:
        WorkloadError: it is none of those that `select` accepts.

    Example:
        >>> read_loss("max")
        MaxVariance(weights=None)
    """
    if isinstance(loss, LossObject):
        return loss
    if isinstance(loss, str) and loss == "sum":
        return SumOfVariances()
    if isinstance(loss, str) and loss == "max":
        return MaxVariance()
    if callable(loss) and loss not in (SumOfVariances, MaxVariance, Targets, ConvexLoss):
        return ConvexLoss(loss)
    word = loss.__name__ if isinstance(loss, type) else loss
    raise WorkloadError(
        "loss must be 'sum', 'max', SumOfVariances(...), MaxVariance(...), Targets(...) or a function of a CVXPY "
        f"vector, got {value_text(loss)}{suggestion(word, _NAMES)}"
    )


def describe_loss(loss: LossObject) -> str:
    """The loss in a few words, as plans, files and messages name it.

    Example:
        >>> describe_loss(SumOfVariances("sqrt"))
        'sum of variances, weights sqrt'
    """
    if isinstance(loss, ConvexLoss):
        return f"convex loss, solver {loss.solver}"
    if isinstance(loss, Targets):
        return f"largest margin of error ({loss.level:.15g}) relative to its target"
    name = "sum of variances" if isinstance(loss, SumOfVariances) else "maximum variance"
    if loss.weights is None:
        return name
    return f"{name}, weights {loss.weights if isinstance(loss.weights, str) else 'given'}"


def loss_of_words(words: str) -> Loss:
    """Undo `describe_loss` where the words say all.

    Raises:
        WorkloadError: they do not: weights that were given one by one, a function, or targets.

    Example:
        >>> loss_of_words("sum of variances, weights sqrt")
        SumOfVariances(weights='sqrt')
    """
    name, _, weights = words.partition(", weights ")
    if words == "maximum variance":
        return MaxVariance()
    if weights in _RULES and name in ("sum of variances", "maximum variance"):
        rule = cast(Literal["cells", "equal", "sqrt"], weights)
        return SumOfVariances(rule) if name == "sum of variances" else MaxVariance(rule)
    raise WorkloadError(f"the plan does not tell its loss ({words}) in full; give loss=... for all queries together")


def importance_of(workload: Workload, weights: Weights | None) -> FloatArray:
    """How much each query's average cell variance counts, (q,): by rule or given, times the workload's own weights.

    Raises:
        WorkloadError: weights are of the wrong number, negative, not finite or all zero, or name other queries.
    """
    if weights is None:
        given = np.ones(len(workload))
    elif isinstance(weights, str):
        if weights not in _RULES:
            meant = suggestion(weights, sorted(_RULES))
            raise WorkloadError(
                f"weights must be one of {sorted(_RULES)}, a mapping or numbers, got {weights!r}{meant}"
            )
        given = _RULES[weights](workload.cells)
    else:
        given = _numbers(workload, weights)
    if not (np.isfinite(given) & (given >= 0)).all():
        raise WorkloadError("weights must be finite and at least 0")
    with np.errstate(over="ignore"):
        importance: FloatArray = given * workload.weights
    if not np.isfinite(importance).all():
        raise WorkloadError("weights are too large: times the workload's own weights, they must be finite")
    if not (importance > 0).any():
        raise WorkloadError("all weights are 0; at least one query must matter")
    return importance


def _numbers(workload: Workload, weights: Mapping[Any, float] | Sequence[float] | FloatArray) -> FloatArray:
    if isinstance(weights, Mapping):
        weights = _in_order(workload, weights)
    try:
        given = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise WorkloadError("weights must be numbers, one for each query") from None
    if given.shape != (len(workload),):
        raise WorkloadError(
            f"one weight for each query: got {len(workload)} queries and weights of shape {given.shape}"
        )
    return given


def _in_order(workload: Workload, weights: Mapping[Any, float]) -> list[float]:
    def key(query: QueryLike) -> object:
        return read_query(workload.domain, query)

    by_query = {key(query): weight for query, weight in weights.items()}
    if len(by_query) < len(weights):
        raise WorkloadError("weights name one query twice, with its attributes in another order")
    queries = {key(query): query for query in workload}
    missing = [query for found, query in queries.items() if found not in by_query]
    if missing:
        raise WorkloadError(f"weights name no weight for the query {missing[0]!r}; give one for each query")
    if len(by_query) > len(queries):
        raise WorkloadError("weights name a query that is not in the workload")
    return [by_query[found] for found in queries]
