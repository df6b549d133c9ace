"""What all folders of a release have in common when they are read back.

Reads: a folder whose manifest, metadata and plan have been checked.  Gives: SavedFolder.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import QueryLike, WrittenQuery
from residualplanner.publish.files.checked_files import AGAIN, content_of
from residualplanner.publish.files.manifest import PLAN_FILE
from residualplanner.publish.files.publication import Publication
from residualplanner.publish.files.reading_files import csv_table, frame_of_columns
from residualplanner.publish.files.saved_measurement import saved_measurements
from residualplanner.publish.files.sidecar import NUMBER, PUBLISHED_ERRORS, PUBLISHED_ERRORS_FILE, Description
from residualplanner.publish.files.statistic_form import StatisticForm, statistic_form
from residualplanner.release.product import Product
from residualplanner.release.quality import Quality
from residualplanner.release.tables import Tables

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class SavedFolder(Tables):
    """The tables of a folder that ``Release.save`` wrote.

    Attributes:
        folder: where the tables are.
        manifest: the content of ``manifest.json``: how the tables were made, and what that cost.
        metadata: the content of ``metadata.json``: what their columns mean.
    """

    folder: AnyPath
    manifest: Mapping[str, Any]
    metadata: Mapping[str, Any]
    _described: Description

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self._described.plan

    @property
    def noise(self) -> NoiseRecord:
        """How the noise was drawn, as far as the plan can tell: the exact cost and the sentence follow from it."""
        return self._described.noise

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """The measurements that all tables follow from, or were made from: one, or several that were averaged.

        Their answers are left on disk, so the folder must stay as it is while they are used.

        Raises:
            FileFormatError: a file is missing, was altered, or is about another release.
        """
        return saved_measurements(self.folder, self.manifest["files"], self.plan, self.noise)

    @property
    def product(self) -> Product:
        """What the numbers are."""
        return self._described.product

    @property
    def publication(self) -> Publication:
        """What is said to readers about all tables together."""
        return self._described.publication

    @property
    def quality(self) -> Quality | None:
        """Which estimates are reliable, where the files say it; those that these leave out are nan in tables."""
        return self._described.profile.quality

    @property
    def profile(self) -> str:
        """The profile that the tables were saved in."""
        return self._described.profile.name

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
        number = self.plan.workload.number_of(self._written(query))
        written = self.plan.workload.query_at(number)
        form = statistic_form(self.plan.domain, self._described.profile, written)
        if form is None:
            raise WorkloadError(f"{query!r} is for counts or sums; name a query for Mean() or Quantiles()")
        return frame_of_columns(self._statistic(number, written, form))

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
        if list(found) != list(PUBLISHED_ERRORS) or list(found["query"]) != list(self.plan.errors()["query"]):
            raise FileFormatError(f"{path} is about other tables than {PLAN_FILE}; {AGAIN}")
        if not (found[numbers] >= 0).all(axis=None) or not np.isfinite(found[numbers]).all(axis=None):
            raise FileFormatError(f"{path} has errors that are no numbers; {AGAIN}")
        return found
