"""The whole decision: what is measured, with how much noise, at what cost, and how accurate every cell will be.

Reads: a workload, noise variances, a budget.  Gives: Plan.  Never sees a record.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._archive import write_archive
from residualplanner._atomic import PathLike
from residualplanner._checks import FloatArray, frozen, require_numbers
from residualplanner.bases import Basis
from residualplanner.domain import Domain
from residualplanner.errors import BudgetError, WorkloadError, memory_for
from residualplanner.losses import Loss, LossLike, Targets, read_loss
from residualplanner.plan.error_table import error_table
from residualplanner.plan.noise_variances import NoiseVariances
from residualplanner.plan.questions.resource_estimate import ResourceEstimate, resource_estimate
from residualplanner.plan.strategy_arrays import strategy_to_arrays
from residualplanner.plan.workload_arrays import workload_to_arrays
from residualplanner.privacy import Budget, Neighbors
from residualplanner.strategy import (
    Accuracy,
    Strategy,
    TableAccuracy,
    cost_upper_bound,
    mean_max_bound,
    require_fitting,
    require_public_total,
)
from residualplanner.workload import Closure, QueryLike, Workload, written_query

if TYPE_CHECKING:
    import pandas as pd


#: Of the files of plans; and what the names of all arrays of losses begin with.
FORMAT_VERSION, LOSS = 6, "loss/"

_within_memory = memory_for("for errors of this size; ask for smaller tables, or use a machine with more memory")


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """Noise for every base mechanism, its privacy cost, and the exact accuracy of every query that it can answer.

    Attributes:
        workload: the queries to publish.
        noise_variances (m,): sigma squared of every set of the workload's closure, in its order, in counts squared.
        budget: what may be spent.
        loss: what was made small; weights and targets as arrays with a number for each query.
        loss_value: the loss that this plan reaches.
        gap: the loss (or, for a given loss, the cost) is proved to be within this fraction of the best for these
            bases.
        status: how the noise was found; it says where loss and gap are for a safe bound of the cost.
        strategy: what is measured: the basis of every attribute, in every set where it varies.
        neighbors: which data sets count as neighbors.

    Raises:
        BudgetError: noise is missing, not positive or not finite, or costs more than the budget; records are replaced
            and the domain drops some.
        WorkloadError: the strategy is not for the workload's closure, has bases of other sizes, or does not answer the
            workload's queries; weights or targets do not fit the workload; bases vary by set, and records are replaced.

    Guarantees: ``pcost``, recomputed from the noise and rounded up, is at most the budget.
    Source: spec eqs. (8), (11), (12); paper Theorems 4.3 and 4.4.
    """

    workload: Workload
    noise_variances: FloatArray = field(repr=False)
    budget: Budget
    loss: Loss
    loss_value: float
    gap: float
    status: str
    strategy: Strategy = field(repr=False)
    neighbors: Neighbors = Neighbors()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        require_public_total(self.domain, self.neighbors)
        require_fitting(self.workload, self.strategy)
        if self.strategy.varying.any() and self.neighbors.has_public_total:
            raise WorkloadError(
                'bases that vary by set are for neighbors="add-remove"; where records are replaced, plan with '
                'bases="optimal"'
            )
        object.__setattr__(self, "loss", self.loss.of(self.workload))
        noise = frozen(np.array(self.noise_variances, dtype=np.float64))
        object.__setattr__(self, "noise_variances", noise)
        if noise.shape != (len(self.closure),):
            raise BudgetError(f"one noise variance for each of {len(self.closure)} sets, got shape {noise.shape}")
        if not (np.isfinite(noise) & (noise > 0)).all():
            raise BudgetError("noise variances must be positive and finite; the budget or the loss is out of range")
        if not (math.isfinite(self.pcost) and Fraction(self.pcost) <= self.budget.pcost_exact):
            raise BudgetError(f"the noise costs pcost {self.pcost!r}, more than the budget of {self.budget.pcost!r}")

    def __repr__(self) -> str:
        return (
            f"<Plan for {len(self.workload):,} queries: pcost {self.pcost:.6g}, rmse {self.rmse:.6g}, "
            f"{self.loss.words} {self.loss_value:.6g} (gap {self.gap:.1e})>"
        )

    @property
    def domain(self) -> Domain:
        """The schema."""
        return self.workload.domain

    @property
    def closure(self) -> Closure:
        """The sets of attributes whose residuals are measured."""
        return self.workload.closure

    @property
    def noise_variance_of(self) -> NoiseVariances:
        """The noise variance of every base mechanism, by attribute names; ``.array`` holds them all."""
        return NoiseVariances(self.domain, self.closure, self.noise_variances)

    @property
    def bases(self) -> dict[str, Basis]:
        """The residual basis of each attribute, by name: what is measured of it.

        Of an attribute whose bases vary: in the set of it alone; `strategy` has those of other sets.
        """
        return dict(zip(self.domain.names, self.strategy.of_attributes, strict=True))

    @property
    def basis_summary(self) -> dict[str, int]:
        """How many attributes have a basis of each family, such as ``{"subtraction": 9, "optimal": 5}``.

        The family "optimal_by_set" stands for bases that are found together, others in other sets.
        """
        return dict(Counter(basis.family for basis in self.strategy.of_attributes))

    @cached_property
    def pcost(self) -> float:
        """The privacy cost of this noise for these neighbors, rounded up; rho-zCDP holds with rho = pcost / 2.

        Where bases vary by set it is a bound of the cost.

        Source: spec eqs. (8) and (37); spec eq. (41).
        """
        return cost_upper_bound(self.strategy, self.noise_variances, self.neighbors)

    @property
    @_within_memory
    def average_variances(self) -> FloatArray:
        """The variance of an average cell of every query of the workload, in its order, (q,), in counts squared."""
        return self._accuracy.average_variances

    @cached_property
    def rmse(self) -> float:
        """The root of the average variance over all cells of all queries, in counts."""
        share = self.workload.cells / self.workload.cells.sum()
        return math.sqrt(float(share @ self.average_variances))

    @property
    @_within_memory
    def max_variances(self) -> FloatArray:
        """The largest cell variance of every query of the workload, in its order, (q,), in counts squared.

        Source: spec eqs. (23) and (26).
        """
        return self._accuracy.max_variances

    @property
    def max_variance(self) -> float:
        """The largest cell variance over the workload, in counts squared."""
        return float(self.max_variances.max())

    @property
    def targets(self) -> Targets | None:
        """The margins of error that it was planned for, as an array with one for each query, if there are any."""
        return cast(Targets, self.loss) if self.loss.has_targets else None

    @property
    def meets_targets(self) -> bool:
        """Whether no cell's margin of error is above the target of its table; True if there are no targets."""
        return self.targets is None or bool(self.targets.are_met(self.workload, self.max_variances).all())

    def above_svd_bound(self, loss: LossLike = "sum") -> float:
        """How far a loss of this plan is above what any mechanism of the same cost must have, relative to that bound.

        Args:
            loss: "sum", "max", `SumOfVariances` or `MaxVariance`.

        Raises:
            WorkloadError: it is another loss, or the bound is too large a computation; see `svd_bound`.
            BudgetError: records are replaced; the bound is for adding or removing records.

        Cost: that of `svd_bound`.
        Source: spec eq. (33).
        """
        if self.neighbors.has_public_total:
            raise BudgetError("the bound is for adding or removing records; plan with neighbors='add-remove' for it")
        goal = read_loss(loss)
        least = goal.svd_bound(self.workload) / (self.pcost / self.neighbors.cost_factor)
        return goal.value(self.workload, self._accuracy) / least - 1

    @_within_memory
    def variance(self, query: QueryLike) -> NDArray[np.float64]:
        """The variance of every cell of a query's table, (q_1, .., q_k), in counts squared; axes as it is written.

        Any query on a subset of a workload query's attributes can be asked, in any kind that the bases span.

        Raises:
            WorkloadError: the plan does not answer the query, or the array would be too large.

        Source: spec eqs. (11) and (26); paper Theorems 4.4 and 7.2.
        """
        return self._table(query).variances()

    @_within_memory
    def covariance(self, query: QueryLike) -> NDArray[np.float64]:
        """The covariance of the cells of a query's table in C order, (cells, cells), in counts squared.

        The order of the cells follows that in which the query's attributes are written.

        Raises:
            WorkloadError: the plan does not answer the query, or the matrix is too large.

        Source: spec eqs. (12) and (26); paper Theorems 4.4 and 7.2.
        """
        return self._table(query).covariance()

    @_within_memory
    def combination_variance(self, query: QueryLike, weights: ArrayLike) -> float:
        """The variance of a weighted sum of the cells of a query's table, in counts squared.

        Args:
            query: any query that the plan answers.
            weights (q_1, .., q_k): the weight of each cell, with its axes as the query is written.

        Raises:
            WorkloadError: the plan does not answer the query, or the weights do not have its table's shape.

        Cost: O(cells) for identity queries with the subtraction basis, else one product of the weights with the
            matrices of each attribute; the covariance is not formed.
        Source: spec eqs. (12) and (26).
        """
        table, array = self._table(query), require_numbers("weights must be numbers, one for each cell", weights)
        if array.shape != table.shape or not np.isfinite(array).all():
            raise WorkloadError(f"weights must be finite, one for each cell: shape {table.shape}, got {array.shape}")
        return table.combination_variance(array)

    @_within_memory
    def expected_max_abs_error(self, query: QueryLike) -> float:
        """At most how far off the worst cell of a query's table is, in the mean, in counts: a bound.

        It follows from the exact variances, whatever the covariances: it is the mean where the cells are independent,
        and by Sidak's inequality no less than the mean where they are not.  The mean is never below the root of 2/pi
        times the standard error of the cell with the largest variance.  It holds for continuous noise, and up to a part
        in 1e12 for the discrete noise that `measure` draws.

        Raises:
            WorkloadError: the plan does not answer the query, or its table has too many cells that differ.

        Source: Sidak, J. Am. Stat. Assoc. 62 (1967), 626-633; spec eqs. (26) and (46).
        """
        table = self._table(query)
        variances, counts = np.unique(table.differing_variances(), return_counts=True)
        alike = math.prod(map(float, table.shape)) / counts.sum()
        return mean_max_bound(np.sqrt(variances), counts * alike)

    @_within_memory
    def errors(self, level: float = 0.95) -> "pd.DataFrame":
        """The error table: one row per query of the workload, known before any data are seen.

        Args:
            level: the confidence level of the margins of error, between 0 and 1.

        Returns:
            Columns ``query``, ``kinds``, ``order``, ``cells``, ``weight``, ``privacy_share`` (each residual's cost is
            split over the queries that use it, in proportion to what they take of its variance), ``std_err`` (the root
            of the average cell variance), ``max_std_err`` (of the cell with the largest variance), ``moe`` (the margin
            of error of a cell whose standard error is ``std_err``), ``conf_level``, ``expected_abs_error`` (the mean
            over cells; where the workload has more than 2**22 cells that differ, that of the average variance, which
            is no less) and ``expected_max_abs_error`` (a bound on the mean of the largest error, as
            `expected_max_abs_error`; where there are that many cells, of as many with the largest variance), all in
            counts.  A plan with `targets` has two more: ``target``, NaN for none, and ``meets_target``, which is about
            the cell with the largest variance at the targets' own level.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        return error_table(
            self.workload,
            shares=self._accuracy.privacy_shares,
            average_variance=self.average_variances,
            max_variance=self.max_variances,
            mean_std_err=self._accuracy.mean_std_errs,
            max_abs_error=self._accuracy.max_abs_errors,
            level=level,
            targets=self.targets,
        )

    def resource_estimate(self, *, records: int | None = None) -> ResourceEstimate:
        """What the plan takes to measure and write, and took to make, in time, memory and on disk, from sizes alone.

        Args:
            records: about how many records there are, from public knowledge; by default the counting is left out.

        Raises:
            DataError: ``records`` is not a number, or less than 0.
        """
        by_set = bool(self.strategy.varying.any())
        return resource_estimate(self.workload, loss=self.loss, by_set=by_set, records=records)

    def save(self, path: PathLike) -> None:
        """Write the plan to one file, whole or not at all; `load_plan` reads it.

        Raises:
            OSError: the file cannot be written.
        """
        header, arrays = plan_to_archive(self)
        write_archive(path, kind="plan", version=FORMAT_VERSION, header=header, arrays=arrays)

    @cached_property
    def _accuracy(self) -> Accuracy:
        return Accuracy(self.workload, self.strategy, self.noise_variances)

    def _table(self, query: QueryLike) -> TableAccuracy:
        """Variances and covariances within the table of a query."""
        written = written_query(self.domain, query)
        positions = written.in_domain_order.positions
        if self.closure.positions_of(np.array([positions], dtype=np.int32))[0] < 0:
            names = tuple(self.domain.names[position] for position in written.positions)
            raise WorkloadError(
                f"the plan does not answer {names!r}: it is not part of a query of the workload; add it and plan again"
            )
        return self._accuracy.table(written)


def plan_to_archive(plan: Plan) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The plan as a JSON header and arrays."""
    queries, blocks = workload_to_arrays(plan.workload)
    families, matrices = strategy_to_arrays(plan.strategy)
    loss, numbers = plan.loss.to_archive()
    header = queries | {
        "budget": plan.budget.to_json(),
        "pcost": plan.pcost,
        "loss": loss,
        "loss_value": plan.loss_value,
        "gap": plan.gap if math.isfinite(plan.gap) else None,
        "status": plan.status,
        "neighbors": plan.neighbors.notion,
        "records_per_person": plan.neighbors.records_per_person,
        "bases": families,
    }
    told = {f"{LOSS}{name}": array for name, array in numbers.items()}
    return header, {"noise_variance": plan.noise_variances} | matrices | told | blocks
