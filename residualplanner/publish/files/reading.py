"""The numbers in a saved folder, each read when it is looked up; parts are read in their own room."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.ground.checks import FloatArray, frozen, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import QueryLike, WrittenQuery, written_query
from residualplanner.publish.files import csv, file_names, workbook
from residualplanner.publish.files.columns import are_labels, frame_of_columns, not_the_table, typed
from residualplanner.publish.files.formats import FORMATS
from residualplanner.publish.files.manifest import AGAIN, PLAN_FILE, content_of
from residualplanner.publish.files.sidecar import INTEGER, NUMBER, PUBLISHED_ERRORS_FILE, TEXT, Description, FileForm
from residualplanner.release.batches import TableBatch
from residualplanner.release.devices import HOST, Device
from residualplanner.release.numbers import Numbers, one_by_one
from residualplanner.release.product import Product
from residualplanner.release.published_errors import PUBLISHED_ERRORS
from residualplanner.release.quality import Publication, Quality
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd

#: The columns of the index that are read.
_INDEX = {"query": TEXT, "kinds": TEXT, "cells": INTEGER, "name": TEXT, "file": TEXT, "sha256": TEXT}
#: The columns of intervals in the files of tables that are not unbiased.
_INTERVAL = ("ci_low_unbiased", "ci_high_unbiased")


@dataclass(frozen=True, eq=False, repr=False)
class Saved(Numbers):
    """The numbers in a folder that ``Release.save`` wrote, bit for bit, each read when it is looked up.

    Attributes:
        home: where the tables are.
        manifest: the content of ``manifest.json``: how the tables were made, and what that cost.
        metadata: the content of ``metadata.json``: what their columns mean.
        described: how they were written.
    """

    home: AnyPath
    manifest: Mapping[str, Any]
    metadata: Mapping[str, Any]
    described: Description

    @property
    def folder(self) -> AnyPath:
        """Where the tables are."""
        return self.home

    @property
    def product(self) -> Product:
        """What the numbers are."""
        return self.described.product

    def of(self, measurement: NoisyAnswers, device: Device = HOST) -> Self:
        """Itself: files are read in the place of answers."""
        del measurement, device
        return self

    def estimate(self, query: WrittenQuery) -> FloatArray:
        """The numbers of one table, with an axis for each attribute, in the order in which the query is written."""
        plan = self.described.plan
        number = plan.workload.number_of(query)
        saved = plan.workload.query_at(number)
        axes = [saved.positions.index(position) for position in query.positions]
        return frozen(self.cells_of(number).reshape(saved.shape(plan.domain)).transpose(axes))

    def chunks(self, first: int, last: int) -> Iterator[list[TableBatch]]:
        """The tables of the queries from one number on up to another, one at a time."""
        return one_by_one(self.described.plan.workload, self.estimate, first, last)

    @abstractmethod
    def cells_of(self, number: int) -> FloatArray:
        """The numbers of a table by its number in the order of the workload, (cells,), as the query was saved."""

    def require(self, plan: Plan, query: WrittenQuery) -> None:
        """Raise WorkloadError unless the folder has a table for the query."""
        number = plan.workload.number_of(query)
        if number < 0 or not self.file_of(number):
            names = tuple(plan.domain.names[position] for position in query.positions)
            message = f"{self.folder} has no table for {names!r} in these kinds; reconstruct(tables) may have it"
            raise WorkloadError(message)

    def words(self, noise: NoiseRecord) -> str:
        """Where they are."""
        return f" in {self.folder}: {self.product.name}, profile {self.profile}{warning_of(noise)}"

    @property
    def name(self) -> str:
        """What the folder is called."""
        return (self.home.resolve() if isinstance(self.home, Path) else self.home).name

    @abstractmethod
    def file_of(self, number: int) -> str:
        """The file of the table of a query by its number in the workload, within the folder; empty for none."""

    @property
    @abstractmethod
    def errors(self) -> "pd.DataFrame":
        """The error table of the plan, as the folder has it."""

    @property
    def publication(self) -> Publication:
        """What is said to readers about all tables together."""
        return self.described.publication

    @property
    def quality(self) -> Quality | None:
        """Which estimates are reliable, where the files say it; those that these leave out are nan in tables."""
        return self.described.profile.quality

    @property
    def profile(self) -> str:
        """The profile that the tables were saved in."""
        return self.described.profile.name

    def statistic(self, query: QueryLike) -> "pd.DataFrame":
        """The means or quantiles that a query is for, as their file has them: with intervals, at the level saved.

        `means` and `quantiles` compute them again from unbiased tables, at any level.

        Args:
            query: one of the workload for a `Mean` or `Quantiles`, its attributes in any order.

        Returns:
            A row for each group (and probability), with its labels and the columns that ``metadata.json`` describes.

        Raises:
            DomainError, WorkloadError: there is no table for the query, it is for counts, or there is no such file.
            FileFormatError: the file is missing, was altered, or is another table.
        """
        number = self._number_of(query)
        form = self.described.statistic_form(self.described.plan.workload.query_at(number))
        if form is None:
            raise WorkloadError(f"{query!r} is for counts or sums; name a query for Mean() or Quantiles()")
        return frame_of_columns(self._statistic(number, form))

    def comparison(self, name: str) -> "pd.DataFrame":
        """A comparison of tables that the release was saved with, by its name, as its file has it.

        Raises:
            WorkloadError: there is none of this name.
            FileFormatError: the file is missing, was altered, or is another table.
        """
        form = self.described.comparisons.get(name)
        if form is None:
            known = list(self.described.comparisons)
            raise WorkloadError(f"{self.folder} has no comparison {value_text(name)}; it has {known}")
        path, types = self.folder / form.file, {column.name: column.datatype for column in form.columns}
        found = csv.read(content_of(self.folder, form.file, self.manifest["files"].get(form.file)), path, types)
        if found.column_names != list(types):
            raise not_the_table(path)
        return frame_of_columns({name: found[name] for name in types})

    def _number_of(self, query: QueryLike) -> int:
        """The number of a query in the workload; errors as of a look-up."""
        plan = self.described.plan
        written = written_query(plan.domain, query)
        self.require(plan, written)
        return plan.workload.number_of(written)

    @abstractmethod
    def _statistic(self, number: int, form: FileForm) -> dict[str, Any]:
        """The columns of the statistic of a query of the workload, given its number, after they have been checked."""

    def _statistics_of(self, name: str) -> bytes:
        """The bytes of a file of statistics; WorkloadError where the release was saved without it."""
        if name not in self.manifest["files"]:
            raise WorkloadError(f"{self.folder} has no {name}: it was saved without; save the release again")
        return content_of(self.folder, name, self.manifest["files"][name])

    @property
    def published_errors(self) -> "pd.DataFrame | None":
        """The errors of the published numbers, from ``published-errors.csv``; None where there is no such file.

        Raises:
            FileFormatError: the file was altered, or is about other tables.
        """
        digest = self.manifest["files"].get(PUBLISHED_ERRORS_FILE)
        if digest is None:
            return None
        content, path = content_of(self.folder, PUBLISHED_ERRORS_FILE, digest), self.folder / PUBLISHED_ERRORS_FILE
        found: pd.DataFrame = csv.read(content, path, PUBLISHED_ERRORS).to_pandas()
        numbers = [name for name, word in PUBLISHED_ERRORS.items() if word == NUMBER]
        if list(found) != list(PUBLISHED_ERRORS) or list(found["query"]) != list(self.described.plan.errors()["query"]):
            raise FileFormatError(f"{path} is about other tables than {PLAN_FILE}; {AGAIN}")
        if not (found[numbers] >= 0).all(axis=None) or not np.isfinite(found[numbers]).all(axis=None):
            raise FileFormatError(f"{path} has errors that are no numbers; {AGAIN}")
        return found


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

    Attributes:
        files: by the name of a table, such as ``"age@prefix.sex"``, its file; attributes as they were written.
    """

    files: Mapping[str, SavedTable]

    @property
    def errors(self) -> "pd.DataFrame":
        """The error table of the plan, from ``errors.csv``."""
        content = content_of(self.folder, "errors.csv", self.manifest["files"].get("errors.csv"))
        found: pd.DataFrame = csv.read(content, self.folder / "errors.csv", {"query": TEXT, "kinds": TEXT}).to_pandas()
        return found

    def frame(self, query: QueryLike) -> "pd.DataFrame":
        """The table of a query as its file has it: in the profile, at the level and in the order in which it was saved.

        ``tables[query].to_frame()`` gives it in any profile, at any level and in any order of the attributes.

        Args:
            query: a query of the workload, its attributes in any order.
        """
        return frame_of_columns(self._columns(self._number_of(query)))

    def cells_of(self, number: int) -> FloatArray:
        """As `Saved.cells_of`."""
        found: FloatArray = self._columns(number)[self.described.profile.estimate_name].to_numpy()
        return found.astype(np.float64, copy=False)

    def file_of(self, number: int) -> str:
        """The file of the table of a query of the workload by its number, within the folder."""
        return self.files[self._names[number]].file

    def has_intervals(self, level: float) -> bool:
        """Whether files have intervals of numbers that are not unbiased, at a level."""
        columns = {name for name, _ in self.described.profile.columns}
        return not self.product.is_unbiased and columns.issuperset(_INTERVAL) and self.described.level == level

    def intervals(self, table: Table) -> tuple[FloatArray, FloatArray]:
        """The intervals of a table whose numbers are not unbiased, as its file has them, (cells,) each, in C order."""
        frame = self.frame(table.query)
        low, high = (frame[name].to_numpy(dtype=np.float64) for name in _INTERVAL)
        return low, high

    @cached_property
    def _names(self) -> list[str]:
        return list(self.files)

    @cached_property
    def _sheets(self) -> dict[str, str]:
        if self.described.file_format != file_names.BOOK_FORMAT:
            return {}
        return dict(zip(self._names, file_names.sheet_names(self._names), strict=True))

    def _columns(self, number: int) -> dict[str, Any]:
        """The columns of the file of a table by its number, after they have been checked."""
        form, name = self.described.table_form(self.described.plan.workload.query_at(number)), self._names[number]
        saved, sheet = self.files[name], self._sheets.get(name, "")
        return self._read(form, content_of(self.folder, saved.file, saved.sha256), sheet)

    def _statistic(self, number: int, form: FileForm) -> dict[str, Any]:
        name = self._names[number]
        if not self._sheets:
            return self._read(form, self._statistics_of(form.file))
        content = content_of(self.folder, form.file, self.files[name].sha256)
        return self._read(form, content, file_names.statistic_sheet(self._sheets[name]))

    def _read(self, form: FileForm, content: bytes, sheet: str = "") -> dict[str, Any]:
        """The columns of a file, or of a sheet of it, by name, as PyArrow arrays; FileFormatError where it has others.

        They have values of their types, as many as there are cells, and of each axis its labels, in C order.
        """
        path, types = self.folder / form.file, form.types
        read = partial(workbook.read, sheet=sheet) if sheet else FORMATS[path.suffix[1:]].read
        columns = read(content, path, types, form.rows)
        if list(columns) != list(types) or any(len(column) != form.rows for column in columns.values()):
            raise not_the_table(path)
        arrays = {name: typed(columns[name], word, path) for name, word in types.items()}
        has_gaps = any(arrays[column.name].null_count for column in form.columns if not column.is_optional)
        axes = [(axis, *column) for axis, columns in enumerate(form.axes) for column in columns.items()]
        if has_gaps or not all(are_labels(arrays[name], labels, form.shape, axis) for axis, name, labels in axes):
            raise not_the_table(path)
        return arrays


def open_files(
    home: AnyPath, manifest: Mapping[str, Any], metadata: Mapping[str, Any], described: Description
) -> InFiles:
    """The numbers of a release in files, whose manifest, metadata and plan have been checked; now the index."""
    path = home / "index.csv"
    index = csv.read(content_of(home, "index.csv", manifest["files"]["index.csv"]), path, _INDEX)
    saved = map(SavedTable, *(index[name].to_pylist() for name in ("file", "sha256", "cells")))
    files = dict(zip(index["name"].to_pylist(), saved, strict=True))
    found, workload = [(name, each.file, each.cells) for name, each in files.items()], described.plan.workload
    queries = list(file_names.written_queries(workload))
    names = [file_names.table_name(described.parts_of(query)) for query in queries]
    expected = list(zip(names, map(described.file_of, queries), workload.cells.tolist(), strict=True))
    if manifest["tables"]["count"] != len(files) or found != expected:
        raise FileFormatError(f"{path} names other tables or files than {PLAN_FILE} has; {AGAIN}")
    return InFiles(home, manifest, metadata, described, files)
