"""The best noise for any convex loss, and the least cost that reaches one, for either notion of neighbors.

Reads: a workload, a loss, neighbors.  Gives: NoiseChoice.
Source: spec eqs. (18) and (37).
"""

from dataclasses import replace

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.bases import ResidualNumbers
from residualplanner.plan.losses import ConvexLoss
from residualplanner.plan.neighbor_costs import FOR_THE_BOUND, corner_rows, occurring, safe_row, with_token_cost
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
    choice = minimize_convex_loss(rows, matrix, loss.function, pcost=pcost, solver=loss.solver)
    return _labeled(choice, workload, neighbors)


def least_cost(
    workload: Workload, numbers: ResidualNumbers, loss: ConvexLoss, neighbors: Neighbors, *, at_most: float
) -> NoiseChoice:
    """The noise of the least privacy cost whose loss is at most ``at_most``.  Source: spec eq. (18)."""
    rows, matrix = _rows(workload, numbers, neighbors), variance_matrix(workload, workload.closure, numbers)
    choice = minimize_privacy_cost(rows, matrix, loss.function, at_most=at_most, solver=loss.solver)
    return _labeled(choice, workload, neighbors)


def _is_bounded(workload: Workload, neighbors: Neighbors) -> bool:
    """Whether a safe bound takes the place of the cost."""
    return neighbors.notion == "replace" and 1 << len(occurring(workload.closure)) > _CORNERS


def _labeled(choice: NoiseChoice, workload: Workload, neighbors: Neighbors) -> NoiseChoice:
    return replace(choice, status=f"{choice.status} {FOR_THE_BOUND}") if _is_bounded(workload, neighbors) else choice


def _rows(workload: Workload, numbers: ResidualNumbers, neighbors: Neighbors) -> FloatArray:
    """The costs of all sets at unit noise, a row for each way to differ, (c, m)."""
    closure = workload.closure
    if neighbors.notion == "add-remove":
        rows = closure.products(numbers.pcost)[None, :]
    elif _is_bounded(workload, neighbors):
        rows = safe_row(closure, numbers.sizes)[None, :]
    else:
        rows = corner_rows(closure, numbers.sizes, np.arange(1, 1 << len(occurring(closure))))
    return with_token_cost(rows * neighbors.cost_factor)
