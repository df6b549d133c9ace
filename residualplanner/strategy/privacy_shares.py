"""How the privacy cost is split over the queries of a workload.

Reads: a workload, the cost of every set, variance coefficients.  Gives: an array, one entry per query.
"""

from collections.abc import Callable, Iterable

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.strategy.variances import Piece, noise_weights
from residualplanner.workload import Workload

#: Queries that matter less than this, beside others or at all, would make shares overflow.
_LEAST = 1e-100


def privacy_shares(workload: Workload, cost: FloatArray, pieces: Callable[[], Iterable[Piece]]) -> FloatArray:
    """The share of the privacy cost that each query accounts for, (q,); they add up to 1.

    The cost of each base mechanism is split over the queries that use it, in proportion to what they take of its noise,
    summed over their cells and times their weight; if a query has weight 0, or next to none beside another, all weights
    are left out, since noise that only such queries use would have nobody to be charged to.

    Args:
        workload: the queries.
        cost (m,): of every set of the closure.
        pieces: gives the queries and what an average cell takes of the noise of their sets.
    """
    importance = workload.weights * workload.cells
    if not (importance > _LEAST * max(1.0, float(importance.max()))).all():
        importance = workload.cells
    per_use = cost / noise_weights(pieces(), importance, len(cost))
    shares = np.empty(len(workload))
    for queries, positions, taken in pieces():
        shares[queries] = importance[queries] * np.einsum("qs,qs->q", taken, per_use[positions])
    total: FloatArray = shares / shares.sum()
    return total
