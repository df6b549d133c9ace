"""The exact noise of each set, its lattice and its exact cost, as fractions that follow from the plan alone."""

from fractions import Fraction

import numpy as np

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.margins import NOISE_SCALE
from residualplanner.ground.words import fraction_text
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Neighbors
from residualplanner.method.strategy.basis_groups import BasisGroups
from residualplanner.method.strategy.costs import exact_cost

_NOISE_RULE = (
    "w = nextafter(1 / noise_variance, 0) in float64, read as an exact fraction; "
    "gamma**2 = (f * product of n)**2 / w over attributes with the subtraction basis, where f is the least power of 2 "
    "for which no set of attributes with the same bases has gamma below 2**22 (1 for a public total with w >= 2**10); "
)
#: How the exact noise follows from a plan, so that anyone can compute its cost.
PRECISION_RULE = _NOISE_RULE + (
    "pcost = sum of w * product of p; "
    "p = (n - 1) / n for the subtraction basis, else the largest squared length of a column of the basis matrix"
)
#: The same for plans with varying attributes, where a bound of the cost is computed.
PRECISION_RULE_VARYING = _NOISE_RULE + (
    "pcost = records_per_person**2 times a bound, the sum of three parts: w of the set of no attributes; "
    "for each set of one attribute, the maximum over its values of c + all messages of that value in larger sets; "
    "for each larger set, the maximum over its cells of c - the messages of the cell's values in that set; "
    "c of a set at a cell = w * product over its attributes of (n - 1) / n for the subtraction basis, else of the "
    "squared length of the value's column of the basis matrix that the attribute has in that set; "
    "messages are the plan's own, float64 read as exact fractions, one for each value of each attribute with a matrix "
    "in each set of two attributes or more; any messages give a bound, as they cancel for every record"
)
#: The same where records are replaced.
PRECISION_RULE_REPLACED = _NOISE_RULE + (
    "pcost = records_per_person**2 times the largest cost of two records, or a bound of it, rounded up to a float64; "
    "their cost = sum of v * (product of a + product of b - 2 * product of k) over all sets but that of no attributes; "
    "v = 1 / noise_variance; for the values of an attribute in the two records a and b are the squared lengths of "
    "their columns of the basis matrix that the attribute has in the set, and k is the product of these; for the "
    "subtraction basis a = b = (n - 1) / n, and k = a for one value twice, else -1 / n"
)
#: What is added for records that do not all count once.
_WEIGHT_RULE = (
    "; records count up to {weight}, so that pcost is that times the square of this number; they are counted in "
    "multiples of 1/{denominator}, so that gamma is that times {denominator}"
)
#: What is added for attributes of amounts.
_AMOUNT_RULE = (
    "; a record with an amount counts at the ends of its bin, in fractions of denominator D: the least common multiple "
    "of the widths of the bins in units, so that gamma, also where f is chosen, has the factor D of each attribute of "
    "amounts in the set: {denominators}"
)
#: The largest precision by policy; integers are then divided by less than 2**53, exactly.
LARGEST_PRECISION = 2.0**60


def precision_of(noise_variance: FloatArray) -> FloatArray:
    """The precision w of every set's noise (m,): a float64, which is an exact fraction, at most ``1 / noise_variance``.

    Guarantees: ``w <= 1 / noise_variance`` exactly; the exact variance ``1 / w`` is larger by less than ``2**-51``
        relative as long as ``1 / noise_variance`` is a normal float (from 2e-308 to 2e308).  The rounded quotient errs
        by at most half a unit in the last place, so one float below it is never above the exact one.
    Source: eq. (34).
    """
    with np.errstate(over="ignore", under="ignore"):
        return frozen(np.nextafter(1 / noise_variance, 0.0))


def gamma2_ratio(divisor: int, precision: float) -> tuple[int, int]:
    """The parameter gamma**2 of the integer noise of a table, as a ratio of integers.  Source: eqs. (34), (36)."""
    numerator, denominator = precision.as_integer_ratio()
    return divisor * divisor * denominator, numerator


def precision_rule(plan: Plan) -> str:
    """The rule by which `precision_of` and `measured_cost` compute the exact noise of a plan and its cost, in words."""
    added = PRECISION_RULE_VARYING if plan.strategy.varying.any() else PRECISION_RULE
    rule = PRECISION_RULE_REPLACED if plan.neighbors.has_public_total else added
    attributes = [each for each in plan.domain.attributes if each.numeric is not None]
    if attributes:
        denominators = ", ".join(f"{each.name!r} has D = {each.denominator}" for each in attributes)
        rule += _AMOUNT_RULE.format(denominators=denominators)
    weight, denominator = plan.domain.weight.maximum, plan.domain.denominator
    if weight == denominator == 1:
        return rule
    return f"{rule}{_WEIGHT_RULE.format(weight=fraction_text(weight), denominator=denominator)}"


def measured_cost(plan: Plan, precision: FloatArray) -> Fraction:
    """The exact privacy cost of measuring every set of a plan's closure with noise of this precision (m,).

    It is that of its bound where attributes vary.  Where records are replaced, it is the plan's own cost, rounded up:
    that of ``1 / noise_variance``, which no precision exceeds, and costs grow with every precision.
    Source: eqs. (8) and (28) with ``1 / sigma_A**2`` = precision, eqs. (37), (41) and (129); paper Theorem 5.1.
    """
    if plan.neighbors.has_public_total:
        return Fraction(plan.pcost)
    return exact_cost(plan.strategy, precision) * plan.neighbors.cost_factor


def exact_price(plan: Plan) -> tuple[FloatArray, Fraction]:
    """The precision (m,) of every set's exact noise, and the exact cost of them all.

    BudgetError where the cost is more than the plan's budget, or noise is so small that it could not be told from none.
    """
    precision = precision_of(plan.noise_variances)
    if not precision.max() <= LARGEST_PRECISION:
        raise BudgetError(
            "a set of attributes has noise of standard deviation below 1e-9; no such noise is drawn, as it would "
            "protect nobody; choose a smaller budget"
        )
    cost = measured_cost(plan, precision)
    if not cost <= plan.budget.pcost_exact:
        raise BudgetError("the exact cost of the noise is more than the plan's budget; plan again")
    return precision, cost


#: From this precision on a public total keeps its step of 1: the noise is 0, but for a chance below exp(-500).
_NO_NOISE = 2**10


def lattice_divisors(
    groups: BasisGroups, precision: FloatArray, neighbors: Neighbors, denominator: int = 1
) -> tuple[int, ...]:
    """What the integers of each group are to be divided by: f times the denominator times the subtraction axes' sizes.

    Counts are integers when they are multiplied by the denominator.  Where records are replaced the total is public.

    Guarantees: f is the least power of two for which no set of the group has noise of a scale below `NOISE_SCALE`; it
        is a function of the plan alone.
    Source: eq. (44).
    """
    found = []
    for group, members in enumerate(groups.members):
        divisor, largest = groups.divisor(group) * denominator, float(precision[members].max())
        is_public = neighbors.has_public_total and not groups.bases[group]
        found.append(divisor * (1 if is_public and largest >= _NO_NOISE else refinement(divisor, largest)))
    return tuple(found)


def refinement(divisor: int, precision: float) -> int:
    """The least power of two f with ``f * divisor / sqrt(precision)`` at least `NOISE_SCALE`.  Source: eq. (44)."""
    numerator, denominator = gamma2_ratio(divisor, precision)
    quotient = -(-NOISE_SCALE * NOISE_SCALE * denominator // numerator)
    return 1 << ((quotient - 1).bit_length() + 1) // 2
