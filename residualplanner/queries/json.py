"""Kinds of query as plain JSON values, for plan files."""

from typing import Any

from residualplanner.errors import FileFormatError
from residualplanner.queries.identity import Identity
from residualplanner.queries.kind import Kind


def kind_to_json(kind: Kind) -> dict[str, Any]:
    """The kind as an object that `kind_from_json` reads.

    Example:
        >>> kind_to_json(Identity())
        {'kind': 'identity'}
    """
    return {"kind": kind.name}


def kind_from_json(value: object) -> Kind:
    """Undo `kind_to_json`.

    Raises:
        FileFormatError: it is no kind of query that this version knows.
    """
    if value == {"kind": "identity"}:
        return Identity()
    raise FileFormatError(f"a kind of query must be {{'kind': 'identity'}}, got {str(value)[:60]}")
