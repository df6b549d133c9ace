"""The schema of a table: its attributes in order."""

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from residualplanner.ground.checks import is_frame, value_text
from residualplanner.ground.errors import DomainError
from residualplanner.ground.notebooks import html_table, rest_note
from residualplanner.ground.words import COUNTS, count_text, listed, names_text, suggestion
from residualplanner.method.domain._json import attribute_of_json, json_of_attribute
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.labels import Label

if TYPE_CHECKING:
    from residualplanner.more.amounts.weight import Weight

#: A column of the records: it has a name, and ``values`` say how its entries become codes.
SchemaColumn: TypeAlias = "Attribute | Weight"
#: How many attributes a notebook shows.
_ROWS = 50


@runtime_checkable
class HasAttribute(Protocol):
    """What has the values of an attribute, such as amounts, or the leaves of a hierarchy from a file."""

    def attribute(self, name: str) -> Attribute:
        """The attribute of this name with these values."""


@dataclass(frozen=True, slots=True)
class EqualWeights:
    """Every record has weight 1: tables hold numbers of records."""

    columns: ClassVar[tuple[SchemaColumn, ...]] = ()  # that are read for it
    maximum: ClassVar[Fraction] = Fraction(1)
    denominator: ClassVar[int] = 1  # every weight times this is an integer
    unit_name: ClassVar[str] = ""  # what estimates and errors are in, if not numbers of records
    sentence: ClassVar[str] = ""  # what tables hold instead of these

    def to_json(self) -> dict[str, Any]:
        """The field of a domain's JSON that declares weights: none."""
        return {}


#: The values of an attribute as users declare them.
DeclaredValues = int | Sequence[Label] | Mapping[Label, str] | Bins | Attribute | HasAttribute


@dataclass(frozen=True, init=False, repr=False)
class Domain:
    """The attributes of a table, in order; two domains are equal if all their attributes are.

    A domain without attributes is allowed: its only table is the number of records.

    Args:
        mapping: attribute name to a size, a sequence of labels, a mapping from labels to their meanings, Bins, Numeric,
            an Attribute of that name, or a Hierarchy from a file or a frame, whose leaves are the values.
        weight: the column that says how much each record counts; every record counts once if not given.

    Attributes:
        attributes: in the order given.
        weight: as given, or `EqualWeights`.

    Raises:
        DomainError: an invalid name, size, label or bin; a column of weights that is an attribute.

    Example:
        >>> domain = Domain({"age": 85, "sex": ["F", "M"], "income": Bins([0, 10_000, 50_000, 200_000])})
        >>> domain
        Domain(age: 85, sex: 2, income: 3)
        >>> domain.cells(["age", "sex"])
        170
    """

    attributes: tuple[Attribute, ...]
    weight: "EqualWeights | Weight"

    def __init__(self, mapping: Mapping[str, DeclaredValues], *, weight: "Weight | None" = None) -> None:
        if not isinstance(mapping, Mapping):
            raise DomainError(
                f"a domain is a mapping from attribute name to size, labels or bins, got {value_text(mapping)}; "
                'declare the possible values: Domain({"age": 85, "sex": ["F", "M"]}); take none from the records'
            )
        attributes = tuple(_attribute(name, value) for name, value in mapping.items())
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "weight", EqualWeights() if weight is None else weight)
        if weight is None:
            return
        from residualplanner.more.amounts.weight import Weight  # a door

        if not isinstance(weight, Weight):
            raise DomainError(f'weight must be a Weight, such as Weight("hours", maximum=60), got {value_text(weight)}')
        if weight.name in self:
            message = f"the column of weights {weight.name!r} is an attribute, too; leave it out of the attributes"
            raise DomainError(message, attributes=[weight.name])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, (d,)."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def columns(self) -> tuple[SchemaColumn, ...]:
        """The columns of records that are read: those of the attributes, then that of weights, if there is one."""
        return (*self.attributes, *self.weight.columns)

    @property
    def denominator(self) -> int:
        """The integer by which records are multiplied before they are counted, so that counts are integers."""
        return self.weight.denominator

    @property
    def unit(self) -> str:
        """What tables hold: "counts", or the column of weights, quoted."""
        return self.weight.unit_name or COUNTS

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute can take, (d,)."""
        return tuple(attribute.size for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._position

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self._positions([name])[0]]

    def __repr__(self) -> str:
        shown = [f"{_short(attribute.name)}: {attribute.size}" for attribute in self.attributes]
        if len(shown) > 8:
            shown = [*shown[:4], "...", f"{shown[-1]}; {len(self)} attributes"]
        return f"Domain({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = [(attribute.name, attribute.size, repr(attribute)) for attribute in self.attributes[:_ROWS]]
        note = rest_note(len(self) - len(rows), ".attributes has all")
        title = f"Domain of {count_text(len(self), 'attribute')}"
        return html_table(title, ["attribute", "values", "as declared"], rows, note=note)

    def require_no_amounts(self, what: str) -> None:
        """Raise DomainError where an attribute's values are amounts; ``what`` cannot be made of these, as it says."""
        amounts = [attribute.name for attribute in self.attributes if attribute.numeric is not None]
        if amounts:
            problem = f"{what}, and the values of {names_text('attribute', amounts)} are amounts"
            raise DomainError(f"{problem}; declare Bins in place of Numeric, or leave them out", attributes=amounts)

    def positions(self, names: Iterable[str]) -> tuple[int, ...]:
        """The positions of the named attributes, ascending; DomainError where one is not there, or is twice."""
        return tuple(sorted(self.positions_as_written(names)))

    def positions_as_written(self, names: Iterable[str]) -> tuple[int, ...]:
        """As `positions`, but in the order of the names."""
        if isinstance(names, str):
            raise DomainError(f"a list of attribute names is needed, got the string {names!r}; write ({names!r},)")
        if isinstance(names, Mapping):
            kinds = ", ".join(dict.fromkeys(type(kind).__name__ for kind in names.values()))
            raise DomainError(f"attribute names alone are needed here, as a tuple, got a mapping from names to {kinds}")
        given = list(names)
        found = self._positions(given)
        if len(set(found)) < len(found):
            twice = sorted({name for name in given if given.count(name) > 1})
            found_twice = names_text("attribute", twice, "occurs", "occur")
            raise DomainError(f"{found_twice} twice in {reprlib.repr(given)}", attributes=twice)
        return tuple(found)

    def cells(self, names: Iterable[str] | None = None) -> int:
        """The exact number of cells of the table over the named attributes, or all of them, however large.

        Example:
            >>> Domain({f"a{i}": 10 for i in range(40)}).cells() == 10**40
            True
        """
        positions = range(len(self)) if names is None else self.positions(names)
        return math.prod(self.sizes[position] for position in positions)

    def require_equal_weights(self, purpose: str) -> None:
        """Raise DomainError where records do not count once each; ``purpose`` is what that is needed for."""
        if self.weight.columns:
            raise DomainError(f"{purpose} is for records that count once each; leave weight= out of the domain")

    def to_json(self) -> dict[str, Any]:
        """The domain as plain lists, mappings, numbers and strings; ``from_json`` is the inverse."""
        attributes = [json_of_attribute(attribute) for attribute in self.attributes]
        return {"attributes": attributes, **self.weight.to_json()}

    @classmethod
    def from_json(cls, value: object) -> "Domain":
        """The domain that ``to_json`` wrote; DomainError says what is wrong, and where."""
        fields = set(value) - {"weight"} if isinstance(value, dict) else set()
        if not isinstance(value, dict) or fields != {"attributes"} or not isinstance(value["attributes"], list):
            raise DomainError("domain: expected an object with the field 'attributes', a list, and perhaps 'weight'")
        attributes = [attribute_of_json(item, f"attributes[{i}]") for i, item in enumerate(value["attributes"])]
        mapping = {attribute.name: attribute for attribute in attributes}
        if len(mapping) < len(attributes):
            names = [attribute.name for attribute in attributes]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise DomainError(f"domain: {names_text('attribute', twice, 'occurs', 'occur')} twice", attributes=twice)
        if "weight" not in value:
            return cls(mapping)
        from residualplanner.more.amounts.weight import Weight  # a door

        return cls(mapping, weight=Weight.from_json(value["weight"]))

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def _positions(self, names: Sequence[str]) -> list[int]:
        unknown = [name for name in names if not isinstance(name, str) or name not in self._position]
        if unknown:
            shown = [_short(name) if isinstance(name, str) else f"<{type(name).__name__}>" for name in unknown]
            words, known = names_text("attribute", shown), reprlib.repr(list(self.names))
            message = f"unknown {words}; the domain has {known}{suggestion(unknown[0], self.names)}"
            raise DomainError(message, attributes=map(str, unknown))
        return [self._position[name] for name in names]


def _attribute(name: str, value: DeclaredValues) -> Attribute:
    if isinstance(value, Attribute):
        if value.name != name:
            message = f"attribute {value.name!r} has the key {name!r}; the two must be the same"
            raise DomainError(message, attributes=[value.name])
        return value
    if isinstance(value, Bins):
        return Attribute(name, bins=value)
    if isinstance(value, HasAttribute):
        return value.attribute(name)
    if value is None or is_frame(value):
        raise DomainError(f"attribute {_short(str(name))!r} needs a size, labels or bins, got {value_text(value)}")
    if isinstance(value, Iterable):
        return Attribute(name, labels=value)
    return Attribute(name, value)


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:21]}..."


#: How many attributes are named.
_NAMED = 20


def omission_of(domain: Domain) -> str:
    """The sentence that says which records are in no table, and what all tables are about instead; or "".

    How many records are left out is stated nowhere: it would be an exact count.
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


def clipping_of(domain: Domain) -> str:
    """The sentence that says which amounts count as a limit, so that sums, means and quantiles are of these; or ""."""
    numerics = {each.name: each.numeric for each in domain.attributes if each.numeric is not None}
    clipped = [f"{name!r} ({numeric.clipping})" for name, numeric in numerics.items() if numeric.clipping]
    words = f"Amounts beyond the limits of {listed(clipped, _NAMED)} count as these limits in all numbers."
    return words if clipped else ""


def remarks_of(domain: Domain) -> str:
    """What readers of tables must know of the records in them: which are left out, and how much each counts; or ""."""
    return "  ".join(filter(None, (omission_of(domain), domain.weight.sentence, clipping_of(domain))))
