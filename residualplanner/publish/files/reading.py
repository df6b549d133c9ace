"""A release folder read back: the same numbers, after their hashes have been compared.

Anyone may have made the folder: nothing in it is run, and no path leads out of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residualplanner.ground.archive import HEADER_LIMIT
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import FloatArray, limited_bytes
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.margins import require_level
from residualplanner.ground.stores import AnyPath, Bucket, BucketPath, path_given
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
from residualplanner.publish.files.reading_files import csv_table, frame_of_columns, read_columns
from residualplanner.publish.files.saved_folder import Saved
from residualplanner.publish.files.saved_measurement import SavedAnswers
from residualplanner.publish.files.sidecar import TEXT, Description, label_type
from residualplanner.publish.files.statistics import statistic_file, statistic_sheet, types_of
from residualplanner.publish.files.workbook import TABLE_SHEET
from residualplanner.publish.parts.reading import open_parts
from residualplanner.release.product import product_of_json
from residualplanner.release.profiles import PROFILES
from residualplanner.release.publication import Publication
from residualplanner.release.quality import quality_of_json
from residualplanner.release.release import Release
from residualplanner.release.statistics import StatisticForm
from residualplanner.release.tidy_form import label_columns

if TYPE_CHECKING:
    import pandas as pd

_INDEX = {"query": TEXT, "kinds": TEXT, "cells": "integer", "name": TEXT, "file": TEXT, "sha256": TEXT}
#: The columns of intervals in the files of tables that are not unbiased.
_INTERVAL = ("ci_low_unbiased", "ci_high_unbiased")


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
class InFiles(Saved):
    """The numbers of a folder with a file for each table, or with a sheet of one workbook.

    `frame` gives a table as its file has it.

    Attributes:
        home: where the tables are.
        manifest: the content of ``manifest.json``: how the tables were made, and what that cost.
        metadata: the content of ``metadata.json``: what their columns mean.
        described: how they were written.
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
        return frame_of_columns(self._columns(self._number_of(query)))

    def cells_of(self, number: int) -> FloatArray:
        """The numbers of a table by its number in the order of the workload, (cells,), as the query was saved."""
        found: FloatArray = self._columns(number)[self.described.profile.estimate_name].to_numpy()
        return found.astype(np.float64, copy=False)

    def file_of(self, number: int) -> str:
        """The file of the table of a query of the workload by its number, within the folder."""
        return self.files[self._names[number]].file

    def has_intervals(self, level: float) -> bool:
        """Whether files have intervals of numbers that are not unbiased, at a level."""
        about = self.metadata["tables"]
        columns = {column["name"] for column in about["columns"]}
        return not self.product.is_unbiased and columns.issuperset(_INTERVAL) and bool(about["conf_level"] == level)

    def intervals(self, query: QueryLike, level: float) -> tuple[FloatArray, FloatArray] | None:
        """The intervals of a table whose numbers are not unbiased, as its file has them, (cells,) each, in C order."""
        if not self.has_intervals(level):
            return None
        frame = self.frame(query)
        low, high = (frame[name].to_numpy(dtype=np.float64) for name in _INTERVAL)
        return low, high

    @cached_property
    def _names(self) -> list[str]:
        return list(self.files)

    def _columns(self, number: int) -> dict[str, Any]:
        """The columns of the file of a table by its number, after they have been checked."""
        plan, profile, name = self.described.plan, self.described.profile, self._names[number]
        saved, attributes, written = self.files[name], plan.domain.attributes, plan.workload.query_at(number)
        keys = [(attributes[position], kind) for position, kind in zip(*written.table_axes, strict=True)]
        axes = [label_columns(attribute, kind) for attribute, kind in keys]
        types = {name: label_type(labels) for columns in axes for name, labels in columns.items()}
        types |= {name: self.described.datatype(name) for name in profile.value_names}
        content = content_of(self.folder, saved.file, saved.sha256)
        path, sheet = self.folder / saved.file, self._sheets.get(name, TABLE_SHEET)
        return read_columns(content, path, types, saved.cells, axes, optional=profile.optional_names, sheet=sheet)

    def _statistic(self, number: int, query: WrittenQuery, form: StatisticForm) -> dict[str, Any]:
        sheet, name = TABLE_SHEET, self._names[number]
        if self._sheets:
            file, sheet = BOOK_FILE, statistic_sheet(self._sheets[name])
            content = content_of(self.folder, file, self.files[name].sha256)
        else:
            file = statistic_file(self.described, query)
            content = self._statistics_of(file)
        optional = [column.name for column in form.columns]
        return read_columns(
            content, self.folder / file, types_of(form), form.rows, form.axes, optional=optional, sheet=sheet
        )

    @cached_property
    def _sheets(self) -> dict[str, str]:
        """By the name of a table its sheet, where all are in one workbook."""
        if self.described.file_format != BOOK_FORMAT:
            return {}
        return dict(zip(self.files, sheet_names(list(self.files)), strict=True))


def load_tables(folder: PathLike | Bucket | BucketPath) -> Release:
    """Open the folder of a release, in any format and profile.

    Args:
        folder: the folder that `Release.save`, or the command line, has written; or its address in a bucket.

    Returns:
        The release, with the estimates that were saved, bit for bit, of the queries that were saved.  What else the
        folder holds is in its ``numbers``: `InFiles`, or `InParts` where tables are in parts.

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


def _opened(home: AnyPath, manifest: Mapping[str, Any]) -> Release:
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
    answers = SavedAnswers(plan, noise, home, hashes)
    if file_format == PARTS_FORMAT:
        return Release(answers, open_parts(home, manifest, metadata, described))
    index = csv_table(content_of(home, "index.csv", hashes["index.csv"]), home / "index.csv", _INDEX)
    saved = map(SavedTable, *(index[name].to_pylist() for name in ("file", "sha256", "cells")))
    files = dict(zip(index["name"].to_pylist(), saved, strict=True))
    if about["count"] != len(files) or not _are_of_workload(files, described):
        raise FileFormatError(f"{home / 'index.csv'} names other tables or files than {PLAN_FILE} has; {AGAIN}")
    return Release(answers, InFiles(home, manifest, metadata, described, files))


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
