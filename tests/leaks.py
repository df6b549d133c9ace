"""Marks in records, a search for them in everything that an error leads to, and leaks that it must find."""

import re
import traceback
import types

import pandas as pd
import polars as pl
import pyarrow as pa

import residualplanner as rp
from residualplanner import Domain

#: Of these every mark is made: as text, as a number with 12 digits, as its negative, and as a float.
TEXT, DIGITS = "canary", 918273
_HASHES = re.compile(r"\b[0-9a-f]{64}\b")


def is_marked(text: str) -> bool:
    # Estimates have many digits behind the point, and hashes have 64, among which any six may come by chance.
    return TEXT in text or re.search(rf"(?<![\d.]){DIGITS}", _HASHES.sub("", text)) is not None


def leaks_of_error(error: BaseException, data: object) -> list[str]:
    """Where an error, its history, or what its traceback leads to holds a mark or the records themselves."""
    found = [word for word in ("__cause__", "__context__") if getattr(error, word) is not None]
    if is_marked("".join(traceback.format_exception(error))) or any(is_marked(repr(part)) for part in error.args):
        found.append("text")
    if holds(error, data):
        found.append("error")
    frame = error.__traceback__
    is_caller = True  # the frames that called the library hold the records themselves
    while frame is not None:
        inside = frame.tb_frame
        is_caller = is_caller and not inside.f_globals["__name__"].startswith("residualplanner")
        if not is_caller:
            found += [
                f"{inside.f_code.co_qualname}: {name}" for name, value in inside.f_locals.items() if holds(value, data)
            ]
        frame = frame.tb_next
    return [*found, "no frame of the library"] if is_caller else found


def holds(root: object, data: object) -> bool:
    """Whether records or a mark can be reached from a variable: items, attributes, closures, suspended generators."""
    seen: dict[int, object] = {}  # kept, so that no other object gets the number of one of them
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type | types.ModuleType | Domain):
            continue
        seen[id(value)] = value
        if value is data or isinstance(value, pd.DataFrame | pl.DataFrame | pl.LazyFrame | pa.Table | pa.RecordBatch):
            return True
        if is_marked(repr(value)):
            return True
        waiting += _inner(value)
    return False


def _inner(value: object) -> list[object]:
    inner = [*vars(value).values()] if hasattr(value, "__dict__") else []
    inner += [getattr(value, name, None) for name in getattr(type(value), "__slots__", ()) if isinstance(name, str)]
    if isinstance(value, dict):
        inner += [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner += value
    elif isinstance(value, types.FunctionType):
        inner += [cell.cell_contents for cell in value.__closure__ or ()]
    elif isinstance(value, types.MethodType):
        inner.append(value.__self__)
    elif isinstance(value, types.GeneratorType) and value.gi_frame is not None:
        inner += value.gi_frame.f_locals.values()
    elif isinstance(value, BaseException):
        inner += [value.args, value.__cause__, value.__context__]
    return inner


def leak_in_message(data):
    raise rp.errors.DataError(f"what are {list(data['name'])}?")


def leak_in_history(data):
    try:
        int(str(list(data["name"])))
    except ValueError:
        raise rp.errors.DataError("a fixed text")  # noqa: B904 - the leak is the point


def leak_in_frame(data):
    kept = [lambda: data]
    raise rp.errors.DataError("a fixed text", column=str(len(kept)))


#: To be called as if they were of the package, whose frames alone are searched.
LEAKS = [leak_in_message, leak_in_history, leak_in_frame]
