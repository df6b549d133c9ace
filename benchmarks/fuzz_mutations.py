"""Files changed at random, as accidents and forgers change them.

Reads: bytes, JSON values, arrays, a source of chance.  Gives: the same, changed.  The same seed gives the same change.
"""

import copy
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bytes that mean something to some reader: brackets, quotes, signs, line ends, signatures, lengths.
MAGIC = (
    *(b"\x00", b"\xff", b"\n", b"\r\n", b'"', b"'", b",", b";", b"\t", b"\\", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"[", b"]", b"{", b"}", b"(", b"[" * 40, b"{" * 40, b"[" * 5000, b'{"a":' * 2000, b"=[", b"]]", b"a.b", b"."),
    *(b"\xed\xa0\x80", b"\xc3", b"\xf0\x9f\x92\xa9", b"\\ud800", b"_x0000_"),
    *(b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY", b"PAR1", b"ARROW1", b"\x1f\x8b"),
    *(b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"\xff" * 8, b"\x7f" * 8, b"\x00" * 64),
    *(b"NaN", b"Infinity", b"-inf", b"1e999", b"-1", b"0", b"1/0", b"0/0", b"9" * 400, b"9" * 5000, b"1e-999", b"true"),
    *(b"1979-05-27", b"9999-99-99T99:99:99", b"0x" + b"f" * 50, b"null", b"\x80" * 10, b"&a;", b"<!DOCTYPE a>"),
)
#: JSON values that stand where others should.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 24, 40, 255, 10_000, 10**6, 2**31, 2**53, 2**62, 2**63, 10**30, 10**4000),
    *(0.5, -0.0, 1e-300, 5e-324, 1e308, -1e308, 0.1, 1e16),
    *(
        "",
        " ",
        "a",
        "1",
        "-1",
        "0",
        "1/1",
        "1/0",
        "0/0",
        "-1/2",
        "nan",
        "inf",
        "1e999",
        "1e-999",
        "1e999999999",
        "0x1/0x2",
    ),
    *("\x00", "\n", "é", "💩", "\ud800", "\uffff", "a" * 300, "9" * 4000, "9" * 4500, "1/" + "9" * 2000, "../x", "/"),
    *("discrete", "gaussian", "replace", "add-remove", "drop", "error", "prefix", "range", "identity", "custom"),
    *([], [0], [[]], [None], ["a"], [[[[[[[[]]]]]]]], [0] * 50, {}, {"a": 1}, {"into": "a"}, {"kind": "prefix"}),
    *({"kind": "range"}, {"kind": "hierarchy", "levels": [1], "total": None, "leaves": True, "values": None}),
)
_NUMBERS = (0, 1, -1, 2, 3, 127, 2**31 - 1, -(2**31), 2**50, 2**62, 2**63 - 1, -(2**63))
_REALS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e-300, 1e-9, 1e9, 1e300, 1.8e308, np.inf, -np.inf, np.nan)
_DTYPES = ("<i2", "<i4", "<i8", "<u8", "<f4", "<f8", "|b1", "|u1")

Array = NDArray[Any]


def changed_bytes(chance: random.Random, content: bytes) -> bytes:
    """The content after one to three small changes: bytes flipped, cut, put in, repeated, moved."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice(_BYTE_CHANGES)(chance, content)
    return content


def _span(chance: random.Random, size: int) -> tuple[int, int]:
    first = chance.randrange(size + 1)
    return first, min(size, first + int(2 ** chance.uniform(0, 10)))


def _flip(chance: random.Random, content: bytes) -> bytes:
    if not content:
        return b"\x00"
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _other_byte(chance: random.Random, content: bytes) -> bytes:
    if not content:
        return b"\xff"
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut_out(chance: random.Random, content: bytes) -> bytes:
    first, last = _span(chance, len(content))
    return content[:first] + content[last:]


def _cut_off(chance: random.Random, content: bytes) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _put_in(chance: random.Random, content: bytes) -> bytes:
    first = chance.randrange(len(content) + 1)
    return content[:first] + chance.choice(MAGIC) + content[first:]


def _put_over(chance: random.Random, content: bytes) -> bytes:
    first, magic = chance.randrange(len(content) + 1), chance.choice(MAGIC)
    return content[:first] + magic + content[first + len(magic) :]


def _repeat(chance: random.Random, content: bytes) -> bytes:
    first, last = _span(chance, len(content))
    return content[:last] + content[first:last] * chance.choice((1, 1, 2, 30)) + content[last:]


def _move(chance: random.Random, content: bytes) -> bytes:
    first, last = _span(chance, len(content))
    rest = content[:first] + content[last:]
    place = chance.randrange(len(rest) + 1)
    return rest[:place] + content[first:last] + rest[place:]


_BYTE_CHANGES = (_flip, _other_byte, _cut_out, _cut_off, _put_in, _put_over, _repeat, _move)


def changed_json(chance: random.Random, value: Any) -> Any:
    """A copy of a JSON value in which one to three parts are others, absent, doubled, moved or wrapped."""
    changed = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        holders = [each for each in _holders(changed) if each]
        if not holders:
            return chance.choice(VALUES)
        holder = chance.choice(holders)
        key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
        chance.choice(_JSON_CHANGES)(chance, holder, key, holders)
    return changed


def _holders(value: Any) -> list[Any]:
    """All lists and objects in a JSON value."""
    found, todo = [], [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict | list):
            found.append(each)
            todo.extend(each.values() if isinstance(each, dict) else each)
    return found


def _other_value(chance: random.Random, holder: Any, key: Any, _: Any) -> None:
    holder[key] = copy.deepcopy(chance.choice(VALUES))


def _near_value(chance: random.Random, holder: Any, key: Any, _: Any) -> None:
    value = holder[key]
    if isinstance(value, bool) or value is None:
        holder[key] = chance.choice((None, True, False, 0, 1))
    elif isinstance(value, int | float):
        with_overflow = chance.choice((lambda x: x + 1, lambda x: x - 1, lambda x: -x, lambda x: x * 1000, str, float))
        holder[key] = with_overflow(value) if abs(value) < 1e300 else 0
    elif isinstance(value, str):
        holder[key] = changed_bytes(chance, value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    else:
        holder[key] = [value]


def _absent(_chance: random.Random, holder: Any, key: Any, _: Any) -> None:
    del holder[key]


def _doubled(chance: random.Random, holder: Any, key: Any, _: Any) -> None:
    if isinstance(holder, dict):
        holder[f"{key}{chance.choice(('_', 'x', ' '))}"] = copy.deepcopy(holder[key])
    else:
        holder[key:key] = [copy.deepcopy(holder[key])] * chance.choice((1, 1, 50))


def _swapped(chance: random.Random, holder: Any, key: Any, holders: Sequence[Any]) -> None:
    other = chance.choice(holders)
    place = chance.choice(list(other)) if isinstance(other, dict) else chance.randrange(len(other))
    mine, theirs = copy.deepcopy(holder[key]), copy.deepcopy(other[place])
    holder[key] = theirs
    if other and (place in other if isinstance(other, dict) else place < len(other)):
        other[place] = mine


_JSON_CHANGES: tuple[Callable[[random.Random, Any, Any, Any], None], ...] = (
    _other_value,
    _other_value,
    _other_value,
    _near_value,
    _near_value,
    _absent,
    _doubled,
    _swapped,
)


def json_bytes(value: Any) -> bytes:
    """JSON as a stranger writes it, whatever is in it."""
    return json.dumps(value, ensure_ascii=True).encode("ascii")


def changed_arrays(chance: random.Random, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays with one of them changed in its entries, type or shape, absent, doubled, or swapped with another."""
    changed = dict(arrays)
    name, other = chance.choice(list(changed)), chance.choice(list(changed))
    action = chance.randrange(8)
    if action == 0:
        del changed[name]
    elif action == 1:
        changed[f"{name}_{chance.randrange(3)}"] = changed[name]
    elif action == 2:
        changed[name], changed[other] = changed[other], changed[name]
    else:
        changed[name] = _changed_array(chance, changed[name])
    return changed


def _changed_array(chance: random.Random, array: Array) -> Array:
    action = chance.randrange(6)
    if action == 0:
        with np.errstate(all="ignore"):
            return array.astype(chance.choice(_DTYPES))
    if action == 1:
        return array.reshape(chance.choice(((-1,), (1, -1), (-1, 1))))
    if action == 2 and array.ndim:
        return np.concatenate([array, array[: chance.randrange(len(array) + 1)]])
    if action == 3 and array.ndim:
        return array[: chance.randrange(len(array) + 1)].copy()
    flat = array.ravel().copy()
    if not flat.size:
        return np.zeros(chance.choice((1, 2, 8)), array.dtype)
    pool = _NUMBERS if array.dtype.kind in "iu" else _REALS
    for _ in range(chance.choice((1, 1, 2, flat.size))):
        place = chance.randrange(flat.size)
        near = flat[place] * chance.choice((0.5, 0.999, 1.001, 2)) if array.dtype.kind == "f" else flat[place]
        number = chance.choice((near, chance.choice(pool), flat[chance.randrange(flat.size)]))
        if array.dtype.kind in "iu":
            number = int(number) & ((1 << 8 * array.itemsize - 1) - 1) | (-(1 << 8 * array.itemsize - 1) * (number < 0))
        flat[place] = number
    return flat.reshape(array.shape)
