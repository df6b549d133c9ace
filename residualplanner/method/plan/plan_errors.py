"""How far off the tables of a plan will be: variances, standard errors and margins, known before any data are seen."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import FloatArray, require_numbers
from residualplanner.ground.errors import WorkloadError, memory_for
from residualplanner.method.losses import Loss, Targets
from residualplanner.method.plan.error_table import ErrorTable, query_table, save_error_table
from residualplanner.method.strategy.accuracy import Accuracy, mean_largest_error
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.query import QueryLike
from residualplanner.method.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

_within_memory = memory_for("for errors of this size; ask for smaller tables, or use a machine with more memory")


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanErrors:
    """The exact accuracy of every query that a plan can answer; its fields are those of `Plan`."""

    workload: Workload
    strategy: Strategy = field(repr=False)
    noise_variances: FloatArray = field(repr=False)
    loss: Loss

    @property
    @_within_memory
    def average_variances(self) -> FloatArray:
        """The variance of an average cell of every query of the workload, in its order, (q,), in counts squared."""
        return self._accuracy.average_variances

    @cached_property
    def rmse(self) -> float:
        """The root of the average variance over all cells of all queries, in counts.

        Errors of sums are measured as losses do: in units of the largest amount.  Source: eq. (107).
        """
        cells, variances = self.workload.cells, self.average_variances / self.workload.scales**2
        return math.sqrt(float((cells / cells.sum()) @ variances))

    @property
    @_within_memory
    def max_variances(self) -> FloatArray:
        """The largest cell variance of every query, (q,), in counts squared.  Source: eqs. (23) and (26)."""
        return self._accuracy.max_variances

    @property
    def max_variance(self) -> float:
        """The largest cell variance over the workload, in counts squared; of sums as for `rmse`."""
        return float((self.max_variances / self.workload.scales**2).max())

    @property
    def targets(self) -> Targets | None:
        """The margins of error that it was planned for, as an array with one for each query, if there are any."""
        return cast(Targets, self.loss) if self.loss.has_targets else None

    @property
    def meets_targets(self) -> bool:
        """Whether no cell's margin of error is above the target of its table; True if there are no targets."""
        return self.targets is None or bool(self.targets.are_met(self.workload, self.max_variances).all())

    @_within_memory
    def variance(self, query: QueryLike) -> NDArray[np.float64]:
        """The variance of every cell of a query's table, (q_1, .., q_k), in counts squared; axes as it is written.

        The query may be any on a subset of a workload query's attributes, in kinds that the bases span.

        Raises:
            WorkloadError: the plan does not answer the query, or the array would be too large.

        Source: eqs. (11) and (26); paper Theorems 4.4 and 7.2.
        """
        return query_table(self._accuracy, query).variances()

    @_within_memory
    def covariance(self, query: QueryLike) -> NDArray[np.float64]:
        """The covariance of a query's cells in C order, axes as it is written, (cells, cells), in counts squared.

        Raises:
            WorkloadError: the plan does not answer the query, or the matrix is too large.

        Source: eqs. (12) and (26); paper Theorems 4.4 and 7.2.
        """
        return query_table(self._accuracy, query).covariance()

    @_within_memory
    def combination_variance(self, query: QueryLike, weights: ArrayLike) -> float:
        """The variance of a weighted sum of the cells of a query's table, in counts squared.

        Args:
            query: any that the plan answers.
            weights (q_1, .., q_k): the weight of each cell, with its axes as the query is written.

        Raises:
            WorkloadError: the plan does not answer the query, or the weights do not have its table's shape.

        Cost: O(cells) for identity queries with the subtraction basis, else a product with a matrix of each attribute.
        Source: eqs. (12) and (26).
        """
        table = query_table(self._accuracy, query)
        array = require_numbers("weights must be numbers, one for each cell", weights)
        if array.shape != table.shape or not np.isfinite(array).all():
            raise WorkloadError(f"weights must be finite, one for each cell: shape {table.shape}, got {array.shape}")
        return table.combination_variance(array)

    @_within_memory
    def expected_max_abs_error(self, query: QueryLike) -> float:
        """A bound on the mean of the largest absolute error of the cells of a query's table, in counts.

        It is that mean for independent cells of these variances, and by Sidak's inequality no less than it for others.
        The mean is never below the root of 2/pi times the standard error of the cell with the largest variance.  The
        bound is for continuous noise, and up to a part in 1e12 for the discrete noise that `measure` draws.

        Raises:
            WorkloadError: the plan does not answer the query, or its table has too many cells that differ.

        Source: Sidak, J. Am. Stat. Assoc. 62 (1967), 626-633; eqs. (26) and (46).
        """
        return mean_largest_error(query_table(self._accuracy, query))

    @_within_memory
    def errors(self, level: float = 0.95) -> "pd.DataFrame":
        """The error table: one row per query of the workload, known before any data are seen.

        Args:
            level: the confidence level of the margins of error, between 0 and 1.

        Returns:
            Columns ``query``, ``kinds``, ``order``, ``cells``, ``weight``, ``privacy_share`` (each residual's cost is
            split over the queries that use it, in proportion to its part of their variances), ``std_err`` (the root of
            the average cell variance), ``max_std_err`` (of the cell with the largest variance), ``moe`` (for
            ``std_err``), ``conf_level``, ``expected_abs_error`` (the mean over cells; for a workload of more than 2**22
            cells that differ that of the average variance, which is no less) and ``expected_max_abs_error`` (as the
            method; for that many cells that of as many with the largest variance), all in counts.  With `targets` also
            ``target``, NaN for none, and ``meets_target``: of the cell with the largest variance, at their level.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        return self.error_table(level).frame(0, len(self.workload))

    def error_table(self, level: float = 0.95) -> ErrorTable:
        """The same for any of its rows, where they are too many to hold at once."""
        return ErrorTable(self.workload, self._accuracy, level, self.targets)

    @_within_memory
    def save_errors(self, path: PathLike, level: float = 0.95) -> None:
        """Write the error table to one file, whole or not at all, without holding all of it.

        Args:
            path: a name that ends in ".csv" or ".parquet".
            level: the confidence level of the margins of error, between 0 and 1.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            FileFormatError: the name ends in something else.
            OSError: the file cannot be written.
        """
        save_error_table(self.error_table(level), path)

    @cached_property
    def _accuracy(self) -> Accuracy:
        return Accuracy(self.workload, self.strategy, self.noise_variances)
