"""How accurate a plan's queries are, where attributes have bases by set.

Reads: a workload, bases by set, noise variances.  Gives: arrays, one entry per query; variances within one table.
Source: spec eqs. (T2) to (T4).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.queries import Kind
from residualplanner.strategy.accuracy import MEAN_LIMIT, QUERY_LIMIT
from residualplanner.strategy.attributes import require_spanned
from residualplanner.strategy.bases_by_set import BasesBySet
from residualplanner.strategy.by_set.cost_parts import cost_parts
from residualplanner.strategy.by_set.table_groups import TableGroup, TablesBySet
from residualplanner.strategy.by_set.table_shares import CHUNK, TableShares
from residualplanner.strategy.cells import mean_std_errs
from residualplanner.strategy.covariance import in_full
from residualplanner.strategy.max_abs_error import independent_mean_max, mean_max_bounds
from residualplanner.strategy.privacy_shares import privacy_shares
from residualplanner.workload import Workload


@dataclass(frozen=True, eq=False)
class AccuracyBySet:
    """The accuracy of a plan whose attributes have bases by set.

    Attributes:
        workload: the queries.
        by_set: the bases, for the sets of the workload's closure.
        noise (m,): sigma squared of every set.
    """

    workload: Workload
    by_set: BasesBySet
    noise: FloatArray

    @cached_property
    def tables(self) -> TablesBySet:
        """What tables take of the noise."""
        return TablesBySet(self.by_set)

    @cached_property
    def groups(self) -> tuple[TableGroup, ...]:
        """All queries."""
        return tuple(self.tables.groups(self.workload))

    @cached_property
    def average_variances(self) -> FloatArray:
        """As `Accuracy`.  Source: spec eq. (T3)."""
        variances = np.empty(len(self.workload))
        for numbers, sets, taken in self.pieces():
            variances[numbers] = np.einsum("qs,qs->q", taken, self.noise[sets])
        return frozen(variances)

    @cached_property
    def max_variances(self) -> FloatArray:
        """As `Accuracy`: of all cells of a table.  Source: spec eq. (T3)."""
        largest = np.zeros(len(self.workload))
        for group in self.groups:
            noise = self.noise[group.sets(self.by_set.closure)]
            for shares in group.shares.of_cells():
                step = max(1, CHUNK // shares.shape[1])
                for first in range(0, len(noise), step):
                    part = group.numbers[first : first + step]
                    found = (noise[first : first + step] @ shares).max(axis=1)
                    largest[part] = np.maximum(largest[part], found)
        return frozen(largest)

    @cached_property
    def mean_std_errs(self) -> FloatArray:
        """As `Accuracy`; what bounds a mean is the root of the average variance."""
        if self._cells <= MEAN_LIMIT:
            return mean_std_errs(len(self.workload), self._variances_of_cells())
        return np.sqrt(self.average_variances)

    @cached_property
    def max_abs_errors(self) -> FloatArray:
        """As `Accuracy`."""
        if self._cells <= MEAN_LIMIT and len(self.workload) <= QUERY_LIMIT:
            return mean_max_bounds(self.workload.cells, self._variances_of_cells())
        return np.sqrt(self.max_variances) * independent_mean_max(self.workload.cells)

    @cached_property
    def privacy_shares(self) -> FloatArray:
        """As `Accuracy`: each set's part of the bound (T4), see `cost_parts`, is split over the queries that use it."""
        return frozen(privacy_shares(self.workload, cost_parts(self.by_set, self.noise), self.pieces))

    def pieces(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """For runs of queries: which they are (m,), their sets, and what an average cell takes of their noise, (m, s).

        Source: spec eq. (T3).
        """
        for group in self.groups:
            sets = group.sets(self.by_set.closure)
            yield group.numbers, sets, np.broadcast_to(group.shares.means, sets.shape)

    def table(self, positions: Sequence[int], kinds: Sequence[Kind]) -> "TableBySet":
        """As `Accuracy`."""
        names, bases = self.workload.domain.names, self.by_set.of_attributes(self.workload.domain.sizes)
        for position, kind in zip(positions, kinds, strict=True):
            require_spanned(names[position], bases[position], kind)
        attributes = np.array([positions], dtype=np.int32)
        shares = self.tables.shares(attributes[0], tuple(kinds))
        return TableBySet(shares, self.noise[shares.sets(self.by_set.closure, attributes)[0]])

    @property
    def _cells(self) -> float:
        """How many cells all queries have together, counting those that are alike once."""
        return sum(len(group.numbers) * math.prod(map(float, group.shares.differing)) for group in self.groups)

    def _variances_of_cells(self) -> Iterator[tuple[IntArray, NDArray[np.float64]]]:
        """Runs of queries: their numbers (m,), and the variances of their cells that differ (m, cells)."""
        for group in self.groups:
            noise = self.noise[group.sets(self.by_set.closure)]
            yield group.numbers, np.concatenate([noise @ shares for shares in group.shares.of_cells()], axis=1)


@dataclass(frozen=True, eq=False, slots=True)
class TableBySet:
    """A table of a plan whose attributes have bases by set.

    Attributes:
        shares: what it takes of the noise of each subset of its attributes.
        noise (s,): sigma squared of each.
    """

    shares: TableShares
    noise: FloatArray

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each attribute has."""
        return self.shares.shape

    def variances(self) -> NDArray[np.float64]:
        """As `TableAccuracy`.  Source: spec eq. (T3)."""
        return in_full(self.differing_variances(), self.shape)

    def differing_variances(self) -> NDArray[np.float64]:
        """As `TableAccuracy`."""
        return self.shares.differing_variances(self.noise)

    def covariance(self) -> NDArray[np.float64]:
        """As `TableAccuracy`.  Source: spec eq. (T3)."""
        return self.shares.covariance(self.noise)

    def combination_variance(self, weights: NDArray[np.float64]) -> float:
        """As `TableAccuracy`.  Source: spec eq. (T3)."""
        return self.shares.combination_variance(weights, self.noise)
