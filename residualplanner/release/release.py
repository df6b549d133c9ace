"""All tables that follow from a measurement, each computed, or read, when it is looked up."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.gate.measurement.measurement import Measurement, NoisyAnswers
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import QueryKey, QueryLike, WrittenQuery, written_query
from residualplanner.method.workload.workload import workload_html
from residualplanner.release.batches import TableBatch
from residualplanner.release.devices import HOST, Device
from residualplanner.release.numbers import UNBIASED_NUMBERS, Estimates, Numbers
from residualplanner.release.product import Product, Provenance
from residualplanner.release.table import Table

if TYPE_CHECKING:
    from residualplanner.fits.for_mbi import MbiProblem
    from residualplanner.ground.atomic import PathLike
    from residualplanner.ground.words import FormatName, ProfileName
    from residualplanner.release.comparisons import Comparisons
    from residualplanner.release.layout import Layout
    from residualplanner.release.published_errors import PublishedErrors
    from residualplanner.release.quality import Publication, Quality
    from residualplanner.scale.workers import Workers


@dataclass(frozen=True, eq=False, repr=False)
class Release(Mapping[Any, Table]):
    """A mapping from queries to tables that follow from a measurement.

    It iterates over the queries of the workload.  Any query on a subset of the attributes of one of them has a table,
    too, whatever its kinds; where tables are in a folder, only those that were saved.  Each table is computed or read
    when it is looked up, always with the same numbers, its axes in the order in which the query is written.

    Attributes:
        measurement: the noisy answers that all tables follow from; of a folder, left on disk.
        numbers: what they are: unbiased and consistent with one another, non-negative, rounded, or saved in a folder.
        device: where unbiased tables are computed; what is looked up, iterated over or written is on the host in any
            case.
    """

    measurement: NoisyAnswers
    numbers: Numbers = UNBIASED_NUMBERS
    device: Device = HOST
    estimates: Estimates = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimates", self.numbers.of(self.measurement, self.device))

    def __repr__(self) -> str:
        where = "" if self.device is HOST else f", on {self.device.name}"
        return f"<Release of {count_text(len(self), 'table')}{self.numbers.words(self.noise)}{where}>"

    def _repr_html_(self) -> str:
        return workload_html(self.plan.workload, self, remedy="iterate over the tables for all")

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self.measurement.plan

    @property
    def noise(self) -> NoiseRecord:
        """How the noise was drawn; of a folder as far as the plan can tell: cost and sentence follow from it."""
        return self.measurement.noise

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The measurements that all tables follow from: one, or several that were averaged; of a folder, left on disk.

        Raises:
            FileFormatError: a file of the folder is missing, was altered, or is about another release.
        """
        return self.measurement.measurements

    @property
    def product(self) -> Product:
        """What the numbers are, in words, and with which facts they were made."""
        return self.numbers.product

    @cached_property
    def unbiased(self) -> "Release":
        """The release of the unbiased estimates that the numbers were made from; itself where they are these."""
        return self if self.product.is_unbiased else Release(self.measurement)

    @property
    def layout(self) -> "Layout":
        """Which tables stand in which part, where they are saved in parts."""
        from residualplanner.release.layout import layout_of

        return layout_of(self.plan.workload)

    def to_mbi(self) -> "MbiProblem":
        """What was measured, for the package mbi (Private-PGM), as in ``MirrorDescent().estimate(*release.to_mbi())``.

        Returns:
            mbi's domain, and a measurement for each set of attributes: the residual answers, their query and the
            standard deviation of their noise.  The sum of squares that mbi minimizes is their likelihood.

        Raises:
            MissingExtraError: mbi is not installed.

        Source: eqs. (7) and (48).
        """
        from residualplanner.fits.for_mbi import mbi_problem

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
            progress: called with the number of tables done and their total, about once for each quarter million cells;
                of rounded tables, and of those of a folder, after each.
            only: the numbers of the parts whose tables are wanted, ascending; see `part_of`.

        Raises:
            WorkloadError: there is no such part.

        Source: eqs. (13) and (25).
        """
        runs = self._runs(only)
        done, total = 0, sum(last - first for first, last in runs)
        # Only what was made here from unbiased tables has an origin, for which these are made beside them.
        unbiased: Iterator[Table | None] = repeat(None)
        if self._has_origins:
            unbiased = chain.from_iterable(map(self.unbiased._in_order, self.unbiased._chunks(runs)))
        for batches in self._chunks(runs):
            for table, origin in zip(self._in_order(batches), unbiased, strict=False):
                yield table if origin is None else self._made_from(origin, table)
            done += sum(len(batch.queries) for batch in batches)
            if progress is not None:
                progress(done, total)

    def batches(self, *, only: Iterable[int] | None = None) -> Iterator[TableBatch]:
        """The tables of the queries of the workload as arrays: several of one shape and the same kinds at a time.

        The order is the workload's, except that such tables are moved together where they are near each other.
        Arguments and errors are those of `tables`.
        """
        for batch in self.device_batches(only=only):
            yield batch.to_host(self.device)

    def device_batches(self, *, only: Iterable[int] | None = None) -> Iterator[TableBatch]:
        """The same as `batches`, but the estimates stay on the release's device, for what goes on computing there.

        How many cells are on the device at once does not depend on how many tables there are.
        """
        for batches in self._chunks(self._runs(only)):
            yield from batches

    def save(  # noqa: PLR0913
        self,
        folder: "PathLike",
        format: "FormatName | None" = None,
        *,
        profile: "ProfileName" = "default",
        level: float | None = None,
        quality: "Quality | None" = None,
        publication: "Publication | None" = None,
        with_unbiased: bool = False,
        errors: "PublishedErrors | None" = None,
        comparisons: "Comparisons | None" = None,
        workers: "int | Workers" = 1,
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
            with_unbiased: whether unbiased estimates stand beside numbers made from them, in a column of their own.
            errors: from `published_errors` of this release, to be written to ``published-errors.csv``.
            comparisons: by name, what `difference`, `ratio`, `change` and `ranks` of ``residualplanner.statistics``
                have found, to be written to ``comparison-NAME.csv``; letters, digits, ``_`` and ``-`` make a name.
            workers: with "parts", how many processes write; more than one need a script whose main part stands under
                ``if __name__ == "__main__":``.  Or an engine's workers, `SparkWorkers` or `DaskWorkers`, which must
                see the folder, and the file of a measurement that is mapped, under the same names.
            only: with "parts", which it chooses: the numbers of the parts to write; see `part_of`.
            progress: as in `tables`.

        The folder holds a tidy file for each table, as `Table.to_frame` gives it, or the parts, what they are for
        programs, the plan and the noisy answers, from which `reconstruct`, `nonnegative`, `rounded` and `synthesize`
        make other tables and records, and the hashes of all these files: docs/files.md says which file holds what.
        `load_tables` reads it.  Parts that were interrupted go on where they stopped when the same measurement is saved
        to the same folder again; until the end all files are in a hidden folder beside it.

        Columns of numbers that are not unbiased end with ``_nonneg``, ``_rounded`` or both; those of standard errors,
        margins and intervals, which are those of the unbiased estimates, with ``_unbiased``, and the intervals are cut
        at the counts that are possible.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            FileExistsError: the folder exists and is not empty.
            ArgumentError: the format is "parts", which the host computes, and the release is on a device; or the
                release was read from a folder.
            WorkloadError: there is no such format, profile or part, an attribute has the name of a column of estimates,
                the errors are another release's, a comparison is none or has no name for a file, or Excel cannot hold
                the tables; `require_exportable` tells before anything is measured.
            ResourceError: the disk has too little room for the parts; or an engine's workers do not serve.
            MissingExtraError: the format is "xlsx" or "workbook", and XlsxWriter is not installed.
            OSError: the folder cannot be written.
        """
        from residualplanner.publish.saving import save

        how: dict[str, Any] = {"profile": profile, "level": level, "quality": quality, "publication": publication}
        how |= {"with_unbiased": with_unbiased, "errors": errors, "workers": workers, "only": only}
        how |= {"comparisons": comparisons or {}}
        save(self, folder, format, progress=progress, **how)

    def __getitem__(self, query: QueryLike) -> Table:
        """The table of a query, its axes in the order in which the query is written.

        Raises:
            DomainError: an attribute is not in the domain, or is named twice in the query.
            WorkloadError: there is no table for the query: a release answers it where what was measured of its
                attributes does, and a folder where it is a query of the workload.
            FileFormatError: the file of a saved table is missing, was altered, or is another table; it is named.
            MissingExtraError: a saved table is a workbook, and openpyxl is not installed.
        """
        return self._table(self._written(query))

    def __contains__(self, query: object) -> bool:
        """Whether there is a table for the query; none is made or read to find out."""
        try:
            self._written(query)
        except (DomainError, WorkloadError):
            return False
        return True

    def get(self, query: Any, default: Any = None) -> Any:
        """The table of a query, or ``default`` where there is none; a table that cannot be read is an error."""
        if query not in self:
            return default
        return self[query]

    def __iter__(self) -> Iterator[QueryKey]:
        workload = self.plan.workload
        return iter(workload if self.numbers.parts is None else workload.take(self.query_numbers))

    def __len__(self) -> int:
        return len(self.plan.workload) if self.numbers.parts is None else len(self.query_numbers)

    @property
    def query_numbers(self) -> IntArray:
        """The numbers of the queries of the workload whose tables are here, ascending, (t,)."""
        parts = self.numbers.parts
        return np.arange(len(self.plan.workload)) if parts is None else self.layout.tables_of(parts)

    def _written(self, query: Any) -> WrittenQuery:
        written = written_query(self.plan.domain, query)
        self.numbers.require(self.plan, written)
        return written

    def _table(self, query: WrittenQuery) -> Table:
        shape = query.table_axes.shape(self.plan.domain)  # without axes of length one, of attributes that only select
        table = Table(*query, self._provenance, self.estimates.estimate(query).reshape(shape))
        return self._made_from(self.unbiased._table(query), table) if self._has_origins else table

    @property
    def _has_origins(self) -> bool:
        return not self.product.is_unbiased and self.numbers.folder is None

    def _made_from(self, unbiased: Table, table: Table) -> Table:
        return replace(table, provenance=replace(table.provenance, origin=self.numbers.origin(unbiased)))

    @cached_property
    def _provenance(self) -> Provenance:
        warning = warning_of(self.noise).removeprefix("; ")
        return Provenance(self.plan, self.product, warning=warning, measurement=self.measurement)

    def _runs(self, only: Iterable[int] | None) -> list[tuple[int, int]]:
        wanted = self.numbers.parts if only is None else only
        if wanted is None:
            return [(0, len(self))]
        layout = self.layout
        return [(int(layout.parts[part]), int(layout.parts[part + 1])) for part in layout.chosen(wanted)]

    def _chunks(self, runs: list[tuple[int, int]]) -> Iterator[list[TableBatch]]:
        return chain.from_iterable(self.estimates.chunks(first, last) for first, last in runs)

    def _in_order(self, batches: list[TableBatch]) -> Iterator[Table]:
        order = np.argsort(np.concatenate([batch.queries for batch in batches])).tolist()
        tables = [table for batch in batches for table in _tables(self._provenance, batch.to_host(self.device))]
        return map(tables.__getitem__, order)


def _tables(provenance: Provenance, batch: TableBatch) -> Iterator[Table]:
    axes = WrittenQuery(tuple(batch.attributes[0].tolist()), batch.kinds).table_axes
    # without the axes, all of length one, of attributes that only select
    estimates = batch.estimates.reshape(len(batch.queries), *axes.shape(provenance.plan.domain))
    return map(Table, map(tuple, batch.attributes.tolist()), repeat(batch.kinds), repeat(provenance), estimates)
