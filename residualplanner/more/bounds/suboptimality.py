"""How far a plan can be from the best of all mechanisms: its errors over those that none can have smaller.

Source: eqs. (33), (126), (127) and (128).
"""

import math

from residualplanner.method.bases.basis import Basis
from residualplanner.method.losses import Loss
from residualplanner.method.privacy import Neighbors
from residualplanner.method.workload.workload import Workload
from residualplanner.more.bounds.explicit import explicit_bound
from residualplanner.more.bounds.svd_bound import sum_bound
from residualplanner.more.bounds.svd_maximum import greatest_bound
from residualplanner.more.replacement.one_way import one_way_problems


def least_variance(
    workload: Workload, loss: Loss, bases: tuple[Basis, ...], neighbors: Neighbors, *, seconds: float
) -> float:
    """No unbiased linear mechanism with Gaussian noise of cost 1 has a smaller largest or summed variance.

    ``bases`` (d,) are those that suit the workload, whose weights of values make the bound of a sum a good one.

    Raises:
        WorkloadError: none is known, and why in a few words; or it would take more than so many seconds.
    """
    importance = loss.importance(workload)
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
    return least * neighbors.cost_factor_up


def sharp_least_variance(
    workload: Workload, loss: Loss, neighbors: Neighbors, *, enough: float, seconds: float
) -> float:
    """The same from explicit matrices, up to a bound that is large ``enough``; 0 where the domain is not small."""
    factor = neighbors.cost_factor_up
    how = workload, loss.importance(workload)
    of_maximum, replaced = loss.is_of_maximum, neighbors.has_public_total
    bound = explicit_bound(*how, of_maximum=of_maximum, replaced=replaced, enough=enough / factor, seconds=seconds)
    return bound * factor
