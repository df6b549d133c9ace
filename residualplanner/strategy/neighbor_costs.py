"""What noise costs when neighbors have other values in a record, rather than a record more.

Reads: a closure, attribute sizes, precisions 1/sigma**2.  Gives: costs, and the rows of costs that selection works on.
Source: spec eq. (37).

Where every attribute has the subtraction basis the cost is exact; other bases have a safe bound.

Let two records differ in the attributes D.  The cost is then ``2 sum_A w_A (prod_A (1 - 1/n_i) - prod_A f_i)`` with
``f_i = -1/n_i`` for i in D and ``1 - 1/n_i`` elsewhere: a polynomial that is linear in each f_i, whose values at all
2**d corners follow from one pass per attribute.  The total costs nothing, since both data sets have as many records.
"""

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner.bases import ResidualNumbers
from residualplanner.workload import Closure

#: What a set that costs nothing is taken to cost, relative to the cheapest other: its share of a budget is then about
#: the root of this, too little to matter, and its noise is positive.
_TOKEN = 2.0**-80
#: Up to this many attributes that occur in the closure, all ways to differ are tried; above it a bound is used.
CORNER_LIMIT = 20


#: What a status says where noise was chosen for the safe bound.
FOR_THE_BOUND = "for a safe bound of the cost"


def occurring(closure: Closure) -> NDArray[np.int64]:
    """The attributes that occur in a set of the closure, ascending."""
    singles = closure.blocks[1][:, 0] if len(closure.blocks) > 1 else np.empty(0, dtype=np.int32)
    return singles.astype(np.int64)


def has_corners(closure: Closure, numbers: ResidualNumbers, limit: int) -> bool:
    """Whether at most ``limit`` attributes occur, all with the subtraction basis: then eq. (37) can be enumerated."""
    attributes = occurring(closure)
    return len(attributes) <= limit and bool(numbers.is_subtraction[attributes].all())


def corner_costs(closure: Closure, sizes: FloatArray, precision: FloatArray) -> FloatArray:
    """The cost for every set D of differing attributes, (2**d,); bit i of the index tells whether the i-th differs.

    Args:
        closure: the sets that are measured; d attributes occur in them, at most `CORNER_LIMIT`.
        sizes (all attributes,): how many values each has; all bases are subtraction bases.
        precision (m,): 1/sigma**2 of every set, at least 0.

    Cost: O(d 2**d).
    Source: spec eq. (37).

    Example:
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> pair = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> corner_costs(pair, np.array([2.0, 2.0]), np.ones(4))
        array([0., 3., 3., 4.])
    """
    attributes = occurring(closure)
    values = np.zeros(1 << len(attributes))
    place = np.zeros(len(sizes), dtype=np.int64)
    place[attributes] = 1 << np.arange(len(attributes))
    start = 0
    for block in closure.blocks:
        values[place[block].sum(axis=1)] = precision[start : start + len(block)]
        start += len(block)
    for number, attribute in enumerate(attributes.tolist()):
        pairs = values.reshape(-1, 2, 1 << number)
        without, within = pairs[:, 0].copy(), pairs[:, 1].copy()
        pairs[:, 0] = without + (1 - 1 / sizes[attribute]) * within
        pairs[:, 1] = without - within / sizes[attribute]
    costs: FloatArray = 2 * (values[0] - values)
    return costs


def corner_rows(closure: Closure, sizes: FloatArray, corners: NDArray[np.int64]) -> FloatArray:
    """The cost of every set at unit noise, for some sets D of differing attributes, (c, m).

    Args:
        closure: the sets that are measured.
        sizes (all attributes,): how many values each has; all bases are subtraction bases.
        corners (c,): which sets D, as `corner_costs` numbers them.

    Source: spec eq. (37).
    """
    attributes = occurring(closure)
    same = np.ones(len(sizes))
    same[attributes] = 1 - 1 / sizes[attributes]
    rows = np.empty((len(corners), len(closure)))
    for row, corner in zip(rows, corners.tolist(), strict=True):
        factor = same.copy()
        differing = attributes[(corner >> np.arange(len(attributes))) & 1 == 1]
        factor[differing] = -1 / sizes[differing]
        row[:] = 2 * (closure.products(same) - closure.products(factor))
    return rows


def safe_row(closure: Closure, numbers: ResidualNumbers) -> FloatArray:
    """For every set the most it can cost at unit noise, however two records differ, (m,).

    With K_i the products of all pairs of columns of attribute i, the cost of a set is ``prod K_i(r, r) +
    prod K_i(s, s) - 2 prod K_i(r, s)`` for records r and s.  Each factor is at most p_i in size, and a product below 0
    has a factor below 0, which is at least ``-p_i`` times the attribute's worst replacement.  For the subtraction basis
    that is ``1/(n-1)`` and some pair of records attains the bound.

    Source: spec eq. (37), generalized.

    Example:
        >>> from residualplanner.bases import subtraction_numbers
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> pair = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> safe_row(pair, subtraction_numbers([2, 4])).tolist()
        [0.0, 2.0, 2.0, 1.5]
    """
    costs = [np.zeros(len(closure.blocks[0]))]
    for block in closure.blocks[1:]:
        costs.append(2 * numbers.pcost[block].prod(axis=1) * (1 + numbers.worst_replacement[block].max(axis=1)))
    return np.concatenate(costs)


def with_token_cost(rows: FloatArray) -> FloatArray:
    """``rows`` (c, m) where sets that cost nothing in any row cost next to nothing instead.

    Example:
        >>> with_token_cost(np.array([[0.0, 1.0]])).tolist() == [[2.0**-80, 1.0]]
        True
    """
    costs = rows.copy()
    costs[:, costs.max(axis=0) <= 0] = _TOKEN * costs[costs > 0].min()
    return costs
