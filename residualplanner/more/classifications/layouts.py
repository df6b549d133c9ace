"""The two common layouts of a classification in a table: a row for each leaf, or a row for each item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import listed
from residualplanner.more.classifications.classification import Classification, Item, require_family
from residualplanner.more.classifications.codes import CodeLengths, checked_lengths, level_codes
from residualplanner.more.classifications.text_table import TextTable

#: The levels from coarse to fine: their names; or each with its column of codes, or its columns of codes and names.
GivenLevels = Sequence[str] | Mapping[str, str | tuple[str, str]]
#: The columns of a table with a row for each item; that of names may be absent.
LEVEL, CODE, NAME, PARENT = "level", "code", "name", "parent"


@dataclass(frozen=True, slots=True)
class Entry:
    """An item as a row has it."""

    item: Item
    row: int
    column: str  # that of its code


def classification_of_table(
    table: TextTable, levels: GivenLevels, code_lengths: Mapping[str, int | None] | None = None
) -> Classification:
    """The classification in a public table.

    A table that has the columns "level", "code" and "parent" has a row for each item, and perhaps its "name"; rows of
    other levels than the given ones are left out.  Any other table has a row for each leaf, and for each level, such as
    "county", a column of codes, "county_code" or "county", and perhaps one of names, "county_name", or "county" beside
    "county_code"; a mapping names other columns.

    Args:
        table: the public table.
        levels: from coarse to fine.
        code_lengths: how many characters the codes of a level have: shorter ones of digits get zeros in front; None
            where they differ.

    Raises:
        WorkloadError: a column or a level is missing; a code is empty, is there twice, has two names or two parents, or
            may have lost its leading zeros; a parent is missing, or an item has no children.
    """
    names = _checked_levels(levels)
    lengths = checked_lengths(None if code_lengths is None else dict(code_lengths), names)
    if not isinstance(levels, Mapping) and {LEVEL, CODE, PARENT} <= set(table.columns):
        entries = [_of_items(table, level, names[:depth][-1:], lengths) for depth, level in enumerate(names)]
    else:
        entries = _of_leaves(table, _columns_of_levels(table, levels, names), lengths)
    found = [_by_code(table, level, each) for level, each in zip(names, entries, strict=True)]
    where = {
        (level, code): table.where(entry.row, entry.column)
        for level, each in zip(names, found, strict=True)
        for code, entry in each.items()
    }
    items = tuple(tuple(entry.item for entry in each.values()) for each in found)
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


def _of_leaves(table: TextTable, columns: Mapping[str, tuple[str, str]], lengths: CodeLengths) -> list[list[Entry]]:
    """The items of each level in a table with a row for each leaf: those of coarse levels many times."""
    rows = list(range(len(table.numbers)))
    parents, found = [""] * len(rows), []
    for level, (code, name) in columns.items():
        codes = level_codes(table, code, level, rows, lengths)
        names = table.column(name).texts if name else codes
        texts = zip(codes, names, parents, strict=True)
        found.append(
            [Entry(Item(each, text or each, parent), row, code) for row, (each, text, parent) in enumerate(texts)]
        )
        parents = codes
    _require_leaves_once(table, list(columns)[-1], found[-1])
    return found


def _of_items(table: TextTable, level: str, above: Sequence[str], lengths: CodeLengths) -> list[Entry]:
    """The items of a level in a table with a row for each item."""
    rows = [row for row, text in enumerate(table.column(LEVEL).texts) if text == level]
    if not rows:
        has = listed(map(repr, dict.fromkeys(table.column(LEVEL).texts)), 20)
        raise WorkloadError(f"{table.name} lacks the level {level!r}; its column {LEVEL!r} has {has}")
    codes = level_codes(table, CODE, level, rows, lengths)
    names = [table.column(NAME).texts[row] for row in rows] if NAME in table.columns else codes
    parents = [_parent(table, row, above, lengths) for row in rows]
    texts = zip(rows, codes, names, parents, strict=True)
    entries = [Entry(Item(code, name or code, parent), row, CODE) for row, code, name, parent in texts]
    _require_leaves_once(table, level, entries)
    return entries


def _parent(table: TextTable, row: int, above: Sequence[str], lengths: CodeLengths) -> str:
    """The code of the parent of an item, with lost zeros put back; nothing on the first level."""
    text = table.column(PARENT).texts[row]
    if not above:
        return ""
    if not text:
        raise WorkloadError(f"{table.where(row, PARENT)}: the parent is missing; write the code of its {above[0]}")
    return text.zfill(lengths.get(above[0]) or 0) if text.isdecimal() else text


def _require_leaves_once(table: TextTable, level: str, entries: Sequence[Entry]) -> None:
    """Raise WorkloadError where two rows are about one item, and differ in nothing else."""
    first: dict[Item, int] = {}
    for entry in entries:
        row = first.setdefault(entry.item, entry.row)
        if row != entry.row:
            raise WorkloadError(
                f"{table.where(entry.row, entry.column)}: {level} {entry.item.code!r} is there again, after "
                f"{table.row_text(row)}; write it once"
            )


def _by_code(table: TextTable, level: str, entries: Sequence[Entry]) -> dict[str, Entry]:
    """The items of a level by their codes; WorkloadError where one has two parents or two names."""
    found: dict[str, Entry] = {}
    for entry in entries:
        first, item = found.setdefault(entry.item.code, entry), entry.item
        if first.item.parent != item.parent:
            raise WorkloadError(
                f"{table.where(entry.row, entry.column)}: {level} {item.code!r} lies in {item.parent!r}, and in "
                f"{first.item.parent!r} in {table.row_text(first.row)}; where codes repeat from one to another, put "
                f"the code of the parent in front, as {item.parent + item.code!r}; levels are named from coarse to fine"
            )
        if first.item.name != item.name:
            raise WorkloadError(
                f"{table.where(entry.row, entry.column)}: {level} {item.code!r} is called {item.name!r}, and "
                f"{first.item.name!r} in {table.row_text(first.row)}"
            )
    return found
