"""Charging a plan's measurement to a ledger.

Reads: a ledger, a plan, the exact cost of measuring it.  Gives: LedgerEntry.
"""

from fractions import Fraction
from typing import TypedDict

from residualplanner.errors import BudgetError
from residualplanner.ledger import Ledger, LedgerEntry
from residualplanner.plan import Plan, plan_hash
from residualplanner.privacy import Notion, claim_of_budget


class _Words(TypedDict):
    """What an entry says besides its cost and its hash."""

    neighbors: Notion
    records_per_person: int
    label: str


def charge_plan(ledger: Ledger, plan: Plan, cost: Fraction) -> LedgerEntry:
    """Charge the exact cost of measuring a plan.

    Raises:
        BudgetError: ``ledger`` is not a ledger, is for other neighbors, or has less than that left.
        FileFormatError: the ledger's file was not written by this library, or its last line is torn.
        OSError: the ledger's file cannot be locked or written.
    """
    return _require_ledger(ledger).charge(cost, plan_hash(plan), **_words_of(plan))


def require_room_for_plan(ledger: Ledger, plan: Plan, cost: Fraction) -> None:
    """Raise what `charge_plan` would raise now, and charge nothing."""
    _require_ledger(ledger).require_room(cost, plan_hash(plan), **_words_of(plan))


def _require_ledger(ledger: Ledger) -> Ledger:
    if not isinstance(ledger, Ledger):
        raise BudgetError(f"ledger must be a Ledger, such as Ledger.open(path); got {type(ledger).__name__}")
    return ledger


def _words_of(plan: Plan) -> _Words:
    """The same, of a plan."""
    count = len(plan.workload)
    statement = claim_of_budget(plan.budget, plan.neighbors, noise="discrete").statement
    label = f"{count:,} {'table' if count == 1 else 'tables'}, planned for {statement}"
    return {
        "neighbors": plan.neighbors.notion,
        "records_per_person": plan.neighbors.records_per_person,
        "label": label[:200],
    }
