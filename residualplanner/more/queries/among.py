"""Queries about some of the records: one as users write it, and a family of tables, without a loop over queries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.labels import Label
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind, tied_kind
from residualplanner.method.workload import attribute_sets
from residualplanner.method.workload.query import QueryKey, WrittenQuery, query_of, require_distinct
from residualplanner.more.queries.selection import Selection, checked_values
from residualplanner.more.queries.thresholds import Threshold

#: Of some attributes a label, or several: a record is meant that has one of them in each of these attributes.
Where = Mapping[str, Label | Iterable[Label]]


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Among(Mapping[str, Kind]):
    """A query about the records that have one of some labels in each of some attributes: its universe.

    It is a mapping from attribute names to kinds of query, and goes wherever such a mapping does.  Its table has the
    axes of the query, and no others.  An attribute of the query in which records are selected has the selected labels
    only.  Where all labels of an attribute are selected, it selects nothing.

    Args:
        query: as in a workload: names, a single name, a `Threshold`, or a mapping from name to kind of query.
        where: from attribute names to a label, or several: of values, or of runs of them as `Range` has them.

    Attributes:
        table: the query as a mapping or as names.
        where: the labels by attribute, each once.

    Raises:
        WorkloadError: ``query`` is no query, ``where`` no mapping to labels, or no labels are selected; or records are
            selected in an attribute of a threshold.  Whether there are such labels is checked in a workload.

    Source: eq. (108).

    Example:
        >>> employed = Among(("age", "sex"), where={"employed": "yes"})
        >>> employed
        Among(('age', 'sex'), where={'employed': ['yes']})
        >>> dict(employed)
        {'age': Identity(), 'sex': Identity(), 'employed': Selection(['yes'])}
    """

    table: tuple[str, ...] | Mapping[str, Kind]
    where: Mapping[str, tuple[Label, ...]]

    def __init__(self, query: str | Sequence[str] | Mapping[str, Kind], where: Where) -> None:
        names = (query,) if isinstance(query, str) else query
        if not isinstance(names, Mapping | Sequence) or not all(isinstance(name, str) for name in names):
            raise WorkloadError(
                f'the query of Among must be names or a mapping to kinds, as in ("age", "sex"), got {value_text(query)}'
            )
        object.__setattr__(self, "table", names if isinstance(names, Mapping) else tuple(names))
        object.__setattr__(self, "where", checked_where(where))
        for name in self:
            _ = self[name]

    def __getitem__(self, name: str) -> Kind:
        if name not in self.table:
            return Selection(self.where[name])
        kind = self.table[name] if isinstance(self.table, Mapping) else Identity()
        return Selection(self.where[name], kind) if name in self.where else kind

    def __iter__(self) -> Iterator[str]:
        yield from self.table
        yield from (name for name in self.where if name not in self.table)

    def __len__(self) -> int:
        return len({*self.table, *self.where})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Among) and [*self.table] == [*other.table] and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        where = {name: list(labels) for name, labels in self.where.items()}
        return f"Among({self.table!r}, where={where!r})"


def checked_where(where: object) -> dict[str, tuple[Label, ...]]:
    """The labels that are selected of each attribute; WorkloadError where it is no mapping from names to labels."""
    if not isinstance(where, Mapping) or not all(isinstance(name, str) for name in where):
        raise WorkloadError(
            f'where must be a mapping from names to labels, as in {{"sex": "F"}}, got {value_text(where)}'
        )
    found = {}
    for name, labels in where.items():
        try:
            found[name] = checked_values(labels)
        except WorkloadError as error:
            raise WorkloadError(f"where, {name!r}: {error}") from None
    return found


def query_as_written(domain: Domain, query: WrittenQuery) -> QueryKey:
    """A query about some of the records, or with attributes that are answered together, as users write it."""
    selected, selections = query.universe
    if selected:
        axes = query.table_axes
        table = query_of(domain, axes.positions, [kind.unselected for kind in axes.kinds])
        pairs = zip(selected, selections, strict=True)
        return Among(table, {domain.names[position]: kind.where for position, kind in pairs})
    names, kinds = tuple(domain.names[position] for position in query.positions), [kind.written for kind in query.kinds]
    if kinds[0].at_least and all(kind == kinds[0] for kind in kinds):
        return Threshold(names, kinds[0].at_least)
    return dict(zip(names, kinds, strict=True))


@dataclass(frozen=True, slots=True)
class Universe:
    """Which records a family of tables is about."""

    rows: Mapping[int, Kind]
    names: tuple[str, ...]
    is_counted: bool

    def members(self, domain: Domain) -> list[int]:
        """The attributes that tables may have, ascending: not those in which a single value is selected."""
        left_out = {i for i, kind in self.rows.items() if len(kind.where) == 1 or not self.is_counted}
        return [position for position in range(len(domain)) if position not in left_out]

    def applied(self, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
        """Kinds of query by attribute, with the selected values in place of all."""
        pairs = zip(self.names, self.rows.values(), strict=True) if self.is_counted else ()
        several = {name: row.where for name, row in pairs if len(row.where) > 1}
        return {**kinds, **{name: Selection(labels, kinds.get(name, Identity())) for name, labels in several.items()}}

    def selected(
        self, blocks: Sequence[attribute_sets.QueryBlock], kinds: tuple[Kind, ...]
    ) -> tuple[list[attribute_sets.QueryBlock], tuple[Kind, ...]]:
        """The queries with the selection from every attribute that they do not have, and the kinds of all."""
        if not self.rows:
            return list(blocks), kinds
        every = tuple(dict.fromkeys((*kinds, *self.rows.values())))
        require_distinct(every)
        codes = np.array([every.index(kind) for kind in self.rows.values()], dtype=np.int16)
        pieces = [piece for block in blocks for piece in self._pieces(block, codes)]
        longest = max(piece.attributes.shape[1] for piece in pieces)
        found = [attribute_sets.block_of_order((), order) for order in range(longest + 1)]
        for piece in pieces:
            order = piece.attributes.shape[1]
            found[order] = attribute_sets.concatenated(found[order], piece)
        return [attribute_sets.merged(block) for block in found], every

    def _pieces(self, block: attribute_sets.QueryBlock, codes: NDArray[np.int16]) -> list[attribute_sets.QueryBlock]:
        positions = np.array(list(self.rows), dtype=np.int32)
        is_absent = (block.attributes[:, :, None] != positions).all(axis=1)
        found = []
        for absent in np.unique(is_absent, axis=0):
            part = block.part((is_absent == absent).all(axis=1))
            added = [np.tile(values[absent], (len(part), 1)) for values in (positions, codes)]
            written = (np.hstack([part.attributes, added[0]]), np.hstack([part.kinds, added[1]]))
            found.append(attribute_sets.block_as_written(*written, part.weights))
        return found


def universe_of(domain: Domain, where: Where, joint: Mapping[str, Kind]) -> Universe:
    """The universe of a family of tables; attributes of which all values are selected are left out.

    From the attributes of ``joint`` kinds, which are answered together, no values can be selected in tables.
    """
    given = checked_where(where)
    rows = {}
    for position in domain.positions(tuple(given)):
        attribute = domain.attributes[position]
        row = tied_kind(Selection(given[attribute.name]), attribute)
        if len(row.where) < attribute.by_bin.size:
            rows[position] = row
    return Universe(rows, tuple(domain.names[position] for position in rows), not joint)
