"""JSON in files of this library, and JSON that may come from anyone."""

import json
import math
import re
from itertools import accumulate
from typing import Any

from residualplanner.ground.errors import FileFormatError

#: The deepest nesting of lists and objects, the most of these, and the most values in all.
DEPTH_LIMIT, NEST_LIMIT, VALUE_LIMIT = 32, 2**21, 2**23


def json_text(value: object) -> bytes:
    """The same text for equal values: keys sorted, no spaces, ASCII; ValueError where a number is not finite."""
    return json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode("ascii")


def parse_json(text: str) -> Any:
    """Parse JSON that may come from anyone: finite numbers, distinct names in objects, limited nesting and size.

    The size is estimated from the brackets and commas, before any value is made: an empty list needs 56 bytes of memory
    for two of text.  FileFormatError where it is not such JSON.
    """
    if not is_small(text):
        message = f"too large: JSON of more than {NEST_LIMIT:,} lists and objects, or {VALUE_LIMIT:,} values"
        raise FileFormatError(message)
    brackets = re.sub(r'"(?:[^"\\]|\\.)*+"|[^][{}"]+', "", text)  # those outside strings
    if max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0) > DEPTH_LIMIT:
        raise FileFormatError(f"too deep: JSON nested more than {DEPTH_LIMIT} levels")
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_finite, parse_float=_finite)
    except FileFormatError:
        raise
    except (ValueError, RecursionError):
        raise FileFormatError("it is not valid JSON") from None


def is_small(text: str) -> bool:
    """Whether JSON has no more lists, objects and values than allowed; characters inside strings count, too."""
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
        raise FileFormatError(f"the name {twice[:40]!r} occurs twice in one JSON object")
    return found
