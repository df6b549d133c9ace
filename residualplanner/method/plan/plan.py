"""The whole decision: what is measured, with how much noise, at what cost, and how accurate every cell will be."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import FloatArray, frozen, require_numbers
from residualplanner.ground.errors import BudgetError, WorkloadError, memory_for
from residualplanner.ground.notebooks import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import count_text, number_text, optimality_text
from residualplanner.method.bases.basis import Basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import Loss, Targets
from residualplanner.method.plan.error_table import ErrorTable, aligned_covariances, query_table, save_error_table
from residualplanner.method.privacy import Budget, Neighbors, claim_of_budget
from residualplanner.method.strategy.accuracy import Accuracy, mean_largest_error
from residualplanner.method.strategy.costs import cost_upper_bound, require_public_total
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.strategy.variances import require_fitting
from residualplanner.method.workload.closure import Closure
from residualplanner.method.workload.query import QueryLike, checked_weights
from residualplanner.method.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

    from residualplanner.gate.measurement.resource_estimate import ResourceEstimate
    from residualplanner.publish.pictures.drawing import Picture


#: Of how many queries at most some are shown, and what of each.
LARGEST, _COLUMNS = 20_000, ["query", "kinds", "cells", "std_err", "max_std_err", "moe"]

_within_memory = memory_for("for errors of this size; ask for smaller tables, or use a machine with more memory")


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """Noise for every base mechanism, its privacy cost, and the exact accuracy of every query that it can answer.

    Attributes:
        workload: the queries to publish.
        strategy: what is measured: the basis of every attribute, in every set where it varies.
        noise_variances (m,): sigma squared of every set of the workload's closure, in its order, in counts squared.
        loss: what was made small; weights and targets as arrays with a number for each query.
        budget: what may be spent.
        loss_value: the loss that this plan reaches.
        gap: the loss (for a given loss, the cost) is proved to be within this fraction of the least that noise of this
            exact cost can have with these bases; where these vary by set and records are added or removed, of this
            bound of the cost.
        suboptimality: its errors are proved to be within this fraction of those of the best of all unbiased linear
            mechanisms with Gaussian noise of this cost: the root mean square error over all cells, weighted as in the
            loss, for sums; the largest standard error for maxima; the largest margin of error relative to its target
            for targets.  Infinite where nothing is proved; ``status`` says why, but for convex losses.
        status: how the noise was found; it says where the cost is a bound that the best noise would not reach.
        neighbors: which data sets count as neighbors.
        dual_weights (q,): for a largest variance of marginals where records are added or removed, weights of the
            queries, of sum 1, that prove the gap by eq. (17); else None.

    Raises:
        BudgetError: noise is missing, not positive or not finite, or costs more than the budget; records are replaced
            and the domain drops some.
        WorkloadError: the strategy is not for the workload's closure, has bases of other sizes, or does not answer the
            workload's queries; weights or targets do not fit the workload; bases vary by set, and there are too many
            pairs of records that one may replace.

    Guarantees: ``pcost``, recomputed from the noise and rounded up, is at most the budget.
    Source: eqs. (8), (11), (12); paper Theorems 4.3 and 4.4.
    """

    workload: Workload
    strategy: Strategy = field(repr=False)
    noise_variances: FloatArray = field(repr=False)
    loss: Loss
    budget: Budget
    loss_value: float
    gap: float
    status: str
    neighbors: Neighbors = Neighbors()  # noqa: RUF009 - frozen
    suboptimality: float = math.inf
    dual_weights: FloatArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        neighbors = replace(self.neighbors, largest_weight=self.domain.weight.maximum)
        object.__setattr__(self, "neighbors", neighbors)
        require_public_total(self.domain, self.neighbors)
        require_fitting(self.workload, self.strategy)
        denominators = [attribute.denominator for attribute in self.domain.attributes]
        object.__setattr__(self, "strategy", self.strategy.with_denominators(denominators))
        object.__setattr__(self, "loss", self.loss.of(self.workload))
        noise = frozen(np.array(self.noise_variances, dtype=np.float64))
        if noise.shape != (len(self.closure),):
            raise BudgetError(f"one noise variance for each of {len(self.closure)} sets, got shape {noise.shape}")
        if not (np.isfinite(noise) & (noise > 0)).all():
            raise BudgetError("noise variances must be positive and finite; the budget or the loss is out of range")
        object.__setattr__(self, "noise_variances", noise)
        if self.dual_weights is not None:
            object.__setattr__(self, "dual_weights", frozen(checked_weights(self.dual_weights, len(self.workload))))
        if not (math.isfinite(self.pcost) and Fraction(self.pcost) <= self.budget.pcost_exact):
            raise BudgetError(f"the noise costs pcost {self.pcost!r}, more than the budget of {self.budget.pcost!r}")

    def __repr__(self) -> str:
        caution = claim_of_budget(self.budget, self.neighbors).caution
        return (
            f"<Plan for {count_text(len(self.workload), 'query')}: pcost {self.pcost:.6g}, rmse {self.rmse:.6g}, "
            f"{self.loss.words} {self.loss_value:.6g} ({self.optimality}){caution and f'.  {caution}'}>"
        )

    def _repr_html_(self) -> str:
        if len(self.workload) > LARGEST:
            return html_table(caption_of(self), [], [], note=".errors() has the error table")
        errors = self.errors()
        rows = errors[_COLUMNS].head(ROWS).to_numpy().tolist()
        texts = [[query, kinds, *map(number_text, numbers)] for query, kinds, *numbers in rows]
        note = rest_note(len(errors) - len(rows), ".errors() has all")
        return html_table(caption_of(self), _COLUMNS, texts, note=note)

    @property
    def optimality(self) -> str:
        """How far from the best it is proved to be, in words."""
        return optimality_text(self.suboptimality, self.gap)

    @property
    def domain(self) -> Domain:
        """The schema."""
        return self.workload.domain

    @property
    def closure(self) -> Closure:
        """The sets of attributes whose residuals are measured."""
        return self.workload.closure

    @property
    def noise_variance_of(self) -> dict[tuple[str, ...], float]:
        """The noise variance of every base mechanism, in counts squared, by attribute names in the domain's order."""
        sets = (tuple(self.domain.names[position] for position in members) for members in self.closure)
        return dict(zip(sets, self.noise_variances.tolist(), strict=True))

    @property
    def bases(self) -> dict[str, Basis]:
        """The residual basis of each attribute, by name; if it varies, in the set of that attribute alone."""
        return dict(zip(self.domain.names, self.strategy.of_attributes, strict=True))

    @property
    def basis_summary(self) -> dict[str, int]:
        """How many attributes have a basis of each family, such as ``{"subtraction": 9, "optimal": 5}``."""
        return dict(Counter(basis.family for basis in self.strategy.of_attributes))

    @cached_property
    def pcost(self) -> float:
        """The privacy cost of this noise for these neighbors, rounded up; rho-zCDP holds with rho = pcost / 2.

        Where bases vary by set and records are added or removed it is a bound of the cost.  Source: eqs. (8), (37),
        (41) and (129).
        """
        return cost_upper_bound(self.strategy, self.noise_variances, self.neighbors)

    @property
    @_within_memory
    def average_variances(self) -> FloatArray:
        """The variance of an average cell of every query of the workload, in its order, (q,), in counts squared."""
        return self.accuracy.average_variances

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
        return self.accuracy.max_variances

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
    def variance(self, query: QueryLike) -> FloatArray:
        """The variance of every cell of a query's table, (q_1, .., q_k), in counts squared; axes as it is written.

        The query may be any on a subset of a workload query's attributes, in kinds that the bases span.

        Raises:
            WorkloadError: the plan does not answer the query, or the array would be too large.

        Source: eqs. (11) and (26); paper Theorems 4.4 and 7.2.
        """
        return query_table(self.accuracy, query).variances()

    @_within_memory
    def covariance(self, query: QueryLike) -> FloatArray:
        """The covariance of a query's cells in C order, axes as it is written, (cells, cells), in counts squared.

        Raises:
            WorkloadError: the plan does not answer the query, or the matrix is too large.

        Source: eqs. (12) and (26); paper Theorems 4.4 and 7.2.
        """
        return query_table(self.accuracy, query).covariance()

    @_within_memory
    def covariance_with(self, query: QueryLike, other: QueryLike) -> FloatArray:
        """The covariance of every cell of a query's table with the cell of another's that has its labels.

        Args:
            query: any that the plan answers.
            other: one on some of its attributes, or all; with as many answers on each as it, or one.

        Returns:
            (q_1, .., q_k), in counts squared, axes as ``query`` is written.

        Raises:
            WorkloadError: the plan does not answer a query; the other has answers that the first one has not.

        Source: eq. (136), from (12), (26) and (40).
        """
        return aligned_covariances(self.accuracy, query, other)

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
        table = query_table(self.accuracy, query)
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
        return mean_largest_error(query_table(self.accuracy, query))

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
        return ErrorTable(self.workload, self.accuracy, level, self.targets)

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
    def accuracy(self) -> Accuracy:
        """How accurate everything is that it answers, as arrays."""
        return Accuracy(self.workload, self.strategy, self.noise_variances, self.neighbors)

    def plot(self) -> "Picture":
        """The standard error of a cell of every table against the size of the table, by order, on log axes."""
        from residualplanner.publish.pictures.drawing import Picture  # a door
        from residualplanner.publish.pictures.plots import fairness_figure  # a door

        return Picture("standard errors by size of table", lambda: fairness_figure({"": self.errors()}))

    def resource_estimate(self, *, records: int | None = None, memory: int | None = None) -> "ResourceEstimate":
        """What the plan takes to measure and write, and took to make, in time, memory and on disk, from sizes alone.

        Args:
            records: about how many records there are, from public knowledge; by default the counting is left out.
            memory: as for `measure`; by default all counts and answers are held at once.

        Raises:
            DataError: ``records`` is not a number, or less than 0.
        """
        from residualplanner.gate.measurement.resource_estimate import resource_estimate  # a door

        return resource_estimate(
            self.workload,
            loss=self.loss,
            bases="optimal_by_set" if self.strategy.varying.any() else None,
            records=records,
            memory=memory,
        )

    def save(self, path: PathLike) -> None:
        """Write the plan to one file, whole or not at all; `load_plan` reads it.

        Raises:
            OSError: the file cannot be written.
        """
        from residualplanner.method.plan.files import save_plan  # a door

        save_plan(self, path)
