"""Hierarchies: the values of an attribute, groups of them, groups of groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.ground.completion import hides
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label
from residualplanner.method.queries.sparse_kind import SparseKind, is_text, require_more_than_total
from residualplanner.more.classifications.classification import Classification, RowItem
from residualplanner.more.classifications.from_sources import FromSources
from residualplanner.more.classifications.levels import (
    GivenLevel,
    HierarchyRow,
    Level,
    checked_levels,
    named_levels,
    rows_of_levels,
    with_own_labels,
)

#: The label of the row for all values.
TOTAL = "(total)"


@hides("of_classification", "on", "to_json")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Hierarchy(FromSources, SparseKind):
    """One answer for all values, one for each group of each level, and one for each value.

    Args:
        levels: from coarse to fine; each of them either a mapping from the name of a group to its members, or an
            integer k: bands of k consecutive values, the last of which may be shorter.  Members are names of groups of
            the next level, or else values of the attribute: labels, codes, names of bins.
        total: whether there is a row for all values, or its label.
        leaves: whether there is a row for each value.

    The groups of a level must hold every value exactly once, and each of them must lie inside one group of the level
    above it.  A row that occurs twice under one label (a band of one value, say) is kept once.

    Attributes:
        levels: from coarse to fine: integers, or pairs of a name and members.
        total: the label of the row for all values, or None.
        leaves: as given.
        values (n,): the values of the attribute that it is tied to; None as long as there is none.
        classification: the codes, names and parents of its rows, where it is from a file or a frame.

    Raises:
        WorkloadError: the levels are invalid, or there are no rows.  Whether they fit an attribute is checked when they
            are tied to it.

    Example:
        >>> regions = Hierarchy([{"West": ["CA", "WA"], "South": ["TX"]}])
        >>> regions.labels(Attribute("state", labels=["CA", "TX", "WA"]))
        ('(total)', 'West', 'South', 'CA', 'TX', 'WA')
        >>> Hierarchy([2], total=False).matrix(3).astype(int).tolist()
        [[1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    """

    name = "hierarchy"

    levels: tuple[Level, ...]
    total: str | None
    leaves: bool
    values: tuple[Label, ...] | None
    classification: Classification | None

    def __init__(self, levels: Sequence[GivenLevel], *, total: bool | str = True, leaves: bool = True) -> None:
        checked = checked_levels(levels)
        if not isinstance(total, bool) and not is_text(total):
            raise WorkloadError(f"total of a hierarchy must be True, False or the label of its row, got {total!r}")
        if not isinstance(leaves, bool):
            raise WorkloadError(f"leaves of a hierarchy must be True or False, got {leaves!r}")
        if not checked and not total and not leaves:
            raise WorkloadError("the hierarchy has no rows; give levels, total=True or leaves=True")
        label = (TOTAL if total is True else str(total)) if total else None
        self._set(levels=checked, total=label, leaves=leaves, values=None, classification=None)

    def _set(self, **values: object) -> "Hierarchy":
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def of_classification(
        cls, classification: Classification, *, total: bool | str = True, leaves: bool = True
    ) -> "Hierarchy":
        """The hierarchy of the items of a classification."""
        return cls(classification.groups(), total=total, leaves=leaves)._set(classification=classification)

    def to_json(self) -> dict[str, Any]:
        """The levels, or the classification that they follow from, its other rows, and the values it is tied to."""
        values = None if self.values is None else list(self.values)
        shape: dict[str, Any] = {
            "levels": [
                level if isinstance(level, int) else [[name, list(members)] for name, members in level]
                for level in self.levels
            ]
        }
        if self.classification is not None:
            shape = {"classification": self.classification.to_json()}
        return {"kind": self.name, **shape, "total": self.total, "leaves": self.leaves, "values": values}

    def on(self, attribute: Attribute) -> "Hierarchy":
        """The hierarchy tied to the values of one attribute, its bands written out as named groups.

        Raises:
            WorkloadError: a member is neither group nor value, the groups of a level do not hold every value exactly
                once or do not lie inside those of the level above, two rows have one label, or there are too many.
        """
        if self._is_of(attribute):
            return self
        tied = Hierarchy.__new__(Hierarchy)
        try:
            levels = named_levels(self.levels, attribute)
            if self.classification is not None:
                levels = with_own_labels(levels, attribute)
            words = {"total": self.total, "leaves": self.leaves, "classification": self.classification}
            tied._set(levels=levels, values=attribute.value_labels, **words)
            _ = tied._rows
        except WorkloadError as error:
            raise WorkloadError(f"the hierarchy on {attribute.name!r}: {error}") from None
        return tied

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError unless it is a hierarchy of this attribute's values with more rows than their total."""
        if self.values is not None and not self._is_of(attribute):
            raise WorkloadError(f"the hierarchy on {attribute.name!r} is tied to other values than that attribute has")
        # The rows always give the total: every level holds each value once, so its groups add up to it.
        require_more_than_total(self.on(attribute).sparse_rows(attribute.size), attribute, "the hierarchy")

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The basic matrix, (q, size); values are the codes 0 .. size-1 as long as there is no attribute.

        Raises:
            WorkloadError: the hierarchy has another number of values.
        """
        if self.values is None:
            return self.on(Attribute("values", size)).sparse_rows(size)
        if size != len(self.values):
            raise WorkloadError(f"the hierarchy has {len(self.values)} values, not {size}")
        return self._matrix

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The names of the rows, from the total down to the values, (q,)."""
        return tuple(row.label for row in self.on(attribute)._rows)

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The names of the groups, and the meanings of the values, (q,)."""
        if self.classification is not None:
            return self.columns_beside(attribute)["name"]
        meant = dict(zip(map(str, attribute.value_labels), attribute.value_meanings, strict=True))
        return tuple(
            meant.get(row.label, row.label) if len(row.codes) == 1 else row.label for row in self.on(attribute)._rows
        )

    def columns_beside(self, attribute: Attribute) -> dict[str, tuple[str, ...]]:
        """Level, code, name and parent of the rows, (q,) each, if it is from a file or a frame; else their meanings."""
        if self.classification is None:
            return super().columns_beside(attribute)
        items = self.on(attribute)._row_items
        return {
            "level": tuple(item.level for item in items),
            "code": tuple(item.code for item in items),
            "name": tuple(item.name for item in items),
            "parent": tuple(item.parent for item in items),
        }

    def full_names(self, attribute: Attribute) -> tuple[tuple[str, ...], ...]:
        """The names of the rows, (q,): alone, and with those that they lie in: "Autauga County, Alabama"."""
        if self.classification is None:
            return super().full_names(attribute)
        return tuple(item.full_names for item in self.on(attribute)._row_items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        if self.classification is not None:
            pairs = zip(self.classification.levels, self.classification.items, strict=True)
            levels = ", ".join(f"{level}: {len(items):,}" for level, items in pairs)
            return f"Hierarchy({levels})"
        levels = ", ".join(str(level) if isinstance(level, int) else _count_text(len(level)) for level in self.levels)
        total = "" if self.total == TOTAL else f", total={self.total or False!r}"
        return f"Hierarchy([{levels}]{total}{'' if self.leaves else ', leaves=False'})"

    def _is_of(self, attribute: Attribute) -> bool:
        """Whether it is tied to exactly these values; True is not 1."""
        if self.values is None or self.values != attribute.value_labels:
            return False
        return type(self.values[0]) is type(attribute.value_labels[0])

    @cached_property
    def _rows(self) -> tuple[HierarchyRow, ...]:
        assert self.values is not None
        return rows_of_levels(self.levels, self.values, total=self.total, leaves=self.leaves)

    @cached_property
    def _matrix(self) -> sparse.csr_array:
        starts = np.cumsum([0, *(len(row.codes) for row in self._rows)], dtype=np.int32)
        columns = np.concatenate([row.codes for row in self._rows])
        ones = np.ones(len(columns))
        for array in (starts, columns, ones):
            array.flags.writeable = False
        return sparse.csr_array((ones, columns, starts), shape=(len(self._rows), len(self.values or ())))

    @cached_property
    def _content(self) -> str:
        # As a string, which distinguishes True from 1; tuples do not.
        return repr((self.levels, self.total, self.leaves, self.values, self.classification))

    @cached_property
    def _row_items(self) -> tuple[RowItem, ...]:
        """What the rows are about: a label that no item has is an item of the last level."""
        assert self.classification is not None
        found, level = self.classification.row_items(self.total), self.classification.levels[-1]
        labels = [row.label for row in self._rows]
        own = {label: RowItem(level, label, label, self.total or "", (label,)) for label in labels}
        return tuple({**own, **found}[label] for label in labels)


def _count_text(groups: int) -> str:
    return "1 group" if groups == 1 else f"{groups} groups"
