"""Records of which at most some of each person count: what users give, and what is said of it in files."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from residualplanner.ground.checks import IntArray, frozen, is_integer, is_unicode, value_text
from residualplanner.ground.errors import BudgetError, DataError, FileFormatError
from residualplanner.ground.words import GET_IT_BACK, TEXT_LIMIT
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Neighbors

_KEY_BYTES = 32
#: What `CodedBlock.persons` is where persons play no part.
NO_PERSONS: IntArray = frozen(np.empty((2, 0), dtype=np.int64))


class NumberedPersons(NamedTuple):
    """What the numbers in `CodedBlock.persons` stand for, once all records have been read."""

    entries: Mapping[bytes, int]  # the number of each person, by its entry
    ranks: Callable[[IntArray], IntArray]  # integers in the order of the entries with these numbers, (records,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LimitedRecords:
    """Records of which at most some of each person count, so that ``records_per_person`` is true, not only promised.

    Which records of a person are kept depends on that person's own records alone, and on ``key``.  How many are left
    out is told nowhere: it would be an exact count.

    Attributes:
        data: the records: a frame, a path or a `CsvFile`.  While they are read, the codes of all are held in memory;
            of frames of Dask and PySpark, at each worker those of some persons.
        person: the column that says whose each record is: integers or text.  No entry may be missing, unless every
            attribute has rules for unknown and missing values other than "error": then such records are left out.
        keep: how many records of each person count; if not given, as many as the plan protects, which are the most.
        order: the column by which a person's records are ordered, the first of which are kept: numbers by their size
            (False and True are 0 and 1), then dates and moments, then text by its bytes; text that is a number, a date
            or a moment stands as that.  Records with anything else, or without an entry, are last.  Where a record
            stands follows from its entry alone.  Equal ones, and all if no order is given, are chosen at random.
        key: 32 bytes from which the random choice follows, from the operating system if not given.  It need not be
            secret.  The same key makes the same choice again.

    Raises:
        DataError: a name that is none, the same name twice, a number that is none.

    Source: eq. (103).

    Example:
        >>> LimitedRecords("visits.parquet", person="patient", keep=3, order="date")
        LimitedRecords(..., person='patient', keep=3, order='date')
    """

    data: object
    person: str
    keep: int | None = None
    order: str | None = None
    key: bytes = field(default_factory=lambda: os.urandom(_KEY_BYTES))

    def __post_init__(self) -> None:
        for word, name in (("person", self.person), ("order", self.order or "order")):
            if not isinstance(name, str) or not name or not is_unicode(name):
                raise DataError(f"{word} must be the name of a column, got {value_text(name)}")
        if self.person == self.order:
            raise DataError(f"the records of a person all have the same {self.person!r}; order them by another column")
        if self.keep is not None:
            if not is_integer(self.keep, least=1):
                raise DataError(f"keep must be an integer, at least 1, got {value_text(self.keep)}")
            object.__setattr__(self, "keep", int(self.keep))
        if not isinstance(self.key, bytes) or len(self.key) != _KEY_BYTES:
            raise DataError("key must be 32 bytes, such as os.urandom(32)")

    def __repr__(self) -> str:
        order = "" if self.order is None else f", order={self.order!r}"
        return f"LimitedRecords(..., person={self.person!r}, keep={self.keep}{order})"


def require_public_number(data: object, neighbors: Neighbors) -> None:
    """BudgetError where records are left out whose number is assumed to be public, as they are replaced.

    How many records count follows from how many each person has, and would be told nearly exactly.
    Source: docs/mathematics.md section 15.
    """
    if isinstance(data, LimitedRecords) and neighbors.has_public_total:
        raise BudgetError(
            "when records are replaced their number is public, but how many records of all persons together are kept "
            'is not; plan LimitedRecords with neighbors="add-remove", with twice as many records per person for '
            "replacements"
        )


def unlimited(data: object) -> object:
    """All the records, where at most some of each person count."""
    return data.data if isinstance(data, LimitedRecords) else data


@dataclass(frozen=True, slots=True)
class Contributions:
    """Which records of a person count: all where no column says whose a record is.  Source: eq. (103).

    Example:
        >>> Contributions("patient", 3, "date").sentence[:85]
        "Of each person (column 'patient') at most 3 records are counted, the first by 'date'."
    """

    person: str | None = None  # the column that says it: integers or text
    keep: int = 0  # how many records of each person count at most
    #: the column by which a person's records are ordered, the first of which are kept; None for a choice at random.
    #: Records without an entry come last.
    order: str | None = None
    #: 32 bytes from which every random choice follows, together with the person's own entry; in no file
    key: bytes = field(default=b"", repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of persons, and that of the order, if there is one."""
        return tuple(name for name in (self.person, self.order) if name is not None)

    @property
    def sentence(self) -> str:
        """The rule, and what is protected under it, for readers of what is published; empty where all records count."""
        if self.person is None:
            return ""
        chosen = "chosen at random" if self.order is None else f"the first by {self.order!r}"
        counted = "record is counted" if self.keep == 1 else "records are counted"
        # One record more of a person who has more than are counted can take the place of another, which changes the
        # counts by both: so neighbors differ in a person, not in a record.
        change = "What the privacy statement is about is a person who comes or goes, with all of their records."
        return f"Of each person (column {self.person!r}) at most {self.keep:,} {counted}, {chosen}.  {change}"

    def to_json(self) -> dict[str, object]:
        """What files say of the rule: nothing where all records are counted."""
        people = {"person": self.person, "keep": self.keep, "order": self.order}
        return {} if self.person is None else {"people": people}


def contributions_of(data: object, domain: Domain, records_per_person: int) -> Contributions:
    """Which records of a person count; DataError where they are more than are protected, or are chosen by weights."""
    found = stated_contributions(data, records_per_person)
    if found.keep > records_per_person:
        raise DataError(
            f"keep={found.keep} is more than the {records_per_person} records of a person that the plan protects; plan "
            f"with records_per_person={found.keep}, or keep fewer"
        )
    if {*found.columns} & {column.name for column in domain.weight.columns}:
        raise DataError("the column of weights is neither that of persons nor their order; name another column")
    return found


def stated_contributions(data: object, records_per_person: int) -> Contributions:
    """The same, unchecked, of records that `measure` or `rap` is given."""
    if not isinstance(data, LimitedRecords):
        return Contributions()
    return Contributions(data.person, data.keep or records_per_person, data.order, data.key)


def contributions_from_json(stated: object, plan: Plan) -> Contributions:
    """Undo `Contributions.to_json`; FileFormatError where it is not that, or more count than the plan protects."""
    if stated is None:
        return Contributions()
    if isinstance(stated, Mapping) and set(stated) == {"person", "keep", "order"}:
        person, keep, order = stated["person"], stated["keep"], stated["order"]
        names = (person, person if order is None else order)
        are_names = all(isinstance(name, str) and 0 < len(name) <= TEXT_LIMIT and name.isprintable() for name in names)
        if are_names and type(keep) is int and 1 <= keep <= plan.neighbors.records_per_person:
            return Contributions(person, keep, order)
    raise FileFormatError(f"which records of each person were counted is not stated as it should be; {GET_IT_BACK}")
