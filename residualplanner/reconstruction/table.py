"""One published table: estimates, and how far they may be off.

Reads: a plan and estimates.  Gives: Table and Estimate.
"""

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import FloatArray
from residualplanner.errors import BudgetError, WorkloadError
from residualplanner.plan import Plan
from residualplanner.queries import Kind
from residualplanner.workload import query_of

if TYPE_CHECKING:
    import pandas as pd

#: What stands beside the labels in tidy tables; attributes cannot have these names there.
VALUE_COLUMNS = ("estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high")


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unbiased estimate of one number.

    Attributes:
        estimate: in counts.
        variance: exact, in counts squared.
    """

    estimate: float
    variance: float

    @property
    def std_err(self) -> float:
        """The standard error, in counts."""
        return math.sqrt(self.variance)

    def moe(self, level: float = 0.95) -> float:
        """The margin of error: the estimate is within it of the truth with probability ``level``.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        return normal_quantile(level) * self.std_err

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval, low and high end; errors as in `moe`."""
        return self.estimate - self.moe(level), self.estimate + self.moe(level)


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """The answer to one query: unbiased estimates, consistent with every other table, with exact variances.

    Attributes:
        plan: what was measured, with how much noise.
        positions: the attributes' places in the domain, ascending.
        kinds: what is asked of each attribute.
        estimate (q_1, .., q_k): the estimates in counts, read-only, attributes in domain order.  They can be negative.
    """

    plan: Plan = field(repr=False)
    positions: tuple[int, ...]
    kinds: tuple[Kind, ...]
    estimate: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in domain order."""
        names = self.plan.domain.names
        return tuple(names[position] for position in self.positions)

    @property
    def query(self) -> tuple[str, ...] | dict[str, Kind]:
        """The query that this table answers, as every method accepts it: names, or a mapping from name to kind."""
        return query_of(self.plan.domain, self.positions, self.kinds)

    @property
    def labels(self) -> tuple[tuple[object, ...], ...]:
        """For each axis what its entries are about."""
        attributes = self.plan.domain.attributes
        return tuple(
            kind.labels(attributes[position]) for position, kind in zip(self.positions, self.kinds, strict=True)
        )

    @property
    def variance(self) -> NDArray[np.float64]:
        """The exact variance of every cell, (q_1, .., q_k), in counts squared.

        Source: spec eqs. (11) and (26).
        """
        return self.plan.variance(self.query)

    @property
    def std_err(self) -> NDArray[np.float64]:
        """The standard error of every cell, (q_1, .., q_k), in counts."""
        return np.sqrt(self.variance)

    def moe(self, level: float = 0.95) -> NDArray[np.float64]:
        """The margin of error of every cell: it is within this of the truth with probability ``level``.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.

        Source: spec section 7.
        """
        return normal_quantile(level) * self.std_err

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The low and the high ends of every cell's confidence interval; errors as in `moe`."""
        moe = self.moe(level)
        return self.estimate - moe, self.estimate + moe

    def covariance(self) -> NDArray[np.float64]:
        """The exact covariance of the cells in C order, (cells, cells), in counts squared.

        Raises:
            WorkloadError: the matrix is too large; `combine` needs none.

        Source: spec eqs. (12) and (26).
        """
        return self.plan.covariance(self.query)

    def combine(self, weights: ArrayLike) -> Estimate:
        """A weighted sum of the cells, with its exact variance.

        Args:
            weights (q_1, .., q_k): the weight of each cell.

        Raises:
            WorkloadError: the weights are not numbers, or not one for each cell.

        Cost: O(cells) where all is identity, else a product with a matrix for each attribute.
        Source: spec eqs. (12) and (26).
        """
        try:
            array = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise WorkloadError("weights must be numbers, one for each cell") from None
        variance = self.plan.combination_variance(self.query, array)
        return Estimate(float((array * self.estimate).sum()), variance)

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """The table in tidy form: one row per cell, in C order.

        Args:
            level: the confidence level of margins and intervals, between 0 and 1.

        Returns:
            The attributes' labels, then ``estimate``, ``std_err``, ``moe``, ``conf_level``, ``ci_low``, ``ci_high``.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            WorkloadError: an attribute has the name of one of these columns.
        """
        import pandas as pd

        require_free_names(self.names)
        places = np.indices(self.estimate.shape).reshape(len(self.names), self.estimate.size)
        columns: dict[str, object] = {
            name: pd.Series(list(labels)).take(place).array
            for name, labels, place in zip(self.names, self.labels, places, strict=True)
        }
        low, high = self.interval(level)
        values = (self.estimate, self.std_err, self.moe(level), np.full(self.estimate.shape, level), low, high)
        columns.update(zip(VALUE_COLUMNS, (value.ravel() for value in values), strict=True))
        return pd.DataFrame(columns)


def normal_quantile(level: float) -> float:
    """How many standard errors the margin of error at a confidence ``level`` is.

    Raises:
        BudgetError: ``level`` is not between 0 and 1.

    Example:
        >>> round(normal_quantile(0.95), 4)
        1.96
    """
    if isinstance(level, bool) or not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise BudgetError(f"level must be between 0 and 1, such as 0.95, got {level!r}")
    return NormalDist().inv_cdf((1 + float(level)) / 2)


def require_free_names(names: tuple[str, ...]) -> None:
    """Raise WorkloadError if one of ``names`` is also the name of a column of estimates."""
    taken = sorted(set(names) & set(VALUE_COLUMNS))
    if taken:
        raise WorkloadError(f"attributes {taken} have the names of columns of estimates; rename them in the domain")
