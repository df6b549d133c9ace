"""A release folder read back: the same numbers, after their hashes have been compared.

Reads: a folder that somebody hands over.  Gives: SavedTables.  Nothing in it is run, and no path leads out of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residualplanner.gate.measurement.noise_record import warning_of
from residualplanner.ground.archive import HEADER_LIMIT
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import frozen, limited_bytes
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.margins import require_level
from residualplanner.ground.stores import AnyPath, Bucket, BucketPath, path_given
from residualplanner.ground.words import count_text
from residualplanner.method.plan.files import plan_of_bytes
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import QueryLike, WrittenQuery
from residualplanner.publish.files.checked_files import AGAIN, checked, content_of, json_of
from residualplanner.publish.files.export_files import BOOK_FORMAT, FORMATS, PARTS_FORMAT
from residualplanner.publish.files.file_names import BOOK_FILE, file_stem, sheet_names, table_name, written_queries
from residualplanner.publish.files.manifest import (
    FORMAT,
    FORMAT_VERSION,
    PLAN_FILE,
    measured_files,
    noise_of_manifest,
    require_true_metadata,
)
from residualplanner.publish.files.profiles import PROFILES
from residualplanner.publish.files.publication import Publication
from residualplanner.publish.files.reading_files import csv_table, frame_of_columns, read_columns
from residualplanner.publish.files.saved_folder import SavedFolder
from residualplanner.publish.files.sidecar import TEXT, Description, label_type
from residualplanner.publish.files.statistic_form import StatisticForm
from residualplanner.publish.files.statistics import statistic_file, statistic_sheet
from residualplanner.publish.files.workbook import TABLE_SHEET
from residualplanner.publish.parts.reading import SavedParts, open_parts
from residualplanner.release.label_columns import label_columns
from residualplanner.release.product import product_of_json
from residualplanner.release.quality import quality_of_json
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd

_INDEX = {"query": TEXT, "kinds": TEXT, "cells": "integer", "name": TEXT, "file": TEXT, "sha256": TEXT}


class SavedTable(NamedTuple):
    """The file of a table.

    Attributes:
        file: its path within the folder.
        sha256: of its bytes.
        cells: how many rows it has.
    """

    file: str
    sha256: str
    cells: int


@dataclass(frozen=True, eq=False, repr=False)
class SavedTables(SavedFolder):
    """The tables of a folder that ``Release.save`` wrote: a mapping from queries to tables, as a `Release` is.

    It iterates over the queries of the workload, in its order.  A table is read when it is looked up, after its hash
    has been compared; its estimates are those that were saved, bit for bit, and its variances follow from the plan.
    Unlike a `Release`, it has the tables of the workload only.  `frame` gives a table as its file has it.

    Attributes:
        folder: where the tables are.
        manifest: the content of ``manifest.json``: how the tables were made, and what that cost.
        metadata: the content of ``metadata.json``: what their columns mean.
        files: by the name of a table, such as ``"age@prefix.sex"``, its file; attributes as they were written.
    """

    files: Mapping[str, SavedTable]

    @property
    def errors(self) -> "pd.DataFrame":
        """The error table of the plan, from ``errors.csv``."""
        content = content_of(self.folder, "errors.csv", self.manifest["files"].get("errors.csv"))
        types = {"query": TEXT, "kinds": TEXT}
        found: pd.DataFrame = csv_table(content, self.folder / "errors.csv", types).to_pandas()
        return found

    def frame(self, query: QueryLike) -> "pd.DataFrame":
        """The table of a query as its file has it: in the profile, at the level and in the order in which it was saved.

        ``tables[query].to_frame()`` gives it in any profile, at any level and in any order of the attributes.  The
        errors are those of ``tables[query]``.

        Args:
            query: a query of the workload, its attributes in any order.

        Returns:
            The labels and numbers of the file, bit for bit, with labels of the types that the domain declares.
        """
        return frame_of_columns(self._columns(self._written(query)))

    def __repr__(self) -> str:
        tables = count_text(len(self), "saved table")
        return f"<{tables}: profile {self.profile}, {self.folder}{warning_of(self.noise)}>"

    @cached_property
    def _queries(self) -> dict[WrittenQuery, tuple[str, WrittenQuery]]:
        """By the query in domain order the name of its table, and the query as it was saved."""
        pairs = zip(self.files, written_queries(self.plan.workload), strict=True)
        return {query.in_domain_order: (name, query) for name, query in pairs}

    def _require(self, query: WrittenQuery) -> None:
        if query.in_domain_order not in self._queries:
            names = tuple(self.plan.domain.names[position] for position in query.positions)
            raise WorkloadError(
                f"{self.folder} has no table for {names!r} in these kinds; reconstruct(tables) may have it"
            )

    def _table(self, query: WrittenQuery) -> Table:
        _, saved = self._queries[query.in_domain_order]
        domain, estimate = self.plan.domain, self._columns(query)[self._described.profile.estimate_name].to_numpy()
        axes = [saved.positions.index(position) for position in query.positions]
        numbers = estimate.astype(np.float64, copy=False).reshape(saved.shape(domain)).transpose(axes)
        return Table.of_answers(self._provenance, query, frozen(numbers))

    def _columns(self, query: WrittenQuery) -> dict[str, Any]:
        """The columns of the file of a query's table, after they have been checked."""
        name, written = self._queries[query.in_domain_order]
        saved, attributes = self.files[name], self.plan.domain.attributes
        keys = [(attributes[position], kind) for position, kind in zip(*written.table_axes, strict=True)]
        axes = [label_columns(attribute, kind) for attribute, kind in keys]
        types = {name: label_type(labels) for columns in axes for name, labels in columns.items()}
        types |= {name: self._described.datatype(name) for name in self._described.profile.value_names}
        content = content_of(self.folder, saved.file, saved.sha256)
        optional, sheet = self._described.profile.optional_names, self._sheets.get(name, TABLE_SHEET)
        path = self.folder / saved.file
        return read_columns(content, path, types, saved.cells, axes, optional=optional, sheet=sheet)

    def _statistic(self, number: int, query: WrittenQuery, form: StatisticForm) -> dict[str, Any]:
        name, sheet = list(self.files)[number], TABLE_SHEET
        if self._sheets:
            file, sheet = BOOK_FILE, statistic_sheet(self._sheets[name])
            content = content_of(self.folder, file, self.files[name].sha256)
        else:
            file = statistic_file(self._described, query)
            content = self._statistics_of(file)
        optional = [column.name for column in form.columns]
        return read_columns(
            content, self.folder / file, form.types, form.rows, form.axes, optional=optional, sheet=sheet
        )

    @cached_property
    def _sheets(self) -> dict[str, str]:
        """By the name of a table its sheet, where all are in one workbook."""
        if self._described.file_format != BOOK_FORMAT:
            return {}
        return dict(zip(self.files, sheet_names(list(self.files)), strict=True))


def load_tables(folder: PathLike | Bucket | BucketPath) -> SavedTables | SavedParts:
    """Open the folder of a release, in any format and profile.

    Args:
        folder: the folder that `Release.save`, or the command line, has written; or its address in a bucket.

    Returns:
        A mapping from queries to tables, with the estimates that were saved, bit for bit.

    Raises:
        FileFormatError: a file is missing, was altered since the release was saved, is of another version, or is not
            what it should be; the message names it.

    Cost: the manifest, the metadata and the index are read; each table when it is looked up.
    """
    home = path_given("load_tables", folder, 'load_tables("release")')
    path = home / "manifest.json"
    if not path.is_file():
        raise FileFormatError(f"{home} has no manifest.json; name the folder of a release")
    manifest = json_of(path, limited_bytes(path, HEADER_LIMIT, name=path, remedy=AGAIN))
    _require_version(manifest, path)
    try:
        return _opened(home, manifest)
    except FileFormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):  # values of other types, anywhere
        raise FileFormatError(f"{path} does not hold what a release's does; {AGAIN}") from None


def _opened(home: AnyPath, manifest: Mapping[str, Any]) -> SavedTables | SavedParts:
    hashes, about = manifest["files"], manifest["tables"]
    names = (PLAN_FILE, *checked(home / "manifest.json", partial(measured_files, manifest)))
    plan, *plans = (_plan_of(home, name, hashes[name]) for name in names)
    noise = checked(home / "manifest.json", partial(noise_of_manifest, manifest, plan, plans))
    file_format, level = about["format"], about["conf_level"]
    if file_format not in (*FORMATS, PARTS_FORMAT) or about["profile"] not in PROFILES or not isinstance(level, float):
        raise LookupError
    require_level(level)
    product = checked(home / "manifest.json", partial(product_of_json, about.get("product")))
    with_unbiased = about.get("with_unbiased", False)
    if not isinstance(with_unbiased, bool):
        raise LookupError
    quality = checked(home / "manifest.json", partial(quality_of_json, about.get("quality")))
    metadata = json_of(home / "metadata.json", content_of(home, "metadata.json", hashes["metadata.json"]))
    publication = checked(home / "metadata.json", partial(_publication_of, metadata))
    profile = PROFILES[about["profile"]].of(product, with_unbiased=with_unbiased).graded(quality)
    described = Description(plan, noise, file_format, profile, level, publication)
    checked(home / "metadata.json", partial(require_true_metadata, metadata, described))
    if file_format == PARTS_FORMAT:
        return open_parts(home, manifest, metadata, described)
    index = csv_table(content_of(home, "index.csv", hashes["index.csv"]), home / "index.csv", _INDEX)
    saved = map(SavedTable, *(index[name].to_pylist() for name in ("file", "sha256", "cells")))
    files = dict(zip(index["name"].to_pylist(), saved, strict=True))
    if about["count"] != len(files) or not _are_of_workload(files, described):
        raise FileFormatError(f"{home / 'index.csv'} names other tables or files than {PLAN_FILE} has; {AGAIN}")
    return SavedTables(home, manifest, metadata, described, files)


def _plan_of(home: AnyPath, name: str, digest: object) -> Plan:
    """One of the plans in a folder, after its hash has been compared."""
    content = content_of(home, name, digest)
    return checked(home / name, partial(plan_of_bytes, content))


def _are_of_workload(files: Mapping[str, SavedTable], described: Description) -> bool:
    """Whether these are the tables of the plan's workload, in its order, each of its cells in the file of its name."""
    workload, ending = described.plan.workload, described.file_format
    if len(files) != len(workload):
        return False
    rows = zip(files.items(), written_queries(workload), workload.cells.tolist(), strict=True)
    every = (((name, saved), described.parts_of(*query), cells) for (name, saved), query, cells in rows)
    return all(
        name == table_name(parts)
        and saved.file == (BOOK_FILE if ending == BOOK_FORMAT else f"tables/{file_stem(parts)}.{ending}")
        and saved.cells == cells
        for (name, saved), parts, cells in every
    )


def _publication_of(metadata: Mapping[str, Any]) -> Publication:
    """What is said to readers about all tables together."""
    try:
        return Publication(**metadata.get("publication", {}))
    except TypeError:
        raise FileFormatError("it does not say what the publication is") from None


def _require_version(manifest: Any, path: AnyPath) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileFormatError(f"{path} is not the manifest of a release; name the folder of one")
    number = manifest.get("version")
    if type(number) is not int or number > FORMAT_VERSION:
        raise FileFormatError(
            f"{path}: written by a newer version (format {number!r}, this reads {FORMAT_VERSION}); "
            "upgrade residualplanner"
        )
    if number < FORMAT_VERSION:
        raise FileFormatError(f"{path}: format {number} is no longer read; save the release again with this version")
