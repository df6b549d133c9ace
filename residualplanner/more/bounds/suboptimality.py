"""How far a plan can be from the best of all mechanisms: its errors over those that none can have smaller.

Source: eqs. (33), (126) and (127).
"""

from residualplanner.method.bases.basis import Basis
from residualplanner.method.losses import Loss
from residualplanner.method.privacy import Neighbors
from residualplanner.method.workload.workload import Workload
from residualplanner.more.bounds.svd_bound import sum_bound
from residualplanner.more.bounds.svd_maximum import greatest_bound


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
    bound = greatest_bound if loss.is_of_maximum else sum_bound
    least = bound(workload, importance, values, replaced=neighbors.has_public_total, seconds=seconds)
    return least * neighbors.cost_factor_up
