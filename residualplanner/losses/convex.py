"""Any convex function of the variances as a loss.

Reads: a function on CVXPY expressions, a problem of noise.  Gives: ConvexLoss.
Source: spec eq. (18).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from residualplanner._checks import FloatArray
from residualplanner.losses.loss import DescribedLoss, Loss, Selection
from residualplanner.losses.weights import importance_of
from residualplanner.optimize import NoiseProblem, convex_noise, minimize_convex_loss, minimize_privacy_cost
from residualplanner.workload import Workload


@dataclass(frozen=True, eq=False, slots=True)
class ConvexLoss(Loss):
    """Any convex function of the variances of the queries' average cells.

    Attributes:
        function: from a CVXPY vector, one variance per query in the workload's order, to a convex CVXPY expression.
        solver: the solver CVXPY uses, such as "CLARABEL" or "ECOS".

    Source: spec eq. (18).
    """

    function: Callable[[Any], Any]
    solver: str = "CLARABEL"
    is_proportional: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """That it is one, and the solver."""
        return f"convex loss, solver {self.solver}"

    def importance(self, workload: Workload) -> FloatArray:
        """The workload's own weights, by which bases are chosen, (q,)."""
        return importance_of(workload, "equal")

    def best_noise(self, problem: NoiseProblem, pcost: float) -> Selection:
        """The noise with the least loss at this privacy cost.  Source: spec eq. (18)."""
        search = partial(minimize_convex_loss, loss=self.function, pcost=pcost, solver=self.solver)
        found = convex_noise(problem, search)
        return Selection(problem.strategy, found.noise_variance, found.loss, found.gap, found.status)

    def cheapest_noise(self, problem: NoiseProblem, at_most: float) -> Selection:
        """The noise with the least privacy cost whose loss is at most this.  Source: spec eq. (18)."""
        search = partial(minimize_privacy_cost, loss=self.function, at_most=at_most, solver=self.solver)
        found = convex_noise(problem, search)
        return Selection(problem.strategy, found.noise_variance, at_most, found.gap, found.status)

    def to_archive(self) -> tuple[dict[str, Any], Mapping[str, FloatArray]]:
        """Its words, since no file holds a function."""
        return DescribedLoss(self.words).to_archive()
