"""One-file containers of a JSON header and plain arrays.

Nothing is unpickled or compressed, and no stated size is used before it is compared with the file's own and limits.
"""

import io
import math
import mmap
import os
import struct
import time
import tokenize
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from residualplanner.ground import array_hashes as hashing
from residualplanner.ground.atomic import PathLike, write_atomically
from residualplanner.ground.checks import frozen, has_shape, open_regular, require_path
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.format_version import FORMAT_VERSION, require_version
from residualplanner.ground.json import NEST_LIMIT, VALUE_LIMIT, is_small, json_text, parse_json
from residualplanner.ground.version import __version__

HEADER_LIMIT = 2**25
ARRAY_LIMIT = 4096
#: The longest header that NumPy writes before the numbers of an array, in bytes.
_NPY_HEADER_LIMIT = 10_000
#: Bytes of a member's header before its name, of the field for large sizes, of what an extra field starts with; where
#: in the header the lengths of the name and of the extra fields stand.
_LOCAL_HEADER, _ZIP64_FIELD, _EXTRA_HEADER, _LENGTHS = 30, 20, 4, 26
#: Contents start at multiples of so many bytes; the number of the field of zeros that sees to it, which has no meaning.
_ALIGNMENT, _PADDING_FIELD = 8, 0x5250

_DAMAGED = "this is not a residualplanner file, or it is damaged; write it again"
_FIELDS = {"format": str, "version": int, "package_version": lambda _: True, "content": dict, "arrays": dict}
_DECLARED = {"dtype": lambda word: isinstance(word, str) and word in hashing.DTYPES, "shape": [int], "sha256": str}
_UNREADABLE = (
    zipfile.BadZipFile,
    struct.error,
    EOFError,
    KeyError,
    OSError,
    OverflowError,
    RuntimeError,  # raised by zipfile for an unknown compression or encryption
    SyntaxError,
    ValueError,
)


def write_archive(path: Any, *, kind: str, header: Mapping[str, Any], arrays: Mapping[str, hashing.Array]) -> None:
    """Write a header of JSON values, and arrays of numbers or truth values, to one file, whole or not at all.

    Equal content gives equal bytes.  Names of arrays are lower-case words, possibly joined by "/".  ValueError where
    the header is not JSON, a name or an array's type cannot be stored, or a limit is exceeded.
    """
    if not hasattr(path, "writing"):
        require_path(f"{kind}.save", path, f'{kind}.save("people.{kind}")')
    write = archive_pieces(kind=kind, header=header, arrays=arrays)
    with write_atomically(path) as file:
        write(file)


def archive_pieces(
    *, kind: str, header: Mapping[str, Any], arrays: Mapping[str, hashing.Array]
) -> Callable[[IO[bytes]], None]:
    """A function that writes the bytes of `write_archive` to an open file; arguments and ValueError as there."""
    stored = {name: hashing.storable(name, array) for name, array in arrays.items()}
    if len(stored) > ARRAY_LIMIT:
        raise ValueError(f"too large: {len(stored):,} arrays, the limit is {ARRAY_LIMIT:,}")
    declared = {name: hashing.declaration(array) for name, array in stored.items()}
    about = {"format": f"residualplanner/{kind}", "version": FORMAT_VERSION, "package_version": __version__}
    text = json_text({**about, "content": dict(header), "arrays": declared})
    if len(text) > HEADER_LIMIT:
        raise ValueError(f"too large: a header of {len(text):,} bytes, the limit is {HEADER_LIMIT:,}")
    if not is_small(text.decode("ascii")):
        message = f"too large: a header of more than {NEST_LIMIT:,} lists and objects, or {VALUE_LIMIT:,} values"
        raise ValueError(message)

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            with _new_member(archive, "header.json", len(text)) as member:
                member.write(text)
            for name, array in stored.items():
                with _new_member(archive, f"{name}.npy", array.nbytes + _NPY_HEADER_LIMIT) as member:
                    np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(array))
                    for piece in hashing.pieces(array):
                        member.write(piece)

    return write


def read_archive(path: PathLike, *, kind: str) -> tuple[dict[str, Any], dict[str, hashing.Array]]:
    """The header and the arrays of a file; FileFormatError where it is not just what `write_archive` wrote."""
    return open_archive(path, kind=kind)[:2]


def open_archive(
    path: PathLike, *, kind: str, mapped: bool = False, verified: hashing.VerifiedFile | None = None
) -> tuple[dict[str, Any], dict[str, hashing.Array], hashing.VerifiedFile]:
    """As `read_archive`, and what makes it unnecessary to compare the hashes of this file again.

    Given what an earlier call has returned, arrays that it has compared are not read for that again if the file is
    still the same.  Arrays that are ``mapped`` stay on disk; the system reads them into memory, and drops them from it.
    """
    require_path(f"load_{kind}", path, f'load_{kind}("people.{kind}")')
    if os.path.isdir(path):
        raise FileFormatError(f"{os.fspath(path)}: {_other_words(path, kind)}")
    now = time.time_ns()
    with open_regular(path) as file:
        state = hashing.state_of(os.fstat(file.fileno()))
        known = verified.hashes if verified is not None and state == verified.state else {}
        try:
            content, arrays, hashes = _content(file, state.size, kind, known, is_mapped=mapped)
            # so that a change from now on gets other times
            is_settled = max(state.modified_ns, state.changed_ns) + hashing.TIME_STEP < now
            is_sure = is_settled and hashing.state_of(os.fstat(file.fileno())) == state
            return content, arrays, hashing.VerifiedFile(Path(path).absolute(), state if is_sure else None, hashes)
        except FileFormatError as refusal:
            raise FileFormatError(f"{os.fspath(path)}: {refusal}") from None
        except _UNREADABLE:
            raise FileFormatError(f"{os.fspath(path)}: {_other_words(path, kind)}") from None


def parse_archive(content: bytes, *, kind: str) -> tuple[dict[str, Any], dict[str, hashing.Array]]:
    """As `read_archive`, from the bytes of a file."""
    try:
        return _content(io.BytesIO(content), len(content), kind)[:2]
    except FileFormatError:
        raise
    except _UNREADABLE:
        raise FileFormatError(_DAMAGED) from None


def _content(
    file: IO[bytes], size: int, kind: str, known: Mapping[str, str] = hashing.NONE_KNOWN, *, is_mapped: bool = False
) -> tuple[dict[str, Any], dict[str, hashing.Array], dict[str, str]]:
    """The header, the arrays and their hashes of an open file; hashes that are ``known`` are not computed."""
    with zipfile.ZipFile(file) as archive:
        members = _members(archive, size)
        whole = _header(archive, members, kind)
        said = whole["arrays"]
        disk = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_mapped else None
        arrays = {
            name: _array_of_member(archive, members[f"{name}.npy"], name, about, disk, known.get(name))
            for name, about in said.items()
        }
    return whole["content"], arrays, {name: about["sha256"] for name, about in said.items()}


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, none compressed or repeated, together no larger than the file."""
    infos = archive.infolist()
    members = {info.filename: info for info in infos}
    are_plain = all(info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size for info in infos)
    total = sum(info.file_size for info in infos)
    if not are_plain or len(infos) > ARRAY_LIMIT + 1 or len(members) < len(infos) or total > size:
        raise FileFormatError(
            "its members are compressed, too many, there twice, or larger than the file, as this library writes none: "
            "truncated or altered; write the file again"
        )
    return members


def _header(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], kind: str) -> dict[str, Any]:
    """The header, after every check that needs no array."""
    info = members.get("header.json")
    if info is None or info.file_size > HEADER_LIMIT:
        raise FileFormatError(f"it has no header.json of at most {HEADER_LIMIT:,} bytes: not a residualplanner file")
    whole: Any = parse_json(archive.read(info).decode("utf-8"))
    _require_kind(whole if isinstance(whole, dict) else {}, kind)
    if not has_shape(whole, _FIELDS) or members.keys() != {"header.json", *(f"{name}.npy" for name in whole["arrays"])}:
        message = "its header has other fields, or names other arrays, than it should; write the file again"
        raise FileFormatError(message)
    return dict(whole)


def _require_kind(whole: Mapping[str, Any], kind: str) -> None:
    found = whole.get("format")
    if not isinstance(found, str) or not found.startswith("residualplanner/"):
        raise FileFormatError("this is not a residualplanner file")
    if found != f"residualplanner/{kind}":
        other = found.removeprefix("residualplanner/")[:40]
        reader = f", or read this one with load_{other}" if other in ("plan", "measurement") else ""
        raise FileFormatError(f"this file holds a {other!r}, not a {kind!r}; name the {kind} file instead{reader}")
    require_version(whole.get("version"), whole.get("package_version"), kind=kind)


def _other_words(path: PathLike, kind: str) -> str:
    from residualplanner.ground.file_kinds import LEDGER, MEASUREMENT, PLAN, RELEASE, kind_of_path

    found = kind_of_path(path)
    if found in (None, PLAN, MEASUREMENT):
        return _DAMAGED
    reader = {RELEASE: ", which load_tables reads", LEDGER: ", which Ledger.open reads"}.get(found, "")
    return f"this is {found}{reader}; name the file of a {kind}"


def _new_member(archive: zipfile.ZipFile, name: str, size: int) -> IO[bytes]:
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


def _array_of_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, stated: Any, disk: mmap.mmap | None, known: str | None
) -> hashing.Array:
    """One array, read-only, when its size, type, shape and hash, which may be ``known``, are those of the header."""
    dtype, shape, digest = _declared(name, stated)
    size = math.prod(shape) * dtype.itemsize
    refusal = FileFormatError(f"array {name!r} is not what its header says; write the file again")
    # NumPy writes a header before the numbers, of a bounded size; nothing is allocated before the sizes fit.
    if not size < info.file_size <= size + _NPY_HEADER_LIMIT:
        raise refusal
    with archive.open(info) as member:
        is_of_version = np.lib.format.read_magic(member) == (1, 0)
        if not is_of_version or _npy_header(member) != (shape, False, dtype) or member.tell() + size != info.file_size:
            raise refusal
        array = None if disk is None else _mapped(disk, info.header_offset, member.tell(), shape, dtype)
        if array is None:
            array = np.empty(shape, dtype)
            for piece in hashing.pieces(array):
                piece[:] = member.read(len(piece))
    if (known or hashing.array_hash(array)) != digest:
        raise FileFormatError(f"array {name!r} was altered: its SHA-256 is not the header's; write the file again")
    return frozen(array)


def _mapped(
    disk: mmap.mmap, header: int, read: int, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> hashing.Array | None:
    """The array where it stands on disk, behind a header and what was read of it; None where it cannot be mapped."""
    start = header + _LOCAL_HEADER + sum(struct.unpack_from("<HH", disk, header + _LENGTHS)) + read
    count = math.prod(shape)
    if not count or start % dtype.alignment or start + count * dtype.itemsize > len(disk):
        return None
    return np.frombuffer(disk, dtype, count, start).reshape(shape)


def _npy_header(member: IO[bytes]) -> object:
    """A NumPy file's description of its array, which is a Python literal; None where it is not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns of files from Python 2, which none of ours is
            return np.lib.format.read_array_header_1_0(member, _NPY_HEADER_LIMIT)
    except (ValueError, SyntaxError, tokenize.TokenError, TypeError, RecursionError, MemoryError, UserWarning):
        return None  # Python's parser raises all of these, MemoryError for too deep a literal


def _declared(name: str, about: Any) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    """The type, shape and hash in a header's entry for one array, if they are allowed."""
    is_array = hashing.ARRAY_NAME.fullmatch(name) is not None and has_shape(about, _DECLARED)
    if not is_array or len(about["shape"]) > 64 or min(about["shape"], default=0) < 0:
        raise FileFormatError(f"its header describes array {name[:40]!r} wrongly; write the file again")
    dtype, shape, digest = about["dtype"], about["shape"], about["sha256"]
    if math.prod(shape) > hashing.ENTRY_LIMIT:
        message = f"too large: array {name!r} has {math.prod(shape):,} entries, the limit is {hashing.ENTRY_LIMIT:,}"
        raise FileFormatError(message)
    return np.dtype(dtype), tuple(shape), digest
