"""Tables that were made from unbiased ones: how they are written, whatever was done to them.

Reads: tables.  Gives: AdjustedRelease, and files.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from residualplanner.fits.adjusted.drawing import Batched, Simulation
from residualplanner.fits.adjusted.numbers import LookedUp
from residualplanner.fits.nonnegative.published_errors import PublishedErrors, require_errors_of
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import memory_for
from residualplanner.publish.files.export import save_tables
from residualplanner.publish.files.export_files import PARTS_FORMAT, FormatName
from residualplanner.publish.files.profiles import ProfileName, profile_named
from residualplanner.publish.files.publication import Publication
from residualplanner.publish.files.sidecar import PUBLISHED_ERRORS_FILE
from residualplanner.publish.parts.numbers import BesideUnbiased
from residualplanner.publish.parts.saving import save_parts
from residualplanner.release.quality import Quality
from residualplanner.release.release_tables import ReleaseTables
from residualplanner.release.table import Table
from residualplanner.scale.workers import Workers


class AdjustedRelease(ReleaseTables):
    """A mapping from queries to tables that were made from unbiased ones."""

    @property
    @abstractmethod
    def measurement(self) -> NoisyAnswers:
        """The noisy answers that the unbiased tables follow from."""

    @property
    @abstractmethod
    def part_numbers(self) -> LookedUp:
        """Its numbers as parts hold them."""

    @abstractmethod
    def tables(self, progress: Progress | None = None) -> Iterator[Table]:
        """The tables of all queries of the workload, in its order."""

    @abstractmethod
    def simulation(self) -> Simulation[Batched]:
        """The same made again from noise around its tables."""

    @memory_for("to write these tables; write smaller ones, or use a machine with more memory")
    def save(  # noqa: PLR0913
        self,
        folder: PathLike,
        format: FormatName | None = None,
        *,
        profile: ProfileName = "default",
        level: float | None = None,
        with_unbiased: bool = False,
        errors: PublishedErrors | None = None,
        quality: Quality | None = None,
        publication: Publication | None = None,
        workers: int | Workers = 1,
        only: Iterable[int] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write all tables of the workload to a new folder, whole or not at all, as `Release.save` does.

        Columns of estimates end with ``_nonneg``, ``_rounded`` or both, and hold integers where they are rounded; those
        of standard errors, margins and intervals, which are those of the unbiased estimates, with ``_unbiased``; the
        intervals are cut at the counts that are possible.  Manifest and metadata say what the numbers are, and which
        public facts they were made with.

        Args:
            folder: one that does not exist, or is empty.
            format: "parquet", "csv", "xlsx", "workbook" or "parts"; as of `Release.save` if not given.
            profile: as of `Release.save`.
            level: as of `Release.save`.
            with_unbiased: whether the unbiased estimates stand beside the numbers, in a column of their own.
            errors: from `published_errors` of this release, to be written to ``published-errors.csv``.
            quality: as of `Release.save`.
            publication: as of `Release.save`.
            workers: as of `Release.save`.
            only: as of `Release.save`.
            progress: called with the number of tables done and their total.

        Raises:
            BudgetError, FileExistsError, WorkloadError, MissingExtraError, OSError: as `Release.save` does; the errors
                are another release's.
        """
        chosen = self._format_to_save(folder, format, profile, quality, only)
        more = self._files_of(errors)
        if chosen == PARTS_FORMAT:
            save_parts(
                self.measurement,
                folder,
                level=level,
                publication=publication,
                workers=workers,
                only=only,
                progress=progress,
                numbers=BesideUnbiased(self.part_numbers) if with_unbiased else self.part_numbers,
                more=more,
            )
            return
        save_tables(
            self.tables(progress),
            self.measurement,
            folder,
            file_format=chosen,
            profile=profile_named(profile).of(self.product, with_unbiased=with_unbiased).graded(quality),
            level=level,
            publication=publication,
            more=more,
        )

    def _files_of(self, errors: PublishedErrors | None) -> Mapping[str, Any]:
        """The errors of published numbers as a data frame, by the name of its file."""
        if errors is None:
            return {}
        require_errors_of(self, errors)
        return {PUBLISHED_ERRORS_FILE: errors.to_frame()}
