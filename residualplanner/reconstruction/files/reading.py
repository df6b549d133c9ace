"""A release folder read back: the same numbers, after their hashes have been compared.

Reads: a folder that somebody hands over.  Gives: SavedTables.  Nothing in it is run, and no path leads out of it.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from residualplanner._archive import HEADER_LIMIT
from residualplanner._atomic import PathLike
from residualplanner._checks import require_path
from residualplanner._json import parse_json
from residualplanner._margins import require_level
from residualplanner.errors import DomainError, FileFormatError, ResidualPlannerError, WorkloadError
from residualplanner.measurement import NoiseRecord
from residualplanner.plan import Plan, load_plan
from residualplanner.queries import Kind
from residualplanner.reconstruction.files.claims import noise_of_manifest, require_true_metadata
from residualplanner.reconstruction.files.export_files import FORMATS
from residualplanner.reconstruction.files.export_manifest import FORMAT, FORMAT_VERSION, PLAN_FILE
from residualplanner.reconstruction.files.file_names import TOTAL, NameParts, file_stem, parts_of_workload, table_name
from residualplanner.reconstruction.files.reading_files import csv_table, read_table
from residualplanner.reconstruction.files.sidecar import NUMBER, TEXT, Description, label_type
from residualplanner.reconstruction.files.transposing import transposed_frame
from residualplanner.reconstruction.profiles import PROFILES, QUERY
from residualplanner.workload import QueryLike, Workload, WrittenQuery, written_query

if TYPE_CHECKING:
    import pandas as pd

Checked = TypeVar("Checked")
_INDEX = {"query": TEXT, "kinds": TEXT, "cells": "integer", "name": TEXT, "file": TEXT, "sha256": TEXT}
_AGAIN = "copy the folder again, or save the release again"


class SavedTable(NamedTuple):
    """Where a table stands, and what its bytes must be.

    Attributes:
        file: within the folder.
        sha256: of its bytes.
        cells: how many rows it has.
    """

    file: str
    sha256: str
    cells: int


@dataclass(frozen=True, eq=False)
class SavedTables(Mapping[Any, "pd.DataFrame"]):
    """The tables of a folder that ``Release.save`` wrote: a mapping from queries to pandas DataFrames.

    It iterates over the queries of the workload, in its order.  A table is read when it is asked for, and its hash is
    compared first.  Unlike a `Release`, it has the tables of the workload only.

    Attributes:
        folder: where they are.
        manifest: how they were made, and what that cost: what is in ``manifest.json``.
        metadata: what their columns mean: what is in ``metadata.json``.
        files: by the name of a table, such as ``"age@prefix.sex"``, where it stands; attributes as they were written.
        plan: what was measured.
        noise: how the noise was drawn, as far as the plan can tell: the exact cost and the sentence follow from it.
    """

    folder: Path
    manifest: Mapping[str, Any] = field(repr=False)
    metadata: Mapping[str, Any] = field(repr=False)
    files: Mapping[str, SavedTable] = field(repr=False)
    plan: Plan = field(repr=False)
    noise: NoiseRecord = field(repr=False)
    _parts: NameParts = field(repr=False)
    _written: Mapping[str, str] = field(repr=False)

    def __getitem__(self, query: QueryLike) -> "pd.DataFrame":
        """The table of a query, as ``Table.to_frame`` gives it, in whatever order the query was saved.

        Raises:
            DomainError: an attribute is not in the domain, or twice in the query.
            WorkloadError: the folder has no table for the query.
            FileFormatError: the table's file is absent, was altered, or is no such table; the message names it.
            MissingExtraError: it is a workbook, and openpyxl is not installed.
        """
        domain, wanted = self.plan.domain, written_query(self.plan.domain, query)
        name = self._name(wanted)
        if name is None:
            names = tuple(domain.names[position] for position in wanted.positions)
            raise WorkloadError(f"{self.folder} has no table for {names!r} in these kinds; load the measurement for it")
        saved = self.files[name]
        written = _written_of(name, {self._parts[pair]: pair for pair in zip(*wanted, strict=True)})
        content = _content(self.folder, saved.file, saved.sha256)
        columns = [(domain.attributes[position], kind) for position, kind in zip(*written, strict=True)]
        types = {each.name: label_type(each, kind) for each, kind in columns}
        types |= {name: TEXT if name == QUERY else NUMBER for name in PROFILES[self.profile].value_names}
        labels = {each.name: kind.labels(each) for each, kind in columns}
        frame = read_table(content, self.folder / saved.file, types, saved.cells, labels)
        return transposed_frame(frame, domain, written, wanted)

    def __contains__(self, query: object) -> bool:
        """Whether the folder has a table for the query; the table is not read."""
        try:
            return self._name(written_query(self.plan.domain, query)) is not None  # type: ignore[arg-type]
        except (DomainError, WorkloadError):
            return False

    def get(self, query: Any, default: Any = None) -> Any:
        """The table of a query, or ``default`` where the folder has none; one that cannot be read is an error."""
        try:
            return self[query]
        except (DomainError, WorkloadError):
            return default

    def __iter__(self) -> Iterator[tuple[str, ...] | dict[str, Kind]]:
        return iter(self.plan.workload)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"<{len(self):,} saved tables: profile {self.profile}, {self.folder}>"

    @property
    def errors(self) -> "pd.DataFrame":
        """The error table of the plan, from ``errors.csv``."""
        content = _content(self.folder, "errors.csv", self.manifest["files"].get("errors.csv"))
        types = {"query": TEXT, "kinds": TEXT}
        found: pd.DataFrame = csv_table(content, self.folder / "errors.csv", types).to_pandas()
        return found

    def _name(self, query: WrittenQuery) -> str | None:
        """The name of a query's table, in whatever order it was saved; None where there is none."""
        parts = [self._parts.get(asked) for asked in zip(*query.in_domain_order, strict=True)]
        name = table_name([part for part in parts if part is not None])
        name = self._written.get(name, name)
        return name if None not in parts and name in self.files else None

    @property
    def profile(self) -> str:
        """The profile that the tables were saved in."""
        return str(self.manifest["tables"]["profile"])


def load_tables(folder: PathLike) -> SavedTables:
    """Open the folder of a release, in any format and profile.

    Args:
        folder: what `Release.save`, or the command line, has made.

    Returns:
        A mapping from queries to pandas DataFrames with the numbers that were saved, bit for bit.

    Raises:
        FileFormatError: a file is absent, was altered since the release was saved, is of another version, or is not
            what it should be; the message names it.

    Cost: the manifest, the metadata and the index are read; tables when they are asked for.
    """
    require_path("load_tables", folder, 'load_tables("release")')
    home = Path(folder)
    path = home / "manifest.json"
    if not path.is_file():
        raise FileFormatError(f"{home} has no manifest.json; name the folder of a release")
    manifest = _json(path, _limited(path))
    _require_version(manifest, path)
    try:
        return _opened(home, manifest)
    except FileFormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):  # values of other types than ours, in whatever place
        raise FileFormatError(f"{path} does not hold what a release's does; {_AGAIN}") from None


def _opened(home: Path, manifest: Mapping[str, Any]) -> SavedTables:
    hashes, told = manifest["files"], manifest["tables"]
    plan = _plan(home, hashes[PLAN_FILE])
    noise = _true(home / "manifest.json", partial(noise_of_manifest, manifest, plan))
    if told["format"] == "parts":
        return _parts(home, manifest, plan, noise)
    parts, file_format, level = parts_of_workload(plan.workload), told["format"], told["conf_level"]
    if file_format not in FORMATS or told["profile"] not in PROFILES or not isinstance(level, float):
        raise LookupError
    require_level(level)
    described = Description(plan, noise, file_format, PROFILES[told["profile"]], level, parts)
    metadata = _json(home / "metadata.json", _content(home, "metadata.json", hashes["metadata.json"]))
    _true(home / "metadata.json", partial(require_true_metadata, metadata, described))
    index = csv_table(_content(home, "index.csv", hashes["index.csv"]), home / "index.csv", _INDEX)
    saved = map(SavedTable, *(index[name].to_pylist() for name in ("file", "sha256", "cells")))
    files = dict(zip(index["name"].to_pylist(), saved, strict=True))
    if told["count"] != len(files) or not _are_of_workload(files, plan.workload, parts, file_format):
        raise FileFormatError(f"{home / 'index.csv'} names other tables or files than {PLAN_FILE} asks for; {_AGAIN}")
    return SavedTables(home, manifest, metadata, files, plan, noise, parts, _written_names(files, parts))


def _parts(home: Path, manifest: Mapping[str, Any], plan: Plan, noise: NoiseRecord) -> Any:
    """A release in parts."""
    from residualplanner.reconstruction.parts.layout import layout_of
    from residualplanner.reconstruction.parts.reading import SavedParts
    from residualplanner.reconstruction.parts.saving import PART_LIST, part_name

    layout, path = layout_of(plan.workload), home / PART_LIST
    listed = csv_table(_content(home, PART_LIST, manifest["files"][PART_LIST]), path, {"file": TEXT, "sha256": TEXT})
    files, hashes = (listed[name].to_pylist() for name in ("file", "sha256"))
    if files != [part_name(part) for part in range(len(layout))] or manifest["tables"]["count"] != len(plan.workload):
        raise FileFormatError(f"{path} names other parts than {PLAN_FILE} asks for; {_AGAIN}")
    return SavedParts(home, manifest, plan, noise, layout, tuple(hashes))


def _plan(home: Path, digest: object) -> Plan:
    """The plan of a release, which has been checked as `load_plan` does."""
    _content(home, PLAN_FILE, digest)
    try:
        return load_plan(home / PLAN_FILE)
    except ResidualPlannerError as error:
        raise FileFormatError(f"{home / PLAN_FILE}: {error}") from None


def _true(path: Path, check: Callable[[], Checked]) -> Checked:
    """What a check of a file gives; its refusal names the file."""
    try:
        return check()
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}; {_AGAIN}") from None


def _are_of_workload(files: Mapping[str, SavedTable], workload: Workload, parts: NameParts, ending: str) -> bool:
    """Whether these are the tables of a workload, in its order, each of its cells in the file of its name."""
    if len(files) != len(workload):
        return False
    rows = zip(files.items(), _names(workload, parts), workload.cells.tolist(), strict=True)
    return all(
        name == table_name(named) and saved.file == f"tables/{file_stem(named)}.{ending}" and saved.cells == cells
        for (name, saved), named, cells in rows
    )


def _names(workload: Workload, parts: NameParts) -> Iterator[list[str]]:
    """What the attributes of each query contribute to its name."""
    for block in workload.blocks:
        for positions, codes in zip(block.written_attributes.tolist(), block.written_kinds.tolist(), strict=True):
            yield [parts[place, workload.kinds[code]] for place, code in zip(positions, codes, strict=True)]


def _written_of(name: str, asked: Mapping[str, tuple[int, Kind]]) -> WrittenQuery:
    """The query of the table of this name, given what each part of it stands for."""
    pairs = [asked[part] for part in name.split(".")] if name != TOTAL else []
    return WrittenQuery(tuple(position for position, _ in pairs), tuple(kind for _, kind in pairs))


def _written_names(names: Iterable[str], parts: NameParts) -> dict[str, str]:
    """By the name that a table would have in domain order its own, where that is another."""
    place = {part: position for (position, _), part in parts.items()} | {TOTAL: 0}
    pairs = ((table_name(sorted(name.split("."), key=place.__getitem__)), name) for name in names)
    return {other: name for other, name in pairs if other != name}


def _content(folder: Path, name: str, digest: object) -> bytes:
    """The bytes of a file of the folder, after its hash has been compared."""
    path = folder / name
    if not path.is_file():
        raise FileFormatError(f"{path} is not there; {_AGAIN}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise FileFormatError(f"{path} was altered: its SHA-256 is not the one in the manifest or index; {_AGAIN}")
    return content


def _limited(path: Path) -> bytes:
    """The bytes of a file that no hash protects, which is not to be longer than any that is written."""
    with open(path, "rb") as file:
        content = file.read(HEADER_LIMIT + 1)
    if len(content) > HEADER_LIMIT:
        raise FileFormatError(f"{path} is too large: the limit is {HEADER_LIMIT:,} bytes; {_AGAIN}")
    return content


def _json(path: Path, content: bytes) -> Any:
    try:
        return parse_json(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not UTF-8 text; {_AGAIN}") from None
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}; {_AGAIN}") from None


def _require_version(manifest: Any, path: Path) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileFormatError(f"{path} is no manifest of a release; name the folder of one")
    number = manifest.get("version")
    if type(number) is not int or number > FORMAT_VERSION:
        raise FileFormatError(
            f"{path}: written by a newer version (format {number!r}, this reads {FORMAT_VERSION}); "
            "upgrade residualplanner"
        )
    if number < FORMAT_VERSION:
        raise FileFormatError(f"{path}: format {number} is no longer read; save the release again with this version")
