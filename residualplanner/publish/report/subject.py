"""The subject of a report: a plan, or the tables of a release, whether computed or read from a folder.

Reads: Plan, Release.  Gives: Subject.
Nothing here has seen a record; estimates come from releases.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.margins import margin_factor
from residualplanner.method.plan.plan import Plan
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.publish.pictures import ShownTable, rows_to_show
from residualplanner.release.product import UNBIASED, Product
from residualplanner.release.publication import Publication
from residualplanner.release.quality import Quality
from residualplanner.release.release import Release
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """A plan, and the tables of a release where records have been measured.

    Budget, cost, errors and standard errors are those of the plan, also for a folder: only estimates are read from it.

    Attributes:
        name: of the plan or release.
        level: the confidence level of all margins.
        plan: what is measured, with how much noise.
        tables: of a release; None for a plan.
        publication: what is said to readers about all tables together.
        published: the errors of the published numbers, where these are not unbiased and their errors were simulated.
        errors: the error table of the plan, a row for each query; where a folder has the errors of published numbers
            that are not unbiased, also these, ``rmse`` and ``bias``.
    """

    name: str
    level: float
    plan: Plan
    tables: Release | None = None
    publication: Publication = field(default_factory=Publication)
    published: "pd.DataFrame | None" = None
    errors: "pd.DataFrame" = field(init=False)

    def __post_init__(self) -> None:
        errors = self.plan.errors(self.level)
        published = None if self.tables is None else self.tables.numbers.published_errors
        if published is not None:
            errors = errors.assign(rmse=published["rmse"].to_numpy(), bias=published["bias"].to_numpy())
        object.__setattr__(self, "errors", errors)

    @property
    def title(self) -> str:
        """What the page is called."""
        return self.publication.title or f"Accuracy and privacy of {self.name}"

    @property
    def quality(self) -> Quality | None:
        """Which estimates are reliable, where the files of the tables say it."""
        return None if self.tables is None else self.tables.numbers.quality

    @property
    def product(self) -> Product:
        """What the estimates are."""
        return UNBIASED if self.tables is None else self.tables.product

    @property
    def target_level(self) -> float:
        """The confidence level of the targets in the error table, if it has any."""
        return self.level if self.plan.targets is None else self.plan.targets.level

    @property
    def has_statistics(self) -> bool:
        """Whether tables are for means or quantiles."""
        return any(isinstance(kind, Statistic) for kind in self.plan.workload.kinds)

    @property
    def cells(self) -> float:
        """How many cells all tables have together."""
        return float(self.errors["cells"].sum())

    @property
    def rmse(self) -> float:
        """The root of the average variance over all cells of all tables, in counts; of sums as for margins."""
        cells, std_err = self.errors["cells"].to_numpy(dtype=np.float64), self.errors["std_err"] / self._scales
        return math.sqrt(float(cells @ std_err.to_numpy() ** 2 / cells.sum()))

    @property
    def worst_margins(self) -> "pd.Series[float]":
        """The margin of error of the worst cell of every table, in counts; of sums in units of the largest amount."""
        return self.errors["max_std_err"] / self._scales * margin_factor(self.level)

    @property
    def unit(self) -> str:
        """The unit of numbers about all tables together, in words."""
        unit = self.plan.domain.unit
        return f"{unit}; sums in units of the largest amount" if self.plan.workload.has_sums else unit

    @property
    def _scales(self) -> "pd.Series[float] | float":
        """What the errors of each table are measured in where tables are compared.  Source: eq. (107)."""
        return self.errors.get("scale", 1.0)

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
    def is_total(self) -> NDArray[np.bool_]:
        """Whether a row of the error table is about the number of all records, (q,)."""
        return np.equal(self.plan.workload.orders, 0)

    @property
    def has_intervals(self) -> bool:
        """Whether there are intervals of numbers that are not unbiased, at the level of the report."""
        return self.tables is not None and self.tables.numbers.has_intervals(self.level)

    def interval(self, row: int) -> tuple[FloatArray, FloatArray]:
        """The ends of the intervals of a table whose numbers are not unbiased, (cells,) each, in C order.

        They are those of the unbiased estimates, cut at the counts that are possible.
        """
        assert self.tables is not None
        (query,) = self.plan.workload.take([row])
        saved = self.tables.numbers.intervals(query, self.level)
        low, high = self.table(row).interval(self.level) if saved is None else saved
        return low.ravel(), high.ravel()

    def read_table(self, row: int) -> ShownTable:
        """The rows to show of the table that a row of the error table is about, in a release."""
        table = self.table(row)
        found = table.shown(self.level)
        if found.ends is not None or not self.has_intervals:
            return found
        chosen = rows_to_show(table.estimate.ravel())
        low, high = self.interval(row)
        return replace(found, has_intervals=True, ends=(frozen(low[chosen]), frozen(high[chosen])))

    def table(self, row: int) -> Table:
        """The table that a row of the error table is about, in a release."""
        tables: Any = self.tables
        (query,) = self.plan.workload.take([row])
        found: Table = tables[query]
        return found
