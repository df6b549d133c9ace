"""Arrays as members of an archive: where their numbers stand, and what is checked before any is used."""

import math
import mmap
import struct
import tokenize
import warnings
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np

from residualplanner.ground.array_hashes import ARRAY_NAME, DTYPES, ENTRY_LIMIT, Array, array_hash, pieces
from residualplanner.ground.checks import frozen
from residualplanner.ground.errors import FileFormatError

#: Bytes of a member's header before its name, of the field for large sizes, of what an extra field starts with; where
#: in the header the lengths of the name and of the extra fields stand.
_LOCAL_HEADER, _ZIP64_FIELD, _EXTRA_HEADER, _LENGTHS = 30, 20, 4, 26
#: Contents start at multiples of so many bytes; the number of the field of zeros that sees to it, which has no meaning.
_ALIGNMENT, _PADDING_FIELD = 8, 0x5250
#: The longest header that NumPy writes before the numbers, in bytes.
NPY_HEADER_LIMIT = 10_000

#: What gives the array of a member that has been read up to where the array starts.
Reader = Callable[[IO[bytes], zipfile.ZipInfo, tuple[int, ...], np.dtype[Any]], Array]


def new_member(archive: zipfile.ZipFile, name: str, size: int) -> IO[bytes]:
    """A new uncompressed member whose bytes do not depend on when and where it is written.

    An extra field of zeros makes its content start at a multiple of 8 bytes, so that arrays can be mapped.
    """
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = 0o644 << 16
    is_large = size >= 2**31
    assert archive.fp is not None
    start = archive.fp.tell() + _LOCAL_HEADER + len(name) + (_ZIP64_FIELD if is_large else 0)
    padding = -(start + _EXTRA_HEADER) % _ALIGNMENT
    info.extra = struct.pack("<HH", _PADDING_FIELD, padding) + bytes(padding)
    return archive.open(info, "w", force_zip64=is_large)


def array_of_member(
    archive: zipfile.ZipFile,
    members: Mapping[str, zipfile.ZipInfo],
    name: str,
    stated: object,
    read: Reader,
    known: str | None,
) -> Array:
    """One array, read-only, after its size, type, shape and hash have been compared with the header.

    Its hash is taken to be ``known`` if it is, which then may not be another than the header's.
    """
    dtype, shape, digest = _declared(name, stated)
    info = members[f"{name}.npy"]
    size = math.prod(shape) * dtype.itemsize
    if not size < info.file_size <= size + NPY_HEADER_LIMIT:
        raise FileFormatError(f"array {name!r} is not as large as its header says; write the file again")
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise FileFormatError(f"array {name!r} is of an unknown format; write the file again")
        if _npy_header(member) != (shape, False, dtype):
            raise FileFormatError(f"array {name!r} is not what its header says; write the file again")
        if member.tell() + size != info.file_size:
            raise FileFormatError(f"array {name!r} is longer than its header says; write the file again")
        array = read(member, info, shape, dtype)
    if (known or array_hash(array)) != digest:
        raise FileFormatError(f"array {name!r} was altered: its SHA-256 is not the header's; write the file again")
    return frozen(array)


def _read(member: IO[bytes], info: zipfile.ZipInfo, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The array, in memory."""
    del info
    array = np.empty(shape, dtype)
    for piece in pieces(array):
        piece[:] = member.read(len(piece))
    return array


def memory_reader(file: IO[bytes]) -> Reader:
    """What gives arrays in memory."""
    del file
    return _read


def mapping_reader(file: IO[bytes]) -> Reader:
    """What gives arrays where they stand on disk, if the processor can read their numbers there; else in memory."""
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def read(member: IO[bytes], info: zipfile.ZipInfo, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        lengths = struct.unpack_from("<HH", content, info.header_offset + _LENGTHS)
        start = info.header_offset + _LOCAL_HEADER + sum(lengths) + member.tell()
        count = math.prod(shape)
        if not count or start % dtype.alignment or start + count * dtype.itemsize > len(content):
            return _read(member, info, shape, dtype)
        return np.frombuffer(content, dtype, count, start).reshape(shape)

    return read


def _npy_header(member: IO[bytes]) -> object:
    """A NumPy file's description of its array, which is a Python literal; None where it is not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns of files from Python 2, which none of ours is
            return np.lib.format.read_array_header_1_0(member, NPY_HEADER_LIMIT)
    except (ValueError, SyntaxError, tokenize.TokenError, TypeError, RecursionError, MemoryError, UserWarning):
        return None  # Python's parser raises all of these, MemoryError for too deep a literal


def _declared(name: str, stated: object) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    """The type, shape and hash in a header's entry for one array, if they are allowed."""
    refusal = FileFormatError(f"its header describes array {name[:40]!r} wrongly; write the file again")
    if not ARRAY_NAME.fullmatch(name) or not isinstance(stated, dict) or stated.keys() != {"dtype", "shape", "sha256"}:
        raise refusal
    dtype, shape, digest = stated["dtype"], stated["shape"], stated["sha256"]
    if not isinstance(dtype, str) or dtype not in DTYPES or not isinstance(digest, str):
        raise refusal
    if not isinstance(shape, list) or len(shape) > 64 or any(type(size) is not int or size < 0 for size in shape):
        raise refusal
    if math.prod(shape) > ENTRY_LIMIT:
        raise FileFormatError(
            f"too large: array {name!r} has {math.prod(shape):,} entries, the limit is {ENTRY_LIMIT:,}"
        )
    return np.dtype(dtype), tuple(shape), digest
