"""JSON as files of this library hold it, and as it is read from strangers.

Reads: values, or text.  Gives: canonical text, or values; FileFormatError where the text is not such JSON.
"""

import json
import math
import re
from typing import Any

from residualplanner.errors import FileFormatError

#: How deep lists and objects may be nested, how many of these there may be, and how many values in all.
DEPTH_LIMIT, NEST_LIMIT, VALUE_LIMIT = 32, 2**21, 2**23


def json_text(value: object) -> bytes:
    """One text for equal values: keys sorted, no spaces, ASCII; ValueError where a number is not finite."""
    return json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode("ascii")


def parse_json(text: str) -> Any:
    """Parse JSON from strangers: finite numbers, no name twice in an object, no deep nesting, not too many values.

    What it would take is known from the signs in the text, before a value is made: a list of nothing takes 56 bytes
    for two of text.

    Raises:
        FileFormatError: it is not such JSON.

    Example:
        >>> parse_json('{"a": 1, "a": 2}')
        Traceback (most recent call last):
        ...
        residualplanner.errors.FileFormatError: the name 'a' stands twice in one JSON object
    """
    if not is_small(text):
        raise FileFormatError(
            f"too large: JSON of more than {NEST_LIMIT:,} lists and objects, or {VALUE_LIMIT:,} values"
        )
    if _depth(text) > DEPTH_LIMIT:
        raise FileFormatError(f"too deep: JSON nested more than {DEPTH_LIMIT} levels")
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_finite, parse_float=_finite)
    except FileFormatError:
        raise
    except (ValueError, RecursionError):
        raise FileFormatError("it is not valid JSON") from None


def is_small(text: str) -> bool:
    """Whether JSON has no more lists, objects and values than are read; signs inside strings count, too."""
    nests = text.count("[") + text.count("{")
    return nests <= NEST_LIMIT and nests + text.count(",") <= VALUE_LIMIT


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise FileFormatError(f"{word[:20]} is not a finite number")
    return number


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
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
