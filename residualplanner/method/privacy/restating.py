"""A privacy cost in the words of a budget: what has been spent of it, and what may still be spent.

Source: eqs. (2), (3), (4).
"""

import math
from collections.abc import Callable
from fractions import Fraction

from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import decimal_text_down, decimal_text_up, short_text_down
from residualplanner.method.privacy._exact import root_up, working_digits
from residualplanner.method.privacy.budget import Budget, approx_dp, gdp, pcost, zcdp
from residualplanner.method.privacy.curves import law_of


def _root_up(cost: Fraction) -> Fraction:
    with working_digits():
        return Fraction(root_up(cost))


def _root_down(cost: Fraction) -> Fraction:
    """The square root, with 200 decimals, never above: the integer root of an integer is rounded down."""
    return Fraction(math.isqrt(cost.numerator * 10**400 // cost.denominator), 10**200)


#: By how much an epsilon is made smaller at first where it allows more than a cost, relative to it.
_STEP = Fraction(1, 10**12)
_MAKERS: dict[str, Callable[..., Budget]] = {"pcost": pcost, "zcdp": zcdp, "gdp": gdp}
#: The number of a notion with one at a privacy cost: not above, and not below the exact one.
_BELOW: dict[str, Callable[[Fraction], Fraction]] = {
    "pcost": lambda cost: cost,
    "zcdp": lambda cost: cost / 2,
    "gdp": _root_down,
}
_ABOVE = _BELOW | {"gdp": _root_up}


def cost_text_up(cost: Fraction, like: Budget) -> str:
    """A privacy cost that has been spent, as the statement of a budget that covers it, with six digits."""
    if like.noise is None:
        return like.worded(decimal_text_up(_ABOVE[like.notion](cost)) if cost else "0")
    delta = like.given[1]
    epsilon = law_of(like.noise).curve.epsilon(cost, delta) if cost else 0.0
    return like.worded(decimal_text_up(Fraction(epsilon)) if epsilon else "0", delta)


def cost_text_down(cost: Fraction, like: Budget) -> str:
    """A privacy cost that may be spent, as the statement of a budget that does not exceed it, with six digits."""
    found = _largest(cost, like, decimal_text_down)
    return like.worded("0", *like.given[1:]) if found is None else found.statement


def budget_within(cost: Fraction, like: Budget) -> Budget:
    """The largest budget that is stated as another one is, and allows no more than a privacy cost > 0.

    It is stated in at most twelve digits or as a short fraction: smaller by less than 1e-10, relative; of (epsilon,
    delta) with the other's delta and noise.  BudgetError where no epsilon above 0 allows so little at this delta.

    Example:
        >>> budget_within(Fraction(2, 3), zcdp(1)), budget_within(Fraction(1, 4), gdp(1))
        (zcdp(1/3), gdp(0.5))
    """
    found = _largest(cost, like, short_text_down)
    if found is None:
        raise BudgetError(
            f"{cost_text_down(cost, pcost(1))} is too little to be stated as (epsilon, {like.given[1]})-DP with an "
            f'epsilon above 0; write budget=pcost("{short_text_down(cost)}")'
        )
    return found


def _largest(cost: Fraction, like: Budget, written: Callable[[Fraction], str]) -> Budget | None:
    """The largest budget of a number that ``written`` rounds down; None if there is none."""
    if not cost:
        return None
    if like.noise is None:
        return _MAKERS[like.notion](written(_BELOW[like.notion](cost)))
    delta, step = like.given[1], _STEP
    epsilon = Fraction(law_of(like.noise).curve.epsilon(cost, delta))
    while epsilon > 0:
        found = approx_dp(written(epsilon), delta, noise=like.noise)
        if found.pcost_exact <= cost:
            return found
        epsilon, step = epsilon * (1 - step), min(step * 4, Fraction(1, 2))
        if step == Fraction(1, 2) and not epsilon > Fraction(1, 10**6):
            return None  # at this delta, however small epsilon is, more is allowed
    return None
