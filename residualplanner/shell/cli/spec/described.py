"""Columns as others describe them: data dictionaries in CSV, and public schemas in JSON.

A dictionary has one row for each value or one for each column; public schemas are Frictionless Table Schema and Data
Package, JSON Schema, CSV on the Web.  All of them state a type, and values or limits, from which `column_of` declares.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from residualplanner.ground.errors import FileFormatError
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.shell.cli.spec.declared import Declared, column_of, of_range, of_values
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
        limits = (row.get("min") or None, row.get("max") or None)
        return column_of(name, row.get("type", ""), limits=limits, where="dictionary")

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
    if _objects(value.get("fields")):
        return {"": _described(_of_frictionless, value["fields"])}
    if _objects(value.get("resources")):
        return _each(value["resources"], "name", "schema", "fields", _of_frictionless)
    if "csvw" in str(value.get("@context", "")) or isinstance(value.get("tableSchema"), Mapping):
        return _each(_objects(value.get("tables")) or [value], "url", "tableSchema", "columns", _of_csvw)
    rows = _resolved(value["items"] if isinstance(value.get("items"), Mapping) else value, value)
    if not isinstance(rows.get("properties"), Mapping):
        return None
    properties = [{**_resolved(schema, value), "name": name} for name, schema in rows["properties"].items()]
    return {"": _described(_of_json_schema, properties)}


def _each(
    listed: list[Json], name: str, schema: str, columns: str, declare: Callable[[Json], Declared]
) -> dict[str, list[Declared]]:
    """The columns of each of several tables that has some, by what it is called, else by its number."""
    schemas = {str(one.get(name, number)): _object(one, schema) for number, one in enumerate(listed, 1)}
    found = {name: _objects(each.get(columns)) for name, each in schemas.items()}
    return {name: _described(declare, each) for name, each in found.items() if each}


def _objects(value: Any) -> list[Any]:
    """The value itself if it is a list of objects; else an empty one."""
    return value if isinstance(value, list) and all(isinstance(each, Mapping) for each in value) else []


def _object(parent: Json, name: str) -> Json:
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def _described(declare: Callable[[Json], Declared], columns: Iterable[Json]) -> list[Declared]:
    """The columns with their titles, units and notes, as far as the schema has them as strings."""
    declared = []
    for column in columns:
        known = {word: [column.get(key) for key in keys] for word, keys in _ABOUT_FIELDS.items()}
        texts = {word: next((text for text in found if isinstance(text, str)), "") for word, found in known.items()}
        declared.append(declare(column).described(About(**texts)))
    return declared


def _of_frictionless(field: Json) -> Declared:
    name, kind, limits = str(field.get("name", "")), str(field.get("type", "any")), _object(field, "constraints")
    if kind == "boolean" and "enum" not in limits:
        spelled = [field.get(key) for key in ("trueValues", "falseValues")]
        words = [
            each[0] if isinstance(each, list) and each and isinstance(each[0], str) else usual
            for each, usual in zip(spelled, ("true", "false"), strict=True)
        ]
        return of_values(name, words)
    listed = limits.get("enum", field.get("categories"))
    pairs = [(each.get("value"), each.get("label")) for each in _objects(listed)]
    values = pairs or ([(each, None) for each in listed] if isinstance(listed, list) else None)
    return column_of(name, kind, values=values, limits=(limits.get("minimum"), limits.get("maximum")))


def _of_csvw(column: Json) -> Declared:
    """A column of a table's metadata: limits in its datatype, values in the datatype's format."""
    name = _title(column.get("titles")) or str(column.get("name", ""))
    datatype = _object(column, "datatype") or {"base": column.get("datatype", "string")}
    kind, form = str(datatype.get("base", "string")), datatype.get("format")
    words: list[str] | None = None
    if isinstance(form, str) and kind == "boolean" and "|" in form:
        words = form.split("|")
    elif isinstance(form, str) and kind == "string" and (listed := _LISTED.fullmatch(form)):
        words = listed[1].split("|")
    smallest = datatype.get("minimum", datatype.get("minInclusive"))
    largest = datatype.get("maximum", datatype.get("maxInclusive"))
    values = None if words is None else [(word, None) for word in words]
    return column_of(name, kind, values=values, limits=(smallest, largest))


def _title(titles: Any) -> str:
    """The first of a column's titles, which are the names in its header; they may be in a list, and by language."""
    if isinstance(titles, Mapping):
        titles = list(titles.values())
    if isinstance(titles, list):
        return _title(titles[0]) if titles else ""
    return titles if isinstance(titles, str) else ""


def _of_json_schema(schema: Json) -> Declared:
    name, kinds = schema["name"], schema.get("type", "any")
    kind = next((str(each) for each in kinds if each != "null"), "any") if isinstance(kinds, list) else str(kinds)
    choices, values = _objects(schema.get("oneOf", schema.get("anyOf"))), schema.get("enum")
    pairs = [(each, None) for each in values if each is not None] if isinstance(values, list) else None
    if choices and all("const" in each for each in choices):
        pairs = [(each["const"], each.get("title", each.get("description"))) for each in choices]
    smallest, largest = schema.get("minimum"), schema.get("maximum")
    if kind == "string" and "date" in str(schema.get("format")):
        kind = "date"
    if kind == "integer":  # a limit that is left out is one step further in
        smallest = _stepped(smallest, schema.get("exclusiveMinimum"), 1)
        largest = _stepped(largest, schema.get("exclusiveMaximum"), -1)
    return column_of(name, kind, values=pairs, limits=(smallest, largest))


def _stepped(limit: Any, outside: Any, step: int) -> Any:
    is_number = isinstance(outside, int | float) and not isinstance(outside, bool)
    return outside + step if limit is None and is_number else limit


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
