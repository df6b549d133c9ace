"""The best noise for any convex loss, and the least cost that reaches one, for either notion of neighbors.

Reads: a workload, a loss, neighbors.  Gives: NoiseChoice.
Source: spec eqs. (18) and (37).
"""

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.bases import ResidualNumbers
from residualplanner.plan.losses import ConvexLoss
from residualplanner.plan.neighbor_costs import corner_rows, occurring, safe_row, with_token_cost
from residualplanner.plan.variances import variance_matrix
from residualplanner.privacy import Neighbors
from residualplanner.selection import NoiseChoice, minimize_convex_loss, minimize_privacy_cost
from residualplanner.workload import Workload

#: Up to this many ways to differ are constraints of their own; above it a safe bound takes their place.
_CORNERS = 2**10


def least_convex(
    workload: Workload, numbers: ResidualNumbers, loss: ConvexLoss, neighbors: Neighbors, *, pcost: float
) -> NoiseChoice:
    """The noise of privacy cost ``pcost`` with the least loss.  Source: spec eq. (18)."""
    rows, matrix = _rows(workload, numbers, neighbors), variance_matrix(workload, workload.closure, numbers)
    return minimize_convex_loss(rows, matrix, loss.function, pcost=pcost, solver=loss.solver)


def least_cost(
    workload: Workload, numbers: ResidualNumbers, loss: ConvexLoss, neighbors: Neighbors, *, at_most: float
) -> NoiseChoice:
    """The noise of the least privacy cost whose loss is at most ``at_most``.  Source: spec eq. (18)."""
    rows, matrix = _rows(workload, numbers, neighbors), variance_matrix(workload, workload.closure, numbers)
    return minimize_privacy_cost(rows, matrix, loss.function, at_most=at_most, solver=loss.solver)


def _rows(workload: Workload, numbers: ResidualNumbers, neighbors: Neighbors) -> FloatArray:
    """The costs of all sets at unit noise, a row for each way to differ, (c, m)."""
    closure = workload.closure
    if neighbors.notion == "add-remove":
        rows = closure.products(numbers.pcost)[None, :]
    elif 1 << len(occurring(closure)) <= _CORNERS:
        rows = corner_rows(closure, numbers.sizes, np.arange(1, 1 << len(occurring(closure))))
    else:
        rows = safe_row(closure, numbers.sizes)[None, :]
    return with_token_cost(rows * neighbors.cost_factor)
