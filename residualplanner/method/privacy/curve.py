"""The (epsilon, delta) that a privacy cost implies, and the cost that they allow.

Source: eqs. (2), (3), (4).
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

from residualplanner.ground.checks import Number
from residualplanner.method.privacy._exact import (
    decimal_down,
    float_up,
    read_allowance,
    read_delta,
    read_epsilon,
    working_digits,
)

#: A bound on one of parameter, epsilon and delta, given the other two in this order; decimals of the working digits.
Bound = Callable[[Decimal, Decimal], Decimal]

# Room for the bounds' own rounding, so that a budget made from (epsilon, delta) gives no more than epsilon at delta.
_BELOW = 1 - Decimal("1e-15")


@dataclass(frozen=True, slots=True)
class PrivacyCurve:
    """The pairs (epsilon, delta) that hold at a privacy cost.

    A float among the arguments means the smaller of its binary value and its decimal spelling.

    Attributes:
        words: its origin.
        parameter_up: the notion's parameter (rho or mu) at a privacy cost, rounded up.
        cost: the privacy cost at a parameter.
        delta_up: an upper bound on delta, at most 1, from the parameter and epsilon.
        epsilon_up: an upper bound on epsilon, at least 0, from the parameter and delta.
        parameter_down: a lower bound, above 0, on the largest parameter that meets epsilon and delta.

    Guarantees: delta and epsilon are never below the exact values, and at most 1e-9 above them relative for rho from
        1e-8 to 1e3; the largest cost is not above the exact one, and below it by less than 1e-14 relative.
    Cost: about two milliseconds for zCDP, a few tens for GDP's epsilon and cost.
    Source: eqs. (3) and (4).

    Example:
        >>> from residualplanner.method.privacy.zcdp_curve import ZCDP
        >>> round(ZCDP.epsilon(Fraction(1), "1e-6"), 6), f"{ZCDP.delta(Fraction(1), 5):.3e}"
        (5.221534, '2.896e-06')
        >>> round(float(ZCDP.largest_cost(1, "1e-6")), 9)
        0.048711941
    """

    words: str
    parameter_up: Callable[[Fraction], Decimal]
    cost: Callable[[Fraction], Fraction]
    delta_up: Bound
    epsilon_up: Bound
    parameter_down: Bound

    def delta(self, cost: Fraction, epsilon: Number) -> float:
        """Return an upper bound on delta, at most 1, at an exact privacy cost; BudgetError unless epsilon >= 0."""
        exact = read_epsilon(epsilon)
        with working_digits():
            return float_up(self.delta_up(self.parameter_up(cost), decimal_down(exact)))

    def epsilon(self, cost: Fraction, delta: Number) -> float:
        """Return an upper bound on epsilon, at least 0, at an exact privacy cost; BudgetError unless 0 < delta < 1."""
        exact = read_delta(delta)
        with working_digits():
            return float_up(self.epsilon_up(self.parameter_up(cost), decimal_down(exact)))

    def largest_cost(self, epsilon: Number, delta: Number) -> Fraction:
        """Return the largest privacy cost that implies (epsilon, delta)-DP, rounded down.

        Raises:
            BudgetError: not ``epsilon > 0`` and ``0 < delta < 1``, or both are too small for any cost to be found.
        """
        exact_epsilon, exact_delta = read_allowance("epsilon", epsilon), read_delta(delta)
        with working_digits():
            parameter = self.parameter_down(decimal_down(exact_epsilon), decimal_down(exact_delta))
            with localcontext() as context:
                context.prec, context.rounding = 25, ROUND_FLOOR
                return self.cost(Fraction(parameter * _BELOW))
