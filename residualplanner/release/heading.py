"""What a table is about: the query that it answers, in names, labels and words."""

from dataclasses import dataclass

from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind, labels_in_words
from residualplanner.method.workload.query import QueryKey, WrittenQuery, query_of
from residualplanner.release.product import Provenance


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Heading:
    """The query of a table, in the order in which it was written.

    Attributes:
        positions: of the attributes in the domain.
        kinds: the kind of query on each attribute.
        provenance: what the numbers are, and what they were made from.
    """

    positions: tuple[int, ...]
    kinds: tuple[Kind, ...]
    provenance: Provenance

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self.provenance.plan

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, axis by axis."""
        return tuple(attribute.name for attribute, _ in self._axes)

    @property
    def title(self) -> str:
        """The table in words: its attributes, and which records it is about, where these are not all.

        Such as "age × sex among employed: yes".
        """
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
    def _axes(self) -> list[tuple[Attribute, Kind]]:
        attributes = self.plan.domain.attributes
        return [(attributes[position], kind) for position, kind in zip(*self._written.table_axes, strict=True)]

    @property
    def _written(self) -> WrittenQuery:
        return WrittenQuery(self.positions, self.kinds)
