"""The privacy cost of noise: exactly, as a float rounded up, and set by set, for either notion of neighbors.

Where a record is added or removed, one cell is the worst for all sets at once, and costs add up.  Where one is
replaced, two records that cost one set the most need not do so for others, and the largest cost of all pairs of records
counts.  The total costs nothing then, since both data sets have as many records.
Source: eqs. (8), (28), (37) and (41).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import BudgetError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.privacy import Neighbors
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.closure import Closure

if TYPE_CHECKING:
    from residualplanner.more.replacement.replacement_costs import ReplacementCosts

#: What a set that costs nothing is assumed to cost, relative to the cheapest other: its part of a budget is then about
#: the root of this, too little to matter, and its noise is positive.
_TOKEN = 2.0**-80


@dataclass(frozen=True, eq=False, slots=True)
class SummedCosts:
    """Costs that add up, as one record costs the most for all sets at once."""

    is_sum: ClassVar[Literal[True]] = True

    largest: FloatArray  # (m,), what each set costs at unit noise, where one record changes
    factor: float  # how much more the records of a person cost than one of them

    def rows(self) -> FloatArray:
        """What every set costs at unit noise, (1, m)."""
        return (self.largest * self.factor)[None]

    def one_record(self, noise_variance: FloatArray, counted: NDArray[np.bool_]) -> float:
        """The cost of those sets that are ``counted`` (m,) where one record changes, its sum rounded once."""
        return math.fsum((self.largest / noise_variance)[counted])


@dataclass(frozen=True, eq=False, slots=True)
class Worst:
    """The most that noise costs."""

    cost: float  # no two data sets cost more; rounded up
    ways: FloatArray  # (k, 3, d), how records differ that cost the most


#: Costs of which the largest over all pairs of records counts.  A *way* for two records to differ is an array (3, d):
#: for each attribute the squared lengths of their columns of the basis, and the product of these.
LargestCosts: TypeAlias = "ReplacementCosts"
#: What every set costs at unit noise.
UnitCosts: TypeAlias = "SummedCosts | ReplacementCosts"


def unit_costs(closure: Closure, bases: Sequence[Basis], neighbors: Neighbors) -> UnitCosts:
    """What the sets of a closure cost at unit noise; no basis varies.  Source: eqs. (8), (28) and (37)."""
    if neighbors.has_public_total:
        from residualplanner.more.replacement.replacement_costs import ReplacementCosts  # a door

        return ReplacementCosts(closure, bases, neighbors.cost_factor_up)
    # A record has one entry in each factor of a table: the squared length of its column in a Kronecker product is the
    # product of those of the factors, and one record has the longest columns of all attributes at once.
    pcost = np.array([float(basis.pcost) for basis in bases])
    return SummedCosts(closure.products(pcost), neighbors.cost_factor_up)


def with_token_cost(rows: FloatArray) -> FloatArray:
    """``rows`` (c, m) where sets that cost nothing in any row cost next to nothing instead."""
    costs = rows.copy()
    costs[:, costs.max(axis=0) <= 0] = _TOKEN * costs[costs > 0].min()
    return costs


_ULP = 2.0**-52
_HALF = 27


def cost_upper_bound(strategy: Strategy, noise_variance: FloatArray, neighbors: Neighbors) -> float:
    """The privacy cost of measuring every set with this noise (m,), rounded up: never less than the exact cost.

    Or a bound of it: where attributes vary and records are added or removed, the right side of (41); where records are
    replaced, and more than 20 attributes occur of which none can be exchanged, what sets cost one by one.  Each term is
    a product and quotient of at most 2k + 4 rounded numbers, and their sum is rounded once; over all ways to differ,
    rounding is bounded by that of the sum of absolute values; in (41), sets with varying attributes are exact.
    Source: eqs. (8), (28), (37), (41) and (129).

    Raises WorkloadError: attributes vary, and there are too many pairs of records that one may replace.
    """
    if neighbors.has_public_total and strategy.varying.any():
        from residualplanner.more.varying.varying_cost import largest_of_pairs  # a door

        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return largest_of_pairs(strategy, noise_variance) * neighbors.cost_factor_up * (1 + 3 * _ULP)
    closure, bases = strategy.closure, strategy.of_attributes
    costs = unit_costs(closure, bases, neighbors)
    is_constant = np.diff(strategy.varying_starts) == 0
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        try:
            cost, varying = costs.one_record(noise_variance, is_constant), 0.0
            if not is_constant.all():
                upper = np.nextafter(1 / noise_variance, np.inf)  # no less than the exact quotient
                varying = math.nextafter(float(_varying_cost(strategy, upper)), math.inf)
        except (OverflowError, ValueError):  # an infinite precision is no fraction
            return math.inf
    roundings = 2 * len(closure.blocks) + 10
    constant = cost * (1 + roundings * _ULP) + len(closure) * math.ulp(0.0)
    return (constant + varying) * neighbors.cost_factor_up * (1 + 3 * _ULP)


def exact_cost(strategy: Strategy, precision: FloatArray) -> Fraction:
    """The exact privacy cost of adding or removing one record; where attributes vary, of its bound.

    The ``precision`` (m,), 1 / sigma squared of every set, is read as exact fractions.  Source: eqs. (8), (28) and
    (41); paper Theorem 5.1.
    """
    if precision.shape != (len(strategy.closure),):
        raise ValueError(f"one precision for each of {len(strategy.closure)} sets, got shape {precision.shape}")
    groups = basis_groups(strategy)
    is_constant = np.diff(strategy.varying_starts) == 0
    sums, exponent = exact_sums(np.where(is_constant, precision, 0.0), groups.group)
    # One denominator for all, so that fractions are reduced once.
    used = {basis.pcost.denominator for bases in groups.bases for basis in bases}
    common = math.lcm(*used) ** max(map(len, groups.bases))
    total = sum(
        own
        * math.prod(basis.pcost.numerator for basis in bases)
        * (common // math.prod(basis.pcost.denominator for basis in bases))
        for bases, own in zip(groups.bases, sums, strict=True)
    )
    return Fraction(total, common) * Fraction(2) ** exponent + _varying_cost(strategy, precision)


def _varying_cost(strategy: Strategy, precision: FloatArray) -> Fraction:
    """What the sets with varying attributes cost, exactly.  Source: eq. (41)."""
    if not strategy.varying.any():
        return Fraction(0)
    from residualplanner.more.varying.varying_cost import exact_varying_cost  # a door

    return exact_varying_cost(strategy, precision)


def cost_parts(strategy: Strategy, noise_variance: FloatArray, weight: FloatArray, neighbors: Neighbors) -> FloatArray:
    """The cost of each set, (m,); with varying attributes its part of the bound.

    Of such parts several may add up to it; they are as near as can be to those that the sets have in the loss, if the
    noise of each has a ``weight`` (m,) in it, see `varying_cost_parts`.  Where records are replaced, parts are what it
    costs to add one to each set apart; the public total costs nothing.  Source: eqs. (8), (28), (37) and (41).
    """
    every = np.array([float(basis.pcost) for basis in strategy.bases])
    if neighbors.has_public_total:
        largest = np.concatenate([every[numbers].prod(axis=1) for numbers in strategy.numbers()]) / noise_variance
        largest[: int(strategy.closure.offsets[1])] = 0.0
        return frozen(largest)
    pcost = np.where(strategy.varying, 1.0, every[strategy.of_attribute])
    parts: FloatArray = strategy.closure.products(pcost) / noise_variance
    if strategy.varying.any():
        from residualplanner.more.varying.varying_cost import varying_cost_parts  # a door

        loss, cost = weight * noise_variance, float(exact_cost(strategy, 1 / noise_variance))
        parts = varying_cost_parts(strategy, parts, loss / loss.sum() * cost)
    return frozen(parts)


def require_public_total(domain: Domain, neighbors: Neighbors) -> None:
    """Raise BudgetError where records are weighed or dropped though their number is assumed to be public.

    A record that is replaced by one of another weight, or by one that is dropped, changes the total of the tables,
    which is measured as if it never changed.  That holds for every maximum of the weights, 1 among them.
    Source: docs/mathematics.md section 15.
    """
    if not neighbors.has_public_total:
        return
    if domain.weight.columns:
        raise BudgetError(
            "where a record is replaced by one of another weight, the total changes, so it is not public; write "
            'neighbors="add-remove" for weighted records, with twice as many records per person for replacements'
        )
    dropping = [each.name for each in domain.attributes if "drop" in (each.unknown, each.missing)]
    if dropping:
        raise BudgetError(
            f'when records are replaced their number is public, so none may be dropped: {dropping} have "drop" as '
            'rule; count such records under a label, or write neighbors="add-remove"'
        )


def exact_sums(values: FloatArray, group: IntArray) -> tuple[list[int], int]:
    """Sum floats (m,), at least 0 and finite, exactly within groups (m,): integers, times 2 to an exponent."""
    # Mantissas are integers of 53 bits.  Those of one group and exponent are added in halves of at most 27 bits, so
    # that sums of 2**36 fit 64; groups' totals over exponents are Python's integers.
    mantissas, exponents = np.frexp(values)
    integers = np.ldexp(mantissas, 53).astype(np.int64)
    least = int(exponents.min())
    keys = group * 2**12 + (exponents - least)
    by_key = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[by_key], prepend=-1))
    high = np.add.reduceat(integers[by_key] >> _HALF, starts).tolist()
    low = np.add.reduceat(integers[by_key] & (2**_HALF - 1), starts).tolist()
    sums = [0] * (int(group.max()) + 1)
    for key, upper, lower in zip(keys[by_key][starts].tolist(), high, low, strict=True):
        sums[key >> 12] += (upper << _HALF) + lower << (key & 2**12 - 1)
    return sums, least - 53
