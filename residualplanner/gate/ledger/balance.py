"""What has been spent of a budget and what is left, exactly, and in words that never show less spent or more left."""

from dataclasses import dataclass, replace
from fractions import Fraction

from residualplanner.ground.checks import Number, require_fraction
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.html import html_table
from residualplanner.method.privacy import Budget, budget_within, cost_text_down, cost_text_up, pcost, zcdp

#: In whose words costs are told where no budget has words that hold for discrete noise.
_RHO = zcdp(1)
#: Less than this part of a budget is a trace that rounding has left, and told as nothing.
_TRACE = Fraction(1, 10**6)


@hides("fitting_text", "remaining_text", "spent_text", "told_remaining")
@dataclass(frozen=True, slots=True, repr=False)
class Balance:
    """What has been spent of a budget, and what is left.

    Attributes:
        budget: the most that may be spent; None for no limit.
        spent: the exact pcost of all charges.

    Example:
        >>> balance = Balance(zcdp("0.5"), Fraction(2, 3))
        >>> balance
        <Balance: 0.333334-zCDP of 0.5-zCDP is spent, 0.166666-zCDP is left>
        >>> balance.remaining, balance.budget_for("1/2")
        (Fraction(1, 3), zcdp(1/12))
    """

    budget: Budget | None
    spent: Fraction

    def __repr__(self) -> str:
        return f"<Balance: {self.text}>"

    def _repr_html_(self) -> str:
        limit = "no limit" if self.budget is None else self._limit_text
        rows = [("budget", limit), ("spent", self.spent_text), ("left", self.remaining_text)]
        return html_table("Balance", ["", "rounded to the safe side"], rows)

    @property
    def remaining(self) -> Fraction | None:
        """The exact pcost that may still be spent, at least 0; None for no limit."""
        return None if self.budget is None else self.budget.pcost_exact - self.spent

    @property
    def spent_text(self) -> str:
        """What is spent, in the notion of the budget, rounded up; in zCDP where there is none for discrete noise."""
        return cost_text_up(self.spent, self._like)

    @property
    def told_remaining(self) -> Fraction:
        """What people are told is left, where there is a limit: less than a millionth of the budget is nothing."""
        left = self.remaining or Fraction(0)
        return Fraction(0) if left < _TRACE * (self.spent + left) else left

    @property
    def remaining_text(self) -> str:
        """What is left, likewise, rounded down; "no limit" where there is none."""
        return "no limit" if self.remaining is None else cost_text_down(self.told_remaining, self._like)

    @property
    def fitting_text(self) -> str:
        """The budget of a plan that would fit, rounded down; in pcost where too little is left for any epsilon."""
        words, nothing = self.remaining_text, cost_text_down(Fraction(0), self._like)
        return cost_text_down(self.told_remaining, pcost(1)) if words == nothing else words

    @property
    def text(self) -> str:
        """Both, in a clause."""
        if self.budget is None:
            return f"{self.spent_text} is spent, of no limit"
        return f"{self.spent_text} of {self._limit_text} is spent, {self.remaining_text} is left"

    def after(self, cost: Fraction) -> "Balance":
        """The balance once a cost is charged, too.

        Raises:
            BudgetError: it is more than what is left.
        """
        found = replace(self, spent=self.spent + cost)
        if found.remaining is not None and found.remaining < 0:
            raise BudgetError(f"{cost_text_up(cost, self._like)} is more than what is left, {self.remaining_text}")
        return found

    def budget_for(self, fraction: Number = 1) -> Budget:
        """The budget of a plan for a fraction of what is left.

        Args:
            fraction: above 0, and at most 1; int, Fraction, Decimal and str, such as "1/3", are exact.

        Returns:
            The budget in the notion of the whole one, smaller than the exact fraction by less than 1e-10, relative.

        Raises:
            BudgetError: there is no limit, nothing is left, or the fraction is out of range.
        """
        part = require_fraction("fraction", fraction)
        if not part <= 1:
            raise BudgetError(f"fraction must be at most 1, which is all that is left; got {fraction!r}")
        if self.remaining is None:
            raise BudgetError("there is no limit, and so no fraction of what is left; state a budget such as zcdp(0.5)")
        if not self.told_remaining:
            raise BudgetError(f"nothing is left of {self._limit_text}")
        return budget_within(part * self.remaining, self._like)

    @property
    def _limit_text(self) -> str:
        """All that may be spent, where there is a limit."""
        is_stated = self._like is self.budget
        return self._like.statement if is_stated else cost_text_down(self.spent + (self.remaining or 0), self._like)

    @property
    def _like(self) -> Budget:
        """The budget whose words are used: its own, where they hold for discrete noise."""
        return self.budget if self.budget is not None and "discrete" in self.budget.proved_for else _RHO
