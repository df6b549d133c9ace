"""The records of one data set with the budget for all that is released from them.

Reads: records, which only `measure` sees; a ledger or a budget.  Gives: Session; the ledger that it opens or begins.
Everything that a session measures is charged to its ledger before noise is drawn.
"""

from residualplanner.session.opening import ExpectedTerms, opened_ledger
from residualplanner.session.session import Session

__all__ = ["ExpectedTerms", "Session", "opened_ledger"]
