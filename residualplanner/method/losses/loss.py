"""Losses: their best noise, their weights of queries, and their words; sums and maxima of variances, and convex ones.

Source: docs/mathematics.md section 3; eqs. (14) to (18).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray, frozen, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.noise.noise_problem import NoiseProblem, least_maximum, least_sum
from residualplanner.method.workload.query import QueryLike, TiedKinds, checked_weights, written_query
from residualplanner.method.workload.workload import Workload

#: Weights of queries: a rule, a mapping from query to weight, or one number per query in the workload's order.
Weights = Literal["cells", "equal", "sqrt"] | Mapping[Any, float] | Sequence[float] | FloatArray

#: The rules, as functions of the workload: how many cells queries have is computed only where it matters.
RULES: dict[str, Callable[[Workload], FloatArray]] = {
    "cells": lambda workload: workload.cells,
    "equal": lambda workload: np.ones(len(workload)),
    "sqrt": lambda workload: np.sqrt(workload.cells),
}

#: What stands in words and files for weights that were given one by one.
GIVEN = "given"


def given_weights(workload: Workload, weights: Weights) -> FloatArray:
    """The weight of each query, (q,), without the workload's own."""
    if isinstance(weights, str):
        if weights not in RULES:
            meant = suggestion(weights, sorted(RULES))
            raise WorkloadError(f"weights must be one of {sorted(RULES)}, a mapping or numbers, got {weights!r}{meant}")
        return RULES[weights](workload)
    if not isinstance(weights, Mapping):
        return checked_weights(weights, len(workload))
    numbers = numbers_of_queries(workload, list(weights), "weights")
    if len(numbers) < len(workload):
        missing = next(query for number, query in enumerate(workload) if number not in numbers)
        raise WorkloadError(f"weights name no weight for the query {missing!r}; give one for each query")
    each = np.empty(len(workload))
    each[numbers] = checked_weights(list(weights.values()), len(numbers))
    return each


def numbers_of_queries(workload: Workload, queries: Sequence[QueryLike], what: str) -> list[int]:
    """The numbers of queries that ``what`` names; WorkloadError where one is not in the workload, or is there twice."""
    tied: TiedKinds = {}
    found = [workload.number_of(written_query(workload.domain, query, tied)) for query in queries]
    if -1 in found:
        raise WorkloadError(f"{what} name {queries[found.index(-1)]!r}, a query that is not in the workload; add it")
    if len(set(found)) < len(found):
        raise WorkloadError(f"{what} name one query twice, perhaps with its attributes in another order")
    return found


def rule_of(weights: Weights | None) -> str | None:
    """The rule, `GIVEN` where there is none, or None for equal weights: as words and files have it."""
    return weights if weights is None or isinstance(weights, str) else GIVEN


#: The factor by which a cost is kept from its limit, so that rounding never oversteps it; it costs 1e-11 in accuracy.
RESERVE = 1 + 1e-11


class Loss:
    """What a plan is to make small: unless it says otherwise, weighted variances, in proportion to the noise."""

    __slots__ = ()

    kind: ClassVar[str]  # in files
    name: ClassVar[str]  # in messages
    is_proportional: ClassVar[bool] = True  # the best noise at one privacy cost is, scaled, that at every cost
    is_of_maximum: ClassVar[bool] = False  # bases are for the largest variance, not for the sum of average ones
    has_targets: ClassVar[bool] = False  # margins of error are to be met: `Targets`
    unit: ClassVar[str] = " counts squared"  # stands behind its values
    default_limit: ClassVar[float | None] = None  # the value to reach without a budget or a limit

    @property
    def weights(self) -> Weights | None:
        """What multiplies the variance of each query, by a rule or one by one; None for equal weights."""
        return None

    @property
    def words(self) -> str:
        """The loss in a few words, as messages name it: its name, and the rule of its weights."""
        return self.name + ("" if self.weights is None else f", weights {rule_of(self.weights)}")

    def of(self, workload: Workload) -> "Loss":
        """The same, with what was given for each query as an array, one number for each query of the workload."""
        if self.weights is None or isinstance(self.weights, str):
            return self
        return replace(self, weights=frozen(given_weights(workload, self.weights)))  # type: ignore[type-var]

    def importance(self, workload: Workload) -> FloatArray:
        """How much each query's average cell variance counts, (q,): its weight times the workload's own."""
        given = given_weights(workload, "equal" if self.weights is None else self.weights)
        with np.errstate(over="ignore"):
            # Errors of sums of amounts are measured in units of the largest one: variances in its square.
            importance: FloatArray = given * workload.weights / workload.scales**2
        if not np.isfinite(importance).all():
            raise WorkloadError("weights are too large: times the workload's own weights, they must be finite")
        if not (importance > 0).any():
            raise WorkloadError("all weights are 0; at least one query must matter")
        return importance

    def basis_importance(self, workload: Workload, importance: FloatArray) -> FloatArray:
        """How much each query's average cell variance counts when bases are chosen, from `importance` (q,), (q,)."""
        del workload
        return importance

    def unit_noise(self, problem: NoiseProblem) -> ChosenNoise:
        """The best noise at privacy cost 1; its loss is the largest variance or the sum of variances itself."""
        del problem
        raise self._unknown()

    def best_noise(self, problem: NoiseProblem, pcost: float) -> ChosenNoise:
        """The noise with the least loss at this privacy cost."""
        found = self.unit_noise(problem).at(pcost)
        return replace(found, loss=self.stated(found.loss))

    def cheapest_noise(self, problem: NoiseProblem, at_most: float) -> ChosenNoise:
        """The noise with the least privacy cost whose loss is at most this."""
        unit = self.unit_noise(problem)
        found = unit.at(self.pcost_for(unit.loss, at_most) * RESERVE)
        return replace(found, loss=self.stated(found.loss))

    def touching(self, problem: NoiseProblem, found: ChosenNoise) -> "tuple[Loss, float] | None":
        """A loss in proportion to noise, and its value for some noise: no noise that has this loss has a smaller one.

        None where no such loss is known.
        """
        del problem
        return self, found.loss

    def stated(self, variance: float) -> float:
        """The loss that a plan states for a largest variance or sum of variances."""
        return variance

    def pcost_for(self, unit_loss: float, at_most: float) -> float:
        """The privacy cost at which the loss is ``at_most``, from the largest or summed variance at cost 1."""
        return unit_loss / at_most

    def with_more(self, known: IntArray, variances: FloatArray) -> "Loss":
        """The same loss for q queries, more than it was for; WorkloadError where it is known for single queries only.

        ``known`` (p,) are the numbers of those that it was for, ``variances`` (q,) what the largest cell variance of
        each of the others is to be, NaN where that is open.
        """
        del known, variances
        if not self.is_proportional or rule_of(self.weights) == GIVEN:
            raise self._unknown()
        return self

    def to_archive(self) -> tuple[dict[str, Any], Mapping[str, FloatArray]]:
        """The loss as JSON values and arrays with a number for each query."""
        arrays = {"weights": self.weights} if isinstance(self.weights, np.ndarray) else {}
        return {"kind": self.kind, "weights": rule_of(self.weights)}, arrays

    def _unknown(self) -> WorkloadError:
        return WorkloadError(
            f"the plan does not hold its loss ({self.words}) in full; give loss=... for all queries together"
        )


@dataclass(frozen=True, eq=False, slots=True)
class DescribedLoss(Loss):
    """A loss of which only words are known: a function of a plan that was read from a file, or noise given by hand."""

    words: str
    is_proportional: ClassVar[bool] = False

    def importance(self, workload: Workload) -> FloatArray:
        """Not known: this raises WorkloadError."""
        del workload
        raise self._unknown()

    def to_archive(self) -> tuple[dict[str, Any], Mapping[str, FloatArray]]:
        """The words."""
        return {"kind": "described", "words": self.words}, {}


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

    def unit_noise(self, problem: NoiseProblem) -> ChosenNoise:
        """The least sum, with bases that vary by set where these are better.  Source: eqs. (14), (40) and (41)."""
        return problem.searched(problem.selection(least_sum(problem)))


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
        """The least maximum, with better bases if a search finds them.  Source: eqs. (15) to (17), (23) and (41)."""
        return problem.searched(problem.selection(least_maximum(problem)))


@dataclass(frozen=True, eq=False, slots=True)
class ConvexLoss(Loss):
    """Any convex function of the variances of the queries' average cells.

    One basis for each attribute is chosen for the sum of these variances with the workload's own weights; bases that
    vary by set, which `select` searches for, for the function itself.

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
        from residualplanner.more.by_set.convex_loss import with_better_bases  # a door
        from residualplanner.more.convex.convex_noise import least_convex_loss  # a door

        plain = problem.selection(least_convex_loss(problem, self.function, pcost=pcost, solver=self.solver))
        return with_better_bases(problem, plain, self.function, pcost, spends=True)

    def cheapest_noise(self, problem: NoiseProblem, at_most: float) -> ChosenNoise:
        """The noise with the least privacy cost whose loss is at most this.  Source: eq. (18)."""
        from residualplanner.more.by_set.convex_loss import with_better_bases  # a door
        from residualplanner.more.convex.convex_noise import least_convex_cost  # a door

        found = least_convex_cost(problem, self.function, at_most=at_most, solver=self.solver)
        plain = replace(problem.selection(found), loss=at_most)
        return with_better_bases(problem, plain, self.function, found.loss, spends=False)

    def touching(self, problem: NoiseProblem, found: ChosenNoise) -> tuple[Loss, float] | None:
        """The sum of variances with the slopes of the loss as weights; None at a kink.  Source: eq. (18)."""
        from residualplanner.more.convex.convex_noise import touching_sum  # a door

        return touching_sum(problem, found, self.function)

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
    raise WorkloadError(f"loss must be 'sum', 'max', a loss or a function of a CVXPY vector, got {value_text(loss)}")
