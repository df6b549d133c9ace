"""Charging a plan's measurement to a ledger, or saying that there is none.

Reads: a ledger, a plan, the exact cost of measuring it.  Gives: LedgerEntry.
"""

import inspect
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeVar

from residualplanner.gate.ledger import TEXT_LIMIT, Ledger, LedgerEntry
from residualplanner.ground.errors import BudgetError, NoLedgerWarning
from residualplanner.ground.words import count_text
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, Neighbors, claim_of_budget

T = TypeVar("T")


@cache
def warn_without_ledger() -> None:
    """Say that nothing adds up what is spent: once in a process, at the line that called the gate.

    It is called by functions below an `entrance`.
    """
    message = (
        "nothing keeps count: these records are measured without a ledger; write Session(records, budget=...), or "
        "ledger=Ledger.open(path); where there is nothing to count, ledger=Ledger.unlimited(reason)"
    )
    functions = [*(frame.function for frame in inspect.stack(0)), "entered"]
    warnings.warn(message, NoLedgerWarning, stacklevel=functions.index("entered") + 2)


def charge_plan(ledger: Ledger, plan: Plan, cost: Fraction, *, purpose: str = "", again: bool = False) -> LedgerEntry:
    """Charge the exact cost of measuring a plan.

    Args:
        ledger: it is charged.
        plan: what is measured.
        cost: the exact pcost.
        purpose: what the entry's label starts with.
        again: whether a plan that the ledger holds already may be charged again.

    Raises:
        BudgetError: ``ledger`` is not a ledger, is for other neighbors, has less than that left, or holds the plan.
        FileFormatError: the ledger's file was not written by this library, or its last line is torn.
        OSError: the ledger's file cannot be locked or written.
    """
    return _of_plan(_require_ledger(ledger).charge, plan, cost, purpose, again)


def require_room_for_plan(ledger: Ledger, plan: Plan, cost: Fraction, *, again: bool = False) -> None:
    """Raise what `charge_plan` would raise now, and charge nothing."""
    _of_plan(_require_ledger(ledger).require_room, plan, cost, "", again)


def _require_ledger(ledger: Ledger) -> Ledger:
    if not isinstance(ledger, Ledger):
        raise BudgetError(f"ledger must be a Ledger, such as Ledger.open(path); got {type(ledger).__name__}")
    return ledger


def _of_plan(charge: Callable[..., T], plan: Plan, cost: Fraction, purpose: str, again: bool) -> T:
    """Call a ledger's method with the cost of measuring a plan and the words for the entry."""
    what = f"{purpose}{count_text(len(plan.workload), 'table')}"
    return call_ledger(charge, cost, plan_hash(plan), what, plan.budget, plan.neighbors, again=again)


def call_ledger(
    charge: Callable[..., T],
    cost: Fraction,
    plan_sha256: str,
    what: str,
    budget: Budget,
    neighbors: Neighbors,
    *,
    again: bool,
) -> T:
    """Call `Ledger.charge` or `Ledger.require_room` for what is planned.

    Args:
        charge: the ledger's method.
        cost: the exact pcost.
        plan_sha256: of the plan.
        what: is measured, in words.
        budget: that it was planned for.
        neighbors: likewise.
        again: whether a plan that the ledger holds already may be charged again.
    """
    statement = claim_of_budget(budget, neighbors, noise="discrete").statement
    return charge(
        cost,
        plan_sha256,
        neighbors=neighbors.notion,
        records_per_person=neighbors.records_per_person,
        label=f"{what}, planned for {statement}"[:TEXT_LIMIT],
        again=again,
    )
