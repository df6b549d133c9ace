"""A release in parts read back: any one table, after the hash of the row group that it stands in has been compared."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.stores import AnyPath
from residualplanner.ground.words import count_text
from residualplanner.publish.files.columns import arrow_type, label_arrays
from residualplanner.publish.files.file_names import statistics_in_parts
from residualplanner.publish.files.manifest import AGAIN, PLAN_FILE, content_of
from residualplanner.publish.files.reading import Saved
from residualplanner.publish.files.sidecar import Description, FileForm
from residualplanner.publish.parts.part_file import PartFile, listed_parts
from residualplanner.publish.parts.saving import GROUP
from residualplanner.publish.parts.writing import KINDS, OWN_COLUMNS
from residualplanner.release.layout import CELL, PART_LIST, TABLE_ID, TABLES, Layout, layout_of, part_name

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class InParts(Saved):
    """The numbers of a folder that ``Release.save`` wrote in parts, of those tables whose part is in the folder.

    Of the part of a table the row group that it stands in and the footer are read, after the hashes of both have been
    compared.

    Attributes:
        files: what each part is that is in the folder, by its number.
        layout: which tables stand in which part.
    """

    files: Mapping[int, PartFile]
    layout: Layout

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

    def words(self, noise: NoiseRecord) -> str:
        """Where they are, and in how many parts."""
        return f" in {count_text(len(self.files), 'part')} in {self.folder}: {self.product.name}{warning_of(noise)}"

    @property
    def parts(self) -> Sequence[int] | None:
        """The numbers of the parts that are in the folder, where it has not all of them."""
        return None if self.is_whole else [*self.files]

    @property
    def is_whole(self) -> bool:
        """Whether all parts are in the folder."""
        return len(self.files) == len(self.layout)

    def file_of(self, number: int) -> str:
        """The file of the part of a table by its number; empty where the folder does not have it."""
        part = self.layout.part_of(number)
        return part_name(part) if part in self.files else ""

    def cells_of(self, number: int) -> FloatArray:
        """As `Saved.cells_of`; only where the table stands need the part be unaltered."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        estimate, part = self.product.columns[0], self.layout.part_of(number)
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

    def _statistic(self, number: int, form: FileForm) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        assert form.statistic is not None
        name, names = statistics_in_parts(form.statistic.kind.statistics), [column.name for column in form.columns]
        content = self._statistics_of(name)
        try:
            rows = pq.read_table(pa.BufferReader(content), filters=[(TABLE_ID, "=", number)], columns=[GROUP, *names])
            groups = np.arange(form.rows) // math.prod(map(len, form.statistic.kind.more_axes.values()))
            if not np.array_equal(rows[GROUP].to_numpy(), groups):
                raise _another(self.folder / name)
            labels = {label: array.cast(arrow_type(form.types[label])) for label, array in label_arrays(form).items()}
            return labels | {column: rows[column] for column in names}
        except (pa.ArrowException, OSError, KeyError):
            raise _another(self.folder / name) from None


def open_parts(
    folder: AnyPath, manifest: Mapping[str, Any], metadata: Mapping[str, Any], described: Description
) -> InParts:
    """The numbers of a release in parts, whose manifest, metadata and plan have been checked; now the list of parts."""
    layout = layout_of(described.plan.workload)
    files = listed_parts(folder, manifest["files"], layout)
    if manifest["tables"]["count"] != sum(map(layout.count_of, files)):
        raise FileFormatError(f"{folder / PART_LIST} names other parts than {PLAN_FILE} has; {AGAIN}")
    return InParts(folder, manifest, metadata, described, files, layout)


def _another(path: AnyPath) -> FileFormatError:
    return FileFormatError(f"{path} is not the file that the list of parts or the manifest says it is; {AGAIN}")
