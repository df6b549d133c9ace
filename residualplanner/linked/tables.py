"""Who is protected, and which tables there are about them: what a schema is for one table, for several."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, cast

from residualplanner.ground.checks import is_unicode, require_integer, value_text
from residualplanner.ground.errors import DomainError
from residualplanner.ground.words import count_text, suggestion
from residualplanner.linked.rules import DerivedColumn
from residualplanner.method.domain.domain import Domain, remarks_of
from residualplanner.method.privacy import Neighbors, Notion
from residualplanner.method.workload.workload import Workload, require_workload

if TYPE_CHECKING:
    from residualplanner.more.amounts.weight import Weight

#: What a table may be called: its folder is called so, too.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")


@dataclass(frozen=True, eq=False)
class LinkedTable:
    """One of several tables about the same units.

    Attributes:
        workload: the queries to publish from it; its domain declares computed columns as it declares others.
        records: how many records of a unit count at most.
        order: the column by which the records of a unit are ordered, the first of which count, as for `LimitedRecords`;
            chosen at random if not given.
        derived: the rules of computed columns, `CountOf`, `SumOf`, `AnyOf` or `ValueOf`, by name.

    Raises:
        DomainError: a rule is none, or is for no attribute of the domain, or for one of amounts.
        WorkloadError: ``workload`` is none, or ``records`` is not an integer of at least 1.

    Example:
        >>> from residualplanner import Domain, marginals
        >>> persons = Domain({"age": ["0-17", "18-64", "65 and over"], "sex": ["F", "M"]})
        >>> LinkedTable(marginals(persons, up_to=2), records=6, order="line")
        LinkedTable(4 queries, records=6, order='line')
    """

    workload: Workload
    records: int = 1
    order: str | None = None
    derived: Mapping[str, DerivedColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_workload("LinkedTable", self.workload)
        object.__setattr__(self, "records", require_integer("records", self.records))
        if not isinstance(self.derived, Mapping):
            raise DomainError('derived must be a mapping, such as {"size": CountOf("persons")}')
        object.__setattr__(self, "derived", dict(self.derived))
        for name, rule in self.derived.items():
            if name not in self.domain:
                meant = suggestion(name, self.domain.names)
                raise DomainError(f"the computed column {name!r} is no attribute of the domain{meant}; declare it")
            if not isinstance(rule, DerivedColumn):
                raise DomainError(f"{name!r} is computed by a rule such as CountOf(table), got {value_text(rule)}")
            if self.domain[name].numeric is not None:
                raise DomainError(f"the computed column {name!r} cannot have amounts; declare Bins", attributes=[name])

    def __repr__(self) -> str:
        order = "" if self.order is None else f", order={self.order!r}"
        derived = f", derived={[*self.derived]}" if self.derived else ""
        return f"LinkedTable({len(self.workload):,} queries, records={self.records}{order}{derived})"

    @property
    def domain(self) -> Domain:
        """The schema of the table, computed columns included."""
        return self.workload.domain

    @cached_property
    def read_domain(self) -> Domain:
        """The schema of the records as they are given, without computed columns."""
        whole = self.domain
        own = {each.name: each for each in whole.attributes if each.name not in self.derived}
        weight = cast("Weight", whole.weight) if whole.weight.columns else None
        return Domain(own, weight=weight)

    def to_json(self) -> dict[str, Any]:
        """All but the workload, as JSON values."""
        derived = {name: rule.to_json() for name, rule in self.derived.items()}
        return {"records": self.records, "order": self.order, "derived": derived}


@dataclass(frozen=True, eq=False)
class LinkedTables:
    """Tables about the same units: each unit has some records in each of them, and all of these are protected together.

    Attributes:
        tables: by name, each a `LinkedTable`, or a workload and how many records of a unit count at most.
        unit: the column that says whose each record is, in every table: integers or text, "7" being the same as 7.

    Raises:
        DomainError: there is no table, a name is none for a folder, or ``unit`` is none for a column; a rule is about
            a table or an attribute that is not there, or does not give a declared value in every case; or columns are
            computed from one another in a circle.
        WorkloadError: as by `LinkedTable`.

    Source: eq. (145).

    Example:
        >>> from residualplanner import Domain, marginals
        >>> from residualplanner.linked import CountOf, ValueOf
        >>> households = Domain({"tenure": ["owned", "rented"], "size": [0, 1, 2, 3, 4]})
        >>> persons = Domain({"age": ["0-17", "18 and over"], "tenure": ["owned", "rented", "no household"]})
        >>> LinkedTables(
        ...     {
        ...         "households": LinkedTable(marginals(households, up_to=2), derived={"size": CountOf("persons")}),
        ...         "persons": LinkedTable(
        ...             marginals(persons, up_to=2),
        ...             records=6,
        ...             derived={"tenure": ValueOf("households", attribute="tenure", absent="no household")},
        ...         ),
        ...     },
        ...     unit="serial",
        ... )
        <LinkedTables by 'serial': up to 1 record in 'households' and up to 6 records in 'persons'>
    """

    tables: Mapping[str, LinkedTable | tuple[Workload, int]]
    unit: str

    def __post_init__(self) -> None:
        if not isinstance(self.tables, Mapping) or not self.tables:
            raise DomainError('tables must be a mapping, such as {"households": (workload, 1), "persons": (other, 6)}')
        if not isinstance(self.unit, str) or not self.unit or not is_unicode(self.unit):
            raise DomainError(f"unit must be the name of a column, got {value_text(self.unit)}")
        found = {name: _table_of(each) for name, each in self.tables.items()}
        if len({str(name).casefold() for name in found}) < len(found):
            raise DomainError("two tables are called the same but for capital letters; each has a folder of its own")
        for name, table in found.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise DomainError(f"a table is called by letters, digits, - and _, got {value_text(name)}")
            if self.unit in table.domain or table.order == self.unit:
                raise DomainError(f"{self.unit!r} says whose a record of {name!r} is; it is no attribute, and no order")
        object.__setattr__(self, "tables", found)
        for name, column in self.derived:
            self._require_rule(name, column)

    def _require_rule(self, name: str, column: str) -> None:
        rule = self[name].derived[column]
        if rule.of not in self.tables:
            meant = suggestion(rule.of, [*self.tables])
            raise DomainError(
                f"{column!r} of {name!r} is computed from the table {rule.of!r}, which is not there{meant}"
            )
        other = self[rule.of]
        rule.require(self[name].domain[column], other.domain, other.records)

    def __getitem__(self, name: str) -> LinkedTable:
        if name not in self.tables:
            known = [*self.tables]
            raise DomainError(f"there is no table {name!r}; there are {known}{suggestion(name, known)}")
        return cast(LinkedTable, self.tables[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return f"<LinkedTables by {self.unit!r}: {self._limits}>"

    @cached_property
    def derived(self) -> tuple[tuple[str, str], ...]:
        """The computed columns, tables and names, each after those it is computed from; DomainError in a circle."""
        rules = {(name, column): rule for name in self for column, rule in self[name].derived.items()}
        needs = {key: {(rule.of, read) for read in rule.reads} & rules.keys() for key, rule in rules.items()}
        try:
            return tuple(TopologicalSorter(needs).static_order())
        except CycleError as error:
            columns = [f"{column} of {name}" for name, column in error.args[1]]
            raise DomainError(f"columns are computed from one another in a circle: {', '.join(columns)}") from None

    @cached_property
    def read_together(self) -> tuple[str, ...]:
        """The tables with computed columns, and those that these are computed from: their records are joined."""
        named = {each for name, column in self.derived for each in (name, self[name].derived[column].of)}
        return tuple(name for name in self if name in named)

    def neighbors_of(self, name: str, notion: Notion) -> Neighbors:
        """What may differ between data sets in one of the tables."""
        return Neighbors(notion, self[name].records, self[name].domain.weight.maximum)

    def neighbors(self, notion: Notion) -> Neighbors:
        """What a ledger has of all tables: as many records as one unit has in all of them together."""
        return Neighbors(notion, sum(self[name].records for name in self))

    def change(self, notion: Notion) -> str:
        """What the privacy statement of all tables together is about, in words."""
        return f"{Neighbors(notion).words_of('all records')} of one {self.unit!r}, {self._limits}"

    def require_mapping(self, what: str, given: object) -> None:
        """Raise DomainError unless there is something for each table, and for nothing else."""
        if not isinstance(given, Mapping) or given.keys() ^ self.tables.keys():
            found = [*map(str, given)] if isinstance(given, Mapping) else value_text(given)
            raise DomainError(f"{what} must be a mapping with an entry for each of {[*self.tables]}, got {found}")

    def to_json(self) -> dict[str, Any]:
        """All but the workloads, as JSON values."""
        return {"unit": self.unit, "tables": {name: self[name].to_json() for name in self}}

    def omission(self, notion: Notion) -> str:
        """Which records of a unit count where it has more, and what readers must know of the tables, in sentences."""
        rules = (
            f"in {name!r} {'chosen at random' if (by := self[name].order) is None else f'the first by {by!r}'}"
            for name in self
        )
        kept = f"Where one {self.unit!r} has more records than that, so many count: {', '.join(rules)}."
        remarks = dict.fromkeys(remark for name in self if (remark := remarks_of(self[name].domain)))
        return "  ".join([*([] if self.neighbors(notion).has_public_total else [kept]), *remarks])

    @property
    def _limits(self) -> str:
        return " and ".join(f"up to {count_text(self[name].records, 'record')} in {name!r}" for name in self)


def _table_of(given: object) -> LinkedTable:
    """A table as it is, or of a workload and a number of records; DomainError where it is neither."""
    if isinstance(given, tuple) and len(given) == 2:
        return LinkedTable(*given)
    if not isinstance(given, LinkedTable):
        raise DomainError(f"a table is LinkedTable(workload, records=6) or (workload, 6), got {value_text(given)}")
    return given
