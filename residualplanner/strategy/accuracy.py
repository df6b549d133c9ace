"""How accurate a plan's queries are, where every attribute has one basis for all sets.

Reads: a workload, bases, noise variances.  Gives: arrays, one entry per query; variances within one table.
Source: spec eqs. (11), (12) and (26); paper Theorems 4.3, 4.4 and 7.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.bases import Basis, ResidualNumbers
from residualplanner.queries import Kind
from residualplanner.strategy.attributes import has_alike_cells, require_spanned, workload_numbers
from residualplanner.strategy.cells import (
    AnswerShares,
    every_answer,
    hull_answers,
    largest_cells,
    mean_std_errs,
    variances_of_cells,
)
from residualplanner.strategy.covariance import (
    Axis,
    cell_variances,
    dense_covariance,
    differing_variances,
    quadratic_form,
)
from residualplanner.strategy.max_abs_error import independent_mean_max, mean_max_bounds
from residualplanner.strategy.privacy_shares import privacy_shares
from residualplanner.strategy.variances import average_variances, variance_pieces
from residualplanner.workload import Workload

#: Up to this many cells that differ, means over cells are taken cell by cell.
MEAN_LIMIT = 2**22
#: Up to this many queries whose cells differ, bounds on their largest errors are taken from each table's own cells.
QUERY_LIMIT = 2**13


class TableAccuracy(Protocol):
    """Variances and covariances within one table."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each attribute has."""

    def variances(self) -> NDArray[np.float64]:
        """The variance of every cell, in the table's shape."""

    def differing_variances(self) -> NDArray[np.float64]:
        """The same, but an axis along which all cells are alike has one entry."""

    def covariance(self) -> NDArray[np.float64]:
        """The covariance of all cells in C order, (cells, cells)."""

    def combination_variance(self, weights: NDArray[np.float64]) -> float:
        """The variance of the sum of the cells times ``weights``, in the table's shape."""


class Accuracy(Protocol):
    """How accurate the queries of a workload are with some noise."""

    @property
    def average_variances(self) -> FloatArray:
        """The variance of an average cell of every query, (q,)."""

    @property
    def max_variances(self) -> FloatArray:
        """The largest cell variance of every query, (q,)."""

    @property
    def mean_std_errs(self) -> FloatArray:
        """The mean standard error of a cell of every query, (q,), or what bounds it if there are too many cells."""

    @property
    def max_abs_errors(self) -> FloatArray:
        """A bound on the mean of the largest error of every query, (q,)."""

    @property
    def privacy_shares(self) -> FloatArray:
        """The share of the privacy cost that each query accounts for, (q,)."""

    def table(self, positions: Sequence[int], kinds: Sequence[Kind]) -> TableAccuracy:
        """Within the table of some attributes, a set of the closure but for attributes of one value.

        Raises:
            WorkloadError: what is measured of an attribute does not answer its kind.
        """


@dataclass(frozen=True, eq=False)
class OneBasisAccuracy:
    """The accuracy of a plan with one basis for each attribute.

    Attributes:
        workload: the queries.
        bases (d,): of the attributes.
        noise (m,): sigma squared of every set of the closure.
    """

    workload: Workload
    bases: tuple[Basis, ...]
    noise: FloatArray

    @cached_property
    def numbers(self) -> ResidualNumbers:
        """What each attribute contributes to cost and variance."""
        return workload_numbers(self.workload, self.bases)

    @cached_property
    def average_variances(self) -> FloatArray:
        """As `Accuracy`.  Source: spec eq. (11)."""
        return frozen(average_variances(self.workload, self.numbers, self.noise))

    @cached_property
    def max_variances(self) -> FloatArray:
        """As `Accuracy`.  Source: spec eqs. (23) and (26)."""
        if has_alike_cells(self.workload, self.bases):
            return self.average_variances
        answers = hull_answers(self.workload, self.bases, self.numbers.code)
        return frozen(largest_cells(self.workload, self.workload.closure, answers, self.noise)[0])

    @cached_property
    def mean_std_errs(self) -> FloatArray:
        """As `Accuracy`; what bounds a mean is the root of the average variance."""
        answers = self._every_answer()
        if answers is not None and answers.cells(self.workload) <= MEAN_LIMIT:
            return mean_std_errs(len(self.workload), self._variances_of_cells(answers))
        return np.sqrt(self.average_variances)

    @cached_property
    def max_abs_errors(self) -> FloatArray:
        """As `Accuracy`."""
        answers = self._every_answer()
        if answers is not None and answers.cells(self.workload) <= MEAN_LIMIT and len(self.workload) <= QUERY_LIMIT:
            return mean_max_bounds(self.workload.cells, self._variances_of_cells(answers))
        return np.sqrt(self.max_variances) * independent_mean_max(self.workload.cells)

    @property
    def privacy_shares(self) -> FloatArray:
        """As `Accuracy`."""
        workload, numbers = self.workload, self.numbers
        cost = workload.closure.products(numbers.pcost) / self.noise
        return privacy_shares(workload, cost, lambda: variance_pieces(workload, workload.closure, numbers))

    def table(self, positions: Sequence[int], kinds: Sequence[Kind]) -> "OneBasisTable":
        """As `Accuracy`."""
        closure, names = self.workload.closure, self.workload.domain.names
        axes = tuple(Axis(self.bases[i], kind) for i, kind in zip(positions, kinds, strict=True))
        for position, axis in zip(positions, axes, strict=True):
            require_spanned(names[position], axis.basis, axis.kind)
        rows = np.array([positions], dtype=np.int32)
        noise = self.noise[closure.subset_positions(rows)[0]].reshape((2,) * len(axes)).transpose()
        return OneBasisTable(axes, noise[tuple(slice(0, min(axis.basis.size, 2)) for axis in axes)])

    def _variances_of_cells(self, answers: AnswerShares) -> Iterator[tuple[IntArray, NDArray[np.float64]]]:
        return variances_of_cells(self.workload, self.workload.closure, answers, self.noise)

    def _every_answer(self) -> AnswerShares | None:
        """What all answers take of the noise; None if all cells of each query are alike."""
        if has_alike_cells(self.workload, self.bases):
            return None
        return every_answer(self.workload, self.bases, self.numbers.code)


@dataclass(frozen=True, eq=False, slots=True)
class OneBasisTable:
    """A table of a plan with one basis for each attribute.

    Attributes:
        axes: its attributes.
        noise (2, .., 2): sigma squared of all their subsets, with an axis for each attribute, index 1 where it is
            present; attributes of one value are never measured, so they have only index 0.
    """

    axes: tuple[Axis, ...]
    noise: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each attribute has."""
        return tuple(axis.rows for axis in self.axes)

    def variances(self) -> NDArray[np.float64]:
        """As `TableAccuracy`.  Source: spec eq. (26)."""
        return cell_variances(self.axes, self.noise)

    def differing_variances(self) -> NDArray[np.float64]:
        """As `TableAccuracy`."""
        return differing_variances(self.axes, self.noise)

    def covariance(self) -> NDArray[np.float64]:
        """As `TableAccuracy`.  Source: spec eq. (26)."""
        return dense_covariance(self.axes, self.noise)

    def combination_variance(self, weights: NDArray[np.float64]) -> float:
        """As `TableAccuracy`.  Source: spec eq. (26)."""
        return quadratic_form(self.axes, weights, self.noise)
