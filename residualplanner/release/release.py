"""All tables that follow from a measurement, each computed when it is looked up.

Reads: a measurement, or several.  Gives: Release.  Costs no privacy budget.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat

import numpy as np

from residualplanner.fits.for_mbi import MbiProblem, mbi_problem
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import frozen
from residualplanner.ground.errors import ArgumentError, WorkloadError, memory_for
from residualplanner.ground.words import count_text
from residualplanner.method.kron import Array, Scratch
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import QueryLike, WrittenQuery, written_query
from residualplanner.publish.files.export import save_tables
from residualplanner.publish.files.export_files import PARTS_FORMAT, FormatName
from residualplanner.publish.files.profiles import ProfileName, profile_named
from residualplanner.publish.files.publication import Publication
from residualplanner.publish.parts.layout import Layout, layout_of
from residualplanner.publish.parts.saving import save_parts
from residualplanner.release.batches import A_TABLE, TableBatch, chunks
from residualplanner.release.devices import HOST, Device
from residualplanner.release.origin import Provenance
from residualplanner.release.quality import Quality
from residualplanner.release.release_tables import ReleaseTables
from residualplanner.release.stacks import Reconstructor
from residualplanner.release.table import Table
from residualplanner.scale.workers import Workers


@dataclass(frozen=True, eq=False, repr=False)
class Release(ReleaseTables):
    """A mapping from queries to tables, unbiased and consistent with one another.

    It iterates over the queries of the workload; any query on a subset of the attributes of one of them has a table,
    too, whatever its kinds.  Each table is computed when it is looked up, always with the same numbers, its axes in the
    order in which the query is written.

    Attributes:
        measurement: the noisy answers that all tables follow from.
        device: where tables are computed; what is looked up, iterated over or written is on the host in any case.
    """

    measurement: NoisyAnswers
    device: Device = HOST
    _reconstructor: Reconstructor = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reconstructor", Reconstructor(self.measurement, self.device))

    def __repr__(self) -> str:
        where = "" if self.device is HOST else f", on {self.device.name}"
        return f"<Release of {count_text(len(self), 'table')}: {self.noise.kind}, {self.noise.randomness}{where}>"

    @property
    def layout(self) -> Layout:
        """Which tables stand in which part, where they are saved in parts."""
        return layout_of(self.plan.workload)

    def to_mbi(self) -> MbiProblem:
        """What was measured, for the package mbi (Private-PGM), as in ``MirrorDescent().estimate(*release.to_mbi())``.

        Returns:
            mbi's domain, and a list of its measurements, one for each set of attributes that was measured: the
            residual answers, their query and the standard deviation of their noise.  The sum of squares that mbi
            minimizes is their likelihood, as noise of different sets is independent.

        Raises:
            MissingExtraError: mbi is not installed.

        Source: eqs. (7) and (48).
        """
        return mbi_problem(self.measurement)

    def part_of(self, query: QueryLike) -> int:
        """The number of the part in which the table of a query of the workload stands, where tables are in parts.

        Raises:
            DomainError: an attribute is not in the domain, or is named twice in the query.
            WorkloadError: it is no query of the workload.
        """
        number = self.plan.workload.number_of(written_query(self.plan.domain, query))
        if number < 0:
            raise WorkloadError(f"{query!r} is no query of the workload, whose tables are in parts")
        return self.layout.part_of(number)

    def tables(self, progress: Progress | None = None, *, only: Iterable[int] | None = None) -> Iterator[Table]:
        """The tables of the queries of the workload, in its order, computed a few at a time.

        Args:
            progress: called with the number of tables done and their total, about once for each quarter million cells.
            only: the numbers of the parts whose tables are wanted, ascending; see `part_of`.

        Raises:
            WorkloadError: there is no such part.

        Source: eqs. (13) and (25).
        """
        runs = self._runs(only)
        done, total = 0, sum(last - first for first, last in runs)
        for batches in self._chunks(runs):
            yield from _in_order(self._provenance, [batch.to_host(self.device) for batch in batches])
            done += sum(len(batch.queries) for batch in batches)
            if progress is not None:
                progress(done, total)

    def batches(self, *, only: Iterable[int] | None = None) -> Iterator[TableBatch]:
        """The tables of the queries of the workload as arrays: several of one shape and the same kinds at a time.

        The order is the workload's, except that such tables are moved together where they are near each other.

        Args:
            only: the numbers of the parts whose tables are wanted, ascending; see `part_of`.

        Raises:
            WorkloadError: there is no such part.
        """
        for batch in self.device_batches(only=only):
            yield batch.to_host(self.device)

    def device_batches(self, *, only: Iterable[int] | None = None) -> Iterator[TableBatch]:
        """The same as `batches`, but the estimates stay on the release's device, as arrays of its library.

        This is for what goes on computing there.  How many cells are on the device at once does not depend on how many
        tables there are.
        """
        for batches in self._chunks(self._runs(only)):
            yield from batches

    @memory_for("to write these tables; write smaller ones, or use a machine with more memory")
    def save(  # noqa: PLR0913
        self,
        folder: PathLike,
        format: FormatName | None = None,
        *,
        profile: ProfileName = "default",
        level: float | None = None,
        quality: Quality | None = None,
        publication: Publication | None = None,
        workers: int | Workers = 1,
        only: Iterable[int] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write the tables of the workload to a new folder, whole or not at all.

        Args:
            folder: one that does not exist, or is empty; or an address in a bucket, such as ``s3://bucket/tables``.
            format: "parquet", "csv" or "xlsx", a file for each table; "workbook", one Excel file with a sheet for each
                table and a list of them; or "parts", Parquet files of about a million cells each, for very many
                tables.  By default "parts" for more than 5,000 tables in the profile
                "default", else "parquet"; the manifest says which.
            profile: "default", "acs" (90% margins, as the American Community Survey has them) or "gls" (for
                generalized least squares); see `Table.to_frame`.
            level: the confidence level of margins and intervals, between 0 and 1; the profile's if not given.
            quality: which estimates are reliable and which are too noisy to use, and whether these are left out: two
                more columns, ``cv`` and ``quality``.  Not with "parts".
            publication: title, author, date, contact and source, for readers.
            workers: with "parts", how many processes write; more than one need a script whose main part stands under
                ``if __name__ == "__main__":``.  Or an engine's workers, `SparkWorkers` or `DaskWorkers`, which must
                see the folder, and the file of a measurement that is mapped, under the same names.
            only: with "parts", which it chooses: the numbers of the parts to write; see `part_of`.
            progress: as in `tables`.

        The folder holds ``tables/`` (one tidy file for each query, as `Table.to_frame` gives it), ``index.csv`` (which
        file answers which query), ``errors.csv`` (the plan's error table), ``release.plan`` (the plan),
        ``release.measurement`` (the noisy answers, from which `reconstruct`, `nonnegative`, `rounded` and `synthesize`
        make other tables and records), ``metadata.json`` (what the columns mean) and ``manifest.json`` (what the noise
        was, what it cost, and the hashes of all these files).  With CSV there is also ``tables/csv-metadata.json`` (the
        metadata as CSV on the Web), and with "gls" ``noise.csv``.  A release of several measurements has the plan and
        the answers of each, in ``measured-1.plan``, ``measured-1.measurement`` and so on.  `load_tables` reads the
        folder.

        With "parts" the folder holds ``parts/`` (``table_id``, the number of the table in the order of the workload,
        ``cell``, the number of the cell in C order, ``estimate`` and, where cells of one table differ in it,
        ``std_err``), ``tables.parquet`` (what each table is, its part, and its errors), ``labels.parquet`` (what the
        entries on each axis are), ``parts.csv`` (the parts and their hashes), ``row-groups.csv`` (which tables stand in
        which row group of a part, and its hash, by which one table is read and checked without the others of its part),
        and plan, measurement, metadata and manifest as above.  A run that was interrupted goes on where it stopped when
        the same measurement is saved to the same folder again; until the end all files are in a hidden folder beside
        it.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            FileExistsError: the folder exists and is not empty.
            ArgumentError: the format is "parts", which the host computes, and the release is on a device.
            WorkloadError: there is no such format, profile or part, an attribute has the name of a column of estimates,
                or Excel cannot hold the tables; `require_exportable` tells before anything is measured.
            ResourceError: the disk has too little room for the parts; or an engine's workers do not serve.
            MissingExtraError: the format is "xlsx" or "workbook", and XlsxWriter is not installed.
            OSError: the folder cannot be written.
        """
        chosen = self._format_to_save(folder, format, profile, quality, only)
        if chosen == PARTS_FORMAT:
            _require_host(self.device)
            save_parts(
                self.measurement,
                folder,
                level=level,
                publication=publication,
                workers=workers,
                only=only,
                progress=progress,
            )
            return
        save_tables(
            self.tables(progress),
            self.measurement,
            folder,
            file_format=chosen,
            profile=profile_named(profile).graded(quality),
            level=level,
            publication=publication,
        )

    def _runs(self, only: Iterable[int] | None) -> list[tuple[int, int]]:
        """The first query of each of some parts, and the one after its last; or of all parts together."""
        if only is None:
            return [(0, len(self))]
        layout = self.layout
        return [(int(layout.parts[part]), int(layout.parts[part + 1])) for part in layout.chosen(only)]

    def _chunks(self, runs: list[tuple[int, int]]) -> Iterator[list[TableBatch]]:
        for first, last in runs:
            yield from chunks(self._reconstructor, self.plan.workload, first, last)

    def _require(self, query: WrittenQuery) -> None:
        positions, kinds = query
        if self.plan.closure.position_of(sorted(positions)) < 0:
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

    @memory_for(A_TABLE)
    def _table(self, query: WrittenQuery) -> Table:
        positions, kinds = query.in_domain_order
        rows, codes = np.array([positions], dtype=np.int32), np.arange(len(kinds), dtype=np.int16)[None]
        (stack,) = self._reconstructor.stacks(rows, codes, kinds, Scratch())
        estimates = frozen(self.device.to_host(stack.estimates))
        return Table.of_answers(self._provenance, query, estimates[0].transpose(query.axes))


def _in_order(provenance: Provenance, batches: list[TableBatch]) -> Iterator[Table]:
    """The tables of batches which together are a run of queries, in the order of these."""
    order = np.argsort(np.concatenate([batch.queries for batch in batches])).tolist()
    tables = [*chain.from_iterable(_tables(provenance, batch) for batch in batches)]
    return map(tables.__getitem__, order)


def _tables(provenance: Provenance, batch: TableBatch) -> Iterator[Table]:
    """The tables of a batch, in its order."""
    attributes, estimates = map(tuple, batch.attributes.tolist()), _along_axes(provenance.plan, batch)
    return map(Table, attributes, repeat(batch.kinds), repeat(provenance), estimates)


def _along_axes(plan: Plan, batch: TableBatch) -> Array:
    """The estimates of a batch without the axes, all of length one, of attributes that only select."""
    if 1 not in batch.estimates.shape[1:]:
        return batch.estimates
    axes = WrittenQuery(tuple(batch.attributes[0].tolist()), batch.kinds).table_axes
    return batch.estimates.reshape(len(batch.queries), *axes.shape(plan.domain))


def _require_host(device: Device) -> None:
    """Raise ArgumentError where a release that is to be written in parts is on a device."""
    if device is not HOST:
        raise ArgumentError(
            "release.save: parts are computed by NumPy, the same bytes each time; write "
            'reconstruct(measurement).save(folder, format="parts"), without device'
        )
