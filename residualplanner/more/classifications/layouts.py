"""A classification in a public table, a CSV file or a data frame with a row for each leaf; other groups of its leaves.

Codes are text, as "01" is not 1, with the zeros in front that spreadsheets leave out.  The table is public, so messages
show its values.
"""

import hashlib
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import is_integer, limited_bytes, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.words import listed, suggestion
from residualplanner.method.domain.entries import is_missing
from residualplanner.more.classifications.classification import Classification, Item, TableOrigin

#: The levels from coarse to fine: their names; or each with its column of codes, or its columns of codes and names.
GivenLevels = Sequence[str] | Mapping[str, str | tuple[str, str]]
#: How many characters codes have, by level or column: shorter ones get zeros in front; None where they differ.
CodeLengths = Mapping[str, int | None]
#: What programs make of codes: a number with decimals where some are missing, or a formula of a spreadsheet.
_NO_CODE = re.compile(r"[0-9]+\.0+|=.*|")
#: How many names and leaves messages list; the largest file, in bytes.
_NAMES, _LEAVES, SIZE_LIMIT = 20, 5, 2**26


@dataclass(frozen=True, slots=True)
class TextTable:
    """A public table of m rows of text."""

    name: str  # as messages call it
    rows: Sequence[str]  # (m,): as messages call them, such as "line 3"
    columns: Mapping[str, tuple[str, ...]]  # by name the entries, (m,), without spaces around them
    integers: Collection[str] = ()  # the names of columns of integers, which have no leading zeros any more
    origins: tuple[TableOrigin, ...] = ()  # the file that it is from

    def where(self, row: int, column: str) -> str:
        """An entry in messages, such as ``counties.csv, line 3, column 'state'``."""
        return f"{self.name}, {self.rows[row]}, column {column!r}"

    def column(self, name: str) -> tuple[str, ...]:
        """The entries of a column by its name, (m,); WorkloadError, which names all columns, if there is none."""
        if name not in self.columns:
            has = f"{listed(map(repr, self.columns), _NAMES)}{suggestion(name, list(self.columns))}"
            raise WorkloadError(f"{self.name} has no column {name!r} of text or integers; it has {has}")
        return self.columns[name]


def table_of_file(path: PathLike, *, encoding: str = "utf-8", separator: str = ",") -> TextTable:
    """A CSV file as text; its first line names the columns, and lines without any entry are left out."""
    import pandas as pd

    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
        raise WorkloadError(f"the separator of a file must be one character such as ';', got {value_text(separator)}")
    name = Path(path).name
    content = limited_bytes(path, SIZE_LIMIT, name=name)
    as_text: dict[str, Any] = {"header": None, "dtype": str, "na_filter": False, "skip_blank_lines": False}
    try:
        given = pd.read_csv(io.BytesIO(content), sep=separator, encoding=encoding, **as_text)
    except (ValueError, LookupError, TypeError) as error:
        problem = f"{name} is not CSV in the encoding {encoding!r}: {' '.join(str(error).split())}"
        raise FileFormatError(f"{problem}; check its quotes, and name its encoding, as encoding='cp1252'") from None
    header, *lines = ([text.strip() for text in line] for line in given.to_numpy().tolist())
    if not all(header) or len(set(header)) < len(header):
        raise FileFormatError(f"{name}, line 1: every column must have a name, and no two the same")
    found = {f"line {number}": line for number, line in enumerate(lines, 2) if any(line)}
    if not found:
        raise FileFormatError(f"{name} has no lines after the names of its columns")
    columns = dict(zip(header, zip(*found.values(), strict=True), strict=True))
    origin = TableOrigin(name, hashlib.sha256(content).hexdigest())
    return TextTable(name, tuple(found), columns, origins=(origin,))


def table_of_frame(frame: Any) -> TextTable:
    """A data frame as a table of text: columns of strings and of integers, what is missing empty, no others."""
    import narwhals as nw

    try:
        known = nw.from_native(frame)
        eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    except (TypeError, nw.exceptions.DuplicateError):
        problem = f"expected a data frame whose columns have different names, got {value_text(frame)}"
        raise WorkloadError(f"{problem}; files are read by from_file") from None
    if not len(eager):
        raise WorkloadError("the frame has no rows")
    columns: dict[str, tuple[str, ...]] = {}
    integers = []
    for given in eager.columns:
        name, entries = str(given), eager[given].to_list()
        present = [entry for entry in entries if not is_missing(entry)]
        is_text = all(isinstance(entry, str) for entry in present)
        if is_text or all(_is_integer(entry) for entry in present):
            texts = ("" if is_missing(entry) else str(entry if is_text else int(entry)) for entry in entries)
            columns[name] = tuple(text.strip() for text in texts)
            integers += [] if is_text else [name]
    return TextTable("the frame", [f"row {number}" for number in range(1, 1 + len(eager))], columns, integers)


def _is_integer(entry: object) -> bool:
    """Whether it is an integer, or such a number as integers become beside missing entries."""
    return not isinstance(entry, bool) and (isinstance(entry, int) or (isinstance(entry, float) and entry.is_integer()))


def classification_of_table(table: TextTable, levels: GivenLevels, lengths: CodeLengths | None) -> Classification:
    """The classification in a table with a row for each leaf, where the items of coarse levels are many times."""
    is_listed = isinstance(levels, Sequence | Mapping) and not isinstance(levels, str)
    names = tuple(levels) if is_listed else ()
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise WorkloadError(f"levels must be different names from coarse to fine, got {value_text(levels)}")
    lengths, rows = _checked_lengths(lengths, names), range(len(table.rows))
    parents, items = [""] * len(rows), []
    for level in names:
        code, name = _columns_of_level(table, levels, level)
        codes = level_codes(table, code, level, rows, lengths)
        repeat = "; where codes repeat, put the code of the parent in front; levels are named from coarse to fine"
        parent_of = _one_each(table, code, zip(rows, codes, parents, strict=True), (level, "lies in"), repeat)
        texts = table.column(name) if name else codes
        named = _one_each(table, code, zip(rows, codes, texts, strict=True), (level, "is called"))
        items.append(tuple(Item(code, named[code] or code, parent) for code, parent in parent_of.items()))
        parents = codes
    try:
        return Classification(names, tuple(items), table.origins)
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
    """The leaves of a classification in the groups that a table puts them in; arguments of `Hierarchy.crosswalk`."""
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
    texts = table.column(name) if name else [""] * len(table.rows)
    found = zip(rows, groups, (texts[row] or code for row, code in zip(rows, groups, strict=True)), strict=True)
    named = _one_each(table, name, found, (group, "is called"))
    if alone:
        named.setdefault(str(ungrouped), str(ungrouped))  # it may be a group of the table, with a name
    of_leaf = {item.code: group_of.get(item.code, str(ungrouped)) for item in leaves}
    origins = (*classification.origins, *table.origins)
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
    codes = sorted(part.code for part in parts.values())
    twice = next((code for code, following in pairwise(codes) if code == following), None)
    if twice is not None:
        problem = f"two parts of a {word} in a {within} have the code {twice!r}"
        raise WorkloadError(f"{problem}; use codes without hyphens, or of one length")
    depth = classification.levels.index(within) + 1
    levels = (*classification.levels[:depth], word, classification.levels[-1])
    return Classification(levels, (*classification.items[:depth], tuple(parts.values()), tuple(members)), origins)


def _columns_of_level(table: TextTable, levels: GivenLevels, level: str) -> tuple[str, str]:
    """The column of codes of a level and its column of names; the latter is empty where there is none."""
    code, name, has = f"{level}_code", f"{level}_name", table.columns
    if isinstance(levels, Mapping):
        given = levels[level]
        pair: tuple[str, ...] = (given, "") if isinstance(given, str) else tuple(given)
        if len(pair) != 2:
            raise WorkloadError("for each level write its column of codes, or a pair of those of codes and names")
        return pair[0], pair[1]
    if code in has:
        return code, next((each for each in (name, level) if each in has), "")
    if level in has:
        return level, name if name in has else ""
    problem = f"{table.name} lacks the level {level!r}: it has no column {code!r} or {level!r} of text or integers"
    remedy = f'it has {listed(map(repr, has), _NAMES)}; name its columns, as levels={{"{level}": ("GEOID", "NAME")}}'
    raise WorkloadError(f"{problem}; {remedy}")


def _one_each(
    table: TextTable, column: str, entries: Iterable[tuple[int, str, str]], words: tuple[str, str], remedy: str = ""
) -> dict[str, str]:
    """What each key is, from rows with a key and what it is; WorkloadError where it is two things, in words."""
    found: dict[str, tuple[str, int]] = {}
    for row, key, value in entries:
        first, before = found.setdefault(key, (value, row))
        if first != value:
            problem = f"{words[0]} {key!r} {words[1]} {value!r}, and {first!r} in {table.rows[before]}"
            raise WorkloadError(f"{table.where(row, column)}: {problem}{remedy}")
    return {key: value for key, (value, _) in found.items()}


def _checked_lengths(lengths: object, levels: tuple[str, ...]) -> CodeLengths:
    given = {} if lengths is None else lengths
    if not isinstance(given, Mapping) or not given.keys() <= set(levels):
        raise WorkloadError(f"code_lengths must be a mapping from some of {list(levels)}, got {value_text(lengths)}")
    for level, length in given.items():
        if length is not None and not is_integer(length, least=1):
            raise WorkloadError(f"code_lengths[{level!r}] must be a positive integer or None, got {value_text(length)}")
    return given


def level_codes(table: TextTable, column: str, level: str, rows: Sequence[int], lengths: CodeLengths) -> list[str]:
    """The codes of a level in some rows (m,) of a column, (m,), with lost zeros put back where a length is declared."""
    found, length = table.column(column), lengths.get(level)
    if level not in lengths:
        _require_zeros(table, column, level, rows)
    codes = []
    for row in rows:
        text = found[row]
        code = text.zfill(length) if length and text.isdecimal() else text
        if _NO_CODE.fullmatch(text):
            problem = f"{text!r} is no code of the level {level!r}; write text, no decimals, formulas or gaps"
            raise WorkloadError(f"{table.where(row, column)}: {problem}")
        if length and len(code) != length:
            problem = f"the code {text!r} is not of {length} characters, as declared for {level!r}"
            raise WorkloadError(f"{table.where(row, column)}: {problem}")
        codes.append(code)
    return codes


def _require_zeros(table: TextTable, column: str, level: str, rows: Sequence[int]) -> None:
    found = table.column(column)
    remedy = f"declare code_lengths={{{level!r}: N}} for N characters with zeros put back, or None if none are lost"
    if column in table.integers:
        problem = f"the codes of {level!r} are integers, which have no leading zeros, and '01' is not 1"
        raise WorkloadError(f"{table.name}, column {column!r}: {problem}; read them as text, or {remedy}")
    with_digits = [row for row in rows if any(letter.isdecimal() for letter in found[row])]
    longest = max(with_digits, key=lambda row: len(found[row]), default=0)
    for row in with_digits:
        code = found[row]
        if code.isdecimal() and len(code) < len(found[longest]):
            problem = f"the code {code!r} of {level!r} is shorter than {found[longest]!r} in {table.rows[longest]}"
            raise WorkloadError(f"{table.where(row, column)}: {problem}; it may have lost leading zeros; {remedy}")
