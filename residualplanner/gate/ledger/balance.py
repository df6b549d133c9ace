"""What a ledger's budget has left: exactly, and in words that err to the safe side."""

from dataclasses import dataclass, replace
from fractions import Fraction

from residualplanner.gate.ledger.lines import LedgerAccount, LedgerEntry, shortened
from residualplanner.ground.checks import Number, require_fraction
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.notebooks import html_table
from residualplanner.ground.words import decimal_text_down, decimal_text_up
from residualplanner.method import privacy

#: Less than this part of a budget is a trace that rounding has left, and told as nothing.
_TRACE = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True, repr=False)
class Balance:
    """What has been spent of a budget, and what is left.

    Attributes:
        budget: the most that may be spent; None for no limit.
        spent: the exact pcost of all charges.

    Example:
        >>> import residualplanner as rp
        >>> balance = Balance(rp.zcdp("0.5"), Fraction(2, 3))
        >>> balance
        <Balance: 0.333334-zCDP of 0.5-zCDP is spent, 0.166666-zCDP is left>
        >>> balance.remaining, balance.budget_for("1/2")
        (Fraction(1, 3), zcdp(1/12))
    """

    budget: privacy.Budget | None
    spent: Fraction

    def __repr__(self) -> str:
        return f"<Balance: {self.text}>"

    def _repr_html_(self) -> str:
        limit = "no limit" if self.budget is None else self.budget.statement
        rows = [("budget", limit), ("spent", self.spent_text), ("left", self.remaining_text)]
        return html_table("Balance", ["", "rounded to the safe side"], rows)

    @property
    def remaining(self) -> Fraction | None:
        """The exact pcost that may still be spent, at least 0; None for no limit."""
        return None if self.budget is None else self.budget.pcost_exact - self.spent

    @property
    def spent_text(self) -> str:
        """What is spent, in the notion of the budget, rounded up; in zCDP where there is none."""
        return privacy.cost_text_up(self.spent, self._like)

    @property
    def told_remaining(self) -> Fraction:
        """What people are told is left, where there is a limit: less than a millionth of the budget is nothing."""
        left = self.remaining or Fraction(0)
        return Fraction(0) if left < _TRACE * (self.spent + left) else left

    @property
    def remaining_text(self) -> str:
        """What is left, likewise, rounded down; "no limit" where there is none."""
        return "no limit" if self.remaining is None else privacy.cost_text_down(self.told_remaining, self._like)

    @property
    def text(self) -> str:
        """Both, in a clause."""
        if self.budget is None:
            return f"{self.spent_text} is spent, of no limit"
        return f"{self.spent_text} of {self.budget.statement} is spent, {self.remaining_text} is left"

    def after(self, cost: Fraction) -> "Balance":
        """The balance once a cost is charged, too; BudgetError where it is more than what is left."""
        found = replace(self, spent=self.spent + cost)
        if found.remaining is not None and found.remaining < 0:
            message = f"{privacy.cost_text_up(cost, self._like)} is more than what is left, {self.remaining_text}"
            raise BudgetError(message)
        return found

    def budget_for(self, fraction: Number = 1) -> privacy.Budget:
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
        if self.budget is None or self.remaining is None:
            raise BudgetError("there is no limit, and so no fraction of what is left; state a budget such as zcdp(0.5)")
        if not self.told_remaining:
            raise BudgetError(f"nothing is left of {self.budget.statement}")
        return privacy.budget_within(part * self.remaining, self._like)

    @property
    def _like(self) -> privacy.Budget:
        return self.budget or privacy.zcdp(1)


def balance_of(account: LedgerAccount) -> Balance:
    """What is spent and what is left."""
    return Balance(account.terms.budget, account.spent)


def new_entry(account: LedgerAccount, cost: Fraction, plan_sha256: str, label: str) -> LedgerEntry:
    """The next charge; BudgetError where it is more than what is left."""
    budget, balance = account.terms.budget, balance_of(account)
    if budget is None or shortened(account.spent + cost) <= budget.pcost_exact:
        return LedgerEntry(len(account.entries) + 1, cost, plan_sha256, label, "")
    limit = privacy.claim_of_budget(budget, account.terms.neighbors, noise="discrete").statement
    left, this = budget.pcost_exact - account.spent, decimal_text_up(cost)
    if left * 10**6 < cost or not balance.told_remaining:  # a trace that rounding has left is not worth a plan
        raise BudgetError(f"the ledger has {'next to ' * bool(left)}nothing left of {limit}; this costs pcost {this}")
    fitting = balance.remaining_text
    if fitting == privacy.cost_text_down(Fraction(0), budget):  # too little for any epsilon
        fitting = privacy.cost_text_down(left, privacy.pcost(1))
    raise BudgetError(
        f"the ledger has pcost {decimal_text_down(left)} left of {limit}; this costs {this}; "
        f"a plan for {fitting} would fit"
    )
