"""A release in parts read back: any one table, after the hash of the row group that it stands in has been compared.

Reads: a folder from anyone.  Gives: SavedParts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.gate.measurement.noise_record import warning_of
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.ground.words import count_text
from residualplanner.method.workload.query import QueryKey, QueryLike, WrittenQuery
from residualplanner.publish.files.checked_files import AGAIN, content_of
from residualplanner.publish.files.manifest import PLAN_FILE
from residualplanner.publish.files.saved_folder import SavedFolder
from residualplanner.publish.files.sidecar import Description
from residualplanner.publish.files.statistic_form import StatisticForm, statistics_name
from residualplanner.publish.parts.dictionary import KINDS, OWN_COLUMNS
from residualplanner.publish.parts.layout import (
    CELL,
    PART_LIST,
    TABLE_ID,
    TABLES,
    UNBIASED_COLUMN,
    Layout,
    layout_of,
    part_name,
)
from residualplanner.publish.parts.part_file import PartFile
from residualplanner.publish.parts.part_list import listed_parts
from residualplanner.publish.parts.statistics import GROUP
from residualplanner.release.product import UNBIASED, Product
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class SavedParts(SavedFolder):
    """The tables of a folder that ``Release.save`` wrote in parts: a mapping from queries to tables.

    It iterates over those queries of the workload, in its order, whose part is in the folder, and has the tables of
    these only.  A table is read when it is looked up: of its part the row group that it stands in and the footer are,
    after the hashes of both have been compared.

    Attributes:
        folder: where the tables are.
        manifest: the content of ``manifest.json``: how the tables were made, and what that cost.
        metadata: the content of ``metadata.json``: what their columns mean.
        files: what each part is that is in the folder, by its number.
        layout: which tables stand in which part.
    """

    files: Mapping[int, PartFile]
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", layout_of(self.plan.workload))

    @property
    def errors(self) -> "pd.DataFrame":
        """The rows of the plan's error table for the tables that are here, from ``tables.parquet``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = content_of(self.folder, TABLES, self.manifest["files"].get(TABLES))
        try:
            found: pd.DataFrame = pq.read_table(pa.BufferReader(content)).to_pandas()
            return found.drop(columns=[*OWN_COLUMNS]).rename(columns={KINDS: "kinds"})
        except (pa.ArrowException, OSError, KeyError):
            raise _another(self.folder / TABLES) from None

    def __repr__(self) -> str:
        tables, parts = count_text(len(self), "saved table"), count_text(len(self.files), "part")
        return f"<{tables} in {parts}, {self.folder}{warning_of(self.noise)}>"

    def __iter__(self) -> Iterator[QueryKey]:
        return iter(self.plan.workload if self.is_whole else self.plan.workload.take(self.numbers))

    def __len__(self) -> int:
        return sum(self.layout.count_of(part) for part in self.files)

    @property
    def is_whole(self) -> bool:
        """Whether all parts are in the folder."""
        return len(self.files) == len(self.layout)

    @property
    def numbers(self) -> IntArray:
        """The numbers of the queries of the workload whose tables are here, ascending, (t,)."""
        return self.layout.tables_of(list(self.files))

    def unbiased(self, query: QueryLike) -> Table:
        """The unbiased estimates of a table, where they stand beside numbers that were made from them.

        Args:
            query: as in ``tables[query]``.

        Raises:
            WorkloadError: the release was saved without them, or has no such table here.
            FileFormatError: as `estimates`.
        """
        if not self._described.profile.with_unbiased:
            raise WorkloadError(
                f"{self.folder} has no column of unbiased estimates; save the release with with_unbiased=True, or the "
                "unbiased release to a folder of its own"
            )
        return self._read(self._written(query), UNBIASED_COLUMN, UNBIASED)

    def estimates(self, number: int) -> FloatArray:
        """The estimates of a table by its number in the order of the workload, (cells,), as the query was saved.

        Raises:
            FileFormatError: the part of the table is missing, was altered where the table stands, or is another.
        """
        return self._column(number, self.product.columns[0])

    def _column(self, number: int, estimate: str) -> FloatArray:
        """The column of estimates with this name of a table by its number, (cells,).

        Raises:
            FileFormatError: the part of the table is missing, was altered where the table stands, or is another.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        part = self.layout.part_of(number)
        name = part_name(part)
        groups, cells = self.layout.row_groups(part), self.layout.cells
        group = int(np.searchsorted(groups, number, side="right")) - 1
        content = self.files[part].row_group(self.folder / name, group)
        start, stop = (int(cells[table] - cells[groups[group]]) for table in (number, number + 1))
        try:
            file = pq.ParquetFile(pa.BufferReader(content))
            rows = file.read_row_group(group, [TABLE_ID, CELL, estimate], use_threads=False).slice(start, stop - start)
            numbers, cell, estimates = (rows[column].to_numpy() for column in (TABLE_ID, CELL, estimate))
        except (pa.ArrowException, OSError, IndexError, KeyError):
            raise _another(self.folder / name) from None
        if not ((numbers == number).all() and np.array_equal(cell, np.arange(stop - start))):
            raise _another(self.folder / name)
        found: FloatArray = estimates.astype(np.float64, copy=False)
        return found

    def _statistic(self, number: int, query: WrittenQuery, form: StatisticForm) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        del query
        name = statistics_name(form.table.word)
        content, names = self._statistics_of(name), [column.name for column in form.columns]
        try:
            rows = pq.read_table(pa.BufferReader(content), filters=[(TABLE_ID, "=", number)], columns=[GROUP, *names])
            entries = [len(labels) for labels in form.more_axes.values()]
            groups = np.arange(form.rows) // int(np.prod(entries, dtype=np.int64))
            if not np.array_equal(rows[GROUP].to_numpy(), groups):
                raise _another(self.folder / name)
            return form.labels | {column: rows[column] for column in names}
        except (pa.ArrowException, OSError, KeyError):
            raise _another(self.folder / name) from None

    def _require(self, query: WrittenQuery) -> None:
        number = self.plan.workload.number_of(query)
        names = tuple(self.plan.domain.names[position] for position in query.positions)
        if number < 0:
            raise WorkloadError(
                f"{self.folder} has no table for {names!r} in these kinds; reconstruct(tables) may have it"
            )
        part = self.layout.part_of(number)
        if part not in self.files:
            raise WorkloadError(
                f"the table for {names!r} is in part {part}, which {self.folder} does not have: it was saved with "
                "only=; reconstruct(tables) has it"
            )

    def _table(self, query: WrittenQuery) -> Table:
        return self._read(query, self.product.columns[0], self.product)

    def _read(self, query: WrittenQuery, column: str, product: Product) -> Table:
        """The table of a query from a column of estimates, which are this product."""
        number = self.plan.workload.number_of(query)
        saved = self.plan.workload.query_at(number)
        axes = [saved.positions.index(position) for position in query.positions]
        estimates = frozen(self._column(number, column).reshape(saved.shape(self.plan.domain)).transpose(axes))
        return Table.of_answers(replace(self._provenance, product=product), query, estimates)


def open_parts(
    folder: AnyPath, manifest: Mapping[str, Any], metadata: Mapping[str, Any], described: Description
) -> SavedParts:
    """The tables of a release in parts, whose manifest, metadata and plan have been checked.

    Raises:
        FileFormatError: the list of parts is missing, was altered, or names other parts than the plan has.
    """
    layout = layout_of(described.plan.workload)
    files = listed_parts(folder, manifest["files"], layout)
    if manifest["tables"]["count"] != sum(map(layout.count_of, files)):
        raise FileFormatError(f"{folder / PART_LIST} names other parts than {PLAN_FILE} has; {AGAIN}")
    return SavedParts(folder, manifest, metadata, described, files)


def _another(path: AnyPath) -> FileFormatError:
    return FileFormatError(f"{path} is not the file that the list of parts or the manifest says it is; {AGAIN}")
