"""A release in parts read back: any one table, after the hash of its part has been compared.

Reads: a folder that somebody hands over.  Gives: SavedParts.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from residualplanner._checks import FloatArray, frozen
from residualplanner.errors import DomainError, FileFormatError, WorkloadError
from residualplanner.measurement import NoiseRecord
from residualplanner.plan import Plan
from residualplanner.queries import Kind
from residualplanner.reconstruction.parts.layout import Layout
from residualplanner.reconstruction.parts.saving import part_name
from residualplanner.reconstruction.parts.writing import CELL, ESTIMATE, TABLE_ID
from residualplanner.reconstruction.table import Table
from residualplanner.workload import QueryLike, written_query

_AGAIN = "copy the folder again, or save the release again"


@dataclass(frozen=True, eq=False)
class SavedParts(Mapping[Any, Table]):
    """The tables of a folder that ``Release.save`` wrote in parts: a mapping from queries to tables.

    It iterates over the queries of the workload, in its order, and has the tables of these only.  A table is read when
    it is asked for, after the hash of the part in which it stands has been compared.

    Attributes:
        folder: where they are.
        manifest: how they were made, and what that cost: what is in ``manifest.json``.
        plan: what was measured.
        noise: how the noise was drawn.
        layout: which tables stand in which part.
        hashes: the SHA-256 of each part.
    """

    folder: Path
    manifest: Mapping[str, Any] = field(repr=False)
    plan: Plan = field(repr=False)
    noise: NoiseRecord = field(repr=False)
    layout: Layout = field(repr=False)
    hashes: tuple[str, ...] = field(repr=False)

    def __getitem__(self, query: QueryLike) -> Table:
        """The table of a query, its axes in the order in which the query is written.

        Raises:
            DomainError: an attribute is not in the domain, or twice in the query.
            WorkloadError: it is not a query of the workload.
            FileFormatError: the file of the table's part is absent, was altered, or is another.
        """
        wanted = written_query(self.plan.domain, query)
        number = self.plan.workload.number_of(wanted)
        if number < 0:
            names = tuple(self.plan.domain.names[position] for position in wanted.positions)
            raise WorkloadError(f"{self.folder} has no table for {names!r} in these kinds; load the measurement for it")
        saved = self.plan.workload.query_at(number)
        shape = [
            kind.rows(self.plan.domain.sizes[position])
            for position, kind in zip(saved.positions, saved.kinds, strict=True)
        ]
        axes = [saved.positions.index(position) for position in wanted.positions]
        estimates = self.estimates(number).reshape(shape).transpose(axes)
        return Table(self.plan, wanted.positions, wanted.kinds, frozen(estimates))

    def estimates(self, number: int) -> FloatArray:
        """The estimates of a table by its number in the order of the workload, (cells,), as the query was saved.

        Raises:
            FileFormatError: as for the table.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        part = self.layout.part_of(number)
        path = self.folder / part_name(part)
        if not path.is_file():
            raise FileFormatError(f"{path} is not there; {_AGAIN}")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != self.hashes[part]:
            raise FileFormatError(f"{path} was altered: its SHA-256 is not the one in the list of parts; {_AGAIN}")
        groups = self.layout.row_groups(part)
        group = int(np.searchsorted(groups, number, side="right")) - 1
        first, cells = int(groups[group]), self.layout.cells
        start, stop = (int(cells[n] - cells[first]) for n in (number, number + 1))
        try:
            file = pq.ParquetFile(pa.BufferReader(content))
            rows = file.read_row_group(group, [TABLE_ID, CELL, ESTIMATE], use_threads=False).slice(start, stop - start)
            numbers, cell, estimates = (rows[name].to_numpy() for name in (TABLE_ID, CELL, ESTIMATE))
        except (pa.ArrowException, OSError, IndexError, KeyError):
            raise _another(path) from None
        if not ((numbers == number).all() and np.array_equal(cell, np.arange(stop - start))):
            raise _another(path)
        found: FloatArray = estimates.astype(np.float64, copy=False)
        return found

    def __contains__(self, query: object) -> bool:
        """Whether the folder has a table for the query; nothing is read."""
        try:
            return self.plan.workload.number_of(written_query(self.plan.domain, query)) >= 0  # type: ignore[arg-type]
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
        return len(self.plan.workload)

    def __repr__(self) -> str:
        return f"<{len(self):,} saved tables in {len(self.layout):,} parts, {self.folder}>"


def _another(path: Path) -> FileFormatError:
    return FileFormatError(f"{path} is not the part that the list of parts says it is; {_AGAIN}")
