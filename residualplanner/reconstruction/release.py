"""All tables of a measurement, each made when it is asked for.

Reads: a measurement.  Gives: Release.  Costs no privacy budget.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._atomic import PathLike
from residualplanner._checks import FloatArray, frozen, require_path, require_type
from residualplanner.bases import spans_kind
from residualplanner.errors import DomainError, WorkloadError, memory_for
from residualplanner.kron import Scratch
from residualplanner.measurement import BATCH_CELLS, Measurement, Progress
from residualplanner.plan import Plan
from residualplanner.queries import Kind
from residualplanner.reconstruction.files.export_files import FormatName
from residualplanner.reconstruction.profiles import ProfileName
from residualplanner.reconstruction.stacks import Reconstructor, Stack
from residualplanner.reconstruction.table import Table
from residualplanner.workload import QueryBlock, QueryLike, written_query

#: How many cells and how many tables of the workload are taken at a time, of all shapes together.
_CHUNK_CELLS = 4 * BATCH_CELLS
_CHUNK_TABLES = 4096


@dataclass(frozen=True, eq=False, slots=True)
class TableBatch:
    """Some tables of the same kinds of query and of one shape, with their axes as the queries were written.

    Attributes:
        queries (b,): their numbers in the order of the workload.
        attributes (b, k): the positions of their attributes in the domain, in the order written.
        kinds (k,): what is asked of each attribute.
        estimates (b, q_1, .., q_k): in counts, read-only.
    """

    queries: NDArray[np.int64]
    attributes: NDArray[np.int32]
    kinds: tuple[Kind, ...]
    estimates: FloatArray


_A_TABLE = "for a table of this size; ask for a smaller one, or use a machine with more memory"


@dataclass(frozen=True, eq=False)
class Release(Mapping[Any, Table]):
    """A mapping from queries to tables, unbiased and consistent with one another.

    It iterates over the queries of the workload; any query on a subset of the attributes of one of them has a table,
    too, of whatever kinds.  Tables are made anew each time, always the same, with their axes in the order in which the
    query is written.

    Attributes:
        measurement: what the tables are made of.
    """

    measurement: Measurement
    _rebuilder: Reconstructor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rebuilder", Reconstructor(self.measurement))

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self.measurement.plan

    @memory_for(_A_TABLE)
    def __getitem__(self, query: QueryLike) -> Table:
        """The table of a query, its axes in the order in which the query is written.

        Raises:
            DomainError: an attribute is not in the domain, or twice in the query.
            WorkloadError: the release does not answer the query; what was measured of an attribute does not answer this
                kind of query.
        """
        written = written_query(self.plan.domain, query)
        positions, kinds = written.in_domain_order
        rows = np.array([positions], dtype=np.int32)
        if self.plan.closure.positions_of(rows)[0] < 0:
            names = tuple(self.plan.domain.names[position] for position in written.positions)
            raise WorkloadError(
                f"the release does not answer {names!r}: it is not part of a query of the workload; add it, plan and "
                "measure again"
            )
        for position, kind in zip(positions, kinds, strict=True):
            self._require_spanned(position, kind)
        asked = np.arange(len(kinds), dtype=np.int16)[None]
        (stack,) = self._rebuilder.stacks(rows, asked, kinds, Scratch())
        return Table(self.plan, *written, stack.estimates[0].transpose(written.axes))

    def __contains__(self, query: object) -> bool:
        """Whether the release has a table for the query, of the workload or not."""
        return self.get(query) is not None

    def get(self, query: Any, default: Any = None) -> Any:
        """The table of a query, or ``default`` where the release does not answer it."""
        try:
            return self[query]
        except (DomainError, WorkloadError):
            return default

    def __iter__(self) -> Iterator[tuple[str, ...] | dict[str, Kind]]:
        return iter(self.plan.workload)

    def __len__(self) -> int:
        return len(self.plan.workload)

    def __repr__(self) -> str:
        return f"<Release of {len(self):,} tables: {self.measurement.noise.kind}, {self.measurement.noise.randomness}>"

    def tables(self, progress: Progress | None = None) -> Iterator[Table]:
        """The tables of all queries of the workload, in its order, made a few at a time.

        Args:
            progress: called with how many of how many tables are done, about once for each quarter million cells.

        Source: spec eqs. (13) and (25).
        """
        plan, done = self.plan, 0
        for batches in self._chunks(0, len(self)):
            attributes: list[Any] = [None] * sum(len(batch.queries) for batch in batches)
            kinds, estimates = attributes.copy(), attributes.copy()
            for batch in batches:
                places = (batch.queries - done).tolist()
                for place, row, estimate in zip(places, batch.attributes.tolist(), batch.estimates, strict=True):
                    attributes[place], kinds[place], estimates[place] = tuple(row), batch.kinds, estimate
            yield from map(Table, [plan] * len(attributes), attributes, kinds, estimates)
            done += len(attributes)
            if progress is not None:
                progress(done, len(self))

    def batches(self, first: int = 0, last: int | None = None) -> Iterator[TableBatch]:
        """The tables of the workload's queries as arrays, some of one shape and the same kinds at a time.

        The order is the workload's but for such tables, which are moved together where they are near.

        Args:
            first: the number of the first query in the order of the workload.
            last: that of the query before which to stop; all queries from ``first`` on if not given.
        """
        for batches in self._chunks(first, len(self) if last is None else last):
            yield from batches

    def save(
        self,
        folder: PathLike,
        format: FormatName = "parquet",
        *,
        profile: ProfileName = "default",
        level: float | None = None,
        workers: int = 1,
        progress: Progress | None = None,
    ) -> None:
        """Write all tables of the workload to a new folder, whole or not at all.

        Args:
            folder: must not exist, or be empty.
            format: "parquet", "csv" or "xlsx", a file for each table; or "parts", Parquet files of about a million
                cells each, for very many tables.
            profile: "default", "acs" (90% margins, as the American Community Survey has them) or "gls" (for
                generalized least squares); see `Table.to_frame`.
            level: the confidence level of margins and intervals, between 0 and 1; that of the profile if not given.
            workers: with "parts", how many processes write; more than one need a script whose main part stands under
                ``if __name__ == "__main__":``.
            progress: as in `tables`.

        The folder holds ``tables/``, one tidy file for each query (as `Table.to_frame`), ``index.csv`` (which file
        answers which query), ``errors.csv`` (the plan's error table), ``release.plan`` (the plan), ``metadata.json``
        (what the columns mean) and ``manifest.json`` (what the noise was, what it cost, and the hashes of all this);
        beside tables as CSV ``tables/csv-metadata.json`` (the same as CSV on the Web), and with "gls" ``noise.csv``.
        `load_tables` reads it.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            FileExistsError: the folder exists and is not empty.
            WorkloadError: there is no such format or profile, an attribute has the name of a column of estimates, or
                Excel cannot hold a table; `require_exportable` tells before anything is measured.
            MissingExtraError: workbooks are asked for, and XlsxWriter is not installed.
            OSError: the folder cannot be written.
        """
        from residualplanner.reconstruction.files.export import save_release

        require_path("release.save", folder, 'release.save("release")')
        if format == "parts":
            from residualplanner.reconstruction.parts.saving import save_parts

            save_parts(self, folder, profile=profile, level=level, workers=workers, progress=progress)
            return
        save_release(self, folder, format, profile=profile, level=level, progress=progress)

    def _chunks(self, first: int, last: int) -> Iterator[list[TableBatch]]:
        """For one run of queries after another, from ``first`` up to ``last``, their tables by bases and kinds."""
        scratch, start = Scratch(), 0
        for block in self.plan.workload.blocks:
            low, high = (min(max(number - start, 0), len(block)) for number in (first, last))
            ends = _chunk_ends(self.plan.workload.cells[start + low : start + high])
            for before, after in pairwise(low + end for end in ends):
                part = block.part(slice(before, after))
                with memory_for(_A_TABLE):
                    stacks = list(
                        self._rebuilder.stacks(part.attributes, part.kinds, self.plan.workload.kinds, scratch)
                    )
                yield [batch for stack in stacks for batch in _batches_as_written(part, stack, start + before)]
            start += len(block)

    def _require_spanned(self, position: int, kind: Kind) -> None:
        if not spans_kind(self.plan.strategy.of_attributes[position], kind):
            raise WorkloadError(
                f"what was measured of {self.plan.domain.names[position]!r} does not answer {kind.name}; ask for "
                "this kind in a query of the workload, plan and measure again"
            )


def reconstruct(measurement: Measurement) -> Release:
    """All tables that follow from a measurement: nothing is computed before it is asked for.

    Args:
        measurement: from `measure` or `load_measurement`.

    Returns:
        The release: a mapping from queries to tables.

    Raises:
        ArgumentError: it is no measurement.

    Guarantees: post-processing; it costs no budget.  Estimates are unbiased, and tables agree on what they share.
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
    asked = block.part(stack.rows)
    for axes in np.unique(asked.every_axes, axis=0):
        same = np.flatnonzero((asked.every_axes == axes).all(axis=1))
        yield TableBatch(
            start + stack.rows[same],
            asked.written_attributes[same],
            tuple(stack.kinds[axis] for axis in axes.tolist()),
            frozen(stack.estimates[same].transpose(0, *(1 + axes))),
        )


def _chunk_ends(cells: FloatArray) -> list[int]:
    """Where to cut a run of tables with so many ``cells`` (m,) into runs of bounded size: from 0 to m."""
    number = np.cumsum(cells) // _CHUNK_CELLS + np.arange(len(cells)) // _CHUNK_TABLES
    return [0, *(1 + np.flatnonzero(np.diff(number))).tolist(), len(cells)] if len(cells) else [0]
