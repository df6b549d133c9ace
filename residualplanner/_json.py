"""JSON as files of this library hold it, and as it is read from strangers.

Reads: values, or text.  Gives: canonical text, or values; FileFormatError where the text is not such JSON.
"""

import json
import math
import re
from typing import Any

from residualplanner.errors import FileFormatError

#: How deep lists and objects may be nested.
DEPTH_LIMIT = 32


def json_text(value: object) -> bytes:
    """One text for equal values: keys sorted, no spaces, ASCII; ValueError where a number is not finite."""
    return json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode("ascii")


def parse_json(text: str) -> Any:
    """Parse JSON from strangers: finite numbers, no name twice in an object, no deep nesting.

    Raises:
        FileFormatError: it is not such JSON.

    Example:
        >>> parse_json('{"a": 1, "a": 2}')
        Traceback (most recent call last):
        ...
        residualplanner.errors.FileFormatError: the name 'a' stands twice in one JSON object
    """
    if _depth(text) > DEPTH_LIMIT:
        raise FileFormatError(f"too deep: JSON nested more than {DEPTH_LIMIT} levels")
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_finite, parse_float=_finite)
    except FileFormatError:
        raise
    except (ValueError, RecursionError):
        raise FileFormatError("it is not valid JSON") from None


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise FileFormatError(f"{word[:20]} is not a finite number")
    return number


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"the name {twice[:40]!r} stands twice in one JSON object")
    return found


def _depth(text: str) -> int:
    """How deep brackets are nested outside of strings."""
    deepest = depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', text):
        bracket = token[0]
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest
