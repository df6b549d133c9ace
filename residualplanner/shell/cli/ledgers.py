"""Ledgers on the command line: begin one, show one, settle a torn line, show what a release charges and leaves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from residualplanner.gate.ledger import Balance, Ledger
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import decimal_text_down, decimal_text_up
from residualplanner.method.privacy import Neighbors, PrivacyClaim, claim_of_budget
from residualplanner.shell.cli.budgets import budget_of_text, typed_text
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.paths import LEDGER, require_files
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.words import say_caution
from residualplanner.shell.session import begun_ledger, given, opened_ledger, require_stated


def cost_of_text(text: str) -> Fraction:
    """The exact cost that was typed; BudgetError where it is none."""
    if not re.fullmatch(r"[0-9]{1,400}(\.[0-9]{1,400})?(/[1-9][0-9]{0,400})?", text) or ("." in text and "/" in text):
        raise BudgetError(f"a pcost is written as 1, 0.5 or 1/3; got {text[:80]!r}")
    return Fraction(text)


def begin_ledger(path: Path, budget: str | None, reason: str | None, terms: Mapping[str, Any]) -> Ledger:
    """Begin a ledger in a new file, with a budget or a reason for having none."""
    if (budget is None) == (reason is None):
        raise BudgetError("a ledger needs --budget such as zcdp=1, or --unlimited with a reason for having none")
    limit = None if budget is None else budget_of_text(budget)
    if path.exists():
        message = f"{path} exists already; look at it with {command_text('ledger', path)}, or name another file"
        raise FileExistsError(message)
    return Ledger.create(path, budget=limit, reason=reason or "", **terms)


def existing_ledger(path: Path, command: str) -> Ledger:
    """The ledger in a file that a command or option names."""
    if not path.exists():
        making = command_text("ledger", path, "--create", "NAME", "--budget", "zcdp=1")
        raise FileNotFoundError(f"there is no ledger {path}; begin one for all releases from these records: {making}")
    require_files(command, LEDGER, path)
    return Ledger.open(path)


@dataclass(frozen=True, slots=True)
class WantedLedger:
    """The ledger in a file that a run is to charge, begun where there is none and the spec has a budget for it."""

    path: Path
    terms: Mapping[str, Any] = field(default_factory=dict)  # what the spec says of it

    @property
    def is_to_be_begun(self) -> bool:
        """Whether there is no such file, and a budget to begin one with."""
        return "budget" in self.terms and not self.path.exists()

    def rehearsed(self) -> Ledger:
        """The ledger, whose terms must be those of the spec; in memory where it is to be begun."""
        if self.is_to_be_begun:
            return begun_ledger(None, self.terms)
        existing = existing_ledger(self.path, "--ledger")
        require_stated(existing, self.terms)
        return existing

    @property
    def beginning(self) -> str | None:
        """The command that begins it, where it is to be begun."""
        if not self.is_to_be_begun:
            return None
        budget, neighbors = typed_text(self.terms["budget"]), self.terms["neighbors"]
        records = self.terms["records_per_person"]
        options = [] if neighbors == "add-remove" else ["--neighbors", neighbors]
        options += [] if records == 1 else ["--records-per-person", str(records)]
        return command_text("ledger", self.path, "--create", self.path.stem, "--budget", budget, *options)

    def opened(self, output: Output) -> Ledger:
        """The ledger, begun if it has to be; what is left is said."""
        words = ", begun now" if self.is_to_be_begun else ""
        found = opened_ledger(self.path, self.terms) if words else self.rehearsed()
        say_balance(self.path, found.balance, output, words)
        return found


def wanted_ledger(typed: Path | None, spec: SpecFile) -> WantedLedger | None:
    """The ledger that is to be charged for a spec: the one that was typed, else the spec's, if any."""
    if typed is not None or spec.ledger is None:
        return None if typed is None else WantedLedger(typed)
    limits = {"neighbors": spec.neighbors, "records_per_person": spec.most_records}
    terms = given(budget=spec.ledger.budget, **limits)
    return WantedLedger(spec.path.parent / spec.ledger.file, terms)


def say_balance(path: Path, balance: Balance, output: Output, words: str = "") -> None:
    """Say what is left of a ledger's budget before it is charged."""
    text = f"{path}{words}: {balance.text}"
    output.fact("Ledger", text, path=path, spent=balance.spent, left=balance.remaining)


def say_charge(ledger: Ledger | None, output: Output) -> None:
    """Say what the last charge was, and what is left; or that there is no ledger."""
    if ledger is None:
        text = "none: nothing adds up what is spent; name one with --ledger, or in the spec"
        output.fact("Ledger", text, path=None, spent=None, left=None)
        return
    balance, last = ledger.balance, ledger.entries[-1]
    text = f"pcost {decimal_text_up(last.cost)}, entry {last.sequence} of the ledger; {left_text(balance)}"
    output.fact("Charged", text, pcost=last.cost, entry=last.sequence, left=balance.remaining)


def say_ledger(ledger: Ledger, output: Output) -> None:
    """Print a ledger: its data set and budget, its entries, what is left."""
    budget, notion, most = ledger.budget, ledger.neighbors, ledger.records_per_person
    neighbors = Neighbors(notion, most)
    claim = None if budget is None else claim_of_budget(budget, neighbors, noise="discrete")
    limit = (
        f"unlimited: {ledger.reason}" if claim is None else f"{claim.statement}, pcost {decimal_text_down(claim.pcost)}"
    )
    records = "" if most == 1 else f", up to {most} records per person"
    output.fact("Data set", ledger.data_set, event="data-set", name=ledger.data_set)
    output.fact("Budget", limit, pcost=None if claim is None else claim.pcost)
    if claim is not None:
        say_caution(claim, output)
    output.fact("Neighbors", f"{notion}{records}", neighbors=notion, records_per_person=most)
    entries = ledger.entries
    if entries:
        rows = [(each.label, each.plan_sha256[:12], str(each.sequence), decimal_text_up(each.cost)) for each in entries]
        facts = [
            {"entry": each.sequence, "pcost": each.cost, "plan_sha256": each.plan_sha256, "label": each.label}
            for each in entries
        ]
        output.table(["charged for", "plan", "entry", "pcost"], rows, texts=2, event="entry", facts=facts)
        output.fact("Last line", ledger.last_sha256, event="last-line", sha256=ledger.last_sha256)
    balance = ledger.balance
    spent = _with_pcost(balance.spent_text, decimal_text_up(balance.spent))
    output.fact("Spent", f"{spent}; {left_text(balance)}", pcost=balance.spent, left=balance.remaining)
    if balance.spent:
        say_caution(PrivacyClaim(balance.spent, neighbors.words), output)
    if ledger.is_torn:
        output.fact(
            "Torn",
            "the last line is incomplete: a run was killed while it was charged;",
            "nothing more can be charged until you say what to count for it, with --settle COST",
        )


def left_text(balance: Balance) -> str:
    """What is left of a ledger's budget, in its words and as pcost, rounded down."""
    if balance.remaining is None:
        return "no limit"
    return f"{_with_pcost(balance.remaining_text, decimal_text_down(balance.told_remaining))} is left"


def _with_pcost(words: str, number: str) -> str:
    return words if words == f"pcost {number}" else f"{words} (pcost {number})"
