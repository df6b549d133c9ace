"""The subject of a report: a plan, or the tables of a release, whether computed or read from a folder.

Nothing here has seen a record; estimates come from releases.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import ArgumentError, FileFormatError, WorkloadError
from residualplanner.ground.stores import Bucket, path_at
from residualplanner.method.plan.files import load_plan
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.reading import InFiles, Saved
from residualplanner.publish.pictures.plots import ShownTable, rows_to_show
from residualplanner.publish.saving import load_tables
from residualplanner.release.product import UNBIASED, Product
from residualplanner.release.published_errors import PublishedErrors, require_errors_of
from residualplanner.release.quality import Publication, Quality
from residualplanner.release.release import Release
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Subject:
    """A plan, and the tables of a release where records have been measured, of which only estimates are read."""

    name: str
    level: float  # of confidence, of all margins
    plan: Plan
    tables: Release | None = None  # None for a plan
    saved: Saved | None = None  # the numbers of the tables, where these are in a folder
    publication: Publication = field(default_factory=Publication)
    #: The errors of the published numbers, where these are not unbiased and their errors were simulated.
    published: "pd.DataFrame | None" = None

    @cached_property
    def errors(self) -> "pd.DataFrame":
        """A row for each query; where the errors of published numbers are known, also these, ``rmse`` and ``bias``."""
        errors = self.plan.errors(self.level)
        if self.published is None:
            return errors
        return errors.assign(**{name: self.published[name].to_numpy() for name in ("rmse", "bias")})

    @property
    def quality(self) -> Quality | None:
        """Which estimates are reliable, where the files of the tables say it."""
        return None if self.saved is None else self.saved.quality

    @property
    def product(self) -> Product:
        """What the estimates are."""
        return UNBIASED if self.tables is None else self.tables.product

    @property
    def target_level(self) -> float:
        """The confidence level of the targets in the error table, if it has any."""
        return self.level if self.plan.targets is None else self.plan.targets.level

    @property
    def unit(self) -> str:
        """The unit of numbers about all tables together, in words."""
        unit = self.plan.domain.unit
        return f"{unit}; sums in units of the largest amount" if self.plan.workload.has_sums else unit

    @property
    def with_targets(self) -> "pd.DataFrame":
        """The rows of the error table with a target."""
        return self.errors[self.errors["target"].notna()] if "target" in self.errors else self.errors.iloc[:0]

    @property
    def has_table(self) -> NDArray[np.bool_]:
        """Whether there is a table for each row of the error table, (q,)."""
        found = np.zeros(len(self.errors), dtype=np.bool_)
        if self.tables is not None:
            found[self.tables.query_numbers] = True
        return found

    @property
    def has_intervals(self) -> bool:
        """Whether there are intervals of numbers that are not unbiased, at the level of the report."""
        if isinstance(self.saved, InFiles):
            return self.saved.has_intervals(self.level)
        return self.saved is None and not self.product.is_unbiased

    def interval(self, row: int) -> tuple[FloatArray, FloatArray]:
        """The ends of the intervals of a table whose numbers are not unbiased, (cells,) each, in C order."""
        table = self.table(row)
        low, high = self.saved.intervals(table) if isinstance(self.saved, InFiles) else table.interval(self.level)
        return low.ravel(), high.ravel()

    def read_table(self, row: int) -> ShownTable:
        """The rows to show of the table that a row of the error table is about, in a release."""
        table = self.table(row)
        found = table.shown(self.level)
        if found.ends is not None or not self.has_intervals:
            return found
        chosen = rows_to_show(table.estimate.ravel())
        low, high = self.interval(row)
        return replace(found, ends=(frozen(low[chosen]), frozen(high[chosen])))

    def table(self, row: int) -> Table:
        """The table that a row of the error table is about, in a release."""
        assert self.tables is not None
        (query,) = self.plan.workload.take([row])
        return self.tables[query]


def subject_of(
    source: Any, *, level: float, publication: Publication | None = None, errors: PublishedErrors | None = None
) -> Subject:
    """The subject of a report on ``source``; arguments and errors as in `write_report`."""
    if isinstance(source, Release):
        saved = source.numbers if isinstance(source.numbers, Saved) else None
        published = None if saved is None else saved.published_errors
        if errors is not None:
            require_errors_of(source.plan, source.product, errors)
            published = errors.to_frame()
        name = "this release" if saved is None else saved.name
        about = publication or (saved and saved.publication) or Publication()
        return Subject(name, level, source.plan, source, saved, about, published)
    name, plan = "this plan", source
    if not isinstance(source, Plan):
        try:
            path = path_at(source)
        except ArgumentError:
            message = f"a report is about a Plan, a Release or the path of one, got {type(source).__name__}"
            raise WorkloadError(message) from None
        if isinstance(path, Bucket) or path.is_dir():
            if not (path / "manifest.json").is_file():
                raise FileFormatError(f"{path} holds no manifest.json; name a plan file, or the folder of a release")
            release = load_tables(path)
            assert isinstance(release.numbers, Saved)
            _ = release.numbers.errors  # an altered file is refused, though the numbers of the plan are used
            return subject_of(release, level=level, publication=publication, errors=errors)
        name, plan = path.name, load_plan(path)
    if errors is not None:
        raise WorkloadError("errors of published numbers are for the report on a release, not on a plan")
    return Subject(name, level, plan, publication=publication or Publication())
