"""The whole decision: what is measured, with how much noise, at what cost, and how accurate every cell will be.

Reads: a workload, noise variances, a budget.  Gives: Plan.  Never sees a record.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner._whole import PathLike
from residualplanner.bases import Basis, ResidualNumbers, subtraction_basis, subtraction_numbers
from residualplanner.domain import Domain
from residualplanner.errors import BudgetError, DomainError, WorkloadError
from residualplanner.plan.costs import cost_upper_bound, require_public_total
from residualplanner.plan.covariance import dense_covariance, quadratic_form
from residualplanner.plan.error_table import error_table
from residualplanner.plan.variances import average_variances
from residualplanner.privacy import Budget, Neighbors
from residualplanner.workload import Closure, QueryLike, Workload, read_query

if TYPE_CHECKING:
    import pandas as pd

#: NumPy makes no array of as many cells, not even one whose cells share their memory.
_CELL_LIMIT = 2**60


@dataclass(frozen=True, eq=False)
class NoiseVariances(Mapping[tuple[str, ...], float]):
    """The noise variance of every base mechanism: a mapping from attribute names, in any order, to counts squared.

    Attributes:
        domain: the schema.
        closure: the attribute sets.
        array (m,): their noise variances, in the closure's order.
    """

    domain: Domain
    closure: Closure
    array: FloatArray

    def __getitem__(self, names: QueryLike) -> float:
        positions, _ = read_query(self.domain, names)
        found = int(self.closure.positions_of(np.array([positions], dtype=np.int32))[0])
        if found < 0 or len(self.closure[found]) != len(positions):
            raise KeyError(names)
        return float(self.array[found])

    def __contains__(self, names: object) -> bool:
        try:
            self[names]  # type: ignore[index]
        except (KeyError, DomainError, WorkloadError):
            return False
        return True

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        for members in self.closure:
            yield tuple(self.domain.names[position] for position in members)

    def __len__(self) -> int:
        return len(self.closure)

    def __repr__(self) -> str:
        return f"<noise variances of {len(self):,} attribute sets>"


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """Noise for every base mechanism, its privacy cost, and the exact accuracy of every query that it can answer.

    Attributes:
        workload: the queries to publish.
        noise_array (m,): sigma squared of every set of the workload's closure, in its order, in counts squared.
        budget: what may be spent.
        loss: what was made small, in words.
        loss_value: the loss that this plan reaches.
        gap: the loss (or, for a given loss, the cost) is proved to be within this fraction of the best possible.
        status: how the noise was found; it says where loss and gap are for a safe bound of the cost.
        neighbors: which data sets count as neighbors.
        basis_of_attribute (d,): the residual basis of every attribute; where none are given, the subtraction bases.

    Raises:
        WorkloadError: there is not one basis of its size for every attribute.
        BudgetError: noise is missing, not positive or not finite, or costs more than the budget; records are replaced
            and the domain drops some.

    Guarantees: ``pcost``, recomputed from the noise and rounded up, is at most the budget.
    Source: spec eqs. (8), (11), (12); paper Theorems 4.3 and 4.4.
    """

    workload: Workload
    noise_array: FloatArray = field(repr=False)
    budget: Budget
    loss: str
    loss_value: float
    gap: float
    status: str
    neighbors: Neighbors = Neighbors()  # noqa: RUF009 - frozen
    basis_of_attribute: tuple[Basis, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        bases = tuple(self.basis_of_attribute) or tuple(map(subtraction_basis, self.domain.sizes))
        object.__setattr__(self, "basis_of_attribute", bases)
        if tuple(basis.size for basis in bases) != self.domain.sizes:
            raise WorkloadError(
                f"one basis for each attribute: the sizes are {self.domain.sizes}, "
                f"those of the bases {tuple(basis.size for basis in bases)}"
            )
        require_public_total(self.domain, self.neighbors)
        noise = frozen(np.array(self.noise_array, dtype=np.float64))
        object.__setattr__(self, "noise_array", noise)
        if noise.shape != (len(self.closure),):
            raise BudgetError(f"one noise variance for each of {len(self.closure)} sets, got shape {noise.shape}")
        if not (np.isfinite(noise) & (noise > 0)).all():
            raise BudgetError("noise variances must be positive and finite; the budget or the loss is out of range")
        if not (math.isfinite(self.pcost) and Fraction(self.pcost) <= self.budget.pcost_exact):
            raise BudgetError(f"the noise costs pcost {self.pcost!r}, more than the budget of {self.budget.pcost!r}")

    def __repr__(self) -> str:
        return (
            f"<Plan for {len(self.workload):,} queries: pcost {self.pcost:.6g}, rmse {self.rmse:.6g}, "
            f"{self.loss} {self.loss_value:.6g} (gap {self.gap:.1e})>"
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
    def noise_variance(self) -> NoiseVariances:
        """The noise variance of every base mechanism, by attribute names; ``.array`` holds them all."""
        return NoiseVariances(self.domain, self.closure, self.noise_array)

    @property
    def numbers(self) -> ResidualNumbers:
        """What each attribute contributes to cost and variance."""
        return subtraction_numbers(self.domain.sizes)

    @cached_property
    def pcost(self) -> float:
        """The privacy cost of this noise for these neighbors, rounded up; rho-zCDP holds with rho = pcost / 2.

        Source: spec eqs. (8) and (37).
        """
        return cost_upper_bound(self.closure, self.numbers, self.noise_array, self.neighbors)

    @cached_property
    def average_variances(self) -> FloatArray:
        """The variance of an average cell of every query of the workload, in its order, (q,), in counts squared."""
        return frozen(average_variances(self.workload, self.numbers, self.noise_array))

    @cached_property
    def rmse(self) -> float:
        """The root of the average variance over all cells of all queries, in counts."""
        share = self.workload.cells / self.workload.cells.sum()
        return math.sqrt(float(share @ self.average_variances))

    @cached_property
    def max_variance(self) -> float:
        """The largest cell variance over the workload, in counts squared."""
        return float(self.average_variances.max())

    def variance(self, query: QueryLike) -> NDArray[np.float64]:
        """The variance of every cell of a query's table, (n_1, .., n_k) in domain order, in counts squared.

        Any query on a subset of a workload query's attributes can be asked.

        Raises:
            WorkloadError: the plan does not answer the query, or no array can have its shape.

        Source: spec eq. (11); paper Theorem 4.4.
        """
        shape, noise = self._noise_within(query)
        for n in reversed([n for n in shape if n > 1]):
            noise = noise @ np.array([1 / n**2, (n - 1) / n])
        if math.prod(shape) >= _CELL_LIMIT:
            raise WorkloadError(
                f"too large: a table of {math.prod(shape):,} cells; its cells are alike, and errors() has their std_err"
            )
        return np.broadcast_to(noise, shape)

    def covariance(self, query: QueryLike) -> NDArray[np.float64]:
        """The covariance of the cells of a query's table in C order, (cells, cells), in counts squared.

        Raises:
            WorkloadError: the plan does not answer the query, or the matrix is too large.

        Source: spec eq. (12); paper Theorem 4.4.
        """
        shape, noise = self._noise_within(query)
        return dense_covariance(tuple(n for n in shape if n > 1), noise)

    def combination_variance(self, query: QueryLike, weights: ArrayLike) -> float:
        """The variance of a weighted sum of the cells of a query's table, in counts squared.

        Args:
            query: any query that the plan answers.
            weights (n_1, .., n_k): the weight of each cell, in domain order.

        Raises:
            WorkloadError: the plan does not answer the query, or the weights do not have its table's shape.

        Cost: O(cells), without forming the covariance.
        Source: spec eq. (12).
        """
        shape, noise = self._noise_within(query)
        array = np.asarray(weights, dtype=np.float64)
        if array.shape != shape or not np.isfinite(array).all():
            raise WorkloadError(f"weights must be finite, one for each cell: shape {shape}, got {array.shape}")
        return quadratic_form(array.squeeze(tuple(axis for axis, n in enumerate(shape) if n == 1)), noise)

    def errors(self, level: float = 0.95) -> "pd.DataFrame":
        """The error table: one row per query of the workload, known before any data are seen.

        Args:
            level: the confidence level of the margins of error, between 0 and 1.

        Returns:
            Columns ``query``, ``kinds``, ``order``, ``cells``, ``weight``, ``privacy_share`` (each residual's cost is
            split over the queries that use it, in proportion to what they take of its variance), ``std_err`` (of an
            average cell), ``max_std_err``, ``moe``, ``conf_level`` and ``expected_abs_error``, all in counts.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        return error_table(self.workload, self.numbers, self.noise_array, self.average_variances, level)

    def save(self, path: PathLike) -> None:
        """Write the plan to one file, whole or not at all; `load_plan` reads it.

        Raises:
            OSError: the file cannot be written.
        """
        from residualplanner.plan.files import save_plan

        save_plan(self, path)

    def _noise_within(self, query: QueryLike) -> tuple[tuple[int, ...], NDArray[np.float64]]:
        """A query's table shape, and sigma squared of all subsets of its attributes of more than one value, (2, .., 2).

        Index 1 on an axis means that the attribute is present.
        """
        positions, _ = read_query(self.domain, query)
        rows = np.array([positions], dtype=np.int32)
        if self.closure.positions_of(rows)[0] < 0:
            names = tuple(self.domain.names[position] for position in positions)
            raise WorkloadError(
                f"the plan does not answer {names!r}: it is not part of a query of the workload; add it and plan again"
            )
        varied = rows[:, ~self.closure.trivial[rows[0]]]
        noise = self.noise_array[self.closure.subset_positions(varied)[0]].reshape((2,) * varied.shape[1]).transpose()
        return tuple(self.domain.sizes[position] for position in positions), noise
