"""What the draws of one run cost together, exactly.

Reads: the cost of each draw before it is made.  Gives: Account.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

from residualplanner.ground.errors import BudgetError

#: How many bits the rates and precisions of noise have, so that their exact costs stay short.
BITS = 40


@dataclass(slots=True)
class Account:
    """The exact privacy costs of a run's draws, whose sum never exceeds its limit.

    Attributes:
        limit: the pcost that may be spent.
        entries: what was drawn, and its pcost.
    """

    limit: Fraction
    entries: list[tuple[str, Fraction]] = field(default_factory=list)

    @property
    def spent(self) -> Fraction:
        """The sum of all costs, computed anew."""
        return sum((cost for _, cost in self.entries), Fraction(0))

    def charge(self, what: str, cost: Fraction) -> None:
        """Record a cost before the draw is made.

        Raises:
            BudgetError: the costs would exceed the limit together.

        Example:
            >>> account = Account(Fraction(1))
            >>> account.charge("selection", Fraction(2, 3))
            >>> account.charge("answers", Fraction(2, 3))
            Traceback (most recent call last):
            ...
            residualplanner.ground.errors.BudgetError: the draws of this run would cost more than its budget ...
        """
        if not cost > 0 or not self.spent + cost <= self.limit:
            raise BudgetError("the draws of this run would cost more than its budget; nothing was drawn")
        self.entries.append((what, cost))


def rounded_down(value: Fraction) -> Fraction:
    """The largest number of `BITS` significant binary digits that is at most ``value``, which must be positive.

    Example:
        >>> 0 < Fraction(1, 3) - rounded_down(Fraction(1, 3)) < Fraction(1, 2**40)
        True
    """
    shift = BITS - value.numerator.bit_length() + value.denominator.bit_length()
    scale = Fraction(2) ** shift
    return Fraction(int(value * scale)) / scale


def root_down(value: Fraction) -> Fraction:
    """A number of about `BITS` binary digits whose square is at most ``value``, which must be positive.

    Example:
        >>> root_down(Fraction(9, 4))
        Fraction(3, 2)
    """
    shift = BITS - (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    scale = Fraction(4) ** shift
    return Fraction(isqrt(int(value * scale))) / Fraction(2) ** shift
