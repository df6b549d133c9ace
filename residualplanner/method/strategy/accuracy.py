"""How accurate the queries of a workload are, with some noise.

Source: eqs. (11), (12), (26) and (40); paper Theorems 4.3, 4.4 and 7.2.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.privacy import Neighbors
from residualplanner.method.queries.kind import Kind, joint_factors
from residualplanner.method.strategy import cells
from residualplanner.method.strategy.costs import cost_parts
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.strategy.table_accuracy import Axis, TableAccuracy
from residualplanner.method.strategy.variances import (
    CHUNK,
    Piece,
    has_equal_cells,
    noise_weights,
    require_spanned,
    workload_numbers,
)
from residualplanner.method.workload.attribute_sets import indices_of_numbers, row_numbers
from residualplanner.method.workload.closure import subset_products
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload

#: Up to this many cells that differ, means over cells are computed cell by cell.
MEAN_LIMIT = 2**22
#: Up to this many queries whose cells differ, bounds on their largest errors follow from each table's own cells.
QUERY_LIMIT = 2**13
#: Queries that matter less than this, beside others or at all, would make fractions overflow.
_LEAST = 1e-100


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How accurate the queries of a workload are with some noise."""

    workload: Workload
    strategy: Strategy  # on the workload's closure
    noise: FloatArray  # (m,), sigma squared of every set of the closure
    neighbors: Neighbors  # what the noise protects

    @cached_property
    def average_variances(self) -> FloatArray:
        """The variance of an average cell of every query, (q,).  Source: eqs. (11) and (40)."""
        variances = np.empty(len(self.workload))
        # Noise of different base mechanisms is independent: their variances add up.
        for queries, sets, coefficients in self.pieces():
            variances[queries] = np.einsum("qs,qs->q", coefficients, self.noise[sets])
        return frozen(variances)

    @cached_property
    def max_variances(self) -> FloatArray:
        """The largest cell variance of every query, (q,).  Source: eqs. (23), (26) and (40)."""
        if self._has_equal_cells:
            return self.average_variances
        answers = cells.answer_factors(self.workload, self.strategy, on_hull=True)
        return frozen(cells.largest_cells(self.workload, answers, self.noise, self._tables)[0])

    @cached_property
    def mean_std_errs(self) -> FloatArray:
        """The mean standard error of a cell of every query, (q,), or what bounds it if there are too many cells."""
        if not self._has_equal_cells and self._cells <= MEAN_LIMIT:
            means = np.empty(len(self.workload))
            for numbers, variances in self._variances_of_cells():
                means[numbers] = np.sqrt(variances).mean(axis=1)
            return means
        return np.sqrt(self.average_variances)

    @cached_property
    def max_abs_errors(self) -> FloatArray:
        """A bound on the mean of the largest error of every query, (q,)."""
        from residualplanner.more.bounds.max_abs_error import independent_mean_max, mean_max_bounds  # a door

        few = len(self.workload) <= QUERY_LIMIT and not self._has_equal_cells
        if few and self._cells <= MEAN_LIMIT:
            return mean_max_bounds(self.workload.cells, self._variances_of_cells())
        return np.sqrt(self.max_variances) * independent_mean_max(self.workload.cells)

    @cached_property
    def privacy_shares(self) -> FloatArray:
        """The fraction of the privacy cost that each query accounts for, (q,); they add up to 1.

        The cost of each base mechanism is split over the queries that use it, in proportion to the variance that its
        noise gives to all their cells, times their weight; if a query has weight 0, or next to none beside another, all
        weights are left out, since no query would account for noise that only such queries depend on.
        """
        importance = self.workload.weights * self.workload.cells / self.workload.scales**2
        if not (importance > _LEAST * max(1.0, float(importance.max()))).all():
            importance = self.workload.cells / self.workload.scales**2
        use = noise_weights(self.pieces(), importance, len(self.noise))  # 0 where bases by set leave noise unused
        cost = cost_parts(self.strategy, self.noise, use, self.neighbors)
        per_use = np.divide(cost, use, out=np.zeros(len(cost)), where=use > 0)
        fractions = np.empty(len(self.workload))
        for queries, sets, coefficients in self.pieces():
            fractions[queries] = importance[queries] * np.einsum("qs,qs->q", coefficients, per_use[sets])
        return frozen(fractions / fractions.sum())

    def pieces(self) -> Iterator[Piece]:
        """For runs of queries: which they are, their sets, and what an average cell takes of their noise, (m, 2**k).

        Source: eqs. (11) and (40).
        """
        for queries, run in self.workload.runs(CHUNK):
            coefficients = subset_products(*(factors[run.attributes, run.kinds] for factors in self._factors))
            group, tables = self._tables.numbered(run.attributes, run.kinds, self.workload.kinds)
            for number, table in enumerate(tables):
                table.multiply(coefficients, group == number)
            coefficients = coefficients * self.workload.joint_factors(run) ** 2
            yield queries, self.strategy.closure.subset_positions(run.attributes), coefficients

    def table(self, query: WrittenQuery) -> TableAccuracy:
        """Within the table of a query, whose attributes are a set of the closure but for attributes of one value.

        Source: eqs. (12), (26), (40) and (60).
        """
        positions, kinds = query.in_domain_order
        names, axes = self.workload.domain.names, self._axes(positions, kinds)
        for position, axis in zip(positions, axes, strict=True):
            require_spanned(names[position], axis.basis, axis.kind)
        attributes = np.array(positions, dtype=np.int32)
        noise = self._noise_of(attributes[None], np.arange(len(kinds), dtype=np.int16)[None], kinds)[0]
        return TableAccuracy(axes, self._tables.table(attributes, kinds), noise, query.axes)

    def stacked_variances(self, attributes: NDArray[np.int32], kinds: Sequence[Kind]) -> FloatArray:
        """The variance of every cell of several tables of one shape and the same kinds, (m, q_1, .., q_k).

        The attributes (m, k) are sets of the closure, ascending; those of one value may be among them.  Source: eqs.
        (26) and (40).
        """
        codes = np.broadcast_to(np.arange(len(kinds), dtype=np.int16), attributes.shape)
        varying, tables = self._tables.numbered(attributes, codes, kinds)
        noise = self._noise_of(attributes, codes, kinds)
        group = row_numbers(np.column_stack([varying, self.strategy.of_attribute[attributes]]))
        found: list[FloatArray] = []
        parts = indices_of_numbers(group)
        for same in parts:
            axes = self._axes(attributes[same[0]].tolist(), kinds)
            table = TableAccuracy(axes, tables[varying[same[0]]], noise[same[0]], tuple(range(len(kinds))))
            found.append(table.stacked_variances(noise[same]))
        return np.concatenate(found)[np.argsort(np.concatenate(parts))]

    def _noise_of(self, attributes: NDArray[np.int32], codes: NDArray[np.int16], kinds: Sequence[Kind]) -> FloatArray:
        """The noise of each subset of some queries' attributes, times what answers multiply it by, (m, 2**k)."""
        sizes = np.array(self.workload.domain.sizes, dtype=np.int64)[attributes]
        return self.noise[self.strategy.closure.subset_positions(attributes)] * joint_factors(kinds, codes, sizes) ** 2

    def _axes(self, positions: Sequence[int], kinds: Sequence[Kind]) -> tuple[Axis, ...]:
        bases, numbers = self.strategy.bases, self.strategy.of_attribute
        return tuple(Axis(bases[numbers[position]], kind) for position, kind in zip(positions, kinds, strict=True))

    @cached_property
    def _tables(self) -> cells.CellTables:
        return cells.cell_tables(self.strategy)

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """The variance factors of constant attributes where they are absent, and present; 1 for those that vary."""
        numbers, varies = workload_numbers(self.workload, self.strategy.of_attributes), self.strategy.varying[:, None]
        return np.where(varies, 1.0, numbers.absent), np.where(varies, 1.0, numbers.present)

    @cached_property
    def _has_equal_cells(self) -> bool:
        return has_equal_cells(self.workload, self.strategy)

    @cached_property
    def _cells(self) -> float:
        """How many cells all queries have together, counting those with one variance by symmetry once."""
        rows = np.where(self.strategy.varying[:, None], self.workload.answers, 1.0)
        return sum(
            float((self._answers.counts(block) * rows[block.attributes, block.kinds]).prod(axis=1).sum())
            for block in self.workload.blocks
        )

    @cached_property
    def _answers(self) -> cells.AnswerFactors:
        return cells.answer_factors(self.workload, self.strategy, on_hull=False)

    def _variances_of_cells(self) -> Iterator[tuple[IntArray, FloatArray]]:
        return cells.variances_of_cells(self.workload, self._answers, self.noise, self._tables)


def mean_largest_error(table: TableAccuracy) -> float:
    """A bound on the mean of the largest absolute error of a table's cells, see `Plan.expected_max_abs_error`."""
    from residualplanner.more.bounds.max_abs_error import mean_max_bound  # a door

    variances, counts = np.unique(table.differing_variances(), return_counts=True)
    cells_for_each = math.prod(map(float, table.shape)) / counts.sum()
    return mean_max_bound(np.sqrt(variances), counts * cells_for_each)
