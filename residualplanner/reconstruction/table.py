"""One published table: estimates, and how far they may be off.

Reads: a plan and estimates.  Gives: Table and Estimate.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import FloatArray, require_numbers
from residualplanner._margins import margin_factor
from residualplanner.domain import Attribute
from residualplanner.plan import TOTAL, Plan
from residualplanner.queries import Kind, labels_in_words
from residualplanner.reconstruction.label_columns import label_column_names, label_columns
from residualplanner.reconstruction.profiles import QUERY, ProfileName, level_of, profile_named, require_free_names
from residualplanner.workload import query_of

if TYPE_CHECKING:
    import pandas as pd


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
        """The margin of error: the estimate is within it of the truth with probability ``level`` at least.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        return margin_factor(level) * self.std_err

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval, low and high end; errors as in `moe`."""
        return self.estimate - self.moe(level), self.estimate + self.moe(level)


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """The answer to one query: unbiased estimates, consistent with every other table, with exact variances.

    Everything about it has the attributes in the order in which the query was written.

    Attributes:
        plan: what was measured, with how much noise.
        positions: of the attributes in the domain.
        kinds: the kind of query on each attribute.
        estimate (q_1, .., q_k): the estimates in counts, read-only, an axis for each attribute.  They can be negative.
    """

    plan: Plan = field(repr=False)
    positions: tuple[int, ...]
    kinds: tuple[Kind, ...]
    estimate: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, axis by axis."""
        names = self.plan.domain.names
        return tuple(names[position] for position in self.positions)

    @property
    def query(self) -> tuple[str, ...] | dict[str, Kind]:
        """The query that this table answers, as every method accepts it: names, or a mapping from name to kind."""
        return query_of(self.plan.domain, self.positions, self.kinds)

    @property
    def labels(self) -> tuple[tuple[object, ...], ...]:
        """The labels along each axis: what its entries are about."""
        return tuple(kind.labels(attribute) for attribute, kind in self._axes)

    @property
    def labels_in_words(self) -> tuple[tuple[str, ...], ...]:
        """The same as strings, with the meanings of the values that have one, such as "1 (female)"."""
        return tuple(labels_in_words(kind, attribute) for attribute, kind in self._axes)

    @property
    def _axes(self) -> list[tuple[Attribute, Kind]]:
        attributes = self.plan.domain.attributes
        return [(attributes[position], kind) for position, kind in zip(self.positions, self.kinds, strict=True)]

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
        """The margin of error of every cell: it is within this of the truth with probability ``level`` at least.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.

        Source: spec eq. (47).
        """
        return margin_factor(level) * self.std_err

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
        array = require_numbers("weights must be numbers, one for each cell", weights)
        variance = self.plan.combination_variance(self.query, array)
        return Estimate(float((array * self.estimate).sum()), variance)

    def to_frame(self, level: float | None = None, profile: ProfileName = "default") -> "pd.DataFrame":
        """The table in tidy form: one row per cell, in C order.

        Args:
            level: the confidence level of margins and intervals, between 0 and 1; the profile's if not given.
            profile: "default" (level 0.95), "acs" (level 0.90) or "gls".

        Returns:
            The attributes' labels, each with a column of their meanings, such as ``sex_meaning``, if values of the
            attribute have any; then the columns of the profile: ``estimate``, ``std_err``, ``moe``, ``conf_level``,
            ``ci_low`` and ``ci_high`` by default; ``E``, the estimate, and ``M``, its margin of error, in "acs";
            ``query``, the cell in words, ``estimate`` and ``std_dev`` in "gls".

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            WorkloadError: there is no such profile, or an attribute has the name of another column.
        """
        import pandas as pd

        chosen = profile_named(profile)
        require_free_names(label_column_names(attribute for attribute, _ in self._axes), chosen)
        indices = np.indices(self.estimate.shape).reshape(len(self.names), self.estimate.size)
        columns: dict[str, object] = {
            name: pd.Series(list(labels)).take(index).array
            for axis, index in zip(self._axes, indices, strict=True)
            for name, labels in label_columns(*axis).items()
        }
        if chosen.is_described:
            columns[QUERY] = cell_words(self.names, self.labels_in_words)
        numbers = chosen.numbers(self.estimate.ravel(), self.std_err.ravel(), level_of(profile, level))
        columns.update(zip((name for name, _ in chosen.columns), numbers, strict=True))
        return pd.DataFrame(columns)


def cell_words(names: Sequence[str], labels: Sequence[Sequence[str]]) -> list[str]:
    """Every cell of a table in words, in C order.

    Args:
        names: of the attributes.
        labels: of each attribute, in words, in the order of its axis.

    Example:
        >>> cell_words(["sex", "yes"], [["F", "M"], ["false", "true"]])
        ['sex=F, yes=false', 'sex=F, yes=true', 'sex=M, yes=false', 'sex=M, yes=true']
        >>> cell_words([], [])
        ['(total)']
    """
    pairs = [[f"{name}={label}" for label in entries] for name, entries in zip(names, labels, strict=True)]
    return [", ".join(words) for words in itertools.product(*pairs)] if pairs else [TOTAL]
