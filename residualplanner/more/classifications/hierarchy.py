"""Hierarchies: the values of an attribute, groups of them, groups of groups; geographies and the like from files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import frozen, require_path
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.labels import Label, Rule
from residualplanner.method.queries.kind import Kind, KindByContent
from residualplanner.method.queries.rows import is_text, require_more_than_total
from residualplanner.more.classifications import layouts
from residualplanner.more.classifications.classification import Classification, RowItem, TableOrigin
from residualplanner.more.classifications.layouts import GivenLevels
from residualplanner.more.classifications.levels import (
    GivenLevel,
    HierarchyRow,
    Level,
    checked_levels,
    named_levels,
    rows_of_levels,
)

#: The label of the row for all values.
TOTAL = "(total)"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Hierarchy(KindByContent):
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

    @classmethod
    def from_file(
        cls,
        path: PathLike,
        levels: GivenLevels,
        *,
        total: bool | str = True,
        leaves: bool = True,
        code_lengths: Mapping[str, int | None] | None = None,
        encoding: str = "utf-8",
        separator: str = ",",
    ) -> "Hierarchy":
        """A geography, or any other classification, from a public CSV file: its leaves are the attribute's values.

        The file has a row for each leaf, with a column of codes and perhaps one of names for each level: for the level
        "county" these are "county_code" (or "county") and "county_name" (or "county" beside "county_code").  Everything
        is read as text.

        Args:
            path: of the file; its name and SHA-256 are recorded in plans.
            levels: their names, from coarse to fine; or a mapping from each to its column of codes, or to a pair of its
                columns of codes and names, as ``{"county": ("GEOID", "NAME")}``.
            total: whether there is a row for all values, or its label.
            leaves: whether there is a row for each value.
            code_lengths: for a level how many characters its codes have: shorter ones of digits alone get zeros in
                front; None where lengths differ.
            encoding: of the file, as Python names it.
            separator: between two entries of a line.

        Returns:
            A hierarchy whose rows are labeled by codes; those of a level that shares a code with a finer one, by the
            level's name and the code.

        Raises:
            FileFormatError: the file is not such a text, or not CSV; the message names the line and the column.
            WorkloadError: it is no classification: a code has two parents, say, or two names, or may have lost zeros.
            OSError: the file cannot be opened.
        """
        require_path("Hierarchy.from_file", path, 'Hierarchy.from_file("counties.csv", levels=["state", "county"])')
        table = layouts.table_of_file(path, encoding=encoding, separator=separator)
        found = layouts.classification_of_table(table, levels, code_lengths)
        return cls.of_classification(found, total=total, leaves=leaves)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        levels: GivenLevels,
        *,
        total: bool | str = True,
        leaves: bool = True,
        code_lengths: Mapping[str, int | None] | None = None,
    ) -> "Hierarchy":
        """The same from a data frame of any library, with columns of strings; arguments and errors as in `from_file`.

        Codes that are integers are refused, as they have no leading zeros, unless their lengths are declared.

        Example:
            >>> import pandas as pd
            >>> from residualplanner import Hierarchy
            >>> frame = pd.DataFrame({"state": ["01", "02"], "county": ["01001", "02013"]})
            >>> Hierarchy.from_frame(frame, ["state", "county"])
            Hierarchy(state: 2, county: 2)
        """
        found = layouts.classification_of_table(layouts.table_of_frame(frame), levels, code_lengths)
        return cls.of_classification(found, total=total, leaves=leaves)

    def attribute(
        self,
        name: str,
        *,
        unknown: Rule | Label = "error",
        missing: Rule | Label = "error",
        about: About | None = None,
    ) -> Attribute:
        """The attribute whose values are the codes of the leaves, with their names as meanings.

        ``Domain({"county": counties})`` does the same with these defaults.

        Args:
            name: of the attribute.
            unknown: what becomes of records with another value, as in `Attribute`; a label of its own is a group of its
                own on every level.
            missing: the same for records without a value.
            about: title, unit, source and notes.

        Raises:
            WorkloadError: the hierarchy is not from a file or a frame, so it has no values of its own.
        """
        leaves = self._classified("attribute").items[-1]
        labels = {item.code: item.name if item.name != item.code else "" for item in leaves}  # meanings, where any
        return Attribute(name, labels=labels, unknown=unknown, missing=missing, about=about)

    def crosswalk(  # noqa: PLR0913
        self,
        source: Any,
        *,
        leaf: str,
        group: str,
        name: str = "",
        within: str = "",
        ungrouped: str | None = None,
        code_lengths: Mapping[str, int | None] | None = None,
        encoding: str = "utf-8",
        separator: str = ",",
    ) -> "Hierarchy":
        """Other groups of the same leaves, such as the districts that tracts lie in, from a public file or frame.

        A workload mixes both: ``[{"tract": counties}, {"tract": districts}]``.  With ``within`` one table has both.

        Args:
            source: the path of a CSV file, or a data frame of any library, with a row for each leaf.
            leaf: the column of the codes of the leaves.
            group: the column of the codes of the groups; it names their level.
            name: the column of the names of the groups, if there is one.
            within: a level of this hierarchy along which groups are cut: "county" gives the parts of each district that
                lie in each county, below the counties; groups are whole if not given.
            ungrouped: the code of a group for leaves that the source has no group for; None if there must be none.
            code_lengths: as in `from_file`, by column.
            encoding: of a file.
            separator: between two entries of a line of a file.

        Raises:
            FileFormatError, OSError: as in `from_file`.
            WorkloadError: a leaf lies in two groups or in none, or is not a leaf of this hierarchy; or codes may have
                lost their zeros.  Or this hierarchy is not from a file or a frame.
        """
        mine = self._classified("crosswalk")
        if isinstance(source, str | os.PathLike):
            table = layouts.table_of_file(source, encoding=encoding, separator=separator)
        else:
            table = layouts.table_of_frame(source)
        columns = {"leaf": leaf, "group": group, "name": name, "within": within}
        other = layouts.crosswalk(mine, table, **columns, ungrouped=ungrouped, lengths=code_lengths)
        return self.of_classification(other, total=self.total or False, leaves=self.leaves)

    def _classified(self, method: str) -> Classification:
        if self.classification is None:
            raise WorkloadError(f"{method}() is for a hierarchy from a file or a frame, which has codes and names")
        return self.classification

    def to_json(self) -> dict[str, Any]:
        """The levels, or the classification that they follow from, its other rows, and the values it is tied to."""
        values = None if self.values is None else list(self.values)
        rows = {"total": self.total, "leaves": self.leaves, "values": values}
        if self.classification is not None:
            return {"kind": self.name, "classification": self.classification.to_json(), **rows}
        levels = [
            level if isinstance(level, int) else [[name, list(members)] for name, members in level]
            for level in self.levels
        ]
        return {"kind": self.name, "levels": levels, **rows}

    def on(self, attribute: Attribute) -> "Hierarchy":
        """The hierarchy tied to the values of one attribute, its bands written out as named groups.

        WorkloadError where the groups of a level do not hold each value once, or do not lie inside those above them.
        """
        if self._is_of(attribute):
            return self
        tied = Hierarchy.__new__(Hierarchy)
        try:
            levels = named_levels(self.levels, attribute)
            if self.classification is not None:  # a label that no entry matches is a group of its own on every level
                own = tuple((label, (label,)) for label in attribute.own_labels)
                levels = tuple(level + own for level in levels)
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
        """The basic matrix, (q, size); values are the codes 0 .. size-1 as long as there is no attribute."""
        if self.values is None:
            return self.on(Attribute("values", size)).sparse_rows(size)
        if size != len(self.values):
            raise WorkloadError(f"the hierarchy has {len(self.values)} values, not {size}")
        return self._matrix

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The names of the rows, from the total down to the values, (q,)."""
        return tuple(label for label, _ in self.on(attribute)._rows)

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The names of the groups, and the meanings of the values, (q,)."""
        if self.classification is not None:
            return self.columns_beside(attribute)["name"]
        meant = dict(zip(map(str, attribute.value_labels), attribute.value_meanings, strict=True))
        rows = self.on(attribute)._rows
        return tuple(meant.get(label, label) if len(codes) == 1 else label for label, codes in rows)

    def columns_beside(self, attribute: Attribute) -> dict[str, tuple[str, ...]]:
        """Level, code, name and parent of the rows, (q,) each, if it is from a file or a frame; else their meanings."""
        if self.classification is None:
            return super().columns_beside(attribute)
        items = self.on(attribute)._row_items
        return {word: tuple(getattr(item, word) for item in items) for word in ("level", "code", "name", "parent")}

    def full_names(self, attribute: Attribute) -> tuple[tuple[str, ...], ...]:
        """The names of the rows, (q,): alone, and with those that they lie in: "Autauga County, Alabama"."""
        if self.classification is None:
            return super().full_names(attribute)
        return tuple(item.full_names for item in self.on(attribute)._row_items)

    def __repr__(self) -> str:
        if self.classification is not None:
            pairs = zip(self.classification.levels, self.classification.items, strict=True)
            levels = ", ".join(f"{level}: {len(items):,}" for level, items in pairs)
            return f"Hierarchy({levels})"
        words = (str(level) if isinstance(level, int) else count_text(len(level), "group") for level in self.levels)
        total = "" if self.total == TOTAL else f", total={self.total or False!r}"
        return f"Hierarchy([{', '.join(words)}]{total}{'' if self.leaves else ', leaves=False'})"

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
        starts = frozen(np.cumsum([0, *(len(codes) for _, codes in self._rows)], dtype=np.int32))
        columns = frozen(np.concatenate([codes for _, codes in self._rows]))
        shape = len(self._rows), len(self.values or ())
        return sparse.csr_array((frozen(np.ones(len(columns))), columns, starts), shape=shape)

    @cached_property
    def _content(self) -> str:
        # As a string, which distinguishes True from 1; tuples do not.
        return repr((self.levels, self.total, self.leaves, self.values, self.classification))

    @cached_property
    def _row_items(self) -> tuple[RowItem, ...]:
        """What the rows are about: a label that no item has is an item of the last level."""
        assert self.classification is not None
        found, level = self.classification.row_items(self.total), self.classification.levels[-1]
        labels = [label for label, _ in self._rows]
        own = {label: RowItem(level, label, label, self.total or "", (label,)) for label in labels}
        return tuple({**own, **found}[label] for label in labels)


def origins_of(kind: Kind) -> tuple[TableOrigin, ...]:
    """The files that a kind of query is from; none where it is from no file."""
    of = kind.unselected
    classification = of.classification if isinstance(of, Hierarchy) else None
    return () if classification is None else classification.origins
