"""The privacy cost of noise, rounded up, for either notion of neighbors.

Reads: a closure, attribute sizes, noise variances, neighbors.  Gives: numbers that are never less than the exact cost.
Source: spec eqs. (8) and (37).
"""

import math

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.bases import ResidualNumbers
from residualplanner.domain import Domain
from residualplanner.errors import BudgetError
from residualplanner.privacy import Neighbors
from residualplanner.strategy.neighbor_costs import CORNER_LIMIT, corner_costs, has_corners, occurring, safe_row
from residualplanner.workload import Closure

_ULP = 2.0**-52


def cost_upper_bound(
    closure: Closure, numbers: ResidualNumbers, noise_variance: FloatArray, neighbors: Neighbors
) -> float:
    """The privacy cost of measuring every set with this noise, rounded up: never less than the exact cost.

    Args:
        closure: the sets that are measured.
        numbers: p of every attribute, and how much worse than that replacing a value may be.
        noise_variance (m,): sigma squared of every set, > 0.
        neighbors: who must not be told apart.  For "replace" the cost is exact where at most `CORNER_LIMIT` attributes
            occur, all with the subtraction basis, else a safe bound.

    Guarantees: each term is a product and quotient of at most 2k + 4 rounded numbers; the sum of terms is rounded once.
        Over all ways to differ, rounding is bounded by that of the sum of absolute values.
    Source: spec eqs. (8), (28) and (37).
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        precision = 1 / noise_variance
        cost = _corner_bound(closure, numbers, precision) if is_enumerated(closure, numbers, neighbors) else None
        row = safe_row(closure, numbers) if neighbors.notion == "replace" else closure.products(numbers.pcost)
        terms = row / noise_variance
    try:
        cost = math.fsum(terms) if cost is None else cost
    except OverflowError:
        return math.inf
    roundings = 2 * len(closure.blocks) + 10
    return (cost * (1 + roundings * _ULP) + len(closure) * math.ulp(0.0)) * neighbors.cost_factor * (1 + 2 * _ULP)


def is_enumerated(closure: Closure, numbers: ResidualNumbers, neighbors: Neighbors) -> bool:
    """Whether the cost is the largest over all ways in which two records may differ."""
    return neighbors.notion == "replace" and has_corners(closure, numbers, CORNER_LIMIT)


def require_public_total(domain: Domain, neighbors: Neighbors) -> None:
    """Refuse to drop records where their number is taken to be public.

    A record that is replaced by one that is dropped changes the number of records in the tables, which is measured as
    if it never changed.

    Raises:
        BudgetError: records are replaced, and an attribute drops records.
    """
    if neighbors.notion != "replace":
        return
    dropping = [each.name for each in domain.attributes if "drop" in (each.unknown, each.missing)]
    if dropping:
        raise BudgetError(
            f'when records are replaced their number is public, so none may be dropped: {dropping} have "drop" as '
            'rule; count such records under a label, or write neighbors="add-remove"'
        )


def _corner_bound(closure: Closure, numbers: ResidualNumbers, precision: FloatArray) -> float:
    """The largest corner cost, and all that it may have lost by rounding.

    The terms of a corner are at most those of the corner where nothing differs, which add up to ``size``.  A term has
    at most d factors of a relative error of 1.5 roundings, and takes part in at most 2 d operations; a cost is twice
    the difference of two corners.
    """
    paid = precision.copy()
    paid[: int(closure.offsets[1])] = 0.0
    count = len(occurring(closure))
    size = float(closure.products(numbers.pcost) @ paid)
    lost = 8 * (count + 4) * _ULP * size + 2.0 ** (count + 3) * math.ulp(0.0)
    worst = float(corner_costs(closure, numbers.sizes, paid).max()) + lost
    return worst if math.isfinite(worst) else math.inf
