"""A release folder read back: the same numbers, after their hashes have been compared.

Reads: a folder that somebody hands over.  Gives: SavedTables.  Nothing in it is run, and no path leads out of it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from residualplanner._checks import require_path
from residualplanner._json import parse_json
from residualplanner._whole import PathLike
from residualplanner.domain import Domain
from residualplanner.errors import DomainError, FileFormatError, WorkloadError
from residualplanner.queries import Kind, kind_from_json
from residualplanner.reconstruction.export_manifest import FORMAT, FORMAT_VERSION
from residualplanner.reconstruction.file_names import TOTAL, NameParts, table_name
from residualplanner.reconstruction.profiles import PROFILES, QUERY
from residualplanner.reconstruction.reading_files import csv_table, read_table
from residualplanner.reconstruction.sidecar import NUMBER, TEXT, label_type
from residualplanner.reconstruction.transposing import transposed_frame
from residualplanner.workload import QueryLike, WrittenQuery, query_of, written_query

if TYPE_CHECKING:
    import pandas as pd

_FILE = re.compile(r"tables/[A-Za-z0-9_\-%.@~]{1,200}\.(parquet|csv|xlsx)", re.ASCII)
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
    """

    folder: Path
    manifest: Mapping[str, Any] = field(repr=False)
    metadata: Mapping[str, Any] = field(repr=False)
    files: Mapping[str, SavedTable] = field(repr=False)
    _domain: Domain = field(repr=False)
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
        wanted = written_query(self._domain, query)
        name = self._name(wanted)
        if name is None:
            names = tuple(self._domain.names[position] for position in wanted.positions)
            raise WorkloadError(f"{self.folder} has no table for {names!r} in these kinds; load the measurement for it")
        written = _written_of(name, {self._parts[asked]: asked for asked in zip(*wanted, strict=True)})
        saved = self.files[name]
        if not _FILE.fullmatch(saved.file):
            raise FileFormatError(f"{self.folder / 'index.csv'} names a file that is no table of the folder; {_AGAIN}")
        if saved.cells != written.cells(self._domain):
            raise FileFormatError(f"{self.folder / saved.file} is not the table that the index says it is; {_AGAIN}")
        content = _content(self.folder, saved.file, saved.sha256)
        attributes = [self._domain.attributes[position] for position in written.positions]
        types = {each.name: label_type(each, kind) for each, kind in zip(attributes, written.kinds, strict=True)}
        types |= {name: TEXT if name == QUERY else NUMBER for name in PROFILES[self.profile].value_names}
        frame = read_table(content, self.folder / saved.file, types, saved.cells)
        return transposed_frame(frame, self._domain, written, wanted)

    def __contains__(self, query: object) -> bool:
        """Whether the folder has a table for the query; the table is not read."""
        try:
            return self._name(written_query(self._domain, query)) is not None  # type: ignore[arg-type]
        except (DomainError, WorkloadError):
            return False

    def get(self, query: Any, default: Any = None) -> Any:
        """The table of a query, or ``default`` where the folder has none; one that cannot be read is an error."""
        try:
            return self[query]
        except (DomainError, WorkloadError):
            return default

    def __iter__(self) -> Iterator[tuple[str, ...] | dict[str, Kind]]:
        asked = {part: each for each, part in self._parts.items()}
        for name in self.files:
            yield query_of(self._domain, *_written_of(name, asked))

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"<{len(self):,} saved tables: profile {self.profile}, {self.folder}>"

    @property
    def errors(self) -> "pd.DataFrame":
        """The error table of the plan, from ``errors.csv``."""
        content = _content(self.folder, "errors.csv", self.manifest["files"]["errors.csv"])
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
    if not (home / "manifest.json").is_file():
        raise FileFormatError(f"{home} has no manifest.json; name the folder of a release")
    manifest = _json(home / "manifest.json", (home / "manifest.json").read_bytes())
    _require_version(manifest, home / "manifest.json")
    try:
        return _opened(home, manifest)
    except FileFormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):  # values of other types than ours, in whatever place
        raise FileFormatError(f"{home / 'manifest.json'} does not hold what a release's does; {_AGAIN}") from None


def _opened(home: Path, manifest: Mapping[str, Any]) -> SavedTables:
    hashes = manifest["files"]
    metadata = _json(home / "metadata.json", _content(home, "metadata.json", hashes["metadata.json"]))
    index = csv_table(_content(home, "index.csv", hashes["index.csv"]), home / "index.csv", _INDEX)
    domain = Domain.from_json(manifest["plan"]["domain"])
    parts = _parts(domain, list(map(kind_from_json, manifest["plan"]["kinds"])), metadata)
    saved = map(SavedTable, *(index[name].to_pylist() for name in ("file", "sha256", "cells")))
    files = dict(zip(index["name"].to_pylist(), saved, strict=True))
    if not {TOTAL, *parts.values()}.issuperset(part for name in files for part in name.split(".")):
        raise FileFormatError(f"{home / 'index.csv'} names tables that metadata.json does not know; {_AGAIN}")
    tables = SavedTables(home, manifest, metadata, files, domain, parts, _written_names(files, parts))
    if tables.profile not in PROFILES:
        raise LookupError(tables.profile)
    return tables


def _parts(domain: Domain, kinds: list[Kind], metadata: Mapping[str, Any]) -> NameParts:
    """What attributes and kinds contribute to names, as the metadata say."""
    return {
        (domain.positions((attribute["name"],))[0], kinds[asked["kind_number"]]): asked["in_names"]
        for attribute in metadata["tables"]["attributes"]
        for asked in attribute["asked"]
    }


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
