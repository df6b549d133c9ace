"""Sums and maxima of variances, weighted: the two losses that are in proportion to the noise.

Reads: weights, a problem of noise.  Gives: SumOfVariances, MaxVariance.
Source: spec eqs. (14) to (17) and (33).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner.errors import WorkloadError
from residualplanner.losses.loss import Loss, Selection
from residualplanner.losses.weights import GIVEN, Weights, given_weights, importance_of
from residualplanner.optimize import (
    BySetProblem,
    NoiseProblem,
    by_set_problem,
    choose_by_set,
    greatest_bound,
    least_maximum,
    least_sum,
    sum_bound,
)
from residualplanner.privacy import Neighbors
from residualplanner.strategy import Accuracy
from residualplanner.workload import Workload

#: Bases by set are chosen where they make a loss smaller by this fraction; plans without are simpler.
_WORTH = 1e-4


class WeightedVariances(Loss):
    """What sums and maxima have in common: weights, by a rule or for each query.

    Attributes:
        weights: "cells", "equal", "sqrt", a mapping from query to weight, or a weight per query; None for equal ones.
        kind: "sum" or "max", as files name it.
        name: as messages name it.
    """

    __slots__ = ()

    weights: Weights | None
    kind: ClassVar[str]
    name: ClassVar[str]

    @property
    def words(self) -> str:
        """The name, and the rule of the weights."""
        return self.name + ("" if self.weights is None else f", weights {self._rule}")

    def of(self, workload: Workload) -> Loss:
        """The same with weights by rule, or an array of them."""
        if self.weights is None or isinstance(self.weights, str):
            return self
        return replace(self, weights=frozen(given_weights(workload, self.weights)))  # type: ignore[type-var]

    def importance(self, workload: Workload) -> FloatArray:
        """The weights times the workload's own, (q,)."""
        return importance_of(workload, "equal" if self.weights is None else self.weights)

    def with_more(self, known: NDArray[np.int64], variances: FloatArray) -> Loss:
        """The same, if its weights follow a rule."""
        del known, variances
        if self._rule == GIVEN:
            raise self._untold()
        return self

    def to_archive(self) -> tuple[dict[str, Any], Mapping[str, FloatArray]]:
        """The rule, or the weights."""
        arrays = {"weights": self.weights} if isinstance(self.weights, np.ndarray) else {}
        return {"kind": self.kind, "weights": self._rule}, arrays

    @property
    def _rule(self) -> str | None:
        return self.weights if self.weights is None or isinstance(self.weights, str) else GIVEN


@dataclass(frozen=True, eq=False, slots=True)
class SumOfVariances(WeightedVariances):
    """The weighted sum over queries of the variance of an average cell.

    Attributes:
        weights: "cells" (a query counts as often as it has cells: the sum of all cell variances), "equal", "sqrt" (the
            square root of its cells), a mapping from query to weight, or a weight per query.  The workload's own
            weights multiply these.

    Source: spec eq. (14); paper section 6.

    Example:
        >>> SumOfVariances("sqrt").words
        'sum of variances, weights sqrt'
    """

    weights: Weights = "cells"
    kind: ClassVar[str] = "sum"
    name: ClassVar[str] = "sum of variances"
    allows_bases_by_set: ClassVar[bool] = True

    def unit_noise(self, problem: NoiseProblem) -> Selection:
        """The least sum.  Source: spec eq. (14)."""
        return Selection.of(problem, least_sum(problem))

    def by_set(self, workload: Workload, importance: FloatArray, neighbors: Neighbors) -> Loss:
        """The same, for bases that may vary by set; this itself where none would."""
        if neighbors.has_public_total:
            raise WorkloadError(
                'bases="optimal_by_set" is for neighbors="add-remove"; where records are replaced, use bases="optimal"'
            )
        problem = by_set_problem(workload, importance)
        return self if problem is None else _SumBySet(self.weights, problem=problem)

    def svd_bound(self, workload: Workload) -> float:
        """The bound for the sum.  Source: spec eq. (33)."""
        return sum_bound(workload, self.importance(workload))

    def value(self, workload: Workload, accuracy: Accuracy) -> float:
        """The weighted sum of the average variances."""
        return float(self.importance(workload) @ accuracy.average_variances)


@dataclass(frozen=True, eq=False, slots=True)
class _SumBySet(SumOfVariances):
    """A sum for which better bases are searched for that vary by set."""

    problem: BySetProblem = field(kw_only=True)

    def unit_noise(self, problem: NoiseProblem) -> Selection:
        """The least sum with one basis an attribute, or with bases by set where these are better.

        Source: spec eqs. (40) and (41).
        """
        plain = SumOfVariances.unit_noise(self, problem)
        found = choose_by_set(self.problem, problem.bases, problem.neighbors)
        if found.noise.loss < plain.loss * (1 - _WORTH):
            noise = found.noise
            return Selection(found.strategy, noise.noise_variance, noise.loss, noise.gap, noise.status)
        return replace(plain, status=f"{plain.status}; no better bases by set were found")


@dataclass(frozen=True, eq=False, slots=True)
class MaxVariance(WeightedVariances):
    """The largest (weighted) cell variance of the workload.

    Attributes:
        weights: a weight that multiplies each query's variance, as for `SumOfVariances`; None for equal ones.  The
            workload's own weights multiply these.  A query of weight 0 does not count.

    Source: spec eq. (15).

    Example:
        >>> MaxVariance().words
        'maximum variance'
    """

    weights: Weights | None = None
    kind: ClassVar[str] = "max"
    name: ClassVar[str] = "maximum variance"
    is_of_maximum: ClassVar[bool] = True

    def unit_noise(self, problem: NoiseProblem) -> Selection:
        """The least maximum.  Source: spec eqs. (15) to (17) and (23)."""
        return Selection.of(problem, least_maximum(problem))

    def svd_bound(self, workload: Workload) -> float:
        """The largest bound over all sums in which cells have weights that add up to 1.  Source: spec eq. (33)."""
        return greatest_bound(workload, self.importance(workload))

    def value(self, workload: Workload, accuracy: Accuracy) -> float:
        """The largest weighted variance."""
        return float((self.importance(workload) * accuracy.max_variances).max())
