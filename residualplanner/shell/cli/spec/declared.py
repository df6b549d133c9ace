"""Columns as a data dictionary in CSV describes them, with a row for each value or for each column, and as TOML."""

import csv
import datetime as dt
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import DomainError, FileFormatError
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.labels import Into
from residualplanner.shell.cli.spec.file import read_limited
from residualplanner.shell.cli.spec.tables import UNDECLARED

#: The most values of a column that is declared by a smallest and a largest integer.
RANGE_LIMIT = 1000
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_MONTH, _YEAR = re.compile("[0-9]{4}-[0-9]{2}"), re.compile("[0-9]{4}")
_TRUTH = {"true": True, "false": False}
#: The types of columns of numbers that are not all integers, as dictionaries call them.
_NUMBER_TYPE = re.compile(r"num(ber|eric)?|float[0-9]*|double|real|decimal|continuous", re.IGNORECASE)
NO_VALUE = "no value in the dictionary"


@dataclass(frozen=True, slots=True)
class Declared:
    """One column, as far as it is declared."""

    name: str
    attribute: Attribute | None  # None where its values are still to be declared
    note: str = ""  # what is known in place of values
    about: About = About()  # noqa: RUF009 - frozen

    def lines(self) -> list[str]:
        """The column's entry in a spec, below a comment with the note."""
        entry = f"{key_text(self.name)} = "
        if self.attribute is not None:
            return [*_comment(self.note), entry + attribute_text(self.attribute)]
        words = ", ".join(f"{word} = {toml_text(text)}" for word, text in self.about.to_json().items())
        return [*_comment(words), *_comment(self.note), f'{entry}"{UNDECLARED}"']


def _of_values(name: str, meaning_of: Mapping[str, str]) -> Declared:
    """A column whose values are listed, each with its meaning or nothing; 0, 1, .. without meanings are codes."""
    labels: list[Any] = list(meaning_of)
    if {value.lower() for value in labels} == set(_TRUTH):
        labels = [_TRUTH[value.lower()] for value in labels]
    elif all(map(_INTEGER.fullmatch, labels)):
        labels = [int(value) for value in labels]
    in_words = ["" if meaning == value else meaning for value, meaning in meaning_of.items()]
    if any(in_words):
        return Declared(name, Attribute(name, labels=labels_of_pairs(name, zip(labels, in_words, strict=True))))
    is_code = labels == list(range(len(labels))) and labels[0] is not False
    return Declared(name, Attribute(name, len(labels)) if is_code else Attribute(name, labels=labels))


def labels_of_pairs(name: str, pairs: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    """The meaning of each label; DomainError where a label is there twice, also as ``True`` and ``1``."""
    listed = list(pairs)
    for label, times in Counter(label for label, _ in listed).most_common(1):
        if times > 1:
            raise DomainError(f"attribute {name!r} has a label twice: {value_text(str(label))}", attributes=[name])
    return dict(listed)


def _of_range(name: str, low: str, high: str, kind: str = "") -> Declared:
    """A column of numbers between two limits: their values if they are few integers, else bins by hand."""
    try:
        first, last = int(low), int(high)
    except ValueError:
        first, last = 1, 0
    if 0 <= last - first < RANGE_LIMIT and not _NUMBER_TYPE.fullmatch(kind):
        attribute = Attribute(name, last + 1) if first == 0 else Attribute(name, labels=range(first, last + 1))
        return Declared(name, attribute)
    return Declared(name, None, f"numbers from {low} to {high}: write {{ bins = [{low}, ..., {high}] }}")


def _comment(note: str) -> list[str]:
    """A note as a line of a comment, without characters that would end one."""
    words = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", note).split())
    return [f"# {words}"] if words else []


def key_text(name: str) -> str:
    """A name as the key of a TOML entry, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else string_text(name)


def string_text(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(value: Any) -> str:
    """A value as TOML, with exact numbers in quotes."""
    match value:
        case bool():
            return str(value).lower()
        case str() | Fraction():
            return string_text(str(value))
        case float():
            return number_text(value)
        case int() | dt.date():
            return str(value)
        case Mapping():
            return "{ " + ", ".join(f"{key_text(name)} = {toml_text(each)}" for name, each in value.items()) + " }"
    return _list(list(map(toml_text, value)))


def attribute_text(attribute: Attribute) -> str:
    """The value of an attribute's entry in a spec, in the shortest form."""
    fields = _value_fields(attribute)
    for word, rule in (("unknown", attribute.unknown), ("missing", attribute.missing)):
        if isinstance(rule, Into):
            fields[word] = {"into": rule.label} if rule.label in ("error", "drop") else rule.label
        elif rule != "error":
            fields[word] = rule
    if set(fields) in ({"size"}, {"labels"}) and not attribute.about:
        return toml_text(next(iter(fields.values())))
    return toml_text(fields | attribute.about.to_json())


def with_missing(attribute: Attribute, rule: str) -> Attribute:
    """The attribute, whose missing entries are counted under a label, or dropped; DomainError where that cannot be."""
    labels: Any = attribute.labels if attribute.bins is None and attribute.numeric is None else None
    if labels is not None and attribute.matching == "date":
        labels = [dt.date.fromisoformat(str(label)) for label in labels]
    if labels is not None and attribute.meanings:
        labels = dict(zip(labels, attribute.meanings, strict=True))
    values: dict[str, Any] = {"labels": labels, "bins": attribute.bins, "numeric": attribute.numeric}
    size = len(attribute.values) if all(each is None for each in values.values()) else None
    rules: dict[str, Any] = {"unknown": attribute.unknown, "missing": rule}
    return Attribute(attribute.name, size, **values, **rules, about=attribute.about)


def _value_fields(attribute: Attribute) -> dict[str, Any]:
    if attribute.bins is not None:
        return _period(attribute.bins) or {"bins": attribute.bins.edges, "labels": attribute.bins.labels}
    if attribute.numeric is not None:
        numeric = attribute.numeric
        low, *inner, high = (edge * numeric.unit for edge in numeric.edges)
        limits = {"low": low, "high": high, "unit": numeric.unit, "bins": inner}
        rules = {"outside": numeric.outside, "between_units": numeric.between_units}
        return {"numeric": limits | rules | ({"squares": True} if numeric.squares else {})}
    if attribute.labels is None:
        return {"size": len(attribute.values)}
    labels: list[Any] = list(attribute.labels)
    if attribute.matching == "date":
        labels = [dt.date.fromisoformat(str(label)) for label in labels]
    meanings = attribute.meanings or [""] * len(labels)
    return {"labels": [[label, words] if words else label for label, words in zip(labels, meanings, strict=True)]}


def _period(bins: Bins) -> dict[str, Any] | None:
    """The entry for bins of months or years, from the first to the last; None for others."""
    first, last = bins.labels[0], bins.labels[-1]
    with suppress(DomainError):
        if _MONTH.fullmatch(first) and bins == Bins.months(first, last):
            return {"months": [first, last]}
    with suppress(DomainError, ValueError):
        if _YEAR.fullmatch(first) and bins == Bins.years(int(first), int(last)):
            return {"years": [int(first), int(last)]}
    return None


def number_text(number: float) -> str:
    """A number as TOML, in the fewest digits that tell it from all others."""
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return str(int(number)) if float(number).is_integer() and abs(number) < 2**53 else repr(float(number))


def _list(items: list[str]) -> str:
    line = f"[{', '.join(items)}]"
    if len(line) <= 100:
        return line
    ends = itertools.accumulate(len(item) + 2 for item in items)
    grouped = itertools.groupby(zip(items, ends, strict=True), key=lambda pair: pair[1] // 100)
    rows = (", ".join(item for item, _ in group) for _, group in grouped)
    return "[\n    " + ",\n    ".join(rows) + ",\n]"


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
    "missing": "missing missingvalue missingvalues missinglabel missinglabels missingcode missingcodes",
    "title": "title variablelabel columnlabel fieldlabel",
    "unit": "unit units unitofmeasure",
    "source": "source",
    "note": "note notes fieldnote comment comments remark remarks",
}
#: What the columns of a dictionary may be called: in lower case, without signs between words.
_WORDS = {spelling: word for word, spellings in _SPELLINGS.items() for spelling in spellings.split()}
_ABOUT = ("title", "unit", "source", "note")
#: Words about entries without a value, where a dictionary has a row for them.
_MISSING = re.compile(
    r"\b(missing|unknown|not (stated|known|available|given|answered|reported|applicable)|no (answer|response|data)|"
    r"blank|refused|n/?a)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*(?:-|–|\.\.|to)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*")

Row = dict[str, str]


def read_dictionary(path: Path) -> list[Declared]:
    """The columns that a data dictionary describes, in one of the forms of docs/command-line.md."""
    rows = _rows(path)
    header = next(rows, (1, {}))[1]
    if "name" in header and "value" in header:
        return _long(path, rows)
    if "name" in header and any(word in header for word in ("type", "min", "max", "values", "bins", "size")):
        return [_wide(path, number, row) for number, row in rows]
    raise FileFormatError(
        f"{path}: a data dictionary needs a first line that names its columns: variable and value, or variable and "
        "some of type, min, max, values, bins, size.  For a file of records leave --dictionary out"
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
    empty: dict[str, list[str]] = {}  # by column the words of rows without a value
    name = ""
    for number, row in rows:
        name = row.get("name", "") or name
        if not name:
            raise FileFormatError(f"{path}, line {number}: there is no name, nor one above it")
        listed = values.setdefault(name, [])
        abouts.setdefault(name, {}).update({word: row[word] for word in (*_ABOUT, "missing") if row.get(word)})
        if row.get("value", ""):
            listed.append((row["value"], row.get("label", "")))
        elif row.get("label"):
            empty.setdefault(name, []).append(row["label"])
    if not values:
        raise FileFormatError(f"{path}: there is no row below its first line; add one for each value of each column")
    return [
        _named(path, name, abouts[name], partial(_with_empty, name, listed, empty.get(name, [])))
        for name, listed in values.items()
    ]


def _with_empty(name: str, listed: list[tuple[str, str]], words: list[str]) -> Declared:
    """A column, with the words of its rows without a value: the label of missing entries, or else a note."""
    column = _of_listed(name, listed)
    if not listed:
        return column
    label = next((text for text in words if _MISSING.search(text)), None)
    if label is not None and column.attribute is not None:
        words = [text for text in words if text != label]
        column = replace(column, attribute=with_missing(column.attribute, label))
    notes = [column.note, *(f"a row of the dictionary without a value: {text}" for text in dict.fromkeys(words))]
    return replace(column, note="; ".join(filter(None, notes)))


def _of_listed(name: str, listed: list[tuple[str, str]]) -> Declared:
    if not listed:
        return Declared(name, None, NO_VALUE)
    if len(listed) == 1:  # a range, or a word on what the values are, in place of a list of them
        if limits := _RANGE.fullmatch(listed[0][0]):
            return _of_range(name, limits[1], limits[2])
        return Declared(name, None, f"in the dictionary: {' '.join(listed[0])}".strip())
    meanings: dict[str, str] = {}
    for value, meaning in listed:
        if meaning and meanings.setdefault(value, meaning) != meaning:
            both = f"{meanings[value][:40]!r} and {meaning[:40]!r}"
            raise FileFormatError(f"the value {value[:40]!r} has two meanings, {both}; leave one of them out")
    return _of_values(name, {value: meanings.get(value, "") for value, _ in listed})


def _wide(path: Path, number: int, row: Row) -> Declared:
    name = row.get("name", "")
    if not name:
        raise FileFormatError(f"{path}, line {number}: there is no name")

    def declared() -> Declared:
        if row.get("bins"):
            edges = [float(text) for text, _ in _items(row["bins"])]
            return Declared(name, Attribute(name, bins=Bins(edges)))
        if row.get("values"):
            return _of_listed(name, _items(row["values"]))
        if row.get("size"):
            return Declared(name, Attribute(name, int(row["size"])))
        if row.get("min") and row.get("max"):
            return _of_range(name, row["min"], row["max"], row.get("type", ""))
        known = " ".join(f"{word} {row[word]}" for word in ("type", "min", "max") if row.get(word))
        return Declared(name, None, f"in the dictionary: {known}" if known else "")

    return _named(path, name, {"title": row.get("label", "")} | row, declared)


def _items(text: str) -> list[tuple[str, str]]:
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
        column, words = make(), About(**{word: about.get(word, "") for word in _ABOUT})
        if about.get("missing"):
            rule = f'missing entries, in the dictionary: {about["missing"]}; write missing = "Not stated", or "drop"'
            column = replace(column, note="; ".join(filter(None, (column.note, rule))))
        attribute = None if column.attribute is None else column.attribute.described(words)
        return replace(column, attribute=attribute, about=words)
    except ValueError as error:  # Python's own, of what is no number, too
        raise FileFormatError(f"{path}, {name}: {error}") from None
