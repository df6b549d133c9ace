"""The account of a ledger at one moment, and its balance: exactly, and in words that err to the safe side."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from residualplanner.gate.ledger import lines as chain
from residualplanner.ground.checks import Number, require_fraction
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.notebooks import html_table
from residualplanner.ground.words import decimal_text_down, decimal_text_up
from residualplanner.method import privacy

#: In whose words costs are told where there is no budget.
_RHO = privacy.zcdp(1)
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
    def fitting_text(self) -> str:
        """The budget of a plan that would fit, rounded down; in pcost where too little is left for any epsilon."""
        words, nothing = self.remaining_text, privacy.cost_text_down(Fraction(0), self._like)
        return privacy.cost_text_down(self.told_remaining, privacy.pcost(1)) if words == nothing else words

    @property
    def text(self) -> str:
        """Both, in a clause."""
        if self.budget is None:
            return f"{self.spent_text} is spent, of no limit"
        return f"{self.spent_text} of {self.budget.statement} is spent, {self.remaining_text} is left"

    def after(self, cost: Fraction) -> "Balance":
        """The balance once a cost is charged, too.

        Raises:
            BudgetError: it is more than what is left.
        """
        found = replace(self, spent=self.spent + cost)
        if found.remaining is not None and found.remaining < 0:
            raise BudgetError(
                f"{privacy.cost_text_up(cost, self._like)} is more than what is left, {self.remaining_text}"
            )
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
        """The budget whose words are used."""
        return self.budget or _RHO


@dataclass(frozen=True, slots=True)
class LedgerAccount:
    """A ledger at one moment."""

    terms: chain.LedgerTerms  # of the ledger
    head: str  # the hash of its last complete line
    lines: tuple[chain.LedgerEntry | chain.LedgerStage, ...] = ()  # its charges, and the stages of releases in stores
    #: the total cost of the charges: exact, or rounded up where that has thousands of digits
    spent: Fraction = Fraction(0)
    torn: bytes = b""  # the bytes after the last complete line

    @property
    def entries(self) -> tuple[chain.LedgerEntry, ...]:
        """Its charges."""
        return tuple(line for line in self.lines if isinstance(line, chain.LedgerEntry))

    @property
    def is_torn(self) -> bool:
        """Whether the last line is incomplete, and may have been a charge."""
        return bool(self.torn) and not self.torn.startswith(chain.FREE)

    @property
    def remaining(self) -> Fraction | None:
        """What is left, at least 0; None where there is no limit."""
        return self.balance.remaining

    @property
    def balance(self) -> Balance:
        """What is spent and what is left."""
        return Balance(self.terms.budget, self.spent)

    def next_entry(self, cost: Fraction, plan_sha256: str, label: str) -> chain.LedgerEntry:
        """The entry that charges ``cost``; BudgetError if that is more than what is left."""
        total = chain.shortened(self.spent + cost)
        budget = self.terms.budget
        if budget is not None and not total <= budget.pcost_exact:
            raise BudgetError(self._refusal(budget, cost))
        entry = chain.LedgerEntry(len(self.entries) + 1, cost, plan_sha256, label, "")
        return chain.chained(entry, self.head, self.completed)

    def require_whole(self) -> None:
        """Raise FileFormatError if the last line may have been a charge, and is incomplete."""
        if self.is_torn:
            raise FileFormatError(
                "the last line is incomplete: a run was killed while it was charged; say what it counts for, with "
                "Ledger.settle(cost) or residualplanner ledger FILE --settle COST"
            )

    def require_new(self, plan_sha256: str, cost: Fraction) -> None:
        """Raise BudgetError if a plan was charged before; ``cost`` is what it would be charged again."""
        entry = next((entry for entry in self.entries if entry.plan_sha256 == plan_sha256), None)
        if entry is None:
            return
        if self.remaining is not None and cost > self.remaining:
            anew = "The ledger has too little left to measure it anew"
        else:
            anew = "To measure anew, at the full cost, as where that run has left nothing, write again=True, or --again"
        raise BudgetError(
            f"entry {entry.sequence} of the ledger is for this plan already ({entry.label}).  What was measured "
            "then gives every product, such as non-negative tables, at no further cost: reconstruct the folder of "
            f"that release, or its measurement.  {anew}"
        )

    def require_stages(self, release: str, known: Mapping[str, str]) -> None:
        """Raise BudgetError unless all stages recorded of a release are those of its store, by their digests."""
        for line in self.lines:
            if isinstance(line, chain.LedgerStage) and line.release == release and known.get(line.stage) != line.digest:
                raise BudgetError(
                    f"this store is a copy: the ledger has {line.stage} of its release from another one, which is "
                    "completed with resume_measuring, or was.  Noise is not drawn twice for one charge: go on there, "
                    "and give this store up with abort_measuring"
                )

    @property
    def completed(self) -> bytes:
        """What the next line starts with: a torn line, completed."""
        return self.torn + chain.TAB if self.torn else b""

    def _refusal(self, budget: privacy.Budget, cost: Fraction) -> str:
        """What is left, and what may still be planned; a trace that rounding has left is not worth a plan."""
        limit = privacy.claim_of_budget(budget, self.terms.neighbors, noise="discrete").statement
        left, this = budget.pcost_exact - self.spent, decimal_text_up(cost)
        if not left:
            return f"the ledger has nothing left of {limit}; this costs pcost {this}"
        if left * 10**6 < cost or not self.balance.told_remaining:
            return f"the ledger has next to nothing left of {limit}; this costs pcost {this}"
        fitting = f"a plan for {self.balance.fitting_text} would fit"
        return f"the ledger has pcost {decimal_text_down(left)} left of {limit}; this costs {this}; {fitting}"

    def bytes_of(self, line: chain.LedgerEntry | chain.LedgerStage) -> bytes:
        """The bytes to append for the next line."""
        return (chain.TAB if self.torn else b"") + chain.text_of_line(line)

    def with_line(self, line: chain.LedgerEntry | chain.LedgerStage) -> "LedgerAccount":
        """The ledger with its next line."""
        spent = chain.shortened(self.spent + line.cost) if isinstance(line, chain.LedgerEntry) else self.spent
        return LedgerAccount(self.terms, line.sha256, (*self.lines, line), spent)


def read_account(content: bytes) -> LedgerAccount:
    """Read a ledger, and check every line of it.

    FileFormatError: it is too large, a line is not the one that was written, or the budget is overspent.
    """
    if len(content) > chain.SIZE_LIMIT:
        raise FileFormatError(f"a ledger is at most {chain.SIZE_LIMIT:,} bytes long; this file is longer")
    end = content.find(b"\n")
    if end < 0:
        raise FileFormatError(
            "line 1 is incomplete: not a ledger, or one to which nothing was charged; create it again"
        )
    terms, whole = chain.terms_of_line(content[:end]), content.rfind(b"\n") + 1
    lines: list[chain.LedgerEntry | chain.LedgerStage] = []
    head, spent, charges = terms.head, Fraction(0), 0
    # One line at a time: a file may have 64 million empty lines, and is refused at the first.
    for number, line in enumerate(io.BytesIO(content[end + 1 : whole]), start=2):
        found = chain.line_of_text(line[:-1], number, head, charges + 1)
        lines.append(found)
        head = found.sha256
        if isinstance(found, chain.LedgerEntry):
            charges, spent = charges + 1, chain.shortened(spent + found.cost)
        if terms.budget is not None and not spent <= terms.budget.pcost_exact:
            raise FileFormatError(
                f"line {number} spends more than the budget: the ledger was not written by this library"
            )
    return LedgerAccount(terms, head, tuple(lines), spent, content[whole:])
