"""The best noise for margins of error: the largest one relative to its target is least, and the rest rides along.

Reads: a workload, bases, targets, neighbors.  Gives: NoiseChoice at privacy cost 1.
Source: spec eqs. (14) to (17), (23); for "replace" eq. (37).
"""

from dataclasses import replace

import numpy as np

from residualplanner._checks import FloatArray, frozen
from residualplanner.bases import Basis, ResidualNumbers
from residualplanner.errors import BudgetError
from residualplanner.optimize.noise.choice import NoiseChoice
from residualplanner.optimize.noise.unit_noise import least_maximum
from residualplanner.optimize.noise.weighted_sum import minimize_weighted_variance
from residualplanner.privacy import Neighbors
from residualplanner.strategy import constant_strategy, cost_upper_bound, safe_row, variance_weights
from residualplanner.workload import Closure, Workload


def least_largest_ratio(
    workload: Workload,
    bases: tuple[Basis, ...],
    numbers: ResidualNumbers,
    importance: FloatArray,
    neighbors: Neighbors,
    *,
    others: float,
    gap: float,
) -> NoiseChoice:
    """The least maximum of cell variances times ``importance`` (q,), at privacy cost 1, with finite noise for all sets.

    The queries of importance 0 take no part in the maximum.  Sets that only they need get the share ``others`` of the
    cost, divided for the least sum of the average variances of these queries.  The bound is for noise that leaves those
    sets out, so that the gap includes the share.

    Raises:
        BudgetError: records are replaced, and the only query with a target is their number, which is public.

    Source: spec eqs. (14) and (15).
    """
    limited = np.flatnonzero(importance > 0)
    part = workload.take(limited)
    if neighbors.notion == "replace" and len(part.closure) == 1:
        raise BudgetError("when records are replaced their number is public: it needs no target; name another table")
    choice = least_maximum(part, bases, numbers, importance[limited], neighbors, gap=gap)
    closure = workload.closure
    places = _places(closure, part.closure)
    free = np.ones(len(closure), dtype=np.bool_)
    free[places] = False
    noise_variance = np.empty(len(closure))
    noise_variance[places] = choice.noise_variance
    if not free.any():
        return replace(choice, noise_variance=frozen(noise_variance))
    row = safe_row(closure, numbers) if neighbors.notion == "replace" else closure.products(numbers.pcost)
    weights = variance_weights(workload, numbers, (importance == 0).astype(np.float64))
    spent = others / (1 - others)
    costs = row[free] * neighbors.cost_factor
    noise_variance[free] = minimize_weighted_variance(costs, weights[free], pcost=spent).noise_variance
    # Measured together they may cost a little less than apart, or, where a safe bound is needed, more.
    cost = cost_upper_bound(constant_strategy(closure, bases), noise_variance, neighbors)
    status = f"{choice.status}, {others:.2g} of the cost for tables without a target"
    return replace(choice, noise_variance=frozen(noise_variance * cost), loss=choice.loss * cost, status=status)


def _places(closure: Closure, part: Closure) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Where the sets of a smaller closure stand in a larger one, (m,)."""
    found = [closure.positions_of(block) for block in part.blocks]
    return np.concatenate(found).astype(np.int64)
