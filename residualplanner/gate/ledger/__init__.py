"""The exact privacy cost of all releases from one data set, in a file that survives a killed process.

`Ledger.charge` comes before the first bit of noise is drawn; no charge is ever taken back.
Source: docs/mathematics.md section 1: the costs of releases from the same records add up.
"""

from residualplanner.gate.ledger.balance import Balance
from residualplanner.gate.ledger.ledger import Ledger
from residualplanner.gate.ledger.lines import LedgerEntry

__all__ = ["Balance", "Ledger", "LedgerEntry"]
