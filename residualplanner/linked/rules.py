"""Declared columns that are computed from a unit's records in another table, or in the same one.

Each rule gives one value to a unit, from that unit's records alone, and every record of the unit has it.  Which values
there can be is known when the rule is declared: no record can lead to a value that the schema does not have.

Source: eqs. (145) and (146).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray, is_integer
from residualplanner.ground.errors import DomainError, FileFormatError
from residualplanner.ground.words import suggestion
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.families import UNKNOWN
from residualplanner.method.domain.labels import Label, plain_label

_MOST_SUMS = 10**6


class UnitRecords(Protocol):
    """The records of a table that count, with whose each is."""

    units: IntArray  # (n,): the number of each record's unit, below `unit_count`
    ranks: IntArray  # (n,): where each stands among those of its unit; equal ones may stand in any order
    unit_count: int

    def codes(self, name: str) -> IntArray:
        """The codes of an attribute, (n,)."""


@dataclass(frozen=True)
class DerivedColumn(ABC):
    """What all rules have."""

    of: str  # the name of the table whose records it is computed from
    where: Mapping[str, Sequence[Label]] | None = None  # the labels of these by attribute; all if not given
    absent: Label | None = None  # of units without a record in that table; by default that of 0, or of False
    kind: ClassVar[str]  # in files
    _words: ClassVar[str]  # the form of `words`

    def __post_init__(self) -> None:
        where = {} if self.where is None else self.where
        if not isinstance(self.of, str) or not isinstance(where, Mapping):
            raise DomainError(
                f'a rule is for a table, such as {type(self).__name__}("persons", where={{"age": ["0-17"]}})'
            )
        if not all(isinstance(each, Sequence) and not isinstance(each, str) and each for each in where.values()):
            raise DomainError('where= needs a list of labels for each attribute, such as {"age": ["0-17", "18-64"]}')
        object.__setattr__(self, "where", {name: [*map(_stated, labels)] for name, labels in where.items()} or None)
        object.__setattr__(self, "absent", None if self.absent is None else _stated(self.absent))

    @abstractmethod
    def _code_of_number(self, target: Attribute, domain: Domain, records: int) -> IntArray:
        """The code in ``target`` of each number that `_numbers` can give to a unit with at most so many records.

        What is above the last number counts as that.  DomainError where a number has no code.
        """

    def _numbers(self, records: UnitRecords, matches: NDArray[np.bool_], domain: Domain) -> IntArray:
        """For each unit a number, from 0 on, from those of its records that match: how many they are."""
        del domain
        return np.bincount(records.units[matches], minlength=records.unit_count)

    @property
    def reads(self) -> tuple[str, ...]:
        """The attributes that it is computed from."""
        return tuple(self.where or ())

    @property
    def condition(self) -> str:
        """Which records it is about, in words."""
        pairs = (f"{name} is {' or '.join(map(str, labels))}" for name, labels in (self.where or {}).items())
        return f" where {' and '.join(pairs)}" if self.where else ""

    @property
    def words(self) -> str:
        """What it is, for readers of what is published."""
        return self._words.format(self)

    def require(self, target: Attribute, domain: Domain, records: int) -> None:
        """Raise DomainError unless it gives values of ``target`` in every case, from a table with this domain."""
        for name in self.reads:
            if name not in domain:
                problem = f"{name!r} is no attribute of table {self.of!r}{suggestion(name, domain.names)}"
                raise DomainError(f"{target.name!r} is computed from {problem}", attributes=[name])
            if domain[name].numeric is not None:
                raise DomainError(f"{name!r} has amounts; declare Bins to compute {target.name!r} from it")
        self._allowed(domain)
        self._code_of_number(target, domain, records)
        self._code_of_absent(target, domain, records)

    def per_unit(self, target: Attribute, domain: Domain, most: int, records: UnitRecords) -> IntArray:
        """The code in ``target`` of every unit, (units,), from the records of a table with at most so many of each."""
        matches = np.ones(len(records.units), dtype=np.bool_)
        for name, allowed in self._allowed(domain).items():
            matches &= allowed[records.codes(name)]
        lookup = self._code_of_number(target, domain, most)
        numbers = np.minimum(self._numbers(records, matches, domain), len(lookup) - 1)
        is_there = np.bincount(records.units, minlength=records.unit_count) > 0
        return np.where(is_there, lookup[numbers], self._code_of_absent(target, domain, most))

    def to_json(self) -> dict[str, Any]:
        """The rule as JSON values; `rule_from_json` is the inverse."""
        return {"kind": self.kind, **{field.name: getattr(self, field.name) for field in fields(self)}}

    def _code_of_absent(self, target: Attribute, domain: Domain, records: int) -> int:
        if self.absent is None:
            return int(self._code_of_number(target, domain, records)[0])
        return target.code_of_label(self.absent)

    def _allowed(self, domain: Domain) -> dict[str, NDArray[np.bool_]]:
        """For each attribute of the condition whether each of its codes is allowed."""
        return {
            name: np.isin(np.arange(domain[name].size), [*map(domain[name].code_of_label, labels)])
            for name, labels in (self.where or {}).items()
        }


@dataclass(frozen=True)
class CountOf(DerivedColumn):
    """How many records a unit has in a table: a household's size, the children in it, the visits of a patient.

    The attribute has integers or bins of integers; what is above its last value counts as that.

    Attributes:
        of: the name of the table whose records are counted.
        where: the labels that these must have, by the name of an attribute of theirs; all records if not given.
        absent: the label of units without a record in that table; that of 0 if not given.

    Source: eq. (145).

    Example:
        >>> CountOf("persons", where={"age": ["0-17"]}).words
        "the number of records in 'persons' where age is 0-17"
    """

    kind: ClassVar[str] = "count"
    _words: ClassVar[str] = "the number of records in {0.of!r}{0.condition}"

    def _code_of_number(self, target: Attribute, domain: Domain, records: int) -> IntArray:
        del domain
        return _codes_of_counts(target, records, may_be_zero=self.absent is None or bool(self.where))


@dataclass(frozen=True)
class AnyOf(DerivedColumn):
    """Whether a unit has a record in a table that meets a condition: children in a household, a visit in winter.

    The attribute has the labels False and True.

    Attributes:
        of: the name of the table.
        where: the labels that a record must have, by the name of an attribute of it; any record will do if not given.
        absent: the label of units without a record in that table; False if not given.

    Source: eq. (145).

    Example:
        >>> AnyOf("persons", where={"age": ["0-17"]}).words
        "whether there is a record in 'persons' where age is 0-17"
    """

    kind: ClassVar[str] = "any"
    _words: ClassVar[str] = "whether there is a record in {0.of!r}{0.condition}"

    def _code_of_number(self, target: Attribute, domain: Domain, records: int) -> IntArray:
        del domain, records
        codes = [target.values.code_of_label(label) for label in (False, True)]
        if None in codes:
            raise DomainError(f"{target.name!r} says whether; declare it with labels=[False, True]")
        return np.array(codes, dtype=np.int64)


@dataclass(frozen=True)
class _OfAttribute(DerivedColumn):
    """What rules have that are computed from an attribute of the records."""

    attribute: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """The attribute, and those that the condition is about."""
        return tuple(dict.fromkeys([self.attribute, *(self.where or ())]))


@dataclass(frozen=True)
class SumOf(_OfAttribute):
    """The sum of an attribute over the records that a unit has in a table: rooms of its dwellings, hours of its jobs.

    The attribute that is summed has integers; the one that is made has integers or bins of integers, and what is above
    its last value counts as that.  A record without a value, or with one that is unknown, counts 0.

    Attributes:
        of: the name of the table.
        where: as for `CountOf`.
        absent: likewise.
        attribute: what is summed.

    Source: eq. (145).

    Example:
        >>> SumOf("jobs", attribute="hours").words
        "the sum of hours over the records in 'jobs'"
    """

    kind: ClassVar[str] = "sum"
    _words: ClassVar[str] = "the sum of {0.attribute} over the records in {0.of!r}{0.condition}"

    def _code_of_number(self, target: Attribute, domain: Domain, records: int) -> IntArray:
        most = records * int(self._values(domain).max())
        if most > _MOST_SUMS:
            raise DomainError(f"{target.name!r} has more than {_MOST_SUMS:,} possible sums; declare coarser values")
        return _codes_of_counts(target, most, may_be_zero=True)

    def _numbers(self, records: UnitRecords, matches: NDArray[np.bool_], domain: Domain) -> IntArray:
        each = self._values(domain)[records.codes(self.attribute)[matches]]
        found = np.zeros(records.unit_count, dtype=np.int64)
        np.add.at(found, records.units[matches], each)
        return found

    def _values(self, domain: Domain) -> IntArray:
        """The number that each code of the attribute counts."""
        summed = domain[self.attribute]
        if not all(map(is_integer, summed.values.labels)):  # none below 0, so that sums are positions in a list
            raise DomainError(f"{self.attribute!r} must have integers, none below 0, to be summed")
        own = [0] * len(summed.own_labels)
        return np.array([*map(int, summed.values.labels), *own], dtype=np.int64)


@dataclass(frozen=True)
class ValueOf(_OfAttribute):
    """The value that one record of a unit has: of its household for a person, of a reference person for a household.

    Of several records that meet the condition it is the first by the order of the table, and of those that stand
    equally the one with the value that is declared first.  The attribute that is made has all values of the other.

    Attributes:
        of: the name of the table that has the value.
        where: as for `CountOf`.
        absent: the label of units without such a record; it must be declared.
        attribute: what the value is of.

    Source: eq. (145).

    Example:
        >>> ValueOf("persons", where={"role": ["reference person"]}, attribute="age", absent="Vacant").words
        "age of the first record in 'persons' where role is reference person; Vacant if there is none"
    """

    kind: ClassVar[str] = "value"
    _words: ClassVar[str] = "{0.attribute} of the first record in {0.of!r}{0.condition}; {0.absent} if there is none"

    def _code_of_number(self, target: Attribute, domain: Domain, records: int) -> IntArray:
        del records
        other = domain[self.attribute]
        if self.absent is None:
            raise DomainError(f'{target.name!r}: say what a unit without a record in {self.of!r} has: absent="..."')
        is_same = (target.values, target.own_labels) == (other.values, other.own_labels)
        labels = () if is_same else (*other.values.labels, *other.own_labels)
        codes = np.arange(other.size) if is_same else np.array([target.code_of_label(label) for label in labels])
        return np.append(codes, target.code_of_label(self.absent))

    def _numbers(self, records: UnitRecords, matches: NDArray[np.bool_], domain: Domain) -> IntArray:
        """The code of the first that matches, or the number of codes where there is none."""
        units, codes = records.units[matches], records.codes(self.attribute)[matches]
        found = np.full(records.unit_count, domain[self.attribute].size, dtype=np.int64)
        last_first = np.lexsort((codes, records.ranks[matches], units))[::-1]
        found[units[last_first]] = codes[last_first]  # of several the last that is written, which is the first
        return found


def _stated(label: Any) -> Label:
    """A label as files can have it: a date as text, which stands for it in tables, too."""
    plain = plain_label(label)
    return str(label)[:10] if plain is None else plain


def _codes_of_counts(target: Attribute, most: int, *, may_be_zero: bool) -> IntArray:
    """The codes of 0 up to ``most``; what is above the last value counts as that.  DomainError where one has none."""
    codes = np.array([target.values.code_of(number) for number in range(most + 1)], dtype=np.int64)
    known = np.flatnonzero(codes != UNKNOWN)
    if not known.size:
        raise DomainError(f"{target.name!r} has none of the integers from 0 to {most}, which may occur")
    codes[known[-1] + 1 :] = codes[known[-1]]
    without = np.flatnonzero(codes == UNKNOWN)
    if not may_be_zero and without.tolist() == [0]:
        codes[0] = codes[1]  # no unit has it
    elif without.size:
        remedy = "; or, for units without records, say absent=" if without[0] == 0 else ""
        raise DomainError(f"{target.name!r} lacks the value {without[0]}, which may occur; declare it{remedy}")
    return codes


def rule_from_json(stated: Any) -> DerivedColumn:
    """Undo `DerivedColumn.to_json`; FileFormatError where it is not that."""
    rules: dict[str, type[DerivedColumn]] = {rule.kind: rule for rule in (CountOf, AnyOf, SumOf, ValueOf)}
    try:
        given = dict(stated)
        return rules[given.pop("kind")](**given)
    except (KeyError, TypeError, ValueError):
        raise FileFormatError("a column must be computed by one of the rules count, any, sum and value") from None
