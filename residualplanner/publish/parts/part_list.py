"""Which parts a folder has, and the hashes of their pieces: two CSV files."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.stores import AnyPath
from residualplanner.publish.files.checked_files import AGAIN, checked, content_of
from residualplanner.publish.files.export_files import csv_bytes
from residualplanner.publish.files.manifest import PLAN_FILE
from residualplanner.publish.files.reading_files import csv_table
from residualplanner.publish.files.sidecar import INTEGER, TEXT
from residualplanner.publish.parts.part_file import PartFile
from residualplanner.release.layout import PART_LIST, ROW_GROUP_LIST, Layout, part_name

_PARTS = {"file": TEXT, "bytes": INTEGER, "sha256": TEXT, "footer_bytes": INTEGER, "footer_sha256": TEXT}
_ROW_GROUPS = {"file": TEXT, "first_table": INTEGER, "bytes": INTEGER, "sha256": TEXT}


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
    return {PART_LIST: csv_bytes(pa.table(listed)), ROW_GROUP_LIST: csv_bytes(pa.table(of_groups))}


def listed_parts(folder: AnyPath, hashes: Mapping[str, str], layout: Layout) -> dict[int, PartFile]:
    """What the parts of a folder are, by their numbers, ascending.

    Args:
        folder: of the release.
        hashes: the SHA-256 of its files that are not parts, by name.
        layout: which tables stand in which part.

    Raises:
        FileFormatError: a list is missing, was altered, or names other parts or row groups than the plan has.
    """
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
    table = csv_table(content_of(folder, name, hashes[name]), folder / name, types)
    columns = {column: table[column].to_pylist() for column in types}
    if any(value is None for column in columns.values() for value in column):
        raise _others(folder / name)
    return columns


def _others(path: AnyPath) -> FileFormatError:
    return FileFormatError(f"{path} names other parts than {PLAN_FILE} has; {AGAIN}")
