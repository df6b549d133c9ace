"""The records that a whole family of tables is about: selections from some attributes, added to arrays of queries.

Nothing loops over queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind, tied_kind
from residualplanner.method.workload.attribute_sets import (
    QueryBlock,
    block_as_written,
    block_of_order,
    concatenated,
    merged,
)
from residualplanner.method.workload.query import require_distinct
from residualplanner.more.queries.among import Where, checked_where
from residualplanner.more.queries.selection import Selection


@dataclass(frozen=True, slots=True)
class Universe:
    """Which records a family of tables is about.

    Attributes:
        rows: of each attribute in which some records are selected, by position, the selection; ascending.
        names: their names.
        is_counted: whether attributes of which several values are selected may be in tables.
    """

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
        self, blocks: Sequence[QueryBlock], kinds: tuple[Kind, ...]
    ) -> tuple[list[QueryBlock], tuple[Kind, ...]]:
        """The queries with the selection from every attribute that they do not have, and the kinds of all."""
        if not self.rows:
            return list(blocks), kinds
        every = tuple(dict.fromkeys((*kinds, *self.rows.values())))
        require_distinct(every)
        codes = np.array([every.index(kind) for kind in self.rows.values()], dtype=np.int16)
        pieces = [piece for block in blocks for piece in self._pieces(block, codes)]
        longest = max(piece.attributes.shape[1] for piece in pieces)
        found = [block_of_order((), order) for order in range(longest + 1)]
        for piece in pieces:
            order = piece.attributes.shape[1]
            found[order] = concatenated(found[order], piece)
        return [merged(block) for block in found], every

    def _pieces(self, block: QueryBlock, codes: NDArray[np.int16]) -> list[QueryBlock]:
        """The queries of a block with selections, those with the same ones together."""
        positions = np.array(list(self.rows), dtype=np.int32)
        is_absent = (block.attributes[:, :, None] != positions).all(axis=1)
        found = []
        for absent in np.unique(is_absent, axis=0):
            part = block.part((is_absent == absent).all(axis=1))
            added = [np.tile(values[absent], (len(part), 1)) for values in (positions, codes)]
            written = (np.hstack([part.attributes, added[0]]), np.hstack([part.kinds, added[1]]))
            found.append(block_as_written(*written, part.weights))
        return found


def universe_of(domain: Domain, where: Where, joint: Mapping[str, Kind]) -> Universe:
    """The universe of a family of tables; attributes of which all values are selected are left out.

    Args:
        domain: the schema.
        where: from attribute names to a label, or several.
        joint: the joint kinds of the tables, whose attributes cannot be selected from as well.

    Raises:
        DomainError: an attribute or a label is not in the domain.
        WorkloadError: ``where`` is no mapping to labels, or an attribute has too many values.

    Example:
        >>> universe_of(Domain({"age": 3, "employed": ["yes", "no"]}), {"employed": "yes"}, {}).rows
        {1: Selection(['yes'])}
    """
    given = checked_where(where)
    rows = {}
    for position in domain.positions(tuple(given)):
        attribute = domain.attributes[position]
        row = tied_kind(Selection(given[attribute.name]), attribute)
        if len(row.where) < attribute.by_bin.size:
            rows[position] = row
    return Universe(rows, tuple(domain.names[position] for position in rows), not joint)
