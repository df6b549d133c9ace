"""The two common layouts of a classification in a table: a row for each leaf, or a row for each item.

Codes are text, as "01" is not 1, with the zeros in front that spreadsheets leave out.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import listed
from residualplanner.more.classifications.classification import Classification, Item, require_family
from residualplanner.more.classifications.text_table import TextTable

#: The levels from coarse to fine: their names; or each with its column of codes, or its columns of codes and names.
GivenLevels = Sequence[str] | Mapping[str, str | tuple[str, str]]
#: The columns of a table with a row for each item; that of names may be absent.
LEVEL, CODE, NAME, PARENT = "level", "code", "name", "parent"
#: The items of a level, each with the row that has it.
Entries = list[tuple[Item, int]]
#: How many characters the codes of a level have, by the level's name; None where they differ.
CodeLengths = dict[str, int | None]
#: What becomes of codes of digits in a column of numbers, some of which are missing.
_DECIMALS = re.compile(r"[0-9]+\.0+")


def classification_of_table(
    table: TextTable, levels: GivenLevels, code_lengths: Mapping[str, int | None] | None = None
) -> Classification:
    """The classification in a public table.

    A table that has the columns "level", "code" and "parent" has a row for each item, and perhaps its "name"; rows of
    other levels than the given ones are left out.  Any other table has a row for each leaf, and for each level, such as
    "county", a column of codes, "county_code" or "county", and perhaps one of names, "county_name", or "county" beside
    "county_code"; a mapping names other columns.
    """
    names = _checked_levels(levels)
    lengths = checked_lengths(None if code_lengths is None else dict(code_lengths), names)
    if not isinstance(levels, Mapping) and {LEVEL, CODE, PARENT} <= set(table.columns):
        columns = [CODE] * len(names)
        entries = [_of_items(table, level, names[:depth][-1:], lengths) for depth, level in enumerate(names)]
    else:
        of_levels = _columns_of_levels(table, levels, names)
        columns = [code for code, _ in of_levels.values()]
        entries = _of_leaves(table, of_levels, lengths)
    found = [_by_code(table, *each) for each in zip(names, columns, entries, strict=True)]
    where = {
        (level, code): table.where(row, column)
        for level, column, each in zip(names, columns, found, strict=True)
        for code, (_, row) in each.items()
    }
    items = tuple(tuple(item for item, _ in each.values()) for each in found)
    for (level, coarser), (finer_level, finer) in pairwise(zip(names, items, strict=True)):
        require_family(level, coarser, finer_level, finer, where)
    return Classification(names, items, (table.origin,) if table.origin.file else ())


def _checked_levels(levels: object) -> tuple[str, ...]:
    if isinstance(levels, str) or not isinstance(levels, Sequence | Mapping) or not levels:
        raise WorkloadError(
            f'levels must be names from coarse to fine, as ["state", "county"], got {value_text(levels)}'
        )
    names = tuple(levels)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise WorkloadError(f"levels must be different names that are not empty, got {value_text(list(names))}")
    return names


def _columns_of_levels(table: TextTable, levels: GivenLevels, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """For each level its column of codes and its column of names; the latter is empty where there is none."""
    if isinstance(levels, Mapping):
        given = {
            name: (columns, "") if isinstance(columns, str) else tuple(columns) for name, columns in levels.items()
        }
        if not all(len(pair) == 2 for pair in given.values()):
            raise WorkloadError('for each level write its column of codes, or a pair as ("GEOID", "NAME")')
        for column in (column for pair in given.values() for column in pair if column):
            table.column(column)
        return {name: (pair[0], pair[1]) for name, pair in given.items()}
    return {name: _columns_of_level(table, name) for name in names}


def _columns_of_level(table: TextTable, level: str) -> tuple[str, str]:
    code, name = f"{level}_{CODE}", f"{level}_{NAME}"
    if code in table.columns:
        return code, next((each for each in (name, level) if each in table.columns), "")
    if level in table.columns:
        return level, name if name in table.columns else ""
    table.require_read(code, level)
    raise WorkloadError(
        f"{table.name} lacks the level {level!r}: it has no column {code!r} or {level!r}, nor columns "
        f"{LEVEL!r}, {CODE!r}, {NAME!r} and {PARENT!r} with a row for each item; it has "
        f'{listed(map(repr, table.columns), 20)}; name its columns, as levels={{"{level}": ("GEOID", "NAME")}}'
    )


def _of_leaves(table: TextTable, columns: Mapping[str, tuple[str, str]], lengths: CodeLengths) -> list[Entries]:
    """The items of each level in a table with a row for each leaf: those of coarse levels many times."""
    rows = list(range(len(table.numbers)))
    parents, found = [""] * len(rows), []
    for level, (code, name) in columns.items():
        codes = level_codes(table, code, level, rows, lengths)
        names = table.column(name) if name else codes
        texts = zip(codes, names, parents, strict=True)
        found.append([(Item(each, text or each, parent), row) for row, (each, text, parent) in enumerate(texts)])
        parents = codes
    _require_leaves_once(table, level, code, found[-1])
    return found


def _of_items(table: TextTable, level: str, above: Sequence[str], lengths: CodeLengths) -> Entries:
    """The items of a level in a table with a row for each item."""
    rows = [row for row, text in enumerate(table.column(LEVEL)) if text == level]
    if not rows:
        has = listed(map(repr, dict.fromkeys(table.column(LEVEL))), 20)
        raise WorkloadError(f"{table.name} lacks the level {level!r}; its column {LEVEL!r} has {has}")
    codes = level_codes(table, CODE, level, rows, lengths)
    names = [table.column(NAME)[row] for row in rows] if NAME in table.columns else codes
    parents = [_parent(table, row, above, lengths) for row in rows]
    texts = zip(rows, codes, names, parents, strict=True)
    entries = [(Item(code, name or code, parent), row) for row, code, name, parent in texts]
    _require_leaves_once(table, level, CODE, entries)
    return entries


def _parent(table: TextTable, row: int, above: Sequence[str], lengths: CodeLengths) -> str:
    """The code of the parent of an item, with lost zeros put back; nothing on the first level."""
    text = table.column(PARENT)[row]
    if not above:
        return ""
    if not text:
        raise WorkloadError(f"{table.where(row, PARENT)}: the parent is missing; write the code of its {above[0]}")
    return text.zfill(lengths.get(above[0]) or 0) if text.isdecimal() else text


def _require_leaves_once(table: TextTable, level: str, column: str, entries: Entries) -> None:
    """Raise WorkloadError where two rows are about one item, and differ in nothing else."""
    first: dict[Item, int] = {}
    for item, row in entries:
        before = first.setdefault(item, row)
        if before != row:
            raise WorkloadError(
                f"{table.where(row, column)}: {level} {item.code!r} is there again, after "
                f"{table.row_text(before)}; write it once"
            )


def _by_code(table: TextTable, level: str, column: str, entries: Entries) -> dict[str, tuple[Item, int]]:
    """The items of a level by their codes; WorkloadError where one has two parents or two names."""
    found: dict[str, tuple[Item, int]] = {}
    for item, row in entries:
        first, before = found.setdefault(item.code, (item, row))
        if first.parent != item.parent:
            raise WorkloadError(
                f"{table.where(row, column)}: {level} {item.code!r} lies in {item.parent!r}, and in "
                f"{first.parent!r} in {table.row_text(before)}; where codes repeat from one to another, put "
                f"the code of the parent in front, as {item.parent + item.code!r}; levels are named from coarse to fine"
            )
        if first.name != item.name:
            raise WorkloadError(
                f"{table.where(row, column)}: {level} {item.code!r} is called {item.name!r}, and "
                f"{first.name!r} in {table.row_text(before)}"
            )
    return found


def checked_lengths(lengths: object, levels: tuple[str, ...]) -> CodeLengths:
    """The declared lengths of codes, by level; WorkloadError where they are no mapping to positive integers or None."""
    if lengths is None:
        return {}
    if not isinstance(lengths, dict):
        raise WorkloadError(f"code_lengths must be a mapping such as {{'county': 5}}, got {value_text(lengths)}")
    for level, length in lengths.items():
        if level not in levels:
            raise WorkloadError(f"code_lengths names the level {level!r}; the levels are {list(levels)}")
        if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 1):
            raise WorkloadError(
                f"code_lengths[{level!r}] must be a positive integer, or None, got {value_text(length)}"
            )
    return lengths


def level_codes(table: TextTable, column: str, level: str, rows: list[int], lengths: CodeLengths) -> list[str]:
    """The codes of a level in some rows (m,) of a column, (m,), with lost zeros put back where a length is declared.

    WorkloadError where nothing is declared, and zeros may be lost: the codes are integers, or some of digits alone are
    shorter than others.
    """
    found = table.column(column)
    for row in rows:
        _require_code(table.where(row, column), found[row], level)
    if level not in lengths:
        _require_zeros(table, column, level, rows)
    length = lengths.get(level)
    if length is None:
        return [found[row] for row in rows]
    return [_of_length(table.where(row, column), found[row], level, length) for row in rows]


def _require_code(where: str, text: str, level: str) -> None:
    """Raise WorkloadError where a text is not a code but what a program has made of one."""
    if not text:
        raise WorkloadError(f"{where}: a code of the level {level!r} is empty")
    if _DECIMALS.fullmatch(text):
        raise WorkloadError(
            f"{where}: the code {text!r} of {level!r} is a number with decimals, as programs write columns of numbers "
            "with gaps; read the codes as text where the file is made"
        )
    if text.startswith("="):
        raise WorkloadError(
            f"{where}: the code {text!r} of {level!r} is a formula of a spreadsheet; save its value as text"
        )


def _of_length(where: str, code: str, level: str, length: int) -> str:
    """A code with the zeros put back that it lost."""
    padded = code.zfill(length) if code.isdecimal() else code
    if len(padded) != length:
        raise WorkloadError(f"{where}: the code {code!r} is not of {length} characters, as declared for {level!r}")
    return padded


def _require_zeros(table: TextTable, column: str, level: str, rows: list[int]) -> None:
    """Raise WorkloadError where leading zeros may have been lost."""
    found = table.column(column)
    if column in table.integers:
        raise WorkloadError(
            f"{table.name}, column {column!r}: the codes of {level!r} are integers, which have no leading zeros, and "
            f"'01' is not 1; read them as text, or declare how many characters they have, as code_lengths="
            f"{{{level!r}: N}}, for the zeros to be put back, or None in place of N if there never were any"
        )
    longest = max((row for row in rows if _has_digit(found[row])), key=lambda row: len(found[row]), default=None)
    if longest is None:
        return
    length = len(found[longest])
    for row in rows:
        code = found[row]
        if code.isdecimal() and len(code) < length:
            raise WorkloadError(
                f"{table.where(row, column)}: the code {code!r} of {level!r} is shorter than "
                f"{found[longest]!r} in {table.row_text(longest)}; it may have lost leading zeros, and '01' is "
                f"not 1; {_declared(level, length)} for them to be put back, or {_declared(level, None)} if none "
                "are lost"
            )


def _declared(level: str, length: int | None) -> str:
    """What to write for the length of the codes of a level."""
    return f"declare code_lengths={{{level!r}: {length}}}"


def _has_digit(code: str) -> bool:
    return any(letter.isdecimal() for letter in code)
