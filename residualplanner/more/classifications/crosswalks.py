"""A crosswalk: from the leaves of a classification to other groups of them, such as tracts to districts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import listed
from residualplanner.more.classifications.classification import Classification, Item
from residualplanner.more.classifications.layouts import CodeLengths, checked_lengths, level_codes
from residualplanner.more.classifications.text_table import TableOrigin, TextTable

#: How many leaves a message lists.
_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CrosswalkColumns:
    """The columns of a crosswalk."""

    leaf: str  # that of the codes of the leaves
    group: str  # that of the codes of the groups, and the name of their level
    name: str = ""  # that of the names of the groups; empty where they have none
    within: str = ""  # the level of the classification whose items the groups are cut along; empty where they are whole


def crosswalk(
    classification: Classification,
    table: TextTable,
    columns: CrosswalkColumns,
    *,
    ungrouped: str | None = None,
    code_lengths: Mapping[str, int | None] | None = None,
) -> Classification:
    """The leaves of a classification in the groups that a public table, with a row for each leaf, puts them in.

    ``ungrouped`` is the code of the group of leaves that the table has no group for; None if there must be none.
    """
    lengths = checked_lengths(None if code_lengths is None else dict(code_lengths), (columns.leaf, columns.group))
    rows = _rows_with_groups(table, columns, lengths)
    group_of = _groups_of_leaves(classification, table, columns, rows)
    leaves = classification.items[-1]
    alone = [item.code for item in leaves if item.code not in group_of]
    if alone and ungrouped is None:
        raise WorkloadError(
            f"{table.name} has no {columns.group} for {listed(map(repr, alone), _LISTED)}; add them, or declare a "
            f'group for them, as ungrouped="none"'
        )
    named = _names_of_groups(table, columns, rows)
    if alone and ungrouped is not None:
        named.setdefault(ungrouped, ungrouped)  # it may be a group of the table, with a name
    # The empty code is never used: where ungrouped is None, every leaf has a group by now.
    of_leaf = {item.code: group_of.get(item.code, ungrouped or "") for item in leaves}
    origins = (*classification.origins, *((table.origin,) if table.origin.file else ()))
    if columns.within:
        return _cut_along(classification, columns, named, of_leaf, origins)
    groups = tuple(Item(code, name) for code, name in named.items())
    members = tuple(replace(item, parent=of_leaf[item.code]) for item in leaves)
    return Classification((columns.group, classification.levels[-1]), (groups, members), origins)


def _cut_along(
    classification: Classification,
    columns: CrosswalkColumns,
    named: Mapping[str, str],
    of_leaf: Mapping[str, str],
    origins: tuple[TableOrigin, ...],
) -> Classification:
    """The levels down to the one that groups are cut along, the parts of groups in each of its items, and the leaves.

    ``named`` are the names of the groups by code, ``of_leaf`` the code of each leaf's group.
    """
    around = classification.leaves_within(columns.within)
    parts: dict[tuple[str, str], Item] = {}  # codes are no keys: item 1 and group 2-3 have that of item 1-2 and group 3
    members = []
    for item in classification.items[-1]:
        group, parent = of_leaf[item.code], around[item.code]
        part = parts.setdefault((parent, group), Item(f"{parent}-{group}", named[group], parent))
        members.append(replace(item, parent=part.code))
    of_code: dict[str, tuple[str, str]] = {}
    for pair, part in parts.items():
        other = of_code.setdefault(part.code, pair)
        if other != pair:
            raise WorkloadError(
                f"{columns.group} {pair[1]!r} in {columns.within} {pair[0]!r} has the code {part.code!r}, and so has "
                f"{columns.group} {other[1]!r} in {columns.within} {other[0]!r}; use codes without hyphens, or of one "
                "length"
            )
    depth = classification.levels.index(columns.within) + 1
    levels = (*classification.levels[:depth], columns.group, classification.levels[-1])
    return Classification(levels, (*classification.items[:depth], tuple(parts.values()), tuple(members)), origins)


def _rows_with_groups(table: TextTable, columns: CrosswalkColumns, lengths: CodeLengths) -> list[tuple[int, str, str]]:
    """The rows that name a group, by their numbers, with the code of the leaf and that of the group."""
    rows = [row for row, text in enumerate(table.column(columns.group)) if text]
    leaves = level_codes(table, columns.leaf, columns.leaf, rows, lengths)
    return list(zip(rows, leaves, level_codes(table, columns.group, columns.group, rows, lengths), strict=True))


def _groups_of_leaves(
    classification: Classification, table: TextTable, columns: CrosswalkColumns, rows: Iterable[tuple[int, str, str]]
) -> dict[str, str]:
    """The group of each leaf that has one; WorkloadError where one has two, or is no leaf."""
    known, found = {item.code for item in classification.items[-1]}, dict[str, tuple[str, int]]()
    for row, leaf, group in rows:
        if leaf not in known:
            raise WorkloadError(
                f"{table.where(row, columns.leaf)}: {leaf!r} is no {classification.levels[-1]} of the hierarchy; leave "
                "the line out, or check the leading zeros"
            )
        first, first_row = found.setdefault(leaf, (group, row))
        if first != group:
            raise WorkloadError(
                f"{table.where(row, columns.group)}: {leaf!r} lies in {group!r}, and in {first!r} in "
                f"{table.row_text(first_row)}; a leaf has one group"
            )
    return {leaf: group for leaf, (group, _) in found.items()}


def _names_of_groups(
    table: TextTable, columns: CrosswalkColumns, rows: Iterable[tuple[int, str, str]]
) -> dict[str, str]:
    """The names of the groups by their codes; WorkloadError where one is called two names."""
    found: dict[str, tuple[str, int]] = {}
    for row, _, code in rows:
        name = (table.column(columns.name)[row] if columns.name else "") or code
        first, first_row = found.setdefault(code, (name, row))
        if name != first:
            raise WorkloadError(
                f"{table.where(row, columns.name)}: {columns.group} {code!r} is called {name!r}, and {first!r} in "
                f"{table.row_text(first_row)}"
            )
    return {code: name for code, (name, _) in found.items()}
