"""Data dictionaries: CSV files that describe the columns of records, one row for each value or one for each column."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from residualplanner.ground.errors import DomainError, FileFormatError
from residualplanner.method.domain.about import About
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.shell.cli.spec.file import read_limited
from residualplanner.shell.cli.starting.declared import Declared, of_dates, of_range, of_values

_SPELLINGS = {
    "name": "variable column field name attribute variablename columnname fieldname variablefieldname",
    "value": "value code category",
    "label": "label meaning description valuelabel text",
    "type": "type datatype fieldtype",
    "min": "min minimum lower textvalidationmin",
    "max": "max maximum upper textvalidationmax",
    "values": "values categories codes levels choices allowedvalues enum choicescalculationsorsliderlabels",
    "bins": "bins edges breaks",
    "size": "size numberofvalues",
    "title": "title variablelabel columnlabel fieldlabel",
    "unit": "unit units unitofmeasure",
    "source": "source",
    "note": "note notes fieldnote comment comments remark remarks",
}
#: The names that the columns of a dictionary may have: in lower case, without signs between words.
HEADERS = {word: spellings.split() for word, spellings in _SPELLINGS.items()}
_ABOUT = ("title", "unit", "source", "note")
_WIDE = ("type", "min", "max", "values", "bins", "size")
_WHOLE = re.compile(r"int(eger)?[0-9]*|whole|code|count|ordinal")
_NUMBER = re.compile(r"num(ber|eric)?|float[0-9]*|double|real|decimal|continuous")
_TRUTH = re.compile(r"bool(ean)?|logical")
_DATE = re.compile(r"date(time)?|timestamp")
_RANGE = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*(?:-|–|\.\.|to)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*")

Row = dict[str, str]


def read_dictionary(path: Path) -> list[Declared]:
    """The columns that a data dictionary describes.

    Its first line names its columns, in any order and spelling of `HEADERS`; others are passed over.  It has either a
    row for each value of each column (name, value, and maybe label; a name that is left out is the one above), or a row
    for each column (name, and some of type, min, max, values, bins, size; label is its title).  Either may have title,
    unit, source and note, which hold for the whole column.  Lists are separated by "|", ";" or ",", and
    may give meanings: "1=female; 2=male" or "1, female | 2, male".
    """
    rows = _rows(path)
    header = next(rows, (1, {}))[1]
    if "name" in header and "value" in header:
        return _long(path, rows)
    if "name" in header and any(word in header for word in _WIDE):
        return [
            _wide(path, number, row).described(_about(path, row["name"], {"title": row.get("label", "")} | row))
            for number, row in rows
        ]
    raise FileFormatError(
        f"{path}: a data dictionary needs a first line that names its columns: variable and value (one row for each "
        "value; label may say what it means), or variable and some of type, min, max, values, bins, size (one row for "
        "each variable).  For a file of records leave --dictionary out"
    )


def is_dictionary_header(names: Sequence[str]) -> bool:
    """Whether the first line of a CSV file is one that a data dictionary may have."""
    words = set(_words(names).values())
    return "name" in words and ("value" in words or len(words.intersection(_WIDE)) >= 2)


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The header, as a row of its own words; then each row that is not empty, with its line."""
    text = read_limited(path)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        words = _words(next(reader, []))
        yield 1, {word: word for word in words.values()}
        for cells in reader:
            row = {word: cells[index].strip() for index, word in words.items() if index < len(cells)}
            if any(row.values()):
                yield reader.line_num, row
    except csv.Error:
        raise FileFormatError(f"{path}, line {reader.line_num}: this is not CSV; check its quotes") from None


def _words(names: Sequence[str]) -> dict[int, str]:
    """What each column of a dictionary holds, by its index; the first one of a kind counts."""
    known = {spelling: word for word, spellings in HEADERS.items() for spelling in spellings}
    found: dict[str, int] = {}
    for index, name in enumerate(names):
        word = known.get(re.sub(r"[^a-z]", "", name.lower()))
        if word is not None:
            found.setdefault(word, index)
    return {index: word for word, index in found.items()}


def _long(path: Path, rows: Iterator[tuple[int, Row]]) -> list[Declared]:
    values: dict[str, list[tuple[str, str]]] = {}
    abouts: dict[str, Row] = {}
    name = ""
    for number, row in rows:
        name = row.get("name", "") or name
        if not name:
            raise FileFormatError(f"{path}, line {number}: there is no name, nor one above it")
        listed = values.setdefault(name, [])
        abouts.setdefault(name, {}).update({word: row[word] for word in _ABOUT if row.get(word)})
        if row.get("value", ""):
            listed.append((row["value"], row.get("label", "")))
    if not values:
        raise FileFormatError(f"{path}: there is no row below its first line; add one for each value of each column")
    return [
        _of_listed(path, name, listed).described(_about(path, name, abouts[name])) for name, listed in values.items()
    ]


def _of_listed(path: Path, name: str, listed: list[tuple[str, str]]) -> Declared:
    if not listed:
        return Declared(name, None, "no value in the dictionary")
    if len(listed) == 1:  # a range, or a word on what the values are, in place of a list of them
        limits = _RANGE.fullmatch(listed[0][0])
        if limits:
            low, high = float(limits[1]), float(limits[2])
            return of_range(name, low, high, is_whole="." not in listed[0][0].replace("..", ""))
        return Declared(name, None, f"in the dictionary: {' '.join(listed[0])}".strip())
    meanings = _meanings(path, name, listed)
    values = [value for value, _ in listed]
    return _named(path, name, lambda: of_values(name, values, [meanings.get(value, "") for value in values]))


def _meanings(path: Path, name: str, listed: list[tuple[str, str]]) -> dict[str, str]:
    """The meaning of each value that has one, wherever it is listed."""
    found: dict[str, str] = {}
    for value, meaning in listed:
        if meaning and found.setdefault(value, meaning) != meaning:
            both = f"{found[value][:40]!r} and {meaning[:40]!r}"
            raise FileFormatError(
                f"{path}, {name}: the value {value[:40]!r} has two meanings, {both}; leave one of them out"
            )
    return found


def _wide(path: Path, number: int, row: Row) -> Declared:
    name = row.get("name", "")
    if not name:
        raise FileFormatError(f"{path}, line {number}: there is no name")
    kind = row.get("type", "").lower()
    if row.get("bins"):
        edges = [_number_of(path, number, "bins", text) for text, _ in _list(row["bins"])]
        return _named(path, name, lambda: Declared(name, Attribute(name, bins=Bins(edges))))
    if row.get("values"):
        return _of_listed(path, name, _list(row["values"]))
    if row.get("size"):
        size = _number_of(path, number, "size", row["size"])
        return _named(path, name, lambda: Declared(name, Attribute(name, int(size))))
    if _DATE.fullmatch(kind):
        return of_dates(name, row.get("min") or None, row.get("max") or None)
    limits = [_number_of(path, number, word, row[word]) if row.get(word) else None for word in ("min", "max")]
    if _TRUTH.fullmatch(kind):
        return of_values(name, [True, False])
    if _WHOLE.fullmatch(kind) or _NUMBER.fullmatch(kind) or any(limit is not None for limit in limits):
        is_whole = not _NUMBER.fullmatch(kind) and all(limit is None or limit.is_integer() for limit in limits)
        return of_range(name, limits[0], limits[1], is_whole=is_whole)
    return Declared(name, None, f"{kind}: its values are not in the dictionary" if kind else "")


def _about(path: Path, name: str, row: Row) -> About:
    """The words about a column in a row of a dictionary."""
    try:
        return About(**{word: row.get(word, "") for word in _ABOUT})
    except DomainError as error:
        raise DomainError(f"{path}, {name}: {error}", attributes=[name]) from None


def _list(text: str) -> list[tuple[str, str]]:
    """The items of a list in one cell, each with its meaning if it has one.

    Example:
        >>> _list("1=female; 2=male"), _list("1, female | 2, male"), _list("a,b")
        ([('1', 'female'), ('2', 'male')], [('1', 'female'), ('2', 'male')], [('a', ''), ('b', '')])
    """
    separator = next((sign for sign in "|;\n" if sign in text), ",")
    items = [item.strip() for item in text.strip(" []{}()").split(separator)]
    items = [item.strip("\"'") for item in items if item]
    for sign in "=", ",":
        pairs = [item.partition(sign) for item in items]
        if pairs and all(middle for _, middle, _ in pairs):
            return [(value.strip(), meaning.strip()) for value, _, meaning in pairs]
    return [(item, "") for item in items]


def _number_of(path: Path, number: int, word: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(f"{path}, line {number}: {word} must be a number, got {text[:40]!r}") from None


def _named(path: Path, name: str, make: Callable[[], Declared]) -> Declared:
    try:
        return make()
    except DomainError as error:
        raise DomainError(f"{path}, {name}: {error}", attributes=[name]) from None
