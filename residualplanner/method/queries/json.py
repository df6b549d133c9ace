"""Kinds of query from plain JSON values, as plan files hold them; `Kind.to_json` writes them."""

import reprlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from residualplanner.ground.checks import has_shape
from residualplanner.ground.errors import DomainError, FileFormatError, WorkloadError
from residualplanner.method.queries.custom import LARGEST_ENTRY, Custom
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import SIZE_LIMIT, Kind
from residualplanner.method.queries.runs import Prefix, Range

#: Of each kind, by its word in files, the shapes of its fields, one for each form that it may have, and what reads it.
Readers = dict[str, tuple[tuple[dict[str, Any], ...], Callable[[dict[str, Any]], Kind]]]


def kind_from_json(value: object) -> Kind:
    """Undo `Kind.to_json`; FileFormatError where it is not a kind that this version knows, or an invalid one."""
    from residualplanner.more.queries.json import READERS  # a door

    word, readers = value.get("kind") if isinstance(value, dict) else None, _READERS | READERS
    if not isinstance(value, dict) or not isinstance(word, str) or word not in readers:
        raise FileFormatError(f"a kind of query must be an object such as {{'kind': 'identity'}}, got {_short(value)}")
    shapes, reader = readers[word]
    found = next((shape for shape in shapes if value.keys() == {"kind", *shape}), None)
    if found is None:
        fields = sorted({"kind", *shapes[0]})
        raise FileFormatError(f"a kind {word!r} must have the fields {fields}, got {_short(sorted(value))}")
    for name, shape in found.items():
        if not has_shape(value[name], shape):
            raise FileFormatError(f"a kind {word!r} has an invalid field {name!r}: {_short(value[name])}")
    try:
        return reader(value)
    except (DomainError, WorkloadError) as error:
        raise FileFormatError(f"an invalid kind {word!r}: {error}") from None


_short = reprlib.repr


def is_size(value: object) -> bool:
    """Whether it is how many values an attribute has, of which matrices are formed."""
    return type(value) is int and 1 <= value <= SIZE_LIMIT


def _custom(value: dict[str, Any]) -> Custom:
    size, rows = value["size"], value["rows"]
    if not rows or not all(_is_row(row, size) for row in rows):
        problem = "a kind 'custom' must have rows [columns, entries], the columns ascending and below its size"
        raise FileFormatError(f"{problem}, the entries numbers of at most {LARGEST_ENTRY:g} in size and none of them 0")
    bounds = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    columns = np.array([column for columns, _ in rows for column in columns], dtype=np.int32)
    entries = np.array([entry for _, entries in rows for entry in entries], dtype=np.float64)
    return Custom(scipy.sparse.csr_array((entries, columns, bounds), shape=(len(rows), size)), value["labels"])


def _is_row(row: list[list[Any]], size: int) -> bool:
    if len(row) != 2 or not 1 <= len(row[0]) == len(row[1]) <= size or not has_shape(row[0], [int]):
        return False
    columns, entries = row
    is_ascending = columns[0] >= 0 and columns[-1] < size and all(a < b for a, b in pairwise(columns))
    return is_ascending and all(type(entry) in (int, float) and 0 < abs(entry) <= LARGEST_ENTRY for entry in entries)


_READERS: Readers = {
    "identity": (({},), lambda _: Identity()),
    "prefix": (({},), lambda _: Prefix()),
    "range": (({},), lambda _: Range()),
    "custom": (({"size": is_size, "rows": [[list]], "labels": lambda _: True},), _custom),
}
