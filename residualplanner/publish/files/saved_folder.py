"""What all folders of a release have in common when they are read back."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import QueryLike, WrittenQuery, written_query
from residualplanner.publish.files.checked_files import AGAIN, content_of
from residualplanner.publish.files.manifest import PLAN_FILE
from residualplanner.publish.files.reading_files import csv_table, frame_of_columns
from residualplanner.publish.files.sidecar import NUMBER, PUBLISHED_ERRORS_FILE, Description
from residualplanner.release.batches import TableBatch
from residualplanner.release.devices import HOST, Device
from residualplanner.release.numbers import Numbers, one_by_one
from residualplanner.release.product import Product
from residualplanner.release.publication import Publication
from residualplanner.release.published_errors import PUBLISHED_ERRORS
from residualplanner.release.quality import Quality
from residualplanner.release.statistics import StatisticForm, statistic_form

if TYPE_CHECKING:
    import pandas as pd


@hides("cells_of", "chunks", "described", "estimate", "home")
@dataclass(frozen=True, eq=False, repr=False)
class Saved(Numbers):
    """The numbers in a folder that ``Release.save`` wrote, each read when it is looked up.

    Estimates are those that were saved, bit for bit; variances follow from the plan.

    Attributes:
        home: the folder.
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
        """The numbers of a table by its number in the order of the workload, (cells,), as the query was saved.

        Raises:
            FileFormatError: the file of the table is missing, was altered, or is another.
        """

    def require(self, plan: Plan, query: WrittenQuery) -> None:
        """Raise WorkloadError unless the folder has a table for the query."""
        if plan.workload.number_of(query) < 0:
            names = tuple(plan.domain.names[position] for position in query.positions)
            raise WorkloadError(
                f"{self.folder} has no table for {names!r} in these kinds; reconstruct(tables) may have it"
            )

    def words(self, noise: NoiseRecord) -> str:
        """Where they are."""
        return f" in {self.folder}: {self.product.name}, profile {self.profile}{warning_of(noise)}"

    def has_intervals(self, level: float) -> bool:
        """Whether files have intervals of numbers that are not unbiased, at a level."""
        del level
        return False

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

        `means` and `quantiles` compute them again from unbiased tables, at any level; of tables that are not unbiased
        the file alone has them.

        Args:
            query: one of the workload for a `Mean` or `Quantiles`, its attributes in any order.

        Returns:
            A row for each group (and probability), with its labels and the columns that ``metadata.json`` describes.

        Raises:
            DomainError, WorkloadError: there is no table for the query, it is for counts, or there is no such file.
            FileFormatError: the file is missing, was altered, or is another table.
        """
        plan, number = self.described.plan, self._number_of(query)
        written = plan.workload.query_at(number)
        form = statistic_form(plan.domain, self.described.profile, written)
        if form is None:
            raise WorkloadError(f"{query!r} is for counts or sums; name a query for Mean() or Quantiles()")
        return frame_of_columns(self._statistic(number, written, form))

    def _number_of(self, query: QueryLike) -> int:
        """The number of a query in the workload; errors as of a look-up."""
        plan = self.described.plan
        written = written_query(plan.domain, query)
        self.require(plan, written)
        return plan.workload.number_of(written)

    @abstractmethod
    def _statistic(self, number: int, query: WrittenQuery, form: StatisticForm) -> dict[str, Any]:
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
        found: pd.DataFrame = csv_table(content, path, PUBLISHED_ERRORS).to_pandas()
        numbers = [name for name, word in PUBLISHED_ERRORS.items() if word == NUMBER]
        if list(found) != list(PUBLISHED_ERRORS) or list(found["query"]) != list(self.described.plan.errors()["query"]):
            raise FileFormatError(f"{path} is about other tables than {PLAN_FILE}; {AGAIN}")
        if not (found[numbers] >= 0).all(axis=None) or not np.isfinite(found[numbers]).all(axis=None):
            raise FileFormatError(f"{path} has errors that are no numbers; {AGAIN}")
        return found
