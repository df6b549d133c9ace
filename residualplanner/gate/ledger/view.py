"""What a ledger says of itself: its terms, its charges, what is spent and left.

Reads: the account of a ledger, as it is now.  Gives: LedgerView.
"""

from fractions import Fraction

from residualplanner.gate.ledger.balance import Balance
from residualplanner.gate.ledger.lines import LedgerEntry
from residualplanner.gate.ledger.stores import File, Memory
from residualplanner.ground.html import caption_of, html_table
from residualplanner.ground.words import decimal_text_up
from residualplanner.method.privacy import Budget, Notion


class LedgerView:
    """The terms and the charges of a ledger, read anew each time."""

    __slots__ = ("_store",)
    _store: Memory | File

    @property
    def budget(self) -> Budget | None:
        """The most that all charges may cost together; None for no limit."""
        return self._store.terms.budget

    @property
    def reason(self) -> str:
        """Why there is no limit; empty where there is one."""
        return self._store.terms.reason

    @property
    def data_set(self) -> str:
        """The name its curator gave the data set."""
        return self._store.terms.data_set

    @property
    def neighbors(self) -> Notion:
        """The notion of neighbors of all charges."""
        return self._store.terms.neighbors.notion

    @property
    def records_per_person(self) -> int:
        """How many records one person has at most."""
        return self._store.terms.neighbors.records_per_person

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All charges so far, those of other processes included."""
        return self._store.account().entries

    @property
    def spent(self) -> Fraction:
        """The total pcost of all charges: exact, or rounded up where that has thousands of digits."""
        return self._store.account().spent

    @property
    def remaining(self) -> Fraction | None:
        """The pcost that may still be charged, at least 0; None for no limit."""
        return self._store.account().remaining

    @property
    def balance(self) -> Balance:
        """What is spent and what is left at one moment, in the words of the budget, too."""
        return self._store.account().balance

    @property
    def is_torn(self) -> bool:
        """Whether the last line is incomplete, because its writer was killed; see `settle`."""
        return self._store.account().is_torn

    @property
    def last_sha256(self) -> str:
        """The hash of the last complete line, which covers all lines before it."""
        return self._store.account().head

    def __repr__(self) -> str:
        limit = f"unlimited, {self.reason!r}" if self.budget is None else repr(self.budget)
        return f"<Ledger of {self.data_set!r}: {limit}, {self.neighbors}>"

    def _repr_html_(self) -> str:
        account = self._store.account()
        head = ["entry", "pcost", "plan", "label"]
        rows = [
            (entry.sequence, decimal_text_up(entry.cost), entry.plan_sha256[:12], entry.label)
            for entry in account.entries
        ]
        return html_table(caption_of(self), head, rows, note=account.balance.text)
