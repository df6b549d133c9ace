"""What a table is about: the query that it answers, in names, labels and words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import DomainError
from residualplanner.ground.words import listed, names_text, suggestion
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind, labels_in_words
from residualplanner.method.workload.query import QueryKey, WrittenQuery, query_of
from residualplanner.release.product import Provenance


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Heading:
    """The query of a table, in the order in which it was written."""

    positions: tuple[int, ...]  # of the attributes in the domain
    kinds: tuple[Kind, ...]  # of query on each attribute
    provenance: Provenance

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self.provenance.plan

    @property
    def noisy_answers(self) -> NoisyAnswers:
        """What it follows from; of a folder, left on disk."""
        assert self.provenance.measurement is not None
        return self.provenance.measurement

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, axis by axis."""
        return tuple(attribute.name for attribute, _ in self._axes)

    @property
    def title(self) -> str:
        """The table in words, such as "age × sex among employed: yes"."""
        return self._written.words(self.plan.domain)

    @property
    def universe(self) -> str:
        """Which records it is about, such as "employed: yes"; empty where these are all."""
        return ", ".join(self._written.about(self.plan.domain))

    @property
    def where(self) -> dict[str, tuple[object, ...]]:
        """The labels, of some attributes, of which the records in the table have one; empty where it is about all."""
        attributes = self.plan.domain.attributes
        return {attributes[position].name: kind.where for position, kind in zip(*self._written.universe, strict=True)}

    @property
    def query(self) -> QueryKey:
        """The query that this table answers, as every method accepts it: names, or a mapping from name to kind."""
        return query_of(self.plan.domain, self.positions, self.kinds)

    @property
    def unit(self) -> str:
        """The unit of estimates and errors in words: "counts", or that of the amounts that are summed up."""
        return self._written.unit(self.plan.domain)

    @property
    def labels(self) -> tuple[tuple[object, ...], ...]:
        """The labels along each axis: what its entries are about."""
        return tuple(kind.labels(attribute) for attribute, kind in self._axes)

    @property
    def labels_in_words(self) -> tuple[tuple[str, ...], ...]:
        """The same as strings, with the meanings of the values that have one, such as "1 (female)"."""
        return tuple(labels_in_words(kind, attribute) for attribute, kind in self._axes)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The level of each label along each axis, of a classification; none along others."""
        beside = (kind.columns_beside(attribute) for attribute, kind in self._axes)
        return tuple(tuple(map(str, found.get("level", ()))) for found in beside)

    @property
    def _axes(self) -> list[tuple[Attribute, Kind]]:
        attributes = self.plan.domain.attributes
        return [(attributes[position], kind) for position, kind in zip(*self._written.table_axes, strict=True)]

    @property
    def _written(self) -> WrittenQuery:
        return WrittenQuery(self.positions, self.kinds)


#: How many labels a message lists.
_LISTED = 8


def index_of_cell(table: Heading, given: Mapping[str, object]) -> tuple[int, ...]:
    """The index of the cell with the given labels, by name; DomainError unless they are of one cell."""
    for name in given:
        require_attribute(table.names, name)
    missing = [name for name in table.names if name not in given]
    if missing:
        without = names_text("attribute", missing, "has", "have")
        raise DomainError(f"give a label of each attribute; {without} none", attributes=missing)
    return tuple(_index_of_label(attribute, kind, given[attribute.name]) for attribute, kind in table._axes)


def _index_of_label(attribute: Attribute, kind: Kind, label: object) -> int:
    """The index of a label on the axis of an attribute: of the same value and type, or text, or so named."""
    name, labels, full_names = attribute.name, kind.labels(attribute), kind.full_names(attribute)
    texts, numbers = [str(entry) for entry in labels], range(len(labels))
    same = [index for index in numbers if type(labels[index]) is type(label) and labels[index] == label]
    named = [index for index, words in enumerate(full_names) if label in words]
    found = same[:1] or [index for index in numbers if texts[index] == str(label)][:1] or named
    if len(found) == 1:
        return found[0]
    if found:
        codes = listed((f"{labels[index]!r} ({full_names[index][-1]})" for index in found), _LISTED)
        raise DomainError(f"{name!r} has several labels called {label!r}: {codes}; write the label", attributes=[name])
    some = ", ".join(map(repr, labels[:_LISTED])) + (", ..." if len(labels) > _LISTED else "")
    nearest = suggestion(str(label), [*texts, *(word for words in full_names for word in words[:1])])
    message = f"{name!r} has no label {value_text(label)}; its labels are {some}{nearest}"
    raise DomainError(message, attributes=[name])


def require_members(names: Sequence[str], chosen: Sequence[str]) -> Sequence[str]:
    """The chosen names; DomainError where there are none, one is not among ``names``, or one is there twice."""
    for name in chosen:
        require_attribute(names, name)
    if not chosen or len(set(chosen)) < len(chosen):
        raise DomainError(f"name one attribute or more, each once; the table has {list(names)}", attributes=chosen)
    return chosen


def require_attribute(names: Sequence[str], name: str) -> None:
    """Raise DomainError, with the nearest name, unless a table has the attribute."""
    if name not in names:
        message = f"the table has no attribute {name!r}; it has {list(names)}{suggestion(name, names)}"
        raise DomainError(message, attributes=[name])


def adds_up(kind: Kind, size: int) -> bool:
    """Whether the rows of a kind add up to the number of records, or of those that it is about, in any table."""
    if kind.at_least:
        return False
    if kind.is_identity:
        return True
    if kind.rows(size) > size:
        return False
    counted = kind.universe.matrix(size)[0] if kind.where else np.ones(size)
    return np.array_equal(kind.apply(np.eye(size), 0).sum(axis=0), counted)
