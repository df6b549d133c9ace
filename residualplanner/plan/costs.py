"""The privacy cost of noise, rounded up, for either notion of neighbors.

Reads: a closure, attribute sizes, noise variances, neighbors.  Gives: numbers that are never less than the exact cost.
Source: spec eqs. (8), (28) and (37).
"""

import math

from residualplanner._checks import FloatArray
from residualplanner.bases import ResidualNumbers
from residualplanner.plan.neighbor_costs import CORNER_LIMIT, corner_costs, occurring, safe_row
from residualplanner.privacy import Neighbors
from residualplanner.workload import Closure

_ULP = 2.0**-52


def cost_upper_bound(
    closure: Closure, numbers: ResidualNumbers, noise_variance: FloatArray, neighbors: Neighbors
) -> float:
    """The privacy cost of measuring every set with this noise, rounded up: never less than the exact cost.

    Args:
        closure: the sets that are measured.
        numbers: p of every attribute.
        noise_variance (m,): sigma squared of every set, > 0.
        neighbors: who must not be told apart.  For "replace" the cost is exact where at most `CORNER_LIMIT` attributes
            occur, else a safe bound.

    Guarantees: each term is a product and quotient of at most 2k + 4 rounded numbers; sums are rounded once, or their
        rounding is bounded by that of the sum of absolute values.
    Source: spec eqs. (8) and (37).
    """
    roundings = 2 * len(closure.blocks) + 8
    if neighbors.notion == "add-remove":
        cost = math.fsum(closure.products(numbers.pcost) / noise_variance)
    elif len(occurring(closure)) > CORNER_LIMIT:
        cost = math.fsum(safe_row(closure, numbers.sizes) / noise_variance)
    else:
        # Every corner is a sum of terms of both signs, each at most the set's precision.
        precision = 1 / noise_variance
        precision[: int(closure.offsets[1])] = 0.0
        cost = float(corner_costs(closure, numbers.sizes, precision).max())
        cost += 4 * (len(occurring(closure)) + 4) * _ULP * math.fsum(precision)
    return cost * (1 + roundings * _ULP) * neighbors.cost_factor * (1 + 2 * _ULP)
