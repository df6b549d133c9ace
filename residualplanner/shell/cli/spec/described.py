"""Columns as a data dictionary in CSV describes them: with one row for each value, or one for each column."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from residualplanner.ground.errors import FileFormatError
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.shell.cli.spec.declared import Declared, of_range, of_type, of_values
from residualplanner.shell.cli.spec.file import read_limited

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
#: What the columns of a dictionary may be called: in lower case, without signs between words.
_WORDS = {spelling: word for word, spellings in _SPELLINGS.items() for spelling in spellings.split()}
_ABOUT = ("title", "unit", "source", "note")
_WIDE = ("type", "min", "max", "values", "bins", "size")
_RANGE = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*(?:-|–|\.\.|to)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*")

Row = dict[str, str]


def read_dictionary(path: Path) -> list[Declared]:
    """The columns that a data dictionary describes.

    Its first line names its columns, in any order and known spelling; others are passed over.  It has either a row for
    each value of each column (name, value, and maybe label; a name that is left out is the one above), or a row for
    each column (name, and some of type, min, max, values, bins, size; label is its title).  Either may have title,
    unit, source and note, which hold for the whole column.  Lists are separated by "|", ";" or ",", and may give
    meanings: "1=female; 2=male" or "1, female | 2, male".
    """
    rows = _rows(path)
    header = next(rows, (1, {}))[1]
    if "name" in header and "value" in header:
        return _long(path, rows)
    if "name" in header and any(word in header for word in _WIDE):
        return [_wide(path, number, row) for number, row in rows]
    raise FileFormatError(
        f"{path}: a data dictionary needs a first line that names its columns: variable and value (one row for each "
        "value; label may say what it means), or variable and some of type, min, max, values, bins, size (one row for "
        "each variable).  For a file of records leave --dictionary out"
    )


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The header, as a row of its own words; then each row that is not empty, with its line."""
    text = read_limited(path)
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        words: dict[str, int] = {}
        for index, name in enumerate(next(reader, [])):
            word = _WORDS.get(re.sub(r"[^a-z]", "", name.lower()))
            if word is not None:
                words.setdefault(word, index)  # the first one of a kind counts
        yield 1, {word: word for word in words}
        for cells in reader:
            row = {word: cells[index].strip() for word, index in words.items() if index < len(cells)}
            if any(row.values()):
                yield reader.line_num, row
    except csv.Error:
        raise FileFormatError(f"{path}, line {reader.line_num}: this is not CSV; check its quotes") from None


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
        _named(path, name, abouts[name], lambda name=name, listed=listed: _of_listed(name, listed))  # type: ignore[misc]
        for name, listed in values.items()
    ]


def _of_listed(name: str, listed: list[tuple[str, str]]) -> Declared:
    if not listed:
        return Declared(name, None, "no value in the dictionary")
    if len(listed) == 1:  # a range, or a word on what the values are, in place of a list of them
        limits = _RANGE.fullmatch(listed[0][0])
        if limits:
            is_whole = "." not in listed[0][0].replace("..", "")
            return of_range(name, float(limits[1]), float(limits[2]), is_whole=is_whole)
        return Declared(name, None, f"in the dictionary: {' '.join(listed[0])}".strip())
    meanings: dict[str, str] = {}
    for value, meaning in listed:
        if meaning and meanings.setdefault(value, meaning) != meaning:
            both = f"{meanings[value][:40]!r} and {meaning[:40]!r}"
            raise FileFormatError(f"the value {value[:40]!r} has two meanings, {both}; leave one of them out")
    return of_values(name, [value for value, _ in listed], [meanings.get(value, "") for value, _ in listed])


def _wide(path: Path, number: int, row: Row) -> Declared:
    name = row.get("name", "")
    if not name:
        raise FileFormatError(f"{path}, line {number}: there is no name")

    def declared() -> Declared:
        if row.get("bins"):
            edges = [float(text) for text, _ in _list(row["bins"])]
            return Declared(name, Attribute(name, bins=Bins(edges)))
        if row.get("values"):
            return _of_listed(name, _list(row["values"]))
        if row.get("size"):
            return Declared(name, Attribute(name, int(row["size"])))
        return of_type(name, row.get("type", ""), row.get("min", ""), row.get("max", ""))

    return _named(path, name, {"title": row.get("label", "")} | row, declared)


def _list(text: str) -> list[tuple[str, str]]:
    """The items of a list in one cell, each with its meaning if it has one."""
    separator = next((sign for sign in "|;\n" if sign in text), ",")
    items = [item.strip().strip("\"'") for item in text.strip(" []{}()").split(separator) if item.strip()]
    for sign in "=", ",":
        pairs = [item.partition(sign) for item in items]
        if pairs and all(middle for _, middle, _ in pairs):
            return [(value.strip(), meaning.strip()) for value, _, meaning in pairs]
    return [(item, "") for item in items]


def _named(path: Path, name: str, about: Row, make: Callable[[], Declared]) -> Declared:
    """A column with words about it; file and column are named in what is raised."""
    try:
        return make().described(About(**{word: about.get(word, "") for word in _ABOUT}))
    except ValueError as error:  # Python's own, of what is no number, too
        raise FileFormatError(f"{path}, {name}: {error}") from None
