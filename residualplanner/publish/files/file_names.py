"""The names of formats, files and sheets: readable, different for every query, allowed on every system and in URLs."""

import hashlib
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload

#: The format of one workbook for all tables, and that of very many tables, which has Parquet files of many each; the
#: others, in `formats`, have a file for each table.
BOOK_FORMAT, PARTS_FORMAT = "workbook", "parts"

#: From an attribute's position and a kind of query on it to what the two contribute to file names.
NameParts = dict[tuple[int, Kind], str]

#: The name of the table of no attributes, which is the number of records.
TOTAL = "_total"
#: The file of all tables together, where they are the sheets of one workbook.
BOOK_FILE = "tables.xlsx"

_LONGEST, _LONGEST_SHEET = 150, 31
_PLAIN = frozenset(string.ascii_letters + string.digits + "_-")
_LOWER = _PLAIN - frozenset(string.ascii_uppercase)
#: Names that Windows keeps for devices, whatever their ending.
_DEVICES = re.compile("(con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)
#: The sign before the bytes of a letter that is not kept.  A ``%`` would be decoded by web servers, which would then
#: look for a file of another name.
_SIGN = "~"


def encoded_names(names: Sequence[str]) -> tuple[str, ...]:
    """Attribute names as parts of file names, (d,): ASCII letters, digits, ``_`` and ``-`` stay.

    Of any other letter there are the bytes in UTF-8, each as ``~`` and two hexadecimal digits.  Capital letters are
    encoded too where two names differ in nothing but their case, which some file systems ignore, and so is the first
    letter of a name that Windows keeps for a device.
    """
    differ = len({name.lower() for name in names}) == len(names)
    return tuple(_encoded(name, _PLAIN if differ else _LOWER) for name in names)


def parts_of_kinds(name: str, kinds: Sequence[Kind]) -> list[str]:
    """What an attribute, by its encoded name, contributes to file names for each of the kinds of query on it.

    As in ``age``, ``age@prefix``, ``age@custom1``, ``age@among-18-65_1``: no encoded name contains an ``@``.
    """
    total, seen, parts = Counter(kind.file_word for kind in kinds), Counter[str](), []
    for kind in kinds:
        word = kind.file_word
        seen[word] += 1
        # No other word of a selection ends in such a number: they have no "_".
        number = f"{'_' if kind.where else ''}{seen[word]}" if total[word] > 1 else ""
        parts.append(name if kind.written == Identity() else f"{name}@{_encoded(word, _LOWER)}{number}")
    return parts


def parts_of_workload(workload: Workload) -> NameParts:
    """What each attribute contributes to file names for each kind of query on it in the workload."""
    names = encoded_names(workload.domain.names)
    found: NameParts = {}
    for position, pairs in groupby(workload.attribute_kinds, itemgetter(0)):
        own = list(pairs)
        found.update(zip(own, parts_of_kinds(names[position], [kind for _, kind in own]), strict=True))
    return found


def table_name(parts: Sequence[str]) -> str:
    """The name of a table, however long, from what its attributes contribute: no two queries have the same."""
    return ".".join(parts) or TOTAL


def file_stem(parts: Sequence[str]) -> str:
    """The name of a table's file without its ending: the table's name, or its beginning and its hash."""
    stem = table_name(parts)
    if len(stem) <= _LONGEST:
        return stem
    return f"{stem[: _LONGEST - 33]}~{hashlib.sha256(stem.encode()).hexdigest()[:32]}"


def sheet_names(names: Sequence[str]) -> list[str]:
    """The names of the sheets of tables in one workbook, as ``1 age.sex``: at most 31 letters, and all different."""
    return [f"{number} {name}"[:_LONGEST_SHEET] for number, name in enumerate(names, start=1)]


def statistic_sheet(sheet: str) -> str:
    """The name of the sheet of a statistic, after that of its table, as "3 statistics"."""
    return f"{sheet.partition(' ')[0]} statistics"


def statistics_in_parts(word: str) -> str:
    """The file of all statistics of one sort, where tables are in parts."""
    return f"{word.replace(' ', '-')}.parquet"


def written_queries(workload: Workload) -> Iterator[WrittenQuery]:
    """The queries of a workload in its order, each with its attributes as they were written."""
    for block in workload.blocks:
        for positions, codes in zip(block.written_attributes.tolist(), block.written_kinds.tolist(), strict=True):
            yield WrittenQuery(tuple(positions), tuple(workload.kinds[code] for code in codes))


def escaped(name: str, kept: frozenset[str], sign: str) -> str:
    """A name whose letters are ``kept`` or written as their bytes after a sign, and so is a ``_`` at its beginning."""
    letters = [letter if letter in kept else _bytes_of(letter, sign) for letter in name]
    if letters[0] == "_":
        letters[0] = _bytes_of("_", sign)
    return "".join(letters)


def _encoded(name: str, kept: frozenset[str]) -> str:
    return _bytes_of(name[0], _SIGN) + name[1:] if _DEVICES.fullmatch(name) else escaped(name, kept, _SIGN)


def _bytes_of(letter: str, sign: str) -> str:
    return "".join(f"{sign}{byte:02X}" for byte in letter.encode())
