"""The bytes of a part in pieces, each of which can be read and checked without the others."""

import hashlib
import json
import mmap
import os
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import IO, Any

from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.json import json_text
from residualplanner.ground.stores import AnyPath
from residualplanner.publish.files.checked_files import AGAIN


@dataclass(frozen=True, slots=True)
class PartFile:
    """Which bytes a part has, all together and in pieces.

    The pieces follow one another: the row groups, of which the first starts with the file, and then the footer, which
    says what stands where.

    Attributes:
        sha256: of the whole file.
        sizes: how many bytes each piece has, at least 1.
        hashes: the SHA-256 of each piece.

    Raises:
        FileFormatError: there is no row group, or a piece without bytes.
    """

    sha256: str
    sizes: tuple[int, ...]
    hashes: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise FileFormatError("a part has at least one row group and a footer, none of them empty")

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return sum(self.sizes)

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json_text([self.sha256, self.sizes, self.hashes])

    def row_group(self, path: AnyPath, group: int) -> Any:
        """The file at a path as a PyArrow buffer in which only one row group and the footer are, and zeros elsewhere.

        Raises:
            FileFormatError: the file is missing, or has another size; or the hash of one of these two is another.
        """
        import pyarrow as pa

        if not path.is_file():
            raise FileFormatError(f"{path} is missing; {AGAIN}")
        bounds = list(pairwise([0, *accumulate(self.sizes)]))
        with closing(path.open("rb")) as file:
            if file.seek(0, os.SEEK_END) != self.size:
                raise _altered(path)
            content = mmap.mmap(-1, self.size)  # memory that is taken only where something is written
            for piece in (group, len(self.sizes) - 1):
                self._read(file, path, memoryview(content)[slice(*bounds[piece])], bounds[piece][0], piece)
        return pa.py_buffer(content)

    def _read(self, file: IO[bytes], path: AnyPath, target: memoryview, start: int, piece: int) -> None:
        """Read one piece, and compare its hash."""
        file.seek(start)
        content = file.read(len(target))
        if len(content) != len(target) or hashlib.sha256(content).hexdigest() != self.hashes[piece]:
            raise _altered(path)
        target[:] = content


def part_file_of(content: Any) -> PartFile:
    """What the bytes of a part are; FileFormatError where they have no pieces, as no part that is complete has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata, view = pq.read_metadata(pa.BufferReader(content)), memoryview(content)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    ends = [_end(group.column(group.num_columns - 1)) for group in groups]
    bounds = list(pairwise([0, *ends, len(view)]))
    hashes = tuple(hashlib.sha256(view[first:last]).hexdigest() for first, last in bounds)
    return PartFile(hashlib.sha256(view).hexdigest(), tuple(last - first for first, last in bounds), hashes)


def part_file_of_bytes(content: bytes) -> PartFile:
    """Undo `PartFile.to_bytes`."""
    digest, sizes, hashes = json.loads(content)
    return PartFile(digest, tuple(sizes), tuple(hashes))


def _end(column: Any) -> int:
    """Where a column of a row group ends, in bytes from the start of the file."""
    start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    return int(start + column.total_compressed_size)


def _altered(path: AnyPath) -> FileFormatError:
    return FileFormatError(f"{path} was altered: its SHA-256 is not the one in the list of parts; {AGAIN}")


#: The folder within the hidden one with a file for each part; no release has it.
HASHES = "hashes"


def state_part(folder: AnyPath, part: int, file: PartFile) -> None:
    """Write down what a part will be; done before the part itself is written, so that none is there without it."""
    with write_atomically(_statement(folder, part)) as statement:
        statement.write(file.to_bytes())


def finished_part(folder: AnyPath, part: int, content: bytes) -> PartFile | None:
    """What a part is, if these are the bytes that were to be written; None where that is not stated, or others were."""
    try:
        stated = part_file_of_bytes(_statement(folder, part).read_bytes())
    except (OSError, ValueError, TypeError, FileFormatError):  # absent, or damaged as the part may be
        return None
    return stated if hashlib.sha256(content).hexdigest() == stated.sha256 else None


def _statement(folder: AnyPath, part: int) -> AnyPath:
    return folder / f"{HASHES}/part-{part:06}.json"
