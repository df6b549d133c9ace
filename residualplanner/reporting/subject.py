"""The subject of a report: a plan, or the tables of a release, whether computed or read from a folder.

Reads: Plan, Tables.  Gives: Subject; ShownTable, a few rows with intervals that hold however the rows were picked.
Nothing here has seen a record; estimates come from releases.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner._margins import margin_factor
from residualplanner.plan import Plan
from residualplanner.reconstruction import Table, Tables

if TYPE_CHECKING:
    import pandas as pd


#: How many rows of a table are shown.
ROWS = 20


@dataclass(frozen=True, eq=False, slots=True)
class ShownTable:
    """Some cells of one table: all if they are few, else those with the largest estimates.

    Attributes:
        names: the attributes.
        cells: how many cells the table has.
        labels (r,): the labels of each row shown, one for each attribute.
        estimates (r,): in counts.
        std_errs (r,): in counts.
        level: the confidence level of the margins.

    Example:
        >>> shown = ShownTable(("sex",), 2, (("F",), ("M",)), np.array([5.0, 9.0]), np.array([1.0, 1.0]), 0.95)
        >>> shown.margins.round(2).tolist(), shown.joint_margins.round(2).tolist()
        ([1.96, 1.96], [2.24, 2.24])
    """

    names: tuple[str, ...]
    cells: int
    labels: tuple[tuple[str, ...], ...]
    estimates: FloatArray
    std_errs: FloatArray
    level: float

    @property
    def is_whole(self) -> bool:
        """Whether all cells are shown."""
        return len(self.labels) == self.cells

    @property
    def margins(self) -> FloatArray:
        """The margin of each cell by itself, (r,), in counts."""
        return margin_factor(self.level) * self.std_errs

    @property
    def joint_margins(self) -> FloatArray:
        """The margins within which all cells of the table are at once, by the union bound, (r,), in counts."""
        return margin_factor(min(1 - (1 - self.level) / max(self.cells, 1), 1 - 2**-53)) * self.std_errs


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """A plan, and the tables of a release where records have been measured.

    Budget, cost, errors and standard errors are those of the plan, also for a folder: only estimates are read from it.

    Attributes:
        name: of the plan or release.
        level: the confidence level of all margins.
        plan: what is measured, with how much noise.
        tables: of a release; None for a plan.
        errors: the error table of the plan, a row for each query.
    """

    name: str
    level: float
    plan: Plan
    tables: Tables | None = None
    errors: "pd.DataFrame" = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "errors", self.plan.errors(self.level))

    @property
    def target_level(self) -> float:
        """The confidence level of the targets in the error table, if it has any."""
        return self.level if self.plan.targets is None else self.plan.targets.level

    @property
    def cells(self) -> float:
        """How many cells all tables have together."""
        return float(self.errors["cells"].sum())

    @property
    def rmse(self) -> float:
        """The root of the average variance over all cells of all tables, in counts."""
        cells = self.errors["cells"].to_numpy(dtype=np.float64)
        return math.sqrt(float(cells @ self.errors["std_err"].to_numpy() ** 2 / cells.sum()))

    @property
    def worst_margins(self) -> "pd.Series[float]":
        """The margin of error of the worst cell of every table, in counts."""
        return self.errors["max_std_err"] * margin_factor(self.level)

    @property
    def with_targets(self) -> "pd.DataFrame":
        """The rows of the error table with a target."""
        return self.errors[self.errors["target"].notna()] if "target" in self.errors else self.errors.iloc[:0]

    def read_table(self, row: int) -> ShownTable:
        """The rows to show of the table that a row of the error table is about, in a release."""
        tables: Any = self.tables
        (query,) = self.plan.workload.take([row])
        return shown_table(tables[query], level=self.level)


def shown_table(table: Table, *, level: float) -> ShownTable:
    """The rows to show of a table, with margins of this confidence level."""
    estimate, std_err = table.estimate.ravel(), table.std_err.ravel()
    chosen = rows_to_show(estimate)
    indices = np.stack(np.unravel_index(chosen, table.estimate.shape or (1,)), axis=1)[:, : table.estimate.ndim]
    labels = table.labels_in_words
    texts = tuple(tuple(labels[axis][i] for axis, i in enumerate(row)) for row in indices.tolist())
    return ShownTable(table.names, estimate.size, texts, estimate[chosen], std_err[chosen], level)


def rows_to_show(estimate: FloatArray) -> NDArray[np.int64]:
    """The numbers of the cells of a table (cells,) to show: all, or those with the largest estimates, largest first.

    Example:
        >>> rows_to_show(np.array([3.0, 9.0])).tolist(), rows_to_show(np.arange(100.0))[:3].tolist()
        ([0, 1], [99, 98, 97])
    """
    if estimate.size <= ROWS:
        return np.arange(estimate.size)
    return np.argsort(-estimate, kind="stable")[:ROWS]
