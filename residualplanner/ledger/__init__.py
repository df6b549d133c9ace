"""What all releases from one data set cost together, exactly, in a file that survives being killed."""

from residualplanner.ledger.ledger import Ledger
from residualplanner.ledger.lines import TEXT_LIMIT, LedgerEntry
from residualplanner.ledger.statements import charged_text

__all__ = [
    "TEXT_LIMIT",
    "Ledger",
    "LedgerEntry",
    "charged_text",
]
