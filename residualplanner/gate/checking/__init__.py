"""What of some records does not fit a schema: for whoever holds them, before anything is measured.

Reads: a domain, confidential records.  Gives: RecordsCheck, which holds values of records and exact counts; nothing
else in this library takes it, so that it leads to no release.  It costs nothing, and must not be published.
"""

from residualplanner.gate.checking.check import Finding, RecordsCheck, check

__all__ = [
    "Finding",
    "RecordsCheck",
    "check",
]
