"""The bytes of a part in pieces, each of which is read and checked without the others, and the lists of all these."""

import hashlib
import json
import mmap
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.json import json_text
from residualplanner.ground.stores import AnyPath
from residualplanner.publish.files import csv
from residualplanner.publish.files.manifest import AGAIN, PLAN_FILE, checked, content_of
from residualplanner.publish.files.sidecar import INTEGER, TEXT
from residualplanner.release.layout import PART_LIST, ROW_GROUP_LIST, Layout, part_name

#: The folder within the hidden one with a file for each part; no release has it.
HASHES = "hashes"
#: The columns of the two lists that are read.
_PARTS = {"file": TEXT, "bytes": INTEGER, "sha256": TEXT, "footer_bytes": INTEGER, "footer_sha256": TEXT}
_ROW_GROUPS = {"file": TEXT, "first_table": INTEGER, "bytes": INTEGER, "sha256": TEXT}


@dataclass(frozen=True, slots=True)
class PartFile:
    """Which bytes a part has, all together and in pieces: the row groups, one after the other, then the footer."""

    sha256: str  # of the whole file
    sizes: tuple[int, ...]  # of each piece, in bytes
    hashes: tuple[str, ...]  # SHA-256 of each piece

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
        """The file as a PyArrow buffer of one row group and the footer, both as saved, and zeros elsewhere."""
        import pyarrow as pa

        if not path.is_file():
            raise FileFormatError(f"{path} is missing; {AGAIN}")
        bounds = list(pairwise([0, *accumulate(self.sizes)]))
        content = mmap.mmap(-1, self.size)  # memory that is taken only where something is written
        with closing(path.open("rb")) as file:
            is_altered = file.seek(0, os.SEEK_END) != self.size
            for piece in (group, len(self.sizes) - 1):
                start, stop = bounds[piece]
                file.seek(start)
                found = file.read(stop - start)
                is_altered |= hashlib.sha256(found).hexdigest() != self.hashes[piece]
                if is_altered:
                    raise FileFormatError(f"{path} was altered: its SHA-256 is not that in the list of parts; {AGAIN}")
                content[start:stop] = found
        return pa.py_buffer(content)


def part_file_of(content: Any) -> PartFile:
    """What the bytes of a part are; FileFormatError where they have no pieces, as no part that is complete has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata, view = pq.read_metadata(pa.BufferReader(content)), memoryview(content)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    ends = []
    for column in (group.column(group.num_columns - 1) for group in groups):
        # a row group is its columns one after the other: it ends where the last one does
        start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
        ends.append(int(start + column.total_compressed_size))
    bounds = list(pairwise([0, *ends, len(view)]))
    hashes = tuple(hashlib.sha256(view[first:last]).hexdigest() for first, last in bounds)
    return PartFile(hashlib.sha256(view).hexdigest(), tuple(last - first for first, last in bounds), hashes)


def part_file_of_bytes(content: bytes) -> PartFile:
    """Undo `PartFile.to_bytes`."""
    digest, sizes, hashes = json.loads(content)
    return PartFile(digest, tuple(sizes), tuple(hashes))


def part_lists(layout: Layout, parts: Sequence[int], files: Sequence[PartFile]) -> dict[str, bytes]:
    """The two lists of some parts: a row for each part, and a row for each row group."""
    import pyarrow as pa

    names = [part_name(part) for part in parts]
    groups = [layout.row_groups(part) for part in parts]
    counts = [len(group) - 1 for group in groups]
    firsts, lasts = (np.concatenate([group[chosen] for group in groups]) for chosen in (slice(-1), slice(1, None)))
    listed = {
        "file": names,
        "first_table": layout.parts[list(parts)],
        "tables": [layout.count_of(part) for part in parts],
        "cells": [layout.cells_of(part) for part in parts],
        "bytes": [file.size for file in files],
        "sha256": [file.sha256 for file in files],
        "footer_bytes": [file.sizes[-1] for file in files],
        "footer_sha256": [file.hashes[-1] for file in files],
    }
    of_groups = {
        "file": np.repeat(names, counts).tolist(),
        "first_table": firsts,
        "tables": lasts - firsts,
        "cells": layout.cells[lasts] - layout.cells[firsts],
        "bytes": [size for file in files for size in file.sizes[:-1]],
        "sha256": [digest for file in files for digest in file.hashes[:-1]],
    }
    return {PART_LIST: csv.write(pa.table(listed)), ROW_GROUP_LIST: csv.write(pa.table(of_groups))}


def listed_parts(folder: AnyPath, hashes: Mapping[str, str], layout: Layout) -> dict[int, PartFile]:
    """What the parts of a folder are, by their numbers, ascending, given the hashes of its other files by name."""
    listed = _columns(folder, PART_LIST, hashes, _PARTS)
    numbers = {part_name(part): part for part in range(len(layout))}
    parts = [numbers.get(file, -1) for file in listed["file"]]
    if not parts or parts[0] < 0 or (np.diff(parts) <= 0).any():
        raise _others(folder / PART_LIST)
    groups = _columns(folder, ROW_GROUP_LIST, hashes, _ROW_GROUPS)
    firsts = [layout.row_groups(part)[:-1].tolist() for part in parts]
    ends = [0, *accumulate(map(len, firsts))]
    expected = [name for name, own in zip(listed["file"], firsts, strict=True) for _ in own]
    if groups["file"] != expected or groups["first_table"] != [first for own in firsts for first in own]:
        raise _others(folder / ROW_GROUP_LIST)
    found = {}
    for row, (part, (start, stop)) in enumerate(zip(parts, pairwise(ends), strict=True)):
        sizes = (*groups["bytes"][start:stop], listed["footer_bytes"][row])
        pieces = (*groups["sha256"][start:stop], listed["footer_sha256"][row])
        found[part] = checked(folder / ROW_GROUP_LIST, partial(PartFile, listed["sha256"][row], sizes, pieces))
        if found[part].size != listed["bytes"][row]:
            raise _others(folder / ROW_GROUP_LIST)
    return found


def _columns(folder: AnyPath, name: str, hashes: Mapping[str, str], types: Mapping[str, str]) -> dict[str, list[Any]]:
    """The columns of a list that are needed, of these types, none of them without a value."""
    table = csv.read(content_of(folder, name, hashes[name]), folder / name, types)
    columns = {column: table[column].to_pylist() for column in types}
    if any(value is None for column in columns.values() for value in column):
        raise _others(folder / name)
    return columns


def _others(path: AnyPath) -> FileFormatError:
    return FileFormatError(f"{path} names other parts than {PLAN_FILE} has; {AGAIN}")
