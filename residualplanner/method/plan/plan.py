"""The whole decision: what is measured, with how much noise, at what cost, and how accurate every cell will be."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import BudgetError, WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.bases.basis import Basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import LossLike, read_loss
from residualplanner.method.plan.html import plan_html
from residualplanner.method.plan.noise_variances import NoiseVariances, checked_noise
from residualplanner.method.plan.plan_errors import PlanErrors
from residualplanner.method.privacy import Budget, Neighbors, claim_of_budget
from residualplanner.method.strategy.attributes import require_fitting
from residualplanner.method.strategy.costs import cost_upper_bound, require_public_total
from residualplanner.method.workload.closure import Closure

if TYPE_CHECKING:
    from residualplanner.gate.measurement.resource_estimate import ResourceEstimate
    from residualplanner.publish.pictures.drawing import Picture


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(PlanErrors):
    """Noise for every base mechanism, its privacy cost, and the exact accuracy of every query that it can answer.

    Attributes:
        workload: the queries to publish.
        strategy: what is measured: the basis of every attribute, in every set where it varies.
        noise_variances (m,): sigma squared of every set of the workload's closure, in its order, in counts squared.
        loss: what was made small; weights and targets as arrays with a number for each query.
        budget: what may be spent.
        loss_value: the loss that this plan reaches.
        gap: the loss (for a given loss, the cost) is proved to be within this fraction of the least that noise of this
            exact cost can have with these bases; where bases vary by set, of this bound of the cost.
        status: how the noise was found; it says where the cost is a bound that the best noise would not reach.
        neighbors: which data sets count as neighbors.

    Raises:
        BudgetError: noise is missing, not positive or not finite, or costs more than the budget; records are replaced
            and the domain drops some.
        WorkloadError: the strategy is not for the workload's closure, has bases of other sizes, or does not answer the
            workload's queries; weights or targets do not fit the workload; bases vary by set, and records are replaced.

    Guarantees: ``pcost``, recomputed from the noise and rounded up, is at most the budget.
    Source: eqs. (8), (11), (12); paper Theorems 4.3 and 4.4.
    """

    budget: Budget
    loss_value: float
    gap: float
    status: str
    neighbors: Neighbors = Neighbors()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        neighbors = replace(self.neighbors, largest_weight=self.domain.weight.maximum)
        object.__setattr__(self, "neighbors", neighbors)
        require_public_total(self.domain, self.neighbors)
        require_fitting(self.workload, self.strategy)
        if self.strategy.varying.any() and self.neighbors.has_public_total:
            raise WorkloadError(
                'bases that vary by set are for neighbors="add-remove"; where records are replaced, use bases="optimal"'
            )
        denominators = [attribute.denominator for attribute in self.domain.attributes]
        object.__setattr__(self, "strategy", self.strategy.with_denominators(denominators))
        object.__setattr__(self, "loss", self.loss.of(self.workload))
        object.__setattr__(self, "noise_variances", checked_noise(self.noise_variances, len(self.closure)))
        if not (math.isfinite(self.pcost) and Fraction(self.pcost) <= self.budget.pcost_exact):
            raise BudgetError(f"the noise costs pcost {self.pcost!r}, more than the budget of {self.budget.pcost!r}")

    def __repr__(self) -> str:
        caution = claim_of_budget(self.budget, self.neighbors).caution
        return (
            f"<Plan for {count_text(len(self.workload), 'query')}: pcost {self.pcost:.6g}, rmse {self.rmse:.6g}, "
            f"{self.loss.words} {self.loss_value:.6g} (gap {self.gap:.1e}){caution and f'.  {caution}'}>"
        )

    def _repr_html_(self) -> str:
        return plan_html(self)

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
        """The residual basis of each attribute, by name; if it varies, in the set of that attribute alone."""
        return dict(zip(self.domain.names, self.strategy.of_attributes, strict=True))

    @property
    def basis_summary(self) -> dict[str, int]:
        """How many attributes have a basis of each family, such as ``{"subtraction": 9, "optimal": 5}``."""
        return dict(Counter(basis.family for basis in self.strategy.of_attributes))

    @cached_property
    def pcost(self) -> float:
        """The privacy cost of this noise for these neighbors, rounded up; rho-zCDP holds with rho = pcost / 2.

        Where bases vary by set it is a bound of the cost.  Source: eqs. (8), (37) and (41).
        """
        return cost_upper_bound(self.strategy, self.noise_variances, self.neighbors)

    def above_svd_bound(self, loss: LossLike = "sum") -> float:
        """How far a loss of this plan is above the bound for all mechanisms of the same cost, relative to the bound.

        Args:
            loss: "sum", "max", `SumOfVariances` or `MaxVariance`.

        Raises:
            WorkloadError: it is another loss, or the bound is too large a computation; see `svd_bound`.
            BudgetError: records are replaced; the bound is for adding or removing records.

        Cost: that of `svd_bound`.  Source: eq. (33).
        """
        if self.neighbors.has_public_total:
            raise BudgetError("the bound is for adding or removing records; plan with neighbors='add-remove' for it")
        goal = read_loss(loss)
        least = goal.svd_bound(self.workload) / (self.pcost / self.neighbors.cost_factor_up)
        return goal.value(self.workload, self._accuracy) / least - 1

    def plot(self) -> "Picture":
        """The standard error of a cell of every table against the size of the table, by order, on log axes."""
        from residualplanner.publish.pictures import Picture, fairness_figure  # a door

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

        by_set = bool(self.strategy.varying.any())
        return resource_estimate(self.workload, loss=self.loss, by_set=by_set, records=records, memory=memory)

    def save(self, path: PathLike) -> None:
        """Write the plan to one file, whole or not at all; `load_plan` reads it.

        Raises:
            OSError: the file cannot be written.
        """
        from residualplanner.method.plan.files import save_plan  # a door

        save_plan(self, path)
