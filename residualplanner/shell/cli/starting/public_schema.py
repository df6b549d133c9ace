"""Public schemas: Frictionless Table Schema and Data Package, JSON Schema, CSV on the Web.

Source: specs.frictionlessdata.io/table-schema, json-schema.org (2020-12), www.w3.org/TR/tabular-data-model.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from residualplanner.ground.errors import FileFormatError
from residualplanner.method.domain.about import About
from residualplanner.shell.cli.starting.declared import Declared, of_dates, of_range, of_values

_WHOLE = {"integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "gYear", "year"}
_NUMBER = {"number", "decimal", "double", "float"}
_DATE = {"date", "datetime", "dateTime", "date-time"}
#: A regular expression that only lists strings: "A|B" or "^(A|B)$".
_LISTED = re.compile(r"\^?\(?(?:\?:)?([\w .\-]+(?:\|[\w .\-]+)+)\)?\$?")

#: The fields of a column, in any of the schemas, that have words about it.
_ABOUT = {
    "title": ("title", "dc:title"),
    "unit": ("unit", "schema:unitText"),
    "source": ("source", "dc:source"),
    "note": ("description", "dc:description"),
}

Json = Mapping[str, Any]


def columns_of_schema(value: Json, table: str | None) -> list[Declared] | None:
    """The columns that a public schema declares; None if the JSON is of another kind.

    Args:
        value: the JSON.
        table: which table of several; None for the only one.
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
    known = {word: [words.get(key) for key in keys] for word, keys in _ABOUT.items()}
    texts = {word: next((text for text in found if isinstance(text, str)), "") for word, found in known.items()}
    return column.described(About(**texts))


def _of_frictionless(field: Json) -> Declared:
    """A field of a Table Schema."""
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
        return _of_listed(name, [each.get("value") for each in listed], [each.get("label") for each in listed], kind)
    if isinstance(listed, list):
        return _of_listed(name, listed, [], kind)
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
    """A property of the objects that are records."""
    kinds = schema.get("type", "any")
    kind = next((str(each) for each in kinds if each != "null"), "any") if isinstance(kinds, list) else str(kinds)
    choices = schema.get("oneOf", schema.get("anyOf"))
    if _are_objects(choices) and all("const" in each for each in choices):
        titles = [each.get("title", each.get("description")) for each in choices]
        return _of_listed(name, [each["const"] for each in choices], titles, kind)
    if isinstance(schema.get("enum"), list):
        return _of_listed(name, [each for each in schema["enum"] if each is not None], [], kind)
    if kind == "boolean":
        return of_values(name, [True, False])
    smallest, largest = schema.get("minimum"), schema.get("maximum")
    if kind == "string" and schema.get("format") in _DATE:
        kind = "date"
    if kind == "integer":  # a limit that is left out is one step further in
        smallest = _stepped(smallest, schema.get("exclusiveMinimum"), 1)
        largest = _stepped(largest, schema.get("exclusiveMaximum"), -1)
    return _of_limits(name, kind, smallest, largest)


def _stepped(limit: Any, outside: Any, step: int) -> Any:
    is_number = isinstance(outside, int | float) and not isinstance(outside, bool)
    return outside + step if limit is None and is_number else limit


def _of_listed(name: str, values: Iterable[Any], meanings: Iterable[Any], kind: str) -> Declared:
    """A column whose values are listed; values that are not labels are left to the user to declare."""
    listed = list(values)
    if not listed or not all(isinstance(value, str | int) for value in listed):
        return Declared(name, None, f"{kind}: values that are not strings or integers are to be declared as bins")
    words = ["" if meaning is None else str(meaning) for meaning in meanings]
    kinds = {type(value) for value in listed}
    return of_values(name, listed if len(kinds) == 1 else [str(value) for value in listed], words)


def _of_limits(name: str, kind: str, smallest: Any, largest: Any) -> Declared:
    """A column of numbers within limits, or of a type whose values are not in the schema."""
    if kind in _DATE:
        return of_dates(name, smallest, largest)
    limits = [_number(limit) for limit in (smallest, largest)]
    if kind in _WHOLE or kind in _NUMBER:
        return of_range(name, limits[0], limits[1], is_whole=kind in _WHOLE)
    return Declared(name, None, f"{kind}: its values are not in the schema" if kind != "any" else "")


def _number(limit: Any) -> float | None:
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
