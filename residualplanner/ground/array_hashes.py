"""What identifies plain arrays: their type, shape and SHA-256; and files in which these have been compared."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.json import json_text

Array = NDArray[Any]

#: How many entries an array may have, and of which types.
ENTRY_LIMIT = 2**31
DTYPES = frozenset(("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f4", "<f8"))
ARRAY_NAME = re.compile(r"[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*", re.ASCII)
NONE_KNOWN: Mapping[str, str] = MappingProxyType({})
#: Arrays of more bytes are hashed in blocks of so many.
BLOCK = 2**26
#: Times of files are no finer than this on any file system in use: FAT's are even numbers of seconds.
TIME_STEP = 2 * 10**9


def content_hash(header: Mapping[str, Any], arrays: Mapping[str, Array], hashes: Mapping[str, str] = NONE_KNOWN) -> str:
    """The SHA-256, in hexadecimal digits, of a header and arrays, of which those are not hashed whose own is known."""
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

    Of more than one block it is the SHA-256 of those of the blocks, so that all processors can compare it at once.
    """
    blocks = [*pieces(array, BLOCK)]
    if len(blocks) < 2:
        return hashlib.sha256(*blocks).hexdigest()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        digests = threads.map(lambda block: hashlib.sha256(block).digest(), blocks)  # threads run meanwhile
        return hashlib.sha256(b"".join(digests)).hexdigest()


def pieces(array: Array, size: int = 2**20) -> Iterator[memoryview]:
    """The bytes of a contiguous array, so many at a time."""
    view = memoryview(array.reshape(-1).view(np.uint8).data)
    for start in range(0, len(view), size):
        yield view[start : start + size]


class FileState(NamedTuple):
    """What the file system says of a file, and says differently after every change of its content."""

    device: int  # which file system the file is in, as a number of this machine
    inode: int  # the file's number there
    size: int  # bytes
    modified_ns: int  # when its content was last written, which programs can set to any time
    changed_ns: int  # when the system last noted a change of content, name or rights; on Windows when it was made


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A file whose hashes have been compared with its content, and what the file system said of it at that time.

    It may be sent to other processes.  There the file is taken for verified if the file system says the same of it:
    another file under its name, a file on another machine, or one that was written since is not.

    This finds what careless users and programs do to a file while it is in use: copy over it, restore it, edit it, also
    where they put the time of the last write back.  It does not find who writes to the disk past the file system or
    sets the machine's clock back; that takes more than the rights of the user, who could as well write other results.
    """

    path: Any  # absolute, or in a bucket, where nothing is known of later changes
    state: FileState | None  # None where a later change might not show, because the file had only just been written
    hashes: Mapping[str, str]  # the SHA-256 of each array in it, by name

    def is_unchanged(self) -> bool:
        """Whether the file that has the name now is the one that was verified, not written since."""
        try:
            return self.state is not None and state_of(os.stat(self.path)) == self.state
        except OSError:
            return False


def state_of(status: os.stat_result) -> FileState:
    """What the file system says of a file, of what ``os.stat`` or ``os.fstat`` has returned."""
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
