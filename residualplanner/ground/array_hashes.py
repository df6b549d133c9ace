"""What identifies plain arrays: their type, shape and SHA-256; and how they are stored."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.json import json_text

Array = NDArray[Any]

#: How many entries an array may have, and of which types.
ENTRY_LIMIT = 2**31
DTYPES = frozenset(("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f4", "<f8"))
#: What arrays may be called.
ARRAY_NAME = re.compile(r"[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*", re.ASCII)
#: Where no hash is known.
NONE_KNOWN: Mapping[str, str] = MappingProxyType({})
_CHUNK = 2**20
#: Arrays of more bytes are hashed in blocks of so many.
BLOCK = 2**26


def content_hash(header: Mapping[str, Any], arrays: Mapping[str, Array], hashes: Mapping[str, str] = NONE_KNOWN) -> str:
    """The SHA-256 of a header and arrays, which links one file to another: 64 hexadecimal digits.

    Args:
        header: JSON values.
        arrays: by name.
        hashes: the SHA-256 of those arrays, by name, whose hash is known, so that it is not computed again.

    Example:
        >>> content_hash({"a": 1}, {}) == content_hash({"a": 1}, {}) != content_hash({"a": 2}, {})
        True
    """
    declared = {name: declaration(storable(name, array), hashes.get(name)) for name, array in arrays.items()}
    return hashlib.sha256(json_text([dict(header), declared])).hexdigest()


def storable(name: str, array: Array) -> Array:
    """``array`` little-endian and contiguous, or ValueError if it cannot be stored."""
    if not ARRAY_NAME.fullmatch(name) or len(name) > 100 or name == "header":
        raise ValueError(f"array names are lower-case words, got {name!r}")
    plain = np.ascontiguousarray(array).reshape(np.shape(array))
    plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    if plain.dtype.str not in DTYPES:
        raise ValueError(f"array {name!r} must hold numbers or truth values, got {plain.dtype}")
    if plain.size > ENTRY_LIMIT:
        raise ValueError(f"too large: array {name!r} has {plain.size:,} entries, the limit is {ENTRY_LIMIT:,}")
    return plain


def declaration(array: Array, known: str | None = None) -> dict[str, Any]:
    """The header's entry for one array, whose hash may be known."""
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": known or array_hash(array)}


def array_hash(array: Array) -> str:
    """The SHA-256 of the bytes of a contiguous array: 64 hexadecimal digits.

    Of an array of more than one block it is the SHA-256 of the SHA-256s of its blocks, one after the other, so that all
    processors can compare it at once.
    """
    view = memoryview(array.reshape(-1).view(np.uint8).data)
    if len(view) <= BLOCK:
        return hashlib.sha256(view).hexdigest()
    blocks = (view[start : start + BLOCK] for start in range(0, len(view), BLOCK))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return hashlib.sha256(b"".join(threads.map(_digest, blocks))).hexdigest()


def _digest(block: memoryview) -> bytes:
    return hashlib.sha256(block).digest()  # which lets other threads run meanwhile


def pieces(array: Array) -> Iterator[memoryview]:
    """The bytes of a contiguous array, a chunk at a time."""
    view = memoryview(array.reshape(-1).view(np.uint8).data)
    for start in range(0, len(view), _CHUNK):
        yield view[start : start + _CHUNK]
