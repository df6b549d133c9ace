"""All tables that follow from a measurement, each computed when it is looked up.

Reads: a measurement.  Gives: Release.  Costs no privacy budget.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._atomic import PathLike
from residualplanner._checks import FloatArray, frozen, require_path, require_type
from residualplanner.errors import WorkloadError, memory_for
from residualplanner.kron import Scratch
from residualplanner.measurement import BATCH_CELLS, Measurement, NoiseRecord, Progress
from residualplanner.plan import Plan
from residualplanner.queries import Kind
from residualplanner.reconstruction.files.export import save_tables
from residualplanner.reconstruction.files.export_files import FormatName
from residualplanner.reconstruction.profiles import ProfileName
from residualplanner.reconstruction.stacks import Reconstructor, Stack
from residualplanner.reconstruction.table import Table
from residualplanner.reconstruction.tables import Tables
from residualplanner.workload import QueryBlock, WrittenQuery

#: How many cells and how many tables of the workload are computed at a time, of all shapes together.
_CHUNK_CELLS = 4 * BATCH_CELLS
_CHUNK_TABLES = 4096


@dataclass(frozen=True, eq=False, slots=True)
class TableBatch:
    """Some tables of the same kinds of query and of one shape, with their axes as the queries were written.

    Attributes:
        queries (b,): their numbers in the order of the workload.
        attributes (b, k): the positions of their attributes in the domain, in the order written.
        kinds (k,): the kind of query on each attribute.
        estimates (b, q_1, .., q_k): in counts, read-only.
    """

    queries: NDArray[np.int64]
    attributes: NDArray[np.int32]
    kinds: tuple[Kind, ...]
    estimates: FloatArray


_A_TABLE = "for a table of this size; query a smaller one, or use a machine with more memory"


@dataclass(frozen=True, eq=False, repr=False)
class Release(Tables):
    """A mapping from queries to tables, unbiased and consistent with one another.

    It iterates over the queries of the workload; any query on a subset of the attributes of one of them has a table,
    too, whatever its kinds.  Each table is computed when it is looked up, always with the same numbers, its axes in the
    order in which the query is written.

    Attributes:
        measurement: the noisy answers that all tables follow from.
    """

    measurement: Measurement
    _reconstructor: Reconstructor = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reconstructor", Reconstructor(self.measurement))

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self.measurement.plan

    @property
    def noise(self) -> NoiseRecord:
        """How the noise was drawn."""
        return self.measurement.noise

    def __repr__(self) -> str:
        return f"<Release of {len(self):,} tables: {self.noise.kind}, {self.noise.randomness}>"

    def tables(self, progress: Progress | None = None) -> Iterator[Table]:
        """The tables of all queries of the workload, in its order, computed a few at a time.

        Args:
            progress: called with the number of tables done and their total, about once for each quarter million cells.

        Source: spec eqs. (13) and (25).
        """
        plan, done = self.plan, 0
        for batches in self._chunks():
            attributes: list[Any] = [None] * sum(len(batch.queries) for batch in batches)
            kinds, estimates = attributes.copy(), attributes.copy()
            for batch in batches:
                numbers = (batch.queries - done).tolist()
                for number, row, estimate in zip(numbers, batch.attributes.tolist(), batch.estimates, strict=True):
                    attributes[number], kinds[number], estimates[number] = tuple(row), batch.kinds, estimate
            yield from map(Table, [plan] * len(attributes), attributes, kinds, estimates)
            done += len(attributes)
            if progress is not None:
                progress(done, len(self))

    def batches(self) -> Iterator[TableBatch]:
        """The tables of all queries of the workload as arrays: several of one shape and the same kinds at a time.

        The order is the workload's, except that such tables are moved together where they are near each other.
        """
        for batches in self._chunks():
            yield from batches

    @memory_for("to write these tables; write smaller ones, or use a machine with more memory")
    def save(
        self,
        folder: PathLike,
        format: FormatName = "parquet",
        *,
        profile: ProfileName = "default",
        level: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write all tables of the workload to a new folder, whole or not at all.

        Args:
            folder: one that does not exist, or is empty.
            format: "parquet", "csv" or "xlsx".
            profile: "default", "acs" (90% margins, as the American Community Survey has them) or "gls" (for
                generalized least squares); see `Table.to_frame`.
            level: the confidence level of margins and intervals, between 0 and 1; the profile's if not given.
            progress: as in `tables`.

        The folder holds ``tables/`` (one tidy file for each query, as `Table.to_frame` gives it), ``index.csv`` (which
        file answers which query), ``errors.csv`` (the plan's error table), ``release.plan`` (the plan),
        ``metadata.json`` (what the columns mean) and ``manifest.json`` (what the noise was, what it cost, and the
        hashes of all these files).  With CSV there is also ``tables/csv-metadata.json`` (the metadata as CSV on the
        Web), and with "gls" ``noise.csv``.  `load_tables` reads the folder.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            FileExistsError: the folder exists and is not empty.
            WorkloadError: there is no such format or profile, an attribute has the name of a column of estimates, or
                Excel cannot hold a table; `require_exportable` tells before anything is measured.
            MissingExtraError: the format is "xlsx", and XlsxWriter is not installed.
            OSError: the folder cannot be written.
        """
        require_path("release.save", folder, 'release.save("release")')
        save_tables(
            self.tables(progress), self.plan, self.noise, folder, file_format=format, profile=profile, level=level
        )

    def _require(self, query: WrittenQuery) -> None:
        positions, kinds = query
        if self.plan.closure.positions_of(np.array([sorted(positions)], dtype=np.int32))[0] < 0:
            names = tuple(self.plan.domain.names[position] for position in positions)
            raise WorkloadError(
                f"the release does not answer {names!r}: it is not part of a query of the workload; add it, plan and "
                "measure again"
            )
        for position, kind in zip(positions, kinds, strict=True):
            if not self.plan.strategy.of_attributes[position].spans(kind):
                raise WorkloadError(
                    f"what was measured of {self.plan.domain.names[position]!r} does not answer {kind.name}; add a "
                    "query of this kind to the workload, plan and measure again"
                )

    @memory_for(_A_TABLE)
    def _table(self, query: WrittenQuery) -> Table:
        positions, kinds = query.in_domain_order
        rows, codes = np.array([positions], dtype=np.int32), np.arange(len(kinds), dtype=np.int16)[None]
        (stack,) = self._reconstructor.stacks(rows, codes, kinds, Scratch())
        return Table(self.plan, *query, stack.estimates[0].transpose(query.axes))

    def _chunks(self) -> Iterator[list[TableBatch]]:
        """For each run of consecutive queries its tables, stacked by bases and kinds."""
        scratch, start = Scratch(), 0
        for block in self.plan.workload.blocks:
            cells = self.plan.workload.cells[start : start + len(block)]
            for first, last in pairwise(_chunk_ends(cells)):
                part = block.part(slice(first, last))
                with memory_for(_A_TABLE):
                    stacks = list(
                        self._reconstructor.stacks(part.attributes, part.kinds, self.plan.workload.kinds, scratch)
                    )
                yield [batch for stack in stacks for batch in _batches_as_written(part, stack, start + first)]
            start += len(block)


def reconstruct(measurement: Measurement) -> Release:
    """All tables that follow from a measurement; each is computed when it is looked up.

    Args:
        measurement: from `measure` or `load_measurement`.

    Returns:
        The release: a mapping from queries to tables.

    Raises:
        ArgumentError: ``measurement`` is not a measurement.

    Guarantees: post-processing; it costs no budget.  Estimates are unbiased, and tables agree on common marginals.
    Source: spec eqs. (10), (13) and (25); paper Algorithms 2 and 6.
    """
    require_type(
        "reconstruct",
        "measurement",
        measurement,
        Measurement,
        "write reconstruct(measure(plan, records)), or reconstruct(load_measurement(path))",
    )
    return Release(measurement)


def _batches_as_written(block: QueryBlock, stack: Stack, start: int) -> Iterator[TableBatch]:
    """Tables of a block in domain order as one batch for each order in which they were written.

    Args:
        block: the queries.
        stack: tables of some of them.
        start: the number of the block's first query in the workload.
    """
    if block.axes is None:
        yield TableBatch(start + stack.rows, block.attributes[stack.rows], stack.kinds, stack.estimates)
        return
    queries = block.part(stack.rows)
    for axes in np.unique(queries.every_axes, axis=0):
        same = np.flatnonzero((queries.every_axes == axes).all(axis=1))
        yield TableBatch(
            start + stack.rows[same],
            queries.written_attributes[same],
            tuple(stack.kinds[axis] for axis in axes.tolist()),
            frozen(stack.estimates[same].transpose(0, *(1 + axes))),
        )


def _chunk_ends(cells: FloatArray) -> list[int]:
    """Where to cut tables of ``cells`` (m,) cells into runs of bounded size: from 0 to m."""
    number = np.cumsum(cells) // _CHUNK_CELLS + np.arange(len(cells)) // _CHUNK_TABLES
    return [0, *(1 + np.flatnonzero(np.diff(number))).tolist(), len(cells)] if len(cells) else [0]
