"""A classification in a public table, with a row for each leaf or for each item; and other groups of its leaves.

Codes are text, as "01" is not 1, with the zeros in front that spreadsheets leave out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from residualplanner.ground.checks import is_integer, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import listed
from residualplanner.more.classifications.classification import Classification, Item
from residualplanner.more.classifications.text_table import TableOrigin, TextTable

#: The levels from coarse to fine: their names; or each with its column of codes, or its columns of codes and names.
GivenLevels = Sequence[str] | Mapping[str, str | tuple[str, str]]
#: How many characters codes have, by level or column: shorter ones get zeros in front; None where they differ.
CodeLengths = Mapping[str, int | None]
#: The columns of a table with a row for each item; that of names may be absent.
LEVEL, CODE, NAME, PARENT = "level", "code", "name", "parent"
#: What programs make of codes: a number with decimals where some are missing, or a formula of a spreadsheet.
_NO_CODE = re.compile(r"[0-9]+\.0+|=.*|")
#: How many names and leaves messages list.
_NAMES, _LEAVES = 20, 5


def classification_of_table(
    table: TextTable, levels: GivenLevels, lengths: CodeLengths | None = None
) -> Classification:
    """The classification in a public table.

    A table that has the columns "level", "code" and "parent" has a row for each item, and perhaps its "name"; rows of
    other levels than the given ones are left out.  Any other table has a row for each leaf, and for each level, such as
    "county", a column of codes, "county_code" or "county", and perhaps one of names, "county_name", or "county" beside
    "county_code"; a mapping names other columns.
    """
    names = _checked_levels(levels)
    lengths = _checked_lengths(lengths, names)
    if not isinstance(levels, Mapping) and {LEVEL, CODE, PARENT} <= table.columns.keys():
        items = [_of_items(table, level, names[:depth][-1:], lengths) for depth, level in enumerate(names)]
    else:
        items = _of_leaves(table, _columns_of_levels(table, levels, names), lengths)
    try:
        return Classification(names, tuple(items), _origins(table))
    except WorkloadError as error:
        raise WorkloadError(f"{table.name}: {error}") from None


def crosswalk(
    classification: Classification,
    table: TextTable,
    *,
    leaf: str,
    group: str,
    name: str = "",
    within: str = "",
    ungrouped: str | None = None,
    lengths: CodeLengths | None = None,
) -> Classification:
    """The leaves of a classification in the groups that a public table, with a row for each leaf, puts them in.

    The arguments are those of `Hierarchy.crosswalk`.
    """
    lengths = _checked_lengths(lengths, (leaf, group))
    rows = [row for row, text in enumerate(table.column(group)) if text]
    codes = level_codes(table, leaf, leaf, rows, lengths)
    groups = level_codes(table, group, group, rows, lengths)
    leaves, last = classification.items[-1], classification.levels[-1]
    known = {item.code for item in leaves}
    for row, code in zip(rows, codes, strict=True):
        if code not in known:
            at = table.where(row, leaf)
            raise WorkloadError(f"{at}: {code!r} is no {last} of the hierarchy; leave it out, or check leading zeros")
    group_of = _one_each(table, group, zip(rows, codes, groups, strict=True), (leaf, "lies in"))
    alone = sorted(known - group_of.keys())
    if alone and ungrouped is None:
        shown = listed(map(repr, alone), _LEAVES)
        raise WorkloadError(f'{table.name} has no {group} for {shown}; add them, or declare a group: ungrouped="none"')
    texts = table.column(name) if name else [""] * len(table.numbers)
    found = zip(rows, groups, (texts[row] or code for row, code in zip(rows, groups, strict=True)), strict=True)
    named = _one_each(table, name, found, (group, "is called"))
    if alone:
        named.setdefault(str(ungrouped), str(ungrouped))  # it may be a group of the table, with a name
    of_leaf = {item.code: group_of.get(item.code, str(ungrouped)) for item in leaves}
    origins = (*classification.origins, *_origins(table))
    if within:
        return _cut_along(classification, within, group, named, of_leaf, origins)
    members = tuple(replace(item, parent=of_leaf[item.code]) for item in leaves)
    return Classification((group, last), (tuple(Item(*pair) for pair in named.items()), members), origins)


def _cut_along(
    classification: Classification,
    within: str,
    word: str,
    named: Mapping[str, str],
    of_leaf: Mapping[str, str],
    origins: tuple[TableOrigin, ...],
) -> Classification:
    """The levels down to the one that groups are cut along, the parts of groups in each of its items, and the leaves.

    ``named`` are the names of the groups by code, ``of_leaf`` the code of each leaf's group.
    """
    around = classification.leaves_within(within)
    parts: dict[tuple[str, str], Item] = {}  # codes are no keys: item 1 and group 2-3 have that of item 1-2 and group 3
    members = []
    for item in classification.items[-1]:
        group, parent = of_leaf[item.code], around[item.code]
        part = parts.setdefault((parent, group), Item(f"{parent}-{group}", named[group], parent))
        members.append(replace(item, parent=part.code))
    of_code: dict[str, tuple[str, str]] = {}
    for pair, part in parts.items():
        if of_code.setdefault(part.code, pair) != pair:
            problem = f"two parts of a {word} in a {within} have the code {part.code!r}"
            raise WorkloadError(f"{problem}; use codes without hyphens, or of one length")
    depth = classification.levels.index(within) + 1
    levels = (*classification.levels[:depth], word, classification.levels[-1])
    return Classification(levels, (*classification.items[:depth], tuple(parts.values()), tuple(members)), origins)


def _origins(table: TextTable) -> tuple[TableOrigin, ...]:
    return (table.origin,) if table.origin.file else ()


def _checked_levels(levels: object) -> tuple[str, ...]:
    names = () if isinstance(levels, str) or not isinstance(levels, Sequence | Mapping) else tuple(levels)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        problem = "levels must be different names from coarse to fine"
        raise WorkloadError(f'{problem}, as ["state", "county"], got {value_text(levels)}')
    return names


def _columns_of_levels(table: TextTable, levels: GivenLevels, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """For each level its column of codes and its column of names; the latter is empty where there is none."""
    found = {}
    for level in names:
        code, name, has = f"{level}_{CODE}", f"{level}_{NAME}", table.columns
        if isinstance(levels, Mapping):
            given = levels[level]
            pair: tuple[str, ...] = (given, "") if isinstance(given, str) else tuple(given)
            if len(pair) != 2:
                raise WorkloadError("for each level write its column of codes, or a pair of those of codes and names")
            code, name = pair
        elif code in has:
            name = next((each for each in (name, level) if each in has), "")
        elif level in has:
            code, name = level, name if name in has else ""
        else:
            raise WorkloadError(
                f"{table.name} lacks the level {level!r}: it has no column {code!r} or {level!r} of text or integers, "
                f"nor {LEVEL!r}, {CODE!r} and {PARENT!r} with a row for each item; it has "
                f'{listed(map(repr, has), _NAMES)}; name its columns, as levels={{"{level}": ("GEOID", "NAME")}}'
            )
        found[level] = code, name
    return found


def _of_leaves(
    table: TextTable, columns: Mapping[str, tuple[str, str]], lengths: CodeLengths
) -> list[tuple[Item, ...]]:
    """The items of each level in a table with a row for each leaf: those of coarse levels many times."""
    rows = list(range(len(table.numbers)))
    parents = [""] * len(rows)
    found: list[tuple[Item, ...]] = []
    for level, (code, name) in columns.items():
        codes = level_codes(table, code, level, rows, lengths)
        names = table.column(name) if name else codes
        is_last = len(found) == len(columns) - 1
        found.append(_items(table, level, code, (rows, codes, names, parents), is_once=is_last))
        parents = codes
    return found


def _of_items(table: TextTable, level: str, above: Sequence[str], lengths: CodeLengths) -> tuple[Item, ...]:
    """The items of a level in a table with a row for each item."""
    rows = [row for row, text in enumerate(table.column(LEVEL)) if text == level]
    if not rows:
        has = listed(map(repr, dict.fromkeys(table.column(LEVEL))), _NAMES)
        raise WorkloadError(f"{table.name} lacks the level {level!r}; its column {LEVEL!r} has {has}")
    codes = level_codes(table, CODE, level, rows, lengths)
    names = [table.column(NAME)[row] for row in rows] if NAME in table.columns else codes
    parents = [table.column(PARENT)[row] if above else "" for row in rows]
    if above:
        zeros = lengths.get(above[0]) or 0
        parents = [parent.zfill(zeros) if parent.isdecimal() else parent for parent in parents]
    return _items(table, level, CODE, (rows, codes, names, parents), is_once=True)


def _items(
    table: TextTable,
    level: str,
    column: str,
    entries: tuple[Sequence[int], Sequence[str], Sequence[str], Sequence[str]],
    *,
    is_once: bool,
) -> tuple[Item, ...]:
    """The items of a level from rows with a code, a name and a parent; each in one row only, where they must be."""
    rows, codes, names, parents = entries
    repeat = "; where codes repeat, put the code of the parent in front; levels are named from coarse to fine"
    parent_of = _one_each(table, column, zip(rows, codes, parents, strict=True), (level, "lies in"), repeat)
    named = _one_each(table, column, zip(rows, codes, names, strict=True), (level, "is called"))
    if is_once and len(parent_of) < len(rows):
        first: dict[str, int] = {}
        row, code = next(pair for pair in zip(rows, codes, strict=True) if first.setdefault(pair[1], pair[0]) < pair[0])
        before = table.row_text(first[code])
        problem = f"{table.where(row, column)}: {level} {code!r} is there again, after {before}"
        raise WorkloadError(f"{problem}; write it once")
    return tuple(Item(code, named[code] or code, parent) for code, parent in parent_of.items())


def _one_each(
    table: TextTable, column: str, entries: Iterable[tuple[int, str, str]], words: tuple[str, str], remedy: str = ""
) -> dict[str, str]:
    """What each key is, from rows with a key and what it is; WorkloadError where it is two things, in words."""
    found: dict[str, tuple[str, int]] = {}
    for row, key, value in entries:
        first, before = found.setdefault(key, (value, row))
        if first != value:
            problem = f"{words[0]} {key!r} {words[1]} {value!r}, and {first!r} in {table.row_text(before)}"
            raise WorkloadError(f"{table.where(row, column)}: {problem}{remedy}")
    return {key: value for key, (value, _) in found.items()}


def _checked_lengths(lengths: object, levels: tuple[str, ...]) -> CodeLengths:
    """The declared lengths of codes, by level or column."""
    given = {} if lengths is None else lengths
    if not isinstance(given, Mapping) or not given.keys() <= set(levels):
        raise WorkloadError(f"code_lengths must be a mapping from some of {list(levels)}, got {value_text(lengths)}")
    for level, length in given.items():
        if length is not None and not is_integer(length, least=1):
            raise WorkloadError(f"code_lengths[{level!r}] must be a positive integer or None, got {value_text(length)}")
    return given


def level_codes(table: TextTable, column: str, level: str, rows: Sequence[int], lengths: CodeLengths) -> list[str]:
    """The codes of a level in some rows (m,) of a column, (m,), with lost zeros put back where a length is declared.

    WorkloadError where nothing is declared, and zeros may be lost: the codes are integers, or some of digits alone are
    shorter than others.
    """
    found = table.column(column)
    for row in rows:
        if _NO_CODE.fullmatch(found[row]):
            problem = f"{found[row]!r} is no code of the level {level!r}"
            raise WorkloadError(f"{table.where(row, column)}: {problem}; write text, no decimals, formulas or gaps")
    if level not in lengths:
        _require_zeros(table, column, level, rows)
    length = lengths.get(level)
    if length is None:
        return [found[row] for row in rows]
    codes = [found[row].zfill(length) if found[row].isdecimal() else found[row] for row in rows]
    for row, code in zip(rows, codes, strict=True):
        if len(code) != length:
            problem = f"the code {found[row]!r} is not of {length} characters, as declared for {level!r}"
            raise WorkloadError(f"{table.where(row, column)}: {problem}")
    return codes


def _require_zeros(table: TextTable, column: str, level: str, rows: Sequence[int]) -> None:
    """Raise WorkloadError where leading zeros may have been lost."""
    found = table.column(column)
    remedy = f"declare code_lengths={{{level!r}: N}} for N characters with zeros put back, or None if none are lost"
    if column in table.integers:
        problem = f"the codes of {level!r} are integers, which have no leading zeros, and '01' is not 1"
        raise WorkloadError(f"{table.name}, column {column!r}: {problem}; read them as text, or {remedy}")
    with_digits = [row for row in rows if any(letter.isdecimal() for letter in found[row])]
    longest = max(with_digits, key=lambda row: len(found[row]), default=0)
    for row in rows:
        code = found[row]
        if code.isdecimal() and len(code) < len(found[longest]):
            problem = f"the code {code!r} of {level!r} is shorter than {found[longest]!r} in {table.row_text(longest)}"
            raise WorkloadError(f"{table.where(row, column)}: {problem}; it may have lost leading zeros; {remedy}")
