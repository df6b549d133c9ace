"""The state of a ledger after a failure, read from the disk and never assumed.

Reads: a ledger's file, the entry that was to be written to it.  Gives: sentences.
"""

from pathlib import Path

from residualplanner._words import decimal_text_up
from residualplanner.errors import FileFormatError
from residualplanner.ledger.lines import LedgerAccount, LedgerEntry, LedgerTerms, new_account, read_account

_NOT_CHARGED = "Nothing was charged to the ledger."


def charged_text(entry: LedgerEntry) -> str:
    """That a charge stays, though the release it was made for failed.

    Example:
        >>> from fractions import Fraction
        >>> charged_text(LedgerEntry(3, Fraction(1, 3), "0" * 64, "", "0" * 64))
        'The charge stays: pcost 0.333334, entry 3 of the ledger.'
    """
    return f"The charge stays: pcost {decimal_text_up(entry.cost)}, entry {entry.sequence} of the ledger."


def after_failed_charge(path: Path, account: LedgerAccount | None, entry: LedgerEntry | None) -> str:
    """Whether a charge counts although writing it raised an error.

    The file is read without its lock, which may be what failed.

    Args:
        path: of the ledger.
        account: the ledger before the charge; None if it could not be read.
        entry: the entry to be written; None if nothing had been written yet.
    """
    if account is None or entry is None:
        return _NOT_CHARGED
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
    return _NOT_CHARGED


def after_failed_creation(path: Path, terms: LedgerTerms) -> str:
    """Whether a ledger exists although its creation raised an error."""
    try:
        is_there = read_account(path.read_bytes()).head == new_account(terms).head
    except FileNotFoundError:
        return "No ledger was made."
    except (OSError, FileFormatError):
        is_there = False
    if is_there:
        return f"The ledger {path} exists, complete, and nothing is charged to it: open it."
    return f"{path} is not a complete ledger; nothing is charged to it: remove it, and create the ledger again"
