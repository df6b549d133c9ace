"""The account of a ledger at one moment, and its stores: the memory of one process, or a file read anew each time."""

import io
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from residualplanner.gate.ledger.balance import Balance
from residualplanner.gate.ledger.file import SIZE_LIMIT, locked_file
from residualplanner.gate.ledger.lines import (
    FREE,
    TAB,
    LedgerEntry,
    LedgerStage,
    LedgerTerms,
    line_of_text,
    shortened,
    terms_of_line,
)
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.words import (
    NOT_CHARGED,
    charged_text,
    decimal_text_down,
    decimal_text_up,
    short_text_down,
)
from residualplanner.method.privacy import Budget, claim_of_budget, require_discrete


@dataclass(frozen=True, slots=True)
class LedgerAccount:
    """A ledger at one moment."""

    terms: LedgerTerms  # of the ledger
    head: str  # the hash of its last complete line
    lines: tuple[LedgerEntry | LedgerStage, ...] = ()  # its charges, and the stages of releases in stores
    #: the total cost of the charges: exact, or rounded up where that has thousands of digits
    spent: Fraction = Fraction(0)
    torn: bytes = b""  # the bytes after the last complete line

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Its charges."""
        return tuple(line for line in self.lines if isinstance(line, LedgerEntry))

    @property
    def is_torn(self) -> bool:
        """Whether the last line is incomplete, and may have been a charge."""
        return bool(self.torn) and not self.torn.startswith(FREE)

    @property
    def remaining(self) -> Fraction | None:
        """What is left, at least 0; None where there is no limit."""
        return self.balance.remaining

    @property
    def balance(self) -> Balance:
        """What is spent and what is left."""
        return Balance(self.terms.budget, self.spent)

    def require_chargeable(self) -> None:
        """Raise BudgetError if the budget does not hold for discrete noise, as in files of older versions."""
        budget = self.terms.budget
        if budget is not None and "discrete" not in budget.proved_for:
            raise BudgetError(
                f"the ledger's budget, {budget.statement}, does not hold for discrete noise, so nothing more is "
                "charged to it; begin another ledger with what it has left, in zCDP: pcost "
                f"{short_text_down(budget.pcost_exact - self.spent)}"
            )

    def next_entry(self, cost: Fraction, plan_sha256: str, label: str) -> LedgerEntry:
        """The entry that charges ``cost``; BudgetError if that is more than what is left."""
        total = shortened(self.spent + cost)
        budget = self.terms.budget
        if budget is not None and not total <= budget.pcost_exact:
            raise BudgetError(self._refusal(budget, cost))
        entry = LedgerEntry(len(self.entries) + 1, cost, plan_sha256, label, "")
        return entry.chained(self.head, self.completed)

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
            if isinstance(line, LedgerStage) and line.release == release and known.get(line.stage) != line.digest:
                raise BudgetError(
                    f"this store is a copy: the ledger has {line.stage} of its release from another one, which is "
                    "completed with resume_measuring, or was.  Noise is not drawn twice for one charge: go on there, "
                    "and give this store up with abort_measuring"
                )

    @property
    def completed(self) -> bytes:
        """What the next line starts with: a torn line, completed."""
        return self.torn + TAB if self.torn else b""

    def _refusal(self, budget: Budget, cost: Fraction) -> str:
        """What is left, and what may still be planned; a trace that rounding has left is not worth a plan."""
        limit = claim_of_budget(budget, self.terms.neighbors, noise="discrete").statement
        left, this = budget.pcost_exact - self.spent, decimal_text_up(cost)
        if not left:
            return f"the ledger has nothing left of {limit}; this costs pcost {this}"
        if left * 10**6 < cost or not self.balance.told_remaining:
            return f"the ledger has next to nothing left of {limit}; this costs pcost {this}"
        fitting = f"a plan for {self.balance.fitting_text} would fit"
        return f"the ledger has pcost {decimal_text_down(left)} left of {limit}; this costs {this}; {fitting}"

    def bytes_of(self, line: LedgerEntry | LedgerStage) -> bytes:
        """The bytes to append for the next line."""
        return (TAB if self.torn else b"") + line.line

    def with_line(self, line: LedgerEntry | LedgerStage) -> "LedgerAccount":
        """The ledger with its next line."""
        spent = shortened(self.spent + line.cost) if isinstance(line, LedgerEntry) else self.spent
        return LedgerAccount(self.terms, line.sha256, (*self.lines, line), spent)


def read_account(content: bytes) -> LedgerAccount:
    """Read a ledger, and check every line of it.

    FileFormatError: it is too large, a line is not the one that was written, or the budget is overspent.
    """
    if len(content) > SIZE_LIMIT:
        raise FileFormatError(f"a ledger is at most {SIZE_LIMIT:,} bytes long; this file is longer")
    end = content.find(b"\n")
    if end < 0:
        raise FileFormatError(
            "line 1 is incomplete: not a ledger, or one to which nothing was charged; create it again"
        )
    terms, whole = terms_of_line(content[:end]), content.rfind(b"\n") + 1
    lines: list[LedgerEntry | LedgerStage] = []
    head, spent, charges = terms.head, Fraction(0), 0
    # One line at a time: a file may have 64 million empty lines, and is refused at the first.
    for number, line in enumerate(io.BytesIO(content[end + 1 : whole]), start=2):
        found = line_of_text(line[:-1], number, head, charges + 1)
        lines.append(found)
        head = found.sha256
        if isinstance(found, LedgerEntry):
            charges, spent = charges + 1, shortened(spent + found.cost)
        if terms.budget is not None and not spent <= terms.budget.pcost_exact:
            raise FileFormatError(
                f"line {number} spends more than the budget: the ledger was not written by this library"
            )
    return LedgerAccount(terms, head, tuple(lines), spent, content[whole:])


#: Charges, or stages.
L = TypeVar("L", LedgerEntry, LedgerStage)
#: Makes the next line of an account, or refuses to.
NextLine = Callable[[LedgerAccount], L]


class Memory:
    """An account in the memory of one process."""

    def __init__(self, terms: LedgerTerms) -> None:
        if terms.budget is not None:
            require_discrete(terms.budget)
        self.terms = terms
        self._account = LedgerAccount(terms, terms.head)
        self._lock, self._process = threading.Lock(), os.getpid()

    def account(self) -> LedgerAccount:
        """The account as it is now."""
        return self._account

    def append(self, next_line: NextLine[L]) -> L:
        """Add the next line; BudgetError in a copy of the process, which would spend the same budget again."""
        if os.getpid() != self._process:
            raise BudgetError(
                "a ledger in memory can be charged only by the process that made it, since others spend from copies; "
                "use one in a file, with Ledger.create(path, ...)"
            )
        with self._lock:
            line = next_line(self._account)
            self._account = self._account.with_line(line)
        return line


class File:
    """An account in a file, read anew each time, and refused if an entry that was seen is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = (0, "")
        self.terms = self.account().terms

    def account(self) -> LedgerAccount:
        """The account as the file has it now."""
        try:
            with locked_file(self._path, exclusive=False) as file:
                return self._checked(file.content)
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no ledger {self._path}; make it first, with Ledger.create") from None
        except FileFormatError as error:
            raise self._named(error) from None

    def append(self, next_line: NextLine[L]) -> L:
        """Add the next line, under a lock and forced to the disk; a note of an OSError says whether it counts."""
        account = line = None
        try:
            with locked_file(self._path, exclusive=True) as file:
                account = self._checked(file.content)
                line = next_line(account)
                file.append(account.bytes_of(line))
            self._seen = (len(account.lines) + 1, line.sha256)
        except FileFormatError as error:
            raise self._named(error) from None
        except BaseException as error:
            if not isinstance(error, BudgetError):
                error.add_note(after_failed_charge(self._path, account, line))
            raise
        return line

    def _checked(self, content: bytes) -> LedgerAccount:
        account = read_account(content)
        number, seen = self._seen
        hashes = [account.terms.head, *(line.sha256 for line in account.lines)]
        if seen and (number >= len(hashes) or hashes[number] != seen):
            raise FileFormatError("entries that were there before are missing; the file was replaced, or cut off")
        self._seen = (len(hashes) - 1, hashes[-1])
        return account

    def _named(self, error: FileFormatError) -> FileFormatError:
        return FileFormatError(f"{self._path}: {error}")


def after_failed_charge(path: Path, account: LedgerAccount | None, entry: LedgerEntry | LedgerStage | None) -> str:
    """Whether a charge counts although writing its entry raised an error, for an account as it was before.

    The file is read without its lock, which may be what failed.
    """
    if account is None or not isinstance(entry, LedgerEntry):
        return NOT_CHARGED
    try:
        now = read_account(path.read_bytes())
    except (OSError, FileFormatError):
        return (
            f"Whether pcost {decimal_text_up(entry.cost)} was charged is unknown, as {path} cannot be read now; "
            "it counts as charged until the ledger can be read and does not list it"
        )
    if entry.sha256 in (each.sha256 for each in now.entries[len(account.entries) :]):
        return charged_text(entry.cost, entry.sequence)
    if now.torn != account.torn and account.bytes_of(entry).startswith(now.torn.removeprefix(account.torn)):
        return (
            "A part of the charge's line is in the ledger, to which nothing more can be charged until you say what "
            "that line counts for, with Ledger.settle(cost) or residualplanner ledger FILE --settle COST"
        )
    return NOT_CHARGED


def after_failed_creation(path: Path, terms: LedgerTerms) -> str:
    """Whether a ledger exists although its creation raised an error."""
    try:
        now = read_account(path.read_bytes())
    except FileNotFoundError:
        return "No ledger was made."
    except (OSError, FileFormatError):
        return f"{path} is not a complete ledger; nothing is charged to it: remove it, and create the ledger again"
    if now.head == terms.head:
        return f"The ledger {path} exists, complete, and nothing is charged to it: open it."
    return f"There is a ledger {path}, which another process has begun or charged: open it."
