"""Losses that are functions of the variances, weighted sums and maxima and any convex one; and losses as words.

Source: eqs. (14) to (18).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from residualplanner.ground.checks import FloatArray, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.losses.loss import DescribedLoss, Loss, Weights
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.noise.noise_problem import NoiseProblem, least_maximum, least_sum

#: Bases by set are chosen where they make a loss smaller by this fraction; plans without are simpler.
_WORTH = 1e-4


@dataclass(frozen=True, eq=False, slots=True)
class SumOfVariances(Loss):
    """The weighted sum over queries of the variance of an average cell.

    Attributes:
        weights: "cells" (a query counts as often as it has cells: the sum of all cell variances), "equal", "sqrt" (the
            square root of its cells), a mapping from query to weight, or a weight per query.  The workload's own
            weights multiply these.

    Source: eq. (14); paper section 6.

    Example:
        >>> SumOfVariances("sqrt").words
        'sum of variances, weights sqrt'
    """

    weights: Weights = "cells"
    kind: ClassVar[str] = "sum"
    name: ClassVar[str] = "sum of variances"
    allows_bases_by_set: ClassVar[bool] = True

    def unit_noise(self, problem: NoiseProblem) -> ChosenNoise:
        """The least sum, with bases that vary by set where these are better.  Source: eqs. (14), (40) and (41)."""
        plain = problem.selection(least_sum(problem))
        if problem.by_set is None:
            return plain
        found = problem.by_set(problem.bases, problem.neighbors)
        if found.loss < plain.loss * (1 - _WORTH):
            gain = 1 - math.sqrt(found.loss / plain.loss)
            return replace(found, status=f"{found.status}, errors {gain:.1%} smaller than with shared ones")
        return replace(plain, status=f"{plain.status}; no better bases by set were found")


@dataclass(frozen=True, eq=False, slots=True)
class MaxVariance(Loss):
    """The largest (weighted) cell variance of the workload.

    Attributes:
        weights: a weight that multiplies each query's variance, as for `SumOfVariances`; None for equal ones.  The
            workload's own weights multiply these.  A query of weight 0 does not count.

    Source: eq. (15).

    Example:
        >>> MaxVariance().words
        'maximum variance'
    """

    weights: Weights | None = None
    kind: ClassVar[str] = "max"
    name: ClassVar[str] = "maximum variance"
    is_of_maximum: ClassVar[bool] = True

    def unit_noise(self, problem: NoiseProblem) -> ChosenNoise:
        """The least maximum.  Source: eqs. (15) to (17) and (23)."""
        return problem.selection(least_maximum(problem))


@dataclass(frozen=True, eq=False, slots=True)
class ConvexLoss(Loss):
    """Any convex function of the variances of the queries' average cells.

    Bases are chosen for the sum of these variances with the workload's own weights.

    Attributes:
        function: from a CVXPY vector, one variance per query in the workload's order, to a convex CVXPY expression.
        solver: the solver CVXPY uses, such as "CLARABEL" or "ECOS".

    Source: eq. (18).
    """

    function: Callable[[Any], Any]
    solver: str = "CLARABEL"
    is_proportional: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """That it is a convex loss, and the solver."""
        return f"convex loss, solver {self.solver}"

    def best_noise(self, problem: NoiseProblem, pcost: float) -> ChosenNoise:
        """The noise with the least loss at this privacy cost.  Source: eq. (18)."""
        from residualplanner.more.convex.convex_noise import least_convex_loss  # a door

        return problem.selection(least_convex_loss(problem, self.function, pcost=pcost, solver=self.solver))

    def cheapest_noise(self, problem: NoiseProblem, at_most: float) -> ChosenNoise:
        """The noise with the least privacy cost whose loss is at most this.  Source: eq. (18)."""
        from residualplanner.more.convex.convex_noise import least_convex_cost  # a door

        found = least_convex_cost(problem, self.function, at_most=at_most, solver=self.solver)
        return replace(problem.selection(found), loss=at_most)

    def to_archive(self) -> tuple[dict[str, Any], Mapping[str, FloatArray]]:
        """The words: no file holds a function."""
        return DescribedLoss(self.words).to_archive()


#: What `select` accepts as a loss.
LossLike = Literal["sum", "max"] | Loss | Callable[[Any], Any]


def read_loss(loss: LossLike) -> Loss:
    """The loss as an object; WorkloadError where it is not one that `select` accepts."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in ("sum", "max"):
        return SumOfVariances() if loss == "sum" else MaxVariance()
    if callable(loss) and not (isinstance(loss, type) and issubclass(loss, Loss)):
        return ConvexLoss(loss)
    raise WorkloadError(
        "loss must be 'sum', 'max', SumOfVariances(...), MaxVariance(...), Targets(...) or a function of a CVXPY "
        f"vector, got {value_text(loss)}"
    )
