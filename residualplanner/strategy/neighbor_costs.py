"""What sets cost at unit noise, for either notion of neighbors: one sum, or the largest of several.

Reads: a closure, the numbers of attributes, neighbors.  Gives: UnitCosts; rows of costs, and costs.
Source: spec eqs. (8) and (37).

Where records are replaced and every attribute has the subtraction basis the cost is exact; other bases have a safe
bound.  Let two records differ in the attributes D.  The cost is then ``2 sum_A w_A (prod_A (1 - 1/n_i) - prod_A f_i)``
with ``f_i = -1/n_i`` for i in D and ``1 - 1/n_i`` elsewhere: a polynomial that is linear in each f_i, whose values at
all 2**d corners follow from one pass per attribute.  The total costs nothing, since both data sets have as many
records.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray
from residualplanner.bases import ResidualNumbers
from residualplanner.privacy import Neighbors
from residualplanner.workload import Closure

#: What a set that costs nothing is assumed to cost, relative to the cheapest other: its part of a budget is then about
#: the root of this, too little to matter, and its noise is positive.
_TOKEN = 2.0**-80
#: Up to this many attributes that occur in the closure, all ways to differ are tried; above it a bound is used.
CORNER_LIMIT = 20
_ULP = 2.0**-52


@dataclass(frozen=True, eq=False, slots=True)
class SummedCosts:
    """Costs that add up, as two data sets can differ the most for all sets at once, or are assumed to.

    Attributes:
        largest (m,): the most that each set can cost at unit noise, where one record changes.
        factor: how much more the records of a person cost than one of them.
        remark: what a status says of these costs: nothing where they are exact.
    """

    is_sum: ClassVar[Literal[True]] = True

    largest: FloatArray
    factor: float
    remark: str = ""

    def rows(self) -> FloatArray:
        """What every set costs at unit noise in all ways to differ, which here are a single one, (1, m)."""
        return (self.largest * self.factor)[None]

    def one_record(self, noise_variance: FloatArray, counted: NDArray[np.bool_]) -> float:
        """The cost of those sets that are ``counted`` (m,) where one record changes, its sum rounded once."""
        return math.fsum((self.largest / noise_variance)[counted])


@dataclass(frozen=True, eq=False, slots=True)
class CornerCosts:
    """Costs of which the largest over all ways to differ counts: records are replaced, in subtraction bases.

    A way is numbered by the attributes that occur: bit i tells whether the i-th of them differs.

    Attributes:
        closure: the sets that are measured; d attributes occur in them, at most `CORNER_LIMIT`.
        numbers: of the attributes.
        factor: how much more the records of a person cost than one of them.
    """

    is_sum: ClassVar[Literal[False]] = False
    remark: ClassVar[str] = ""

    closure: Closure
    numbers: ResidualNumbers
    factor: float

    @property
    def largest(self) -> FloatArray:
        """The most that each set can cost at unit noise, where one record changes, (m,)."""
        return safe_row(self.closure, self.numbers)

    @property
    def first(self) -> IntArray:
        """The numbers of the ways to differ in one attribute, and of that in all."""
        bits = 1 << np.arange(len(occurring(self.closure)))
        return np.unique([*bits, bits.sum()])

    def rows(self, ways: IntArray | None = None) -> FloatArray:
        """What every set costs at unit noise in some ways (c,) to differ, or in all, (c, m).  Source: spec eq. (37)."""
        attributes, sizes = occurring(self.closure), self.numbers.sizes
        ways = np.arange(1, 1 << len(attributes)) if ways is None else ways
        same = np.ones(len(sizes))
        same[attributes] = 1 - 1 / sizes[attributes]
        rows = np.empty((len(ways), len(self.closure)))
        for row, way in zip(rows, ways.tolist(), strict=True):
            factor = same.copy()
            differing = attributes[(way >> np.arange(len(attributes))) & 1 == 1]
            factor[differing] = -1 / sizes[differing]
            row[:] = 2 * (self.closure.products(same) - self.closure.products(factor))
        return rows * self.factor

    def of_every_way(self, noise_variance: FloatArray) -> FloatArray:
        """The cost of noise (m,) for every way to differ, by its number, (2**d,).

        Cost: O(d 2**d).
        Source: spec eq. (37).

        Example:
            >>> from residualplanner.bases import subtraction_numbers
            >>> from residualplanner.workload import AttributeSets, downward_closure
            >>> pair = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
            >>> CornerCosts(pair, subtraction_numbers([2, 2]), 1).of_every_way(np.ones(4))
            array([0., 3., 3., 4.])
        """
        return self._one_record(self._paid(noise_variance)) * self.factor

    def one_record(self, noise_variance: FloatArray, _counted: NDArray[np.bool_]) -> float:
        """The cost of all sets where one record changes, and all that it may have lost by rounding.

        The terms of a corner are at most those of the corner where nothing differs, which add up to ``size``.  A term
        has at most d factors of a relative error of 1.5 roundings, and takes part in at most 2 d operations; a cost is
        twice the difference of two corners.
        """
        paid, count = self._paid(noise_variance), len(occurring(self.closure))
        size = float(self.closure.products(self.numbers.pcost) @ paid)
        lost = 8 * (count + 4) * _ULP * size + 2.0 ** (count + 3) * math.ulp(0.0)
        worst = float(self._one_record(paid).max()) + lost
        return worst if math.isfinite(worst) else math.inf

    def _paid(self, noise_variance: FloatArray) -> FloatArray:
        """The precision of every set that costs anything, (m,), and 0 for the total."""
        precision: FloatArray = 1 / noise_variance
        precision[: int(self.closure.offsets[1])] = 0.0
        return precision

    def _one_record(self, precision: FloatArray) -> FloatArray:
        attributes, sizes = occurring(self.closure), self.numbers.sizes
        values, bit = np.zeros(1 << len(attributes)), np.zeros(len(sizes), dtype=np.int64)
        bit[attributes] = 1 << np.arange(len(attributes))
        values[np.concatenate([bit[block].sum(axis=1) for block in self.closure.blocks])] = precision
        for number, size in enumerate(sizes[attributes].tolist()):
            pairs = values.reshape(-1, 2, 1 << number)
            without, within = pairs[:, 0].copy(), pairs[:, 1].copy()
            pairs[:, 0] = without + (1 - 1 / size) * within
            pairs[:, 1] = without - within / size
        costs: FloatArray = 2 * (values[0] - values)
        return costs


#: What every set costs at unit noise.
UnitCosts = SummedCosts | CornerCosts


def unit_costs(
    closure: Closure, numbers: ResidualNumbers, neighbors: Neighbors, *, corner_limit: int = CORNER_LIMIT
) -> UnitCosts:
    """What the sets of a closure cost at unit noise.

    Args:
        closure: the sets that are measured.
        numbers: of the attributes, none of which varies.
        neighbors: who must not be told apart.
        corner_limit: up to how many attributes all ways to differ are tried; else a safe bound takes their place.

    Source: spec eqs. (8), (28) and (37).

    Example:
        >>> from residualplanner.bases import subtraction_numbers
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> pair, numbers = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2)), subtraction_numbers([2, 2])
        >>> unit_costs(pair, numbers, Neighbors()).largest.tolist()
        [1.0, 0.5, 0.5, 0.25]
        >>> unit_costs(pair, numbers, Neighbors("replace")).rows().tolist()
        [[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 2.0, 1.0], [0.0, 2.0, 2.0, 0.0]]
    """
    if not neighbors.has_public_total:
        return SummedCosts(closure.products(numbers.pcost), neighbors.cost_factor_up)
    attributes = occurring(closure)
    if len(attributes) <= corner_limit and numbers.is_symmetric[attributes].all():
        return CornerCosts(closure, numbers, neighbors.cost_factor_up)
    return SummedCosts(safe_row(closure, numbers), neighbors.cost_factor_up, " for a safe bound of the cost")


def occurring(closure: Closure) -> NDArray[np.int64]:
    """The attributes that occur in a set of the closure, ascending."""
    singles = closure.blocks[1][:, 0] if len(closure.blocks) > 1 else np.empty(0, dtype=np.int32)
    return singles.astype(np.int64)


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
