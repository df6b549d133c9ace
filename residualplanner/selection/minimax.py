"""The least possible maximum of variances, with a certificate.

Reads: numbers only, one entry per base mechanism and a sparse row per query.  Gives: NoiseChoice.
Source: spec eqs. (15) to (17).

The dual weights of the queries are found by a multiplicative update, as for optimal designs of experiments: a query
whose variance is above the current level gains weight, one below loses it.  With an exponent of at most 2 the update
never lowers the dual value.  A query that alone carries its noise has a variance proportional to its weight to the
power -1/2, so that exponent 2 is Newton's step for it; queries that end without weight are driven out by a growing
exponent.  A step that lowers the dual value is taken back and repeated with exponent 2 for all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from residualplanner._checks import FloatArray, frozen, frozen_float_array, require_positive
from residualplanner.selection.choice import NoiseChoice

_GROWTH = 1.3
_LARGEST_BOOST = 1e3
_LEAST_WEIGHT = 1e-280


def minimize_maximum_variance(
    pcost_coefficient: ArrayLike,
    variance_coefficient: sparse.csr_array,
    *,
    pcost: float,
    gap: float = 1e-6,
    start: ArrayLike | None = None,
    steps: int = 20_000,
) -> NoiseChoice:
    """Minimize ``max_Q (M s)_Q`` over ``s > 0`` subject to ``sum_A p_A / s_A = pcost``.

    Args:
        pcost_coefficient (m,): p_A > 0, the privacy cost of base mechanism A at unit noise.
        variance_coefficient (q, m): M >= 0, sparse; row Q gives Q's (weighted) variance from the noise variances.
            Every column must have a positive entry.
        pcost: the privacy cost to spend in total, > 0; rho-zCDP has ``pcost = 2 * rho``.
        gap: stop when the loss is proved to be within this fraction of the optimum.
        start (q,): positive weights of the queries to begin from; equal ones by default.
        steps: stop after this many steps, with the gap reached.

    Returns:
        The best choice seen, with a lower bound on the loss of any other; in counts squared.

    Raises:
        BudgetError: ``pcost`` or ``gap`` is not a positive finite number.
        ValueError: the arrays do not fit together or hold entries that are not positive.

    Guarantees: up to rounding, the noise has privacy cost ``pcost``, and none of that cost has a loss below ``bound``.
    Cost: two products with M a step; usually between 5 and 100 steps.
    Source: spec eqs. (15) to (17).

    Example:
        >>> M = sparse.csr_array([[1.0, 0.0], [0.5, 1.0]])
        >>> choice = minimize_maximum_variance([1.0, 0.5], M, pcost=1.0)
        >>> bool(choice.gap <= 1e-6)
        True
    """
    pcost, gap = require_positive("pcost", pcost), require_positive("gap", gap)
    matrix = sparse.csr_array(variance_coefficient)
    problem = _problem(pcost_coefficient, matrix)
    weights = _start(start, matrix.shape[0])

    here = problem.at(weights)
    best, bound, boost = here, here.value, 1.0
    for _ in range(steps):
        if best.maximum - bound <= gap * bound:
            break
        exponent = np.where(here.ratio < 1, 2 * boost, 2.0)
        there = problem.at(_moved(here, exponent))
        boost = min(boost * _GROWTH, _LARGEST_BOOST)
        if not there.value >= here.value:
            there, boost = problem.at(_moved(here, 2.0)), 1.0
        here = there
        best = min(best, here, key=lambda point: point.maximum)
        bound = max(bound, here.value)
    status = "certified" if best.maximum - bound <= gap * bound else f"stopped after {steps} steps"
    return NoiseChoice(frozen(best.noise_variance / pcost), best.maximum / pcost, bound / pcost, status)


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """Where the search stands: query weights, the noise they imply at cost 1, and both sides of the certificate."""

    weights: FloatArray
    noise_variance: FloatArray
    ratio: FloatArray
    value: float
    maximum: float


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
    pcost: FloatArray
    rows_of: sparse.csr_array
    columns_of: sparse.csc_array

    def at(self, weights: FloatArray) -> _Point:
        """Evaluate spec eqs. (16) and (17) at query weights (q,)."""
        v = self.columns_of @ weights
        root_sum = float(np.sqrt(self.pcost * v).sum())
        noise_variance = np.sqrt(self.pcost / v) * root_sum
        variance = self.rows_of @ noise_variance
        value = root_sum**2
        return _Point(weights, noise_variance, variance / value, value, float(variance.max()))


def _moved(point: _Point, exponent: FloatArray | float) -> FloatArray:
    weights = np.maximum(point.weights * point.ratio**exponent, _LEAST_WEIGHT)
    moved: FloatArray = weights / weights.sum()
    return moved


def _problem(pcost_coefficient: ArrayLike, matrix: sparse.csr_array) -> _Problem:
    p = frozen_float_array("pcost_coefficient", pcost_coefficient, ndim=1)
    if matrix.ndim != 2 or matrix.shape[1] != p.size or not matrix.shape[0]:
        raise ValueError(f"variance_coefficient must be (q, {p.size}) with q >= 1, got {matrix.shape}")
    if not (p > 0).all() or not (np.isfinite(matrix.data) & (matrix.data >= 0)).all():
        raise ValueError("pcost_coefficient must be positive and variance_coefficient at least 0 in every entry")
    columns_of = matrix.T
    if not (columns_of @ np.ones(matrix.shape[0]) > 0).all():
        raise ValueError("every base mechanism must matter to some query: a column of variance_coefficient is 0")
    return _Problem(p, matrix, columns_of)


def _start(start: ArrayLike | None, count: int) -> FloatArray:
    if start is None:
        return np.full(count, 1 / count)
    weights = frozen_float_array("start", start, ndim=1)
    if weights.shape != (count,) or not (weights > 0).all():
        raise ValueError(f"start must hold {count} positive weights")
    normalized: FloatArray = weights / weights.sum()
    return normalized
