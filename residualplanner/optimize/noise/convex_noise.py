"""The best noise for any convex loss, and the least cost that reaches one, for either notion of neighbors.

Reads: a workload, a loss, neighbors.  Gives: NoiseChoice.
Source: spec eqs. (18), (27) and (37).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from residualplanner._checks import FloatArray, frozen
from residualplanner.bases import ResidualNumbers
from residualplanner.losses import ConvexLoss
from residualplanner.optimize.noise.choice import NoiseChoice
from residualplanner.optimize.noise.convex import minimize_convex_loss
from residualplanner.optimize.noise.least_cost import minimize_privacy_cost
from residualplanner.privacy import Neighbors
from residualplanner.strategy import FOR_THE_BOUND, corner_rows, has_corners, occurring, safe_row, variance_matrix
from residualplanner.workload import Workload

#: Up to this many attributes, all ways to differ are constraints of their own; above it a safe bound takes their place.
_CORNERS = 10
#: The noise of a total that costs nothing, relative to that of the first attribute.
_TIED = 2.0**-60


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
    """What a solver is given.

    Attributes:
        rows (c, f): the costs at unit noise of the sets whose noise is free to choose, a row for each way to differ.
        variance (q, f): the variances of the queries from that noise.
        noise (m, f): the noise of all sets from that noise.
        remark: what the status says besides.
    """

    rows: FloatArray
    variance: sparse.csr_array
    noise: sparse.csr_array
    remark: str

    def whole(self, choice: NoiseChoice) -> NoiseChoice:
        """The choice for all sets."""
        noise_variance = frozen(self.noise @ choice.noise_variance)
        return replace(choice, noise_variance=noise_variance, status=choice.status + self.remark)


def least_convex(
    workload: Workload, numbers: ResidualNumbers, loss: ConvexLoss, neighbors: Neighbors, *, pcost: float
) -> NoiseChoice:
    """The noise of privacy cost ``pcost`` with the least loss.  Source: spec eq. (18)."""
    problem = _problem(workload, numbers, neighbors)
    return problem.whole(
        minimize_convex_loss(problem.rows, problem.variance, loss.function, pcost=pcost, solver=loss.solver)
    )


def least_cost(
    workload: Workload, numbers: ResidualNumbers, loss: ConvexLoss, neighbors: Neighbors, *, at_most: float
) -> NoiseChoice:
    """The noise of the least privacy cost whose loss is at most ``at_most``.  Source: spec eq. (18)."""
    problem = _problem(workload, numbers, neighbors)
    return problem.whole(
        minimize_privacy_cost(problem.rows, problem.variance, loss.function, at_most=at_most, solver=loss.solver)
    )


def _problem(workload: Workload, numbers: ResidualNumbers, neighbors: Neighbors) -> _Problem:
    closure = workload.closure
    variance, identity = variance_matrix(workload, closure, numbers), sparse.eye_array(len(closure), format="csr")
    if neighbors.notion == "add-remove":
        rows, remark = closure.products(numbers.pcost)[None, :], ""
        return _Problem(rows * neighbors.cost_factor, variance, identity, remark)
    if has_corners(closure, numbers, _CORNERS):
        rows, remark = corner_rows(closure, numbers.sizes, np.arange(1, 1 << len(occurring(closure)))), ""
    else:
        rows, remark = safe_row(closure, numbers)[None, :], f" {FOR_THE_BOUND}"
    total = int(closure.offsets[1])
    tied = sparse.csr_array(([_TIED], ([0], [0])), shape=(total, len(closure) - total))
    noise = sparse.csr_array(sparse.vstack([tied, identity[total:, total:]]))
    return _Problem(rows[:, total:] * neighbors.cost_factor, sparse.csr_array(variance @ noise), noise, remark)
