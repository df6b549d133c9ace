"""What sets cost at unit noise, for either notion of neighbors: one sum, or the largest of several.

Source: eqs. (8) and (37).

Where a record is added or removed, one cell is the worst for all sets at once, and costs add up.  Where one is
replaced, two records that cost one set the most need not do so for others, and the largest cost of all pairs of records
counts.  The total costs nothing then, since both data sets have as many records.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.privacy import Neighbors
from residualplanner.method.workload.closure import Closure

#: What a set that costs nothing is assumed to cost, relative to the cheapest other: its part of a budget is then about
#: the root of this, too little to matter, and its noise is positive.
_TOKEN = 2.0**-80


@dataclass(frozen=True, eq=False, slots=True)
class SummedCosts:
    """Costs that add up, as one record costs the most for all sets at once.

    Attributes:
        largest (m,): what each set costs at unit noise, where one record changes.
        factor: how much more the records of a person cost than one of them.
    """

    is_sum: ClassVar[Literal[True]] = True

    largest: FloatArray
    factor: float

    def rows(self) -> FloatArray:
        """What every set costs at unit noise, (1, m)."""
        return (self.largest * self.factor)[None]

    def one_record(self, noise_variance: FloatArray, counted: NDArray[np.bool_]) -> float:
        """The cost of those sets that are ``counted`` (m,) where one record changes, its sum rounded once."""
        return math.fsum((self.largest / noise_variance)[counted])


@dataclass(frozen=True, eq=False, slots=True)
class Worst:
    """The most that noise costs.

    Attributes:
        cost: no two data sets cost more; rounded up.
        ways (k, 3, d): how records differ that cost the most: for each attribute the squared lengths of their columns,
            and their product.
    """

    cost: float
    ways: FloatArray


class LargestCosts(Protocol):
    """Costs of which the largest over all pairs of records counts; `ReplacementCosts` are these.

    A *way* for two records to differ is an array (3, d): for each attribute the squared lengths of their columns of the
    basis, and the product of these.
    """

    is_sum: ClassVar[Literal[False]] = False

    @property
    def factor(self) -> float:
        """How much more the records of a person cost than one of them."""
        ...

    @property
    def largest(self) -> FloatArray:
        """A bound for the cost of each set at unit noise, however two records differ, (m,)."""
        ...

    @property
    def summed(self) -> FloatArray:
        """The largest cost of every set as if all could be attained at once, (1, m)."""
        ...

    @property
    def first(self) -> FloatArray:
        """Some ways (c, 3, d) to begin with."""
        ...

    def rows(self, ways: FloatArray) -> FloatArray:
        """What every set costs at unit noise in some ways (c, 3, d) to differ, (c, m)."""
        ...

    def worst(self, noise_variance: FloatArray) -> Worst:
        """The most that this noise costs."""
        ...

    def one_record(self, noise_variance: FloatArray, counted: NDArray[np.bool_]) -> float:
        """The cost of all sets where one record changes, rounded up."""
        ...


#: What every set costs at unit noise.
UnitCosts = SummedCosts | LargestCosts


def unit_costs(closure: Closure, bases: Sequence[Basis], neighbors: Neighbors) -> UnitCosts:
    """What the sets of a closure cost at unit noise.

    Args:
        closure: the sets that are measured.
        bases (d,): of the attributes, none of which varies.
        neighbors: who must not be told apart.

    Source: eqs. (8), (28) and (37).

    Example:
        >>> from residualplanner.method.bases.subtraction import subtraction_basis
        >>> from residualplanner.method.workload.attribute_sets import AttributeSets
        >>> from residualplanner.method.workload.closure import downward_closure
        >>> pair = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> unit_costs(pair, [subtraction_basis(2)] * 2, Neighbors()).largest.tolist()
        [1.0, 0.5, 0.5, 0.25]
        >>> unit_costs(pair, [subtraction_basis(2)] * 2, Neighbors("replace")).largest.tolist()
        [0.0, 2.0, 2.0, 1.0]
    """
    if neighbors.has_public_total:
        from residualplanner.more.replacement.replacement_costs import ReplacementCosts  # a door

        return ReplacementCosts(closure, bases, neighbors.cost_factor_up)
    pcost = np.array([float(basis.pcost) for basis in bases])
    return SummedCosts(closure.products(pcost), neighbors.cost_factor_up)


def with_token_cost(rows: FloatArray) -> FloatArray:
    """``rows`` (c, m) where sets that cost nothing in any row cost next to nothing instead.

    Example:
        >>> with_token_cost(np.array([[0.0, 1.0]])).tolist() == [[2.0**-80, 1.0]]
        True
    """
    costs = rows.copy()
    costs[:, costs.max(axis=0) <= 0] = _TOKEN * costs[costs > 0].min()
    return costs
