"""Columns as others describe them: data dictionaries in CSV, and public schemas in JSON.

A dictionary has one row for each value or one for each column; public schemas are Frictionless Table Schema and Data
Package, JSON Schema, CSV on the Web.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from residualplanner.ground.errors import DomainError, FileFormatError
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.shell.cli.spec.declared import Declared, of_dates, of_range, of_values
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
#: The names that the columns of a dictionary may have: in lower case, without signs between words.
HEADERS = {word: spellings.split() for word, spellings in _SPELLINGS.items()}
_ABOUT = ("title", "unit", "source", "note")
_WIDE = ("type", "min", "max", "values", "bins", "size")
_WHOLE = re.compile(r"int(eger)?[0-9]*|whole|code|count|ordinal")
_NUMBER = re.compile(r"num(ber|eric)?|float[0-9]*|double|real|decimal|continuous")
_TRUTH = re.compile(r"bool(ean)?|logical")
_DATE = re.compile(r"date(time)?|timestamp")
_RANGE = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*(?:-|–|\.\.|to)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*")

_WHOLE_TYPES = {"integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "gYear", "year"}
_NUMBER_TYPES = {"number", "decimal", "double", "float"}
_DATE_TYPES = {"date", "datetime", "dateTime", "date-time"}
#: A regular expression that only lists strings: "A|B" or "^(A|B)$".
_LISTED = re.compile(r"\^?\(?(?:\?:)?([\w .\-]+(?:\|[\w .\-]+)+)\)?\$?")

#: The fields of a column, in any of the schemas, that have words about it.
_ABOUT_FIELDS = {
    "title": ("title", "dc:title"),
    "unit": ("unit", "schema:unitText"),
    "source": ("source", "dc:source"),
    "note": ("description", "dc:description"),
}

Row = dict[str, str]
Json = Mapping[str, Any]


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


def columns_of_schema(value: Json, table: str | None) -> list[Declared] | None:
    """The columns that a public schema declares, of a table by its name or of the only one; None if the JSON is none.

    Source: specs.frictionlessdata.io/table-schema, json-schema.org (2020-12), www.w3.org/TR/tabular-data-model.
    """
    tables = _tables(value)
    if tables is None:
        return None
    if not tables:
        raise FileFormatError("it describes no table with columns; a schema of at least one is needed")
    if table is None and len(tables) > 1:
        raise FileFormatError(f"it describes the tables {', '.join(tables)}; choose one with --table")
    if table is not None and table not in tables:
        raise FileFormatError(f"it describes no table {table!r}, only {', '.join(tables)}")
    declared = tables[table or next(iter(tables))]
    names = [column.name for column in declared]
    if not names or not all(names) or len(set(names)) < len(names):
        raise FileFormatError("its columns must have names, all different")
    return declared


def _tables(value: Json) -> dict[str, list[Declared]] | None:
    """The columns of each table, in whichever of the known forms."""
    if _are_objects(value.get("fields")):
        return {"": [_described(_of_frictionless(field), field) for field in value["fields"]]}
    if _are_objects(value.get("resources")):
        return {
            str(resource.get("name", number)): [
                _described(_of_frictionless(field), field) for field in resource["schema"]["fields"]
            ]
            for number, resource in enumerate(value["resources"], 1)
            if isinstance(resource.get("schema"), Mapping) and _are_objects(resource["schema"].get("fields"))
        }
    if "csvw" in str(value.get("@context", "")) or isinstance(value.get("tableSchema"), Mapping):
        listed = value["tables"] if _are_objects(value.get("tables")) else [value]
        return {
            str(each.get("url", number)): [
                _described(_of_csvw(column), column) for column in each["tableSchema"]["columns"]
            ]
            for number, each in enumerate(listed, 1)
            if isinstance(each.get("tableSchema"), Mapping) and _are_objects(each["tableSchema"].get("columns"))
        }
    rows = value["items"] if isinstance(value.get("items"), Mapping) else value
    rows = _resolved(rows, value)
    if isinstance(rows.get("properties"), Mapping):
        properties = {name: _resolved(each, value) for name, each in rows["properties"].items()}
        return {"": [_described(_of_json_schema(name, each), each) for name, each in properties.items()]}
    return None


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _described(column: Declared, words: Json) -> Declared:
    """The column with its title, unit and notes, as far as the schema has them as strings."""
    known = {word: [words.get(key) for key in keys] for word, keys in _ABOUT_FIELDS.items()}
    texts = {word: next((text for text in found if isinstance(text, str)), "") for word, found in known.items()}
    return column.described(About(**texts))


def _of_frictionless(field: Json) -> Declared:
    name, kind = str(field.get("name", "")), str(field.get("type", "any"))
    limits = field["constraints"] if isinstance(field.get("constraints"), Mapping) else {}
    if kind == "boolean" and "enum" not in limits:
        spelled = [field.get(key) for key in ("trueValues", "falseValues")]
        words = [
            each[0] if isinstance(each, list) and each and isinstance(each[0], str) else usual
            for each, usual in zip(spelled, ("true", "false"), strict=True)
        ]
        return of_values(name, words)
    listed: Any = limits.get("enum", field.get("categories"))
    if _are_objects(listed):
        return _of_enum(name, [each.get("value") for each in listed], [each.get("label") for each in listed], kind)
    if isinstance(listed, list):
        return _of_enum(name, listed, [], kind)
    return _of_limits(name, kind, limits.get("minimum"), limits.get("maximum"))


def _of_csvw(column: Json) -> Declared:
    """A column of a table's metadata: limits in its datatype, values in the datatype's format."""
    name = _title(column.get("titles")) or str(column.get("name", ""))
    datatype = column.get("datatype", "string")
    if not isinstance(datatype, Mapping):
        datatype = {"base": datatype}
    kind, form = str(datatype.get("base", "string")), datatype.get("format")
    if kind == "boolean":
        return of_values(name, str(form).split("|") if isinstance(form, str) and "|" in form else [True, False])
    listed = _LISTED.fullmatch(form) if isinstance(form, str) and kind == "string" else None
    if listed:
        return of_values(name, listed[1].split("|"))
    smallest = datatype.get("minimum", datatype.get("minInclusive"))
    return _of_limits(name, kind, smallest, datatype.get("maximum", datatype.get("maxInclusive")))


def _title(titles: Any) -> str:
    """The first of a column's titles, which are the names in its header; they may be in a list, and by language."""
    if isinstance(titles, Mapping):
        titles = list(titles.values())
    if isinstance(titles, list):
        return _title(titles[0]) if titles else ""
    return titles if isinstance(titles, str) else ""


def _of_json_schema(name: str, schema: Json) -> Declared:
    kinds = schema.get("type", "any")
    kind = next((str(each) for each in kinds if each != "null"), "any") if isinstance(kinds, list) else str(kinds)
    choices = schema.get("oneOf", schema.get("anyOf"))
    if _are_objects(choices) and all("const" in each for each in choices):
        titles = [each.get("title", each.get("description")) for each in choices]
        return _of_enum(name, [each["const"] for each in choices], titles, kind)
    if isinstance(schema.get("enum"), list):
        return _of_enum(name, [each for each in schema["enum"] if each is not None], [], kind)
    if kind == "boolean":
        return of_values(name, [True, False])
    smallest, largest = schema.get("minimum"), schema.get("maximum")
    if kind == "string" and schema.get("format") in _DATE_TYPES:
        kind = "date"
    if kind == "integer":  # a limit that is left out is one step further in
        smallest = _stepped(smallest, schema.get("exclusiveMinimum"), 1)
        largest = _stepped(largest, schema.get("exclusiveMaximum"), -1)
    return _of_limits(name, kind, smallest, largest)


def _stepped(limit: Any, outside: Any, step: int) -> Any:
    is_number = isinstance(outside, int | float) and not isinstance(outside, bool)
    return outside + step if limit is None and is_number else limit


def _of_enum(name: str, values: Iterable[Any], meanings: Iterable[Any], kind: str) -> Declared:
    """A column whose values are listed; values that are not labels are left to the user to declare."""
    listed = list(values)
    if not listed or not all(isinstance(value, str | int) for value in listed):
        return Declared(name, None, f"{kind}: values that are not strings or integers are to be declared as bins")
    words = ["" if meaning is None else str(meaning) for meaning in meanings]
    kinds = {type(value) for value in listed}
    return of_values(name, listed if len(kinds) == 1 else [str(value) for value in listed], words)


def _of_limits(name: str, kind: str, smallest: Any, largest: Any) -> Declared:
    """A column of numbers within limits, or of a type whose values are not in the schema."""
    if kind in _DATE_TYPES:
        return of_dates(name, smallest, largest)
    limits = [_limit(limit) for limit in (smallest, largest)]
    if kind in _WHOLE_TYPES or kind in _NUMBER_TYPES:
        return of_range(name, limits[0], limits[1], is_whole=kind in _WHOLE_TYPES)
    return Declared(name, None, f"{kind}: its values are not in the schema" if kind != "any" else "")


def _limit(limit: Any) -> float | None:
    try:
        return None if limit is None or isinstance(limit, bool) else float(limit)
    except (TypeError, ValueError):
        return None


def _resolved(schema: Any, whole: Json) -> Json:
    """A schema, or the one in the same file that it refers to."""
    for _ in range(10):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: Any = whole
        for word in reference[2:].split("/"):
            found = found.get(word.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
        schema = found
    return schema if isinstance(schema, Mapping) else {}
