"""What is wrong with a spec, in sentences that say where, and what to write instead."""

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from residualplanner.ground.words import suggestion
from residualplanner.shell.cli.spec.kinds import KINDS, NAMES
from residualplanner.shell.cli.spec.values import shown

_LIMIT = 20

_EXPECTED = {
    "int_type": "expected an integer without quotes",
    "int_from_float": "expected an integer",
    "float_type": "expected a number without quotes",
    "string_type": "expected a string in quotes",
    "bool_type": "expected true or false",
    "list_type": "expected a list in [brackets]",
    "dict_type": "expected a table",
    "too_short": "the list is too short",
    "too_long": "the list is too long",
}
_MISSING = {
    ("domain",): 'the table [domain] is missing; it names each column and its values, such as sex = ["F", "M"]',
    ("workload",): "a table [[workload]] is missing; it names the tables to publish, such as up_to = 2",
}


def messages_of(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One line for each error: where in the file, what was expected, what was found; ``model`` is the whole file's."""
    details = error.errors(include_url=False, include_context=True)
    messages = list(dict.fromkeys(_message(dict(detail), model) for detail in details))
    return messages if len(messages) <= _LIMIT else [*messages[:_LIMIT], f"and {len(messages) - _LIMIT} more"]


def _message(detail: dict[str, Any], model: type[BaseModel]) -> str:
    kind, where, found = detail["type"], detail["loc"], detail["input"]
    if kind == "extra_forbidden":
        name, fields = str(where[-1]), _fields(model, where[:-1])
        remedy = suggestion(name, fields) or f"; the fields here are {', '.join(fields)}"
        return f"{_at(where[:-1])}unknown field {name!r}{remedy}"
    if kind == "missing":
        return _MISSING.get(where, f"{_at(where[:-1])}{where[-1]!r} is missing")
    if kind == "expected":
        return f"{_at(where)}{detail['msg']}"
    if kind == "literal_error":
        return f"{_at(where)}expected {detail['ctx']['expected']}, got {shown(found)}"
    if kind == "list_type" and len(where) == 1 and isinstance(found, dict):
        return f"[{where[0]}] is written in double brackets, [[{where[0]}]], once for each entry"
    if kind == "greater_than_equal":
        return f"{_at(where)}expected a number that is at least {detail['ctx']['ge']}, got {shown(found)}"
    if kind == "less_than_equal":
        return f"{_at(where)}expected a number that is at most {detail['ctx']['le']}, got {shown(found)}"
    if kind in ("model_type", "model_attributes_type"):
        names = ", ".join(_fields(model, where))
        return f"{_at(where)}expected a table with fields such as {names}; got {shown(found)}"
    return f"{_at(where)}{_EXPECTED.get(kind, detail['msg'])}, got {shown(found)}"


def _at(where: Sequence[str | int]) -> str:
    """A location in the file, as its author sees it.

    Example:
        >>> _at(("workload", 1, "up_to")), _at(("domain", "age", "bins", 0)), _at(())
        ('[[workload]] number 2, up_to: ', '[domain] age, bins, entry 1: ', '')
        >>> _at(("output", "known", 0, "counts"))
        '[[output.known]] number 1, counts: '
    """
    rest = list(where)
    parts: list[str] = []
    if len(rest) > 1 and rest[0] in ("workload", "targets"):
        parts.append(f"[[{rest[0]}]] number {int(rest[1]) + 1}")
        rest = rest[2:]
    elif len(rest) > 2 and rest[0] == "output" and isinstance(rest[2], int):
        parts.append(f"[[output.{rest[1]}]] number {rest[2] + 1}")
        rest = rest[3:]
    elif len(rest) > 1 and rest[0] in ("domain", "output"):
        parts.append(f"[{rest[0]}] {rest[1]}")
        rest = rest[2:]
    parts += [f"entry {part + 1}" if isinstance(part, int) else str(part) for part in rest if not _is_branch(part)]
    return f"{', '.join(parts)}: " if parts else ""


def _is_branch(part: str | int) -> bool:
    """Whether pydantic added this part for itself: the name of a type among several."""
    return isinstance(part, str) and (part.endswith("Table") or part.startswith("literal[") or part in (NAMES, KINDS))


def _fields(model: type[BaseModel], where: Sequence[str | int]) -> list[str]:
    """The fields of the table at a location in the file."""
    if where and where[0] == "domain" and len(where) > 1:
        where = (where[0], *where[2:])
    for part in where:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        tables = [] if field is None else _tables(field.annotation)
        model = tables[0] if tables else model
    return list(model.model_fields)


def _tables(annotation: Any) -> list[type[BaseModel]]:
    """The models that occur in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [table for part in get_args(annotation) for table in _tables(part)]
