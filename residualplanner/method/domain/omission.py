"""Which records a domain leaves out of every table, and how much the others count, in words: all sentences on it.

How many records are left out is stated nowhere: it would be an exact count.
"""

from residualplanner.ground.words import listed
from residualplanner.method.domain.domain import Domain

#: How many attributes are named.
_NAMED = 20


def omission_of(domain: Domain) -> str:
    """The sentence that says which records are in no table, and what all tables are about instead; or "".

    Example:
        >>> from residualplanner import Attribute
        >>> print(omission_of(Domain({"sex": Attribute("sex", 2, missing="drop"), "age": 85})))
        Records without a value of 'sex' are left out of every table, the total included: all numbers are about the
        other records only, and how many were left out is not stated.
        >>> omission_of(Domain({"sex": 2}))
        ''
    """
    missing = [each.name for each in domain.attributes if each.missing == "drop"]
    unknown = [each.name for each in domain.attributes if each.unknown == "drop"]
    rules = {"without a value of": missing, "with a value outside the declared ones of": unknown}
    parts = [f"{words} {listed(map(repr, names), _NAMED)}" for words, names in rules.items() if names]
    if not parts:
        return ""
    return (
        f"Records {', or '.join(parts)} are left out of every table, the total included: all numbers are about the "
        "other records only, and how many were left out is not stated."
    )


def remarks_of(domain: Domain) -> str:
    """What readers of tables must know of the records in them: which are left out, and how much each counts; or "".

    Example:
        >>> from residualplanner import Weight
        >>> print(remarks_of(Domain({"sex": 2}, weight=Weight("hours", maximum=60))))
        Records are weighted by 'hours', at most 60: all numbers and their errors are totals of 'hours', not numbers of
        records.
        >>> remarks_of(Domain({"sex": 2}))
        ''
    """
    return "  ".join(filter(None, (omission_of(domain), domain.weight.sentence)))
