"""Charging a plan's measurement to a ledger, or saying that there is none.

Reads: a ledger, a plan, the exact cost of measuring it.  Gives: LedgerEntry.
"""

import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeVar

from residualplanner._words import count_text
from residualplanner.errors import BudgetError, NoLedgerWarning
from residualplanner.ledger import TEXT_LIMIT, Ledger, LedgerEntry, charged_text
from residualplanner.measurement.shielding import WatchedProgress, shielded, without_history
from residualplanner.plan import Plan, plan_hash
from residualplanner.privacy import Budget, Neighbors, claim_of_budget

T = TypeVar("T")


@cache
def warn_without_ledger() -> None:
    """Say that nothing adds up what is spent: once in a process, at the line that called the gate.

    It is for the function that the gate's public function calls first.
    """
    message = (
        "nothing keeps count: these records are measured without a ledger; write Session(records, budget=...), or "
        "ledger=Ledger.open(path); where there is nothing to count, ledger=Ledger.unlimited(reason)"
    )
    warnings.warn(message, NoLedgerWarning, stacklevel=4)


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


def run_charged(
    charge: Callable[[], LedgerEntry | None], run: Callable[[], T], progress: WatchedProgress
) -> T | BaseException:
    """What ``run`` returns after the charge, or the error to raise where no record is in sight.

    Args:
        charge: charges a ledger, if there is one; what it raises is the ledger's own.
        run: reads records.
        progress: its errors pass.

    Returns:
        A result, or an error without history, with a note that says what was charged.
    """
    entry, is_charged = None, False
    try:
        entry = charge()
        is_charged = True
        return run()
    except BaseException as error:  # noqa: BLE001 - it may have been where the records are
        if not is_charged:
            return without_history(error)  # the ledger's own, which says whether it was charged
        outcome = shielded(error, progress)
        if entry is not None:
            outcome.add_note(f"{charged_text(entry)}  That a run fails may itself reveal something of the records.")
        return outcome


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
