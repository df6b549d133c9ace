"""The stores of a ledger's account: the memory of one process, or a file that is read anew each time.

Reads: terms, or a path; functions that make the next entry.  Gives: LedgerAccount, entries, and after a failure a
sentence on the state of the file, which is read from the disk and never assumed.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from residualplanner.gate.ledger.account import LedgerAccount, read_account
from residualplanner.gate.ledger.file import locked_file
from residualplanner.gate.ledger.lines import LedgerEntry, LedgerStage, LedgerTerms
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.words import decimal_text_up
from residualplanner.method.privacy import require_discrete

#: Charges, or stages.
L = TypeVar("L", LedgerEntry, LedgerStage)
#: Makes the next line of an account, or refuses to.
NextLine = Callable[[LedgerAccount], L]

#: That a run failed before it was charged.
NOT_CHARGED = "Nothing was charged to the ledger."
CHARGE_UNKNOWN = (
    "Whether the ledger was charged is unknown, as it cannot be read now; it counts as charged until it can be."
)


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


def charged_text(entry: LedgerEntry) -> str:
    """That a charge stays, though the release it was made for failed.

    Example:
        >>> from fractions import Fraction
        >>> charged_text(LedgerEntry(3, Fraction(1, 3), "0" * 64, "", "0" * 64))
        'The charge stays: pcost 0.333334, entry 3 of the ledger.'
    """
    return f"The charge stays: pcost {decimal_text_up(entry.cost)}, entry {entry.sequence} of the ledger."


def after_failed_charge(path: Path, account: LedgerAccount | None, entry: LedgerEntry | LedgerStage | None) -> str:
    """Whether a charge counts although writing it raised an error.

    The file is read without its lock, which may be what failed.

    Args:
        path: of the ledger.
        account: the ledger before the charge; None if it could not be read.
        entry: the line to be written; None if nothing had been written yet.
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
        return charged_text(entry)
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
