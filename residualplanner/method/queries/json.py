"""Kinds of query from plain JSON values, as plan files hold them; `Kind.to_json` writes them."""

import reprlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.ground.errors import DomainError, FileFormatError, WorkloadError
from residualplanner.method.queries.custom import LARGEST_ENTRY, Custom
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import SIZE_LIMIT, Kind
from residualplanner.method.queries.runs import Prefix, Range

#: The fields of a hierarchy from a file or a frame.
_CLASSIFIED = {"classification", "total", "leaves", "values"}


def kind_from_json(value: object) -> Kind:
    """Undo `Kind.to_json`; FileFormatError where it is not a kind that this version knows, or an invalid one."""
    word = value.get("kind") if isinstance(value, dict) else None
    found = _reader(word) if isinstance(word, str) else None
    if not isinstance(value, dict) or found is None:
        message = (
            "a kind of query must be {'kind': 'identity'}, 'prefix', 'range', 'hierarchy', 'custom', 'matching', "
            "'selection', 'by bin', 'sum', 'mean' or 'quantiles', got "
        )
        raise FileFormatError(message + reprlib.repr(value))
    fields, reader = found
    allowed = {"kind"} | (_CLASSIFIED if "classification" in value and word == "hierarchy" else fields)
    if set(value) != allowed:
        raise FileFormatError(
            f"a kind {word!r} must have the fields {sorted(allowed)}, got {reprlib.repr(sorted(value))}"
        )
    try:
        return reader(value)
    except (DomainError, WorkloadError) as error:
        raise FileFormatError(f"an invalid kind {word!r}: {error}") from None


def _reader(word: str) -> tuple[set[str], Callable[[dict[str, Any]], Kind]] | None:
    """The fields of a kind and what reads them; None where there is no such kind."""
    if word in _READERS:
        return _READERS[word]
    from residualplanner.more.queries.json import READERS  # a door

    return READERS.get(word)


def _custom(value: dict[str, Any]) -> Custom:
    size, rows = value["size"], value["rows"]
    if type(size) is not int or not 1 <= size <= SIZE_LIMIT:
        raise FileFormatError(f"a kind 'custom' must have a size from 1 to {SIZE_LIMIT:,}")
    if not isinstance(rows, list) or not rows or not all(_is_row(row, size) for row in rows):
        raise FileFormatError(
            "a kind 'custom' must have rows [columns, entries], the columns ascending and below its size, the entries "
            f"numbers of at most {LARGEST_ENTRY:g} in size and none of them 0"
        )
    bounds = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    columns = np.array([column for columns, _ in rows for column in columns], dtype=np.int32)
    entries = np.array([entry for _, entries in rows for entry in entries], dtype=np.float64)
    return Custom(sparse.csr_array((entries, columns, bounds), shape=(len(rows), size)), value["labels"])


def _is_row(row: object, size: int) -> bool:
    if not isinstance(row, list) or len(row) != 2 or not all(isinstance(part, list) for part in row):
        return False
    columns, entries = row
    if not 1 <= len(columns) == len(entries) <= size or not all(type(column) is int for column in columns):
        return False
    if columns[0] < 0 or columns[-1] >= size or any(a >= b for a, b in pairwise(columns)):
        return False
    return all(type(entry) in (int, float) and 0 < abs(entry) <= LARGEST_ENTRY for entry in entries)


_READERS: dict[str, tuple[set[str], Callable[[dict[str, Any]], Kind]]] = {
    "identity": (set(), lambda _: Identity()),
    "prefix": (set(), lambda _: Prefix()),
    "range": (set(), lambda _: Range()),
    "custom": ({"size", "rows", "labels"}, _custom),
}
