"""Hierarchies from public files and data frames: geographies, and all other classifications."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import require_path
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.labels import Label, Rule
from residualplanner.method.queries.kind import Kind
from residualplanner.more.classifications.classification import Classification
from residualplanner.more.classifications.crosswalks import CrosswalkColumns, crosswalk
from residualplanner.more.classifications.layouts import GivenLevels, classification_of_table
from residualplanner.more.classifications.text_table import TableOrigin, table_of_file, table_of_frame


class FromSources(ABC):
    """What is made of a classification, which a file or a frame holds.

    Attributes:
        classification: the codes, names and parents; None where it is not from a file or a frame.
        total: the label of the row for all values, or None.
        leaves: whether there is a row for each value.
    """

    classification: Classification | None
    total: str | None
    leaves: bool

    @classmethod
    @abstractmethod
    def of_classification(
        cls, classification: Classification, *, total: bool | str = True, leaves: bool = True
    ) -> Self:
        """The same of a classification."""

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
    ) -> Self:
        """A geography, or any other classification, from a public CSV file: its leaves are the attribute's values.

        The file has a row for each leaf, with a column of codes and perhaps one of names for each level: for the level
        "county" these are "county_code" (or "county") and "county_name" (or "county" beside "county_code").  Or it has
        a row for each item, with the columns "level", "code", "name" and "parent".  Everything is read as text.

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
            WorkloadError: a level is missing, a code is empty, or has two parents or two names, or may have lost its
                zeros; a parent is missing, or an item without children; the message names the line and the column.
            OSError: the file cannot be opened.
        """
        require_path("Hierarchy.from_file", path, 'Hierarchy.from_file("counties.csv", levels=["state", "county"])')
        table = table_of_file(path, encoding=encoding, separator=separator)
        return cls.of_classification(classification_of_table(table, levels, code_lengths), total=total, leaves=leaves)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        levels: GivenLevels,
        *,
        total: bool | str = True,
        leaves: bool = True,
        code_lengths: Mapping[str, int | None] | None = None,
    ) -> Self:
        """The same from a data frame of any library, with columns of strings; arguments and errors as in `from_file`.

        Codes that are integers are refused, as they have no leading zeros, unless their lengths are declared.

        Example:
            >>> import pandas as pd
            >>> from residualplanner import Hierarchy
            >>> frame = pd.DataFrame({"state": ["01", "02"], "county": ["01001", "02013"]})
            >>> Hierarchy.from_frame(frame, ["state", "county"])
            Hierarchy(state: 2, county: 2)
        """
        table = table_of_frame(frame)
        return cls.of_classification(classification_of_table(table, levels, code_lengths), total=total, leaves=leaves)

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
            DomainError: an invalid name or rule.
        """
        labels = self._classified("attribute").leaf_names
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
    ) -> Self:
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
            FileFormatError: as in `from_file`.
            WorkloadError: a leaf lies in two groups or in none, or is not a leaf of this hierarchy; or codes may have
                lost their zeros.  Or this hierarchy is not from a file or a frame.
            OSError: the file cannot be opened.
        """
        mine, columns = (
            self._classified("crosswalk"),
            CrosswalkColumns(leaf=leaf, group=group, name=name, within=within),
        )
        is_path = isinstance(source, str | os.PathLike)
        table = table_of_file(source, encoding=encoding, separator=separator) if is_path else table_of_frame(source)
        other = crosswalk(mine, table, columns, ungrouped=ungrouped, code_lengths=code_lengths)
        return self.of_classification(other, total=self.total or False, leaves=self.leaves)

    def _classified(self, method: str) -> Classification:
        """The classification that it is from; WorkloadError, which names a method, where there is none."""
        if self.classification is None:
            raise WorkloadError(f"{method}() is for a hierarchy from a file or a frame, which has codes and names")
        return self.classification


def origins_of(kind: Kind) -> tuple[TableOrigin, ...]:
    """The files that a kind of query is from; none where it is from no file."""
    of = kind.unselected
    classification = of.classification if isinstance(of, FromSources) else None
    return () if classification is None else classification.origins
