"""One-file containers of a JSON header and plain arrays.

Nothing is unpickled or compressed, and no stated size is used before it is compared with the file's own and with the
limits below.
"""

import io
import os
import struct
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from residualplanner.ground.archive_arrays import (
    NPY_HEADER_LIMIT,
    Reader,
    array_of_member,
    mapping_reader,
    memory_reader,
    new_member,
)
from residualplanner.ground.array_hashes import NONE_KNOWN, Array, declaration, pieces, storable
from residualplanner.ground.atomic import PathLike, WholeObject, write_atomically
from residualplanner.ground.checks import open_regular, require_path
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.file_kinds import EMPTY, MEASUREMENT, OTHER, PLAN, TEXT, kind_of_path
from residualplanner.ground.json import NEST_LIMIT, VALUE_LIMIT, is_small, json_text, parse_json
from residualplanner.ground.verified_file import VerifiedFile, settle, state_of
from residualplanner.ground.version import __version__

#: The longest header, in bytes.
HEADER_LIMIT = 2**25
#: How many arrays a file may hold.
ARRAY_LIMIT = 4096

_FIELDS = frozenset(("format", "version", "package_version", "content", "arrays"))
_UNREADABLE = (
    zipfile.BadZipFile,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,  # raised by zipfile for an unknown compression or encryption
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    ValueError,
)


def write_archive(
    path: PathLike | WholeObject, *, kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write ``header`` and ``arrays`` to one file, whole or not at all; equal content gives equal bytes.

    Args:
        path: where; a file that is there is replaced.
        kind: of file, such as "plan".
        version: of this kind's format, at least 1.
        header: JSON values, numbers finite.
        arrays: numbers or truth values by name; names are lower-case words, possibly joined by "/".

    Raises:
        ValueError: the header is not JSON, a name or an array's type cannot be stored, or a limit is exceeded.
        OSError: the file cannot be written.
    """
    if not isinstance(path, WholeObject):
        require_path(f"{kind}.save", path, f'{kind}.save("people.{kind}")')
    pieces = archive_pieces(kind=kind, version=version, header=header, arrays=arrays)
    with write_atomically(path) as file:
        pieces(file)


def archive_pieces(
    *, kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> Callable[[IO[bytes]], None]:
    """A function that writes the bytes of `write_archive` to an open file; arguments and errors as there."""
    stored = {name: storable(name, array) for name, array in arrays.items()}
    if len(stored) > ARRAY_LIMIT:
        raise ValueError(f"too large: {len(stored):,} arrays, the limit is {ARRAY_LIMIT:,}")
    whole = {
        "format": f"residualplanner/{kind}",
        "version": version,
        "package_version": __version__,
        "content": dict(header),
        "arrays": {name: declaration(array) for name, array in stored.items()},
    }
    text = json_text(whole)
    if len(text) > HEADER_LIMIT:
        raise ValueError(f"too large: a header of {len(text):,} bytes, the limit is {HEADER_LIMIT:,}")
    if not is_small(text.decode("ascii")):
        raise ValueError(
            f"too large: a header of more than {NEST_LIMIT:,} lists and objects, or {VALUE_LIMIT:,} values"
        )

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            with new_member(archive, "header.json", len(text)) as member:
                member.write(text)
            for name, array in stored.items():
                with new_member(archive, f"{name}.npy", array.nbytes + NPY_HEADER_LIMIT) as member:
                    np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(array))
                    for piece in pieces(array):
                        member.write(piece)

    return write


def read_archive(
    path: PathLike, *, kind: str, version: int, mapped: bool = False
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read what `write_archive` wrote: the header, and the arrays, read-only.

    Args:
        path: the file.
        kind: of file that it must be.
        version: the format this library reads.
        mapped: leave the arrays on disk, which the system then reads into memory, and drops from it, as it likes.

    Raises:
        FileFormatError: the file is of another kind or version, truncated, altered, or too large.
        OSError: the file cannot be opened.
    """
    content, arrays, _ = open_archive(path, kind=kind, version=version, mapped=mapped)
    return content, arrays


def open_archive(
    path: PathLike, *, kind: str, version: int, mapped: bool = False, verified: VerifiedFile | None = None
) -> tuple[dict[str, Any], dict[str, Array], VerifiedFile]:
    """As `read_archive`, and what makes it unnecessary to compare the hashes of this file again.

    Args:
        path: the file.
        kind: of file that it must be.
        version: the format this library reads.
        mapped: leave the arrays on disk.
        verified: what an earlier call has returned: arrays that it has compared are not read for that again if the
            file is still the same.
    """
    require_path(f"load_{kind}", path, f'load_{kind}("people.{kind}")')
    if os.path.isdir(path):
        raise FileFormatError(f"{os.fspath(path)}: {_other_words(path, kind)}")
    if mapped:
        settle(path)
    now = time.time_ns()
    with open_regular(path) as file:
        state = state_of(os.fstat(file.fileno()))
        known = verified.hashes if verified is not None and state == verified.state else {}
        try:
            reader = mapping_reader if mapped else memory_reader
            content, arrays, hashes = _content(file, state.size, reader, kind, version, known)
            is_sure = state.is_settled(now) and state_of(os.fstat(file.fileno())) == state
            return content, arrays, VerifiedFile(Path(path).absolute(), state if is_sure else None, hashes)
        except FileFormatError as refusal:
            raise FileFormatError(f"{os.fspath(path)}: {refusal}") from None
        except _UNREADABLE:
            raise FileFormatError(f"{os.fspath(path)}: {_other_words(path, kind)}") from None


def parse_archive(content: bytes, *, kind: str, version: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """As `read_archive`, from the bytes of a file."""
    try:
        header, arrays, _ = _content(io.BytesIO(content), len(content), memory_reader, kind, version)
        return header, arrays
    except _UNREADABLE as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError("this is not a residualplanner file, or it is damaged; write it again") from None


def _content(
    file: IO[bytes],
    size: int,
    reader: Callable[[IO[bytes]], Reader],
    kind: str,
    version: int,
    known: Mapping[str, str] = NONE_KNOWN,
) -> tuple[dict[str, Any], dict[str, Array], dict[str, str]]:
    """The header, the arrays and their hashes of an open file; hashes that are ``known`` are not computed."""
    with zipfile.ZipFile(file) as archive:
        members = _members(archive, size)
        whole = _header(archive, members, kind=kind, version=version)
        read = reader(file)
        stated = whole["arrays"]
        arrays = {name: array_of_member(archive, members, name, stated[name], read, known.get(name)) for name in stated}
    return whole["content"], arrays, {name: about["sha256"] for name, about in stated.items()}


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, none compressed or repeated, together no larger than the file."""
    infos = archive.infolist()
    members = {info.filename: info for info in infos}
    if len(infos) > ARRAY_LIMIT + 1 or len(members) < len(infos):
        raise FileFormatError("it has too many members, or a name twice; write the file again")
    if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in infos):
        raise FileFormatError("its members are compressed, which this library never does; write the file again")
    if sum(info.file_size for info in infos) > size:
        raise FileFormatError("it states a larger size than it has: truncated or altered; write the file again")
    return members


def _header(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], *, kind: str, version: int
) -> dict[str, Any]:
    """The header, after every check that needs no array."""
    info = members.get("header.json")
    if info is None:
        raise FileFormatError("it has no header.json: not a residualplanner file")
    if info.file_size > HEADER_LIMIT:
        raise FileFormatError(f"too large: a header of {info.file_size:,} bytes, the limit is {HEADER_LIMIT:,}")
    whole = parse_json(archive.read(info).decode("utf-8"))
    if not isinstance(whole, dict):
        raise FileFormatError("its header must be an object; write the file again")
    _require_kind(whole, kind=kind, version=version)
    if whole.keys() != _FIELDS or not isinstance(whole["content"], dict) or not isinstance(whole["arrays"], dict):
        raise FileFormatError("its header has missing or unknown fields; write the file again")
    if members.keys() != {"header.json", *(f"{name}.npy" for name in whole["arrays"])}:
        raise FileFormatError("its header names other arrays than the file holds; write the file again")
    return whole


def _require_kind(whole: Mapping[str, Any], *, kind: str, version: int) -> None:
    found, number = whole.get("format"), whole.get("version")
    if not isinstance(found, str) or not found.startswith("residualplanner/"):
        raise FileFormatError("this is not a residualplanner file")
    if found != f"residualplanner/{kind}":
        other = found.removeprefix("residualplanner/")[:40]
        reader = f", or read this one with load_{other}" if other in ("plan", "measurement") else ""
        raise FileFormatError(f"this file holds a {other!r}, not a {kind!r}; name the {kind} file instead{reader}")
    if type(number) is not int or number < 1:
        raise FileFormatError("its format version must be an integer, at least 1; write the file again")
    if number > version:
        raise FileFormatError(
            f"written by a newer version (format {number}, this reads {version}); upgrade residualplanner"
        )
    if number < version:
        raise FileFormatError(f"format {number} is no longer read; write the file again with this version")


def _other_words(path: PathLike, kind: str) -> str:
    """The message for a file that is not an archive of this library."""
    found = kind_of_path(path)
    if found in (OTHER, TEXT, EMPTY, PLAN, MEASUREMENT):
        return "this is not a residualplanner file, or it is damaged; write it again"
    reader = f", which {found.function} reads" if found.function else ""
    return f"this is {found.name}{reader}; name the file of a {kind}"
