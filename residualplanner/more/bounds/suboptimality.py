"""How far a plan can be from the best of all mechanisms: its errors over those that none can have smaller.

Source: eqs. (33), (126), (127) and (128).
"""

import math
from typing import Any

from residualplanner.method.bases.basis import Basis
from residualplanner.method.losses import Loss
from residualplanner.method.privacy import Neighbors
from residualplanner.method.workload.workload import Workload
from residualplanner.more.bounds.explicit import explicit_bound
from residualplanner.more.bounds.svd_bound import sum_bound
from residualplanner.more.bounds.svd_maximum import greatest_bound
from residualplanner.more.replacement.one_way import one_way_problems

#: Where the bound is farther than this from what was reached, as a fraction of errors, a sharper one is tried; it need
#: be no nearer than this.
_FAR, _NEAR = 0.005, 0.001


def least_variance(
    workload: Workload,
    loss: Loss,
    bases: tuple[Basis, ...],
    neighbors: Neighbors,
    *,
    reached: float = 0.0,
    seconds: float,
) -> float:
    """No unbiased linear mechanism with Gaussian noise of cost 1 has a smaller largest or summed variance.

    ``bases`` (d,) are those that suit the workload, whose weights of values make the bound of a sum a good one.  Where
    it is far from what was ``reached`` at cost 1, and the domain is small, explicit matrices give a sharper one.

    Raises:
        WorkloadError: none is known, and why in a few words; or it would take more than so many seconds.
    """
    importance = loss.importance(workload)
    whole = workload, importance
    values = {i: basis.value_weights for i, basis in enumerate(bases) if basis.value_weights is not None}
    bound, replaced, parts = greatest_bound if loss.is_of_maximum else sum_bound, neighbors.has_public_total, []
    if replaced:
        problems, rest = one_way_problems(workload, importance, of_maximum=loss.is_of_maximum)
        parts = [problem.least() for problem in problems.values()]
        # The number of records is free.
        rest = rest[(workload.orders[rest] > 0) & (importance[rest] > 0)]
        workload, importance = (workload.take(rest), importance[rest]) if len(rest) else (workload, importance[:0])
    if len(importance):
        parts.append(bound(workload, importance, values, replaced=replaced, seconds=seconds))
    # Costs of the parts add up: the best division gives the sum of the largest variances, or of the roots of sums.
    least = sum(parts) if loss.is_of_maximum else sum(map(math.sqrt, parts)) ** 2
    reached = reached / neighbors.cost_factor_up
    if reached > least * (1 + _FAR) ** 2:
        limits: Any = {"enough": reached / (1 + _NEAR) ** 2, "seconds": seconds}
        sharper = explicit_bound(*whole, of_maximum=loss.is_of_maximum, replaced=replaced, **limits)
        least = max(least, sharper)
    return least * neighbors.cost_factor_up
