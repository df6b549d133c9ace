"""Ledgers on the command line: begin one, show one, settle a torn line, show the charge of a release.

Reads: what the user typed.  Gives: Ledger, and messages.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from residualplanner._words import decimal_text_down, decimal_text_up
from residualplanner.cli.expected_files import LEDGER, require_file
from residualplanner.cli.messages.output import Output, command_text
from residualplanner.cli.spec.typed_budget import budget_of_text
from residualplanner.errors import BudgetError
from residualplanner.ledger import Ledger
from residualplanner.privacy import Neighbors, claim_of_budget

_COST = re.compile(r"[0-9]{1,400}(\.[0-9]{1,400})?(/[1-9][0-9]{0,400})?")


def cost_of_text(text: str) -> Fraction:
    """The exact cost that was typed.

    Raises:
        BudgetError: it is not a cost.

    Example:
        >>> cost_of_text("1/3"), cost_of_text("0.5")
        (Fraction(1, 3), Fraction(1, 2))
    """
    if not _COST.fullmatch(text) or ("." in text and "/" in text):
        raise BudgetError(f"a pcost is written as 1, 0.5 or 1/3; got {text[:80]!r}")
    return Fraction(text)


def begin_ledger(path: Path, budget: str | None, reason: str | None, terms: Mapping[str, Any]) -> Ledger:
    """Begin a ledger in a new file.

    Raises:
        BudgetError: neither a budget nor a reason for having none was typed, or both, or they are invalid.
        OSError: a file or folder exists at ``path``, or no file can be made there.
    """
    if (budget is None) == (reason is None):
        raise BudgetError("a ledger needs --budget such as zcdp=1, or --unlimited with a reason for having none")
    limit = None if budget is None else budget_of_text(budget)
    return Ledger.create(path, budget=limit, reason=reason or "", **terms)


def open_ledger(path: Path | None) -> Ledger | None:
    """The ledger in a file, if one was named.

    Raises:
        FileFormatError: it is damaged.
        OSError: it does not exist, or cannot be read or locked.
    """
    return None if path is None else existing_ledger(path, "--ledger")


def existing_ledger(path: Path, command: str) -> Ledger:
    """The ledger in a file that a command or option names; errors as in `open_ledger`."""
    if not path.exists():
        making = command_text("ledger", path, "--create", "NAME", "--budget", "zcdp=1")
        raise FileNotFoundError(f"there is no ledger {path}; begin one for all releases from these records: {making}")
    require_file(path, command, LEDGER)
    return Ledger.open(path)


def say_charge(ledger: Ledger | None, output: Output) -> None:
    """Say what the last charge was, and what is left."""
    if ledger is not None:
        last = ledger.entries[-1]
        output.fact(
            "Charged",
            f"pcost {decimal_text_up(last.cost)}, entry {last.sequence} of the ledger; {left_text(ledger.remaining)}",
            pcost=last.cost,
            entry=last.sequence,
            left=ledger.remaining,
        )


def say_ledger(ledger: Ledger, output: Output) -> None:
    """Print a ledger: its data set and budget, its entries, what is left."""
    budget, neighbors = ledger.budget, Neighbors(ledger.neighbors, ledger.records_per_person)
    limit = (
        f"unlimited: {ledger.reason}"
        if budget is None
        else f"{claim_of_budget(budget, neighbors, noise='discrete').statement}, "
        f"pcost {decimal_text_down(budget.pcost_exact)}"
    )
    records = "" if ledger.records_per_person == 1 else f", up to {ledger.records_per_person} records per person"
    output.fact("Data set", ledger.data_set, event="data-set", name=ledger.data_set)
    output.fact("Budget", limit, pcost=None if budget is None else budget.pcost_exact)
    output.fact(
        "Neighbors",
        f"{ledger.neighbors}{records}",
        neighbors=ledger.neighbors,
        records_per_person=ledger.records_per_person,
    )
    entries = ledger.entries
    if entries:
        rows = [
            (entry.label, entry.plan_sha256[:12], str(entry.sequence), decimal_text_up(entry.cost)) for entry in entries
        ]
        facts = [
            {"entry": each.sequence, "pcost": each.cost, "plan_sha256": each.plan_sha256, "label": each.label}
            for each in entries
        ]
        output.table(["charged for", "plan", "entry", "pcost"], rows, texts=2, event="entry", facts=facts)
        output.fact("Last line", entries[-1].sha256, event="last-line", sha256=entries[-1].sha256)
    left = ledger.remaining
    output.fact("Spent", f"pcost {decimal_text_up(ledger.spent)}; {left_text(left)}", pcost=ledger.spent, left=left)
    if ledger.is_torn:
        output.fact(
            "Torn",
            "the last line is incomplete: a run was killed while it was charged;",
            "nothing more can be charged until you say what to count for it, with --settle COST",
        )


def left_text(left: Fraction | None) -> str:
    """What is left of a ledger's budget, in words, rounded down."""
    return "no limit" if left is None else f"pcost {decimal_text_down(left)} is left"
