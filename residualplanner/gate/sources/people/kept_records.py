"""Which records of each person were counted, where not all were.

Reads: the records that `measure` is given, or JSON values from anyone.  Gives: KeptRecords, of names and numbers that
whoever measured has chosen; nothing of it depends on the records.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from residualplanner.gate.ledger import TEXT_LIMIT
from residualplanner.gate.sources.people.limited_records import LimitedRecords
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.words import GET_IT_BACK
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Neighbors

#: What neighbors differ in where some records of a person are left out.  One record more of a person who has more than
#: are counted can take the place of another, which changes the counts by both.
PERSON_CHANGES = "  What the privacy statement is about is a person who comes or goes, with all of their records."


@dataclass(frozen=True, slots=True)
class KeptRecords:
    """The rule by which some records of each person are counted.

    Attributes:
        person: the column that says whose each record is.
        keep: how many records of each person are counted, at most.
        order: the column by which a person's records are ordered, the first of which are counted; None: at random.

    Source: eq. (103).

    Example:
        >>> KeptRecords("patient", 3, "date").sentence[:85]
        "Of each person (column 'patient') at most 3 records are counted, the first by 'date'."
        >>> print(KeptRecords("patient", 3, "date").sentence.partition("  ")[2])
        What the privacy statement is about is a person who comes or goes, with all of their records.
    """

    person: str
    keep: int
    order: str | None = None

    @property
    def sentence(self) -> str:
        """The rule, and what is protected under it, for readers of what is published."""
        chosen = "chosen at random" if self.order is None else f"the first by {self.order!r}"
        counted = "record is counted" if self.keep == 1 else "records are counted"
        return f"Of each person (column {self.person!r}) at most {self.keep:,} {counted}, {chosen}.{PERSON_CHANGES}"


def kept_records(data: object, neighbors: Neighbors) -> KeptRecords | None:
    """The rule for records that `measure` or `rap` is given; None where all of them are counted."""
    if not isinstance(data, LimitedRecords):
        return None
    keep = neighbors.records_per_person if data.keep is None else data.keep
    return KeptRecords(data.person, keep, data.order)


def kept_to_json(kept: KeptRecords | None) -> dict[str, object]:
    """What files say of the rule: nothing where all records are counted."""
    return {} if kept is None else {"people": asdict(kept)}


def kept_from_json(stated: object, plan: Plan) -> KeptRecords | None:
    """Undo `kept_to_json`, given what is stated under its name, or None.

    Raises:
        FileFormatError: a name or number is none, or more records are counted than the plan protects.
    """
    if stated is None:
        return None
    if isinstance(stated, Mapping) and set(stated) == {"person", "keep", "order"}:
        person, keep, order = stated["person"], stated["keep"], stated["order"]
        is_counted = type(keep) is int and 1 <= keep <= plan.neighbors.records_per_person
        if is_counted and _is_name(person) and (order is None or _is_name(order)):
            return KeptRecords(person, keep, order)
    raise FileFormatError(f"which records of each person were counted is not stated as it should be; {GET_IT_BACK}")


def _is_name(stated: object) -> bool:
    return isinstance(stated, str) and 0 < len(stated) <= TEXT_LIMIT and stated.isprintable()
