"""Margins of error that tables are to have: a loss for `select`, and what a plan is held to."""

import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen, require_positive
from residualplanner.ground.errors import BudgetError, WorkloadError
from residualplanner.ground.margins import margin_factor, require_level
from residualplanner.method.losses.loss import Loss, numbers_of_queries
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.noise.noise_problem import NoiseProblem, least_largest_ratio
from residualplanner.method.workload.query import QueryLike
from residualplanner.method.workload.workload import Workload

#: The importance, relative to the least of a query with a target, of the others when bases are chosen.
_ASIDE = 1e-6


@dataclass(frozen=True, eq=False, slots=True)
class Targets(Loss):
    """The margin of error that no cell of a table is to exceed, for some tables of a workload or all.

    As a loss of `select`, with neither ``budget`` nor ``at_most``, the plan has the least budget that meets all
    targets.  With a budget it makes the largest margin of error relative to its target as small as that allows;
    ``at_most`` is the largest such ratio allowed.  Weights of the workload do not count.

    Tables without a target are answered with what the others leave them.  Where that is nothing, since no table with a
    target has their attributes together, the part ``reserve`` of the privacy cost goes to what they need, divided so
    that the sum over them of the variance of an average cell is least.

    Attributes:
        margins: a mapping from query to margin of error, in counts; or pairs of them, for queries that are mappings
            from name to kind themselves; or one number for all queries; or an array with one for each query in the
            workload's order, NaN where there is none, as a plan has them.
        level: the confidence level that the margins are for, between 0 and 1.
        reserve: the part of the privacy cost for noise that no target limits, between 0 and 1; nothing is spent on it
            where there is no such noise.

    Raises:
        BudgetError: ``level`` or ``reserve`` is not between 0 and 1.

    Source: eq. (125), for targets that are the errors of another mechanism.

    Example:
        >>> from residualplanner import Domain, marginals, select
        >>> workload = marginals(Domain({"county": 20, "age": 9, "sex": 2}), up_to=2)
        >>> plan = select(workload, loss=Targets({("county", "age"): 50, ("sex",): 20}))
        >>> round(plan.budget.rho, 5), plan.meets_targets
        (0.00562, True)
    """

    margins: Mapping[Any, float] | Iterable[tuple[QueryLike, float]] | float | FloatArray
    level: float = 0.95
    reserve: float = 0.01
    is_of_maximum: ClassVar[bool] = True
    has_targets: ClassVar[bool] = True
    unit: ClassVar[str] = ""
    default_limit: ClassVar[float | None] = 1.0

    def __post_init__(self) -> None:
        require_level(self.level)
        if isinstance(self.reserve, bool) or not isinstance(self.reserve, int | float) or not 0 < self.reserve < 1:
            raise BudgetError(f"reserve must be a part of the cost between 0 and 1, such as 0.01, got {self.reserve!r}")
        if isinstance(self.margins, Iterable) and not isinstance(self.margins, Mapping | np.ndarray):
            object.__setattr__(self, "margins", tuple(self.margins))

    @property
    def words(self) -> str:
        """That it is the largest margin relative to its target, and the level."""
        return f"largest margin of error ({self.level:.15g}) relative to its target"

    def of(self, workload: Workload) -> "Targets":
        """The same with an array of margins, one for each query of the workload, read-only.

        WorkloadError where a query is not in the workload, is named twice, or there is none; DomainError where it names
        an attribute that is not in the domain; BudgetError where a margin is not positive and finite.
        """
        return Targets(self.in_order(workload), self.level, self.reserve)

    def in_order(self, workload: Workload) -> FloatArray:
        """The margin of every query of the workload, (q,), NaN where it has none; errors as of `of`."""
        given = self.margins
        if isinstance(given, np.ndarray):
            return frozen(_checked_array(given, len(workload)))
        if not isinstance(given, Mapping | tuple):
            return frozen(np.full(len(workload), require_positive("a target", given)))  # type: ignore[arg-type]
        pairs: Any = tuple(given.items()) if isinstance(given, Mapping) else given
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise WorkloadError("targets must be a mapping from query to margin, pairs (query, margin), or one number")
        if not pairs:
            raise WorkloadError("there are no targets; name a query and its margin, such as {('age', 'sex'): 50}")
        margins, queries = np.full(len(workload), math.nan), [query for query, _ in pairs]
        margins[numbers_of_queries(workload, queries, "targets")] = [
            require_positive(f"the target of {reprlib.repr(query)}", margin) for query, margin in pairs
        ]
        return frozen(margins)

    def importance(self, workload: Workload) -> FloatArray:
        """What makes each cell variance 1 at its target, (q,): (z / margin)**2, and 0 where there is none.

        Errors as of `of`; BudgetError also where a margin is so small or large that this is no float.
        """
        with np.errstate(over="ignore", under="ignore"):
            squares: FloatArray = (margin_factor(self.level) / self.in_order(workload)) ** 2
        importance = np.nan_to_num(squares, nan=0.0, posinf=math.inf)
        if not (np.isfinite(importance) & ((importance > 0) | np.isnan(squares))).all():
            raise BudgetError("a target is too small or too large for floating-point noise variances")
        return importance

    def basis_importance(self, workload: Workload, importance: FloatArray) -> FloatArray:
        """The importance from the targets, and a little for queries without one, which get bases too, (q,)."""
        scaled = importance * workload.scales**2
        return np.where(importance > 0, importance, float(scaled[scaled > 0].min()) * _ASIDE / workload.scales**2)

    def unit_noise(self, problem: NoiseProblem) -> ChosenNoise:
        """The least maximum of cell variances relative to those at the targets.  Source: eqs. (14) to (17)."""
        return problem.searched(problem.selection(least_largest_ratio(problem, reserve=self.reserve)))

    def stated(self, variance: float) -> float:
        """The largest ratio: margins of error are roots of variances."""
        return math.sqrt(variance)

    def pcost_for(self, unit_loss: float, at_most: float) -> float:
        """The privacy cost at which the largest ratio is ``at_most``."""
        return unit_loss / at_most / at_most

    def with_more(self, known: IntArray, variances: FloatArray) -> "Targets":
        """These, and margins for the others at the same level."""
        margins = np.sqrt(variances) * margin_factor(self.level)
        margins[known] = self.margins  # type: ignore[assignment]  # an array, as a plan has it
        return Targets(margins, self.level, self.reserve)

    def to_archive(self) -> tuple[dict[str, Any], Mapping[str, FloatArray]]:
        """The level, the reserve, and the margins, 0 where there is none."""
        assert isinstance(self.margins, np.ndarray)  # a plan has them so
        header = {"kind": "targets", "level": float(self.level), "reserve": float(self.reserve)}
        return header, {"margins": np.nan_to_num(self.margins)}

    def are_met(self, workload: Workload, max_variance: FloatArray) -> NDArray[np.bool_]:
        """Whether each query's largest variance (q,) keeps its margin within the target; True without one, (q,)."""
        return ~(self.ratios(workload, max_variance) > 1)

    def ratios(self, workload: Workload, max_variance: FloatArray) -> FloatArray:
        """The margin of each query's largest cell variance (q,) relative to its target, (q,); NaN without one."""
        with np.errstate(over="ignore"):  # a target so far below the margin that no float says how far
            return np.asarray(margin_factor(self.level) * np.sqrt(max_variance) / self.in_order(workload))


def _checked_array(given: FloatArray, count: int) -> FloatArray:
    margins = np.array(given, dtype=np.float64)
    if margins.shape != (count,):
        raise WorkloadError(f"one target for each query: got {count} queries and targets of shape {margins.shape}")
    stated = margins[~np.isnan(margins)]
    if not stated.size:
        raise WorkloadError("there are no targets; at least one query must have a margin")
    if not (np.isfinite(stated) & (stated > 0)).all():
        raise BudgetError("targets must be positive and finite, or NaN for none")
    return margins
