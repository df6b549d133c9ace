"""Weights of queries: by rule, by name, or one by one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.method.workload.workload import Workload
from residualplanner.method.workload.written_queries import checked_weights

#: Weights of queries: a rule, a mapping from query to weight, or one number per query in the workload's order.
Weights = Literal["cells", "equal", "sqrt"] | Mapping[Any, float] | Sequence[float] | FloatArray

#: The rules, as functions of the workload: how many cells queries have is computed only where it matters.
RULES: dict[str, Callable[[Workload], FloatArray]] = {
    "cells": lambda workload: workload.cells,
    "equal": lambda workload: np.ones(len(workload)),
    "sqrt": lambda workload: np.sqrt(workload.cells),
}

#: What stands in words and files for weights that were given one by one.
GIVEN = "given"


def importance_of(workload: Workload, weights: Weights) -> FloatArray:
    """How much each query's average cell variance counts, (q,): by rule or given, times the workload's own weights.

    Variances of sums are measured in units of the largest amount, squared: see `Workload.scales`.

    Raises:
        WorkloadError: weights are of the wrong number, negative, not finite or all zero, or name other queries.
    """
    with np.errstate(over="ignore"):
        importance: FloatArray = given_weights(workload, weights) * workload.weights / workload.scales**2
    if not np.isfinite(importance).all():
        raise WorkloadError("weights are too large: times the workload's own weights, they must be finite")
    if not (importance > 0).any():
        raise WorkloadError("all weights are 0; at least one query must matter")
    return importance


def given_weights(workload: Workload, weights: Weights) -> FloatArray:
    """The weight of each query, (q,), without the workload's own.

    Raises:
        WorkloadError: weights are of the wrong number, negative or not finite, or name other queries.
    """
    if isinstance(weights, str):
        if weights not in RULES:
            meant = suggestion(weights, sorted(RULES))
            raise WorkloadError(f"weights must be one of {sorted(RULES)}, a mapping or numbers, got {weights!r}{meant}")
        return RULES[weights](workload)
    each = _in_order(workload, weights) if isinstance(weights, Mapping) else weights
    return checked_weights(each, len(workload))


def rule_of(weights: Weights | None) -> str | None:
    """The rule, `GIVEN` where there is none, or None for equal weights: as words and files have it."""
    return weights if weights is None or isinstance(weights, str) else GIVEN


def _in_order(workload: Workload, weights: Mapping[Any, float]) -> list[float]:
    def key(query: QueryLike) -> object:
        return written_query(workload.domain, query).in_domain_order

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
