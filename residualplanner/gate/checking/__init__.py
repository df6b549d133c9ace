"""What of some records does not fit a schema: for whoever holds them, before anything is measured.

It costs nothing, holds values of records and exact counts, and must not be published: nothing else here takes it.
"""

from residualplanner.gate.checking.check import Finding, RecordsCheck, check

__all__ = ["Finding", "RecordsCheck", "check"]
