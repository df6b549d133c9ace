"""At most k records of each person, chosen by a rule that looks at that person's records alone.

Reads: a column that says whose each record is, and perhaps one by which they are ordered.  Gives: `LimitedRecords`,
`Contributions`, and blocks of those records that are kept.  That others come or go changes nothing of which records of
a person are kept, so the privacy cost is that of k records (eq. (103)).
"""

from residualplanner.gate.sources.people.limited_records import (
    PERSON_CHANGES,
    KeptRecords,
    LimitedRecords,
    contributions_of,
    kept_from_json,
    kept_records,
    kept_to_json,
    require_public_number,
    unlimited,
)
from residualplanner.gate.sources.people.persons import AllRecords, Contributions, FirstRecords, PersonReader

__all__ = [
    "PERSON_CHANGES",
    "AllRecords",
    "Contributions",
    "FirstRecords",
    "KeptRecords",
    "LimitedRecords",
    "PersonReader",
    "contributions_of",
    "kept_from_json",
    "kept_records",
    "kept_to_json",
    "require_public_number",
    "unlimited",
]
