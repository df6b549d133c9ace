"""Weights on the cells of many queries at once, and what follows from them: arrays in, arrays out.

Source: eqs. (14), (23) and (27); docs/bases.md.

A query's attributes are of two sorts.  Those with a basis of their own have rows with different variance factors: each
is an axis of the query's array of weights.  For the others all rows have the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.method.queries.joint import joint_factors
from residualplanner.method.strategy.variances import ResidualNumbers
from residualplanner.method.workload.attribute_sets import row_numbers
from residualplanner.method.workload.closure import Closure, subset_products
from residualplanner.method.workload.workload import Workload


@dataclass(frozen=True, eq=False, slots=True)
class CellGroup:
    """Queries whose arrays of weights have the same shape.

    Attributes:
        queries (m,): their numbers.
        axes (m, own): for each axis which row factors it has.
        widths: how many rows each axis has.
        positions (m, 2, .., 2, plain): for each choice of absent or present on the axes, then for each subset of the
            other attributes, which noise it is.
        plain (m, plain): the product of the other attributes' factors for each of those subsets, and the importance.
    """

    queries: NDArray[np.int64]
    axes: NDArray[np.int64]
    widths: tuple[int, ...]
    positions: NDArray[np.int64]
    plain: FloatArray

    def variances(self, factors: FloatArray, noise: FloatArray) -> FloatArray:
        """The variance of every cell times the importance of its query, (m, rows, .., rows).

        Args:
            factors (axes, 2, rows): s and t of the rows of each axis.
            noise (orbits,): the noise variances.
        """
        result = self._coefficients(noise)
        for column, width in enumerate(self.widths):
            result = _contracted(result, factors[self.axes[:, column], :, :width])
        return result

    def noise_weights(self, factors: FloatArray, weights: FloatArray, orbits: int) -> FloatArray:
        """The weight of each noise variance in the sum of variances with ``weights`` (m, rows, .., rows), (orbits,).

        Source: eq. (14).
        """
        summed = weights
        for column, width in enumerate(self.widths):
            summed = _contracted(summed, factors[self.axes[:, column], :, :width].swapaxes(1, 2))
        plain = self.plain.reshape(len(self.plain), *(1,) * len(self.widths), -1)
        each = (summed[..., None] * plain).ravel()
        return np.bincount(self.positions.ravel(), weights=each, minlength=orbits).astype(np.float64, copy=False)

    def add_slopes(self, sums: FloatArray, factors: FloatArray, weights: FloatArray, noise: FloatArray) -> None:
        """Add to ``sums`` (axes, 2, rows) the slopes of the weighted sum of variances in each row's factors."""
        coefficients = self._coefficients(noise)
        count = np.arange(len(self.queries) + 1)
        for column, width in enumerate(self.widths):
            others = np.moveaxis(coefficients, 1 + column, -1)
            for other, length in enumerate(self.widths):
                if other != column:  # the new axis goes last; the attribute's own is kept behind it
                    others = _contracted(others, factors[self.axes[:, other], :, :length]).swapaxes(-1, -2)
            own = np.moveaxis(weights, 1 + column, -1).reshape(len(weights), -1, width)
            slopes = np.matmul(others.reshape(len(weights), -1, 2).swapaxes(1, 2), own)
            by_axis = sparse.csr_array(
                (np.ones(len(count) - 1), self.axes[:, column], count), (len(count) - 1, len(sums))
            )
            sums[:, :, :width] += (by_axis.T @ slopes.reshape(len(slopes), -1)).reshape(len(sums), 2, width)

    def _coefficients(self, noise: FloatArray) -> FloatArray:
        """What multiplies the factors of a query's axes, (m, 2, .., 2)."""
        plain = self.plain.reshape(len(self.plain), *(1,) * len(self.widths), -1)
        coefficients: FloatArray = (noise[self.positions] * plain).sum(axis=-1)
        return coefficients


def cell_groups(
    workload: Workload,
    chosen: NDArray[np.int64],
    axis_of: NDArray[np.int64],
    widths: NDArray[np.int64],
    numbers: ResidualNumbers,
    member: NDArray[np.int64],
    importance: FloatArray,
) -> Iterator[CellGroup]:
    """Some queries of a workload by the shape of their weights.

    Args:
        workload: the queries.
        chosen (m,): the numbers of those that take part, ascending; those of importance 0 are left out.
        axis_of (d, kinds): the axis of each attribute in each kind, -1 where all its rows have the same factors.
        widths (axes,): how many rows each axis has.
        numbers: of the attributes that have no axis, in the first kind.
        member (c,): the number of the noise of every set of the closure.
        importance (q,): of all queries.
    """
    for queries, block in workload.runs():
        inside = chosen[(chosen >= queries.start) & (chosen < queries.stop) & (importance[chosen] > 0)]
        attributes, kinds = (array[inside - queries.start] for array in (block.attributes, block.kinds))
        if not len(inside):
            continue
        axes = axis_of[attributes, kinds]
        shape = np.where(axes < 0, 0, 1 + widths[axes] if len(widths) else 0)
        number = row_numbers(shape)
        for rows in (np.flatnonzero(number == group) for group in range(int(number.max()) + 1)):
            own = axes[rows[0]] >= 0
            others = attributes[rows][:, ~own]
            plain = subset_products(numbers.absent[others, 0], numbers.present[others, 0])
            sizes = numbers.sizes[others].astype(np.int64)
            plain = plain * joint_factors(workload.kinds, kinds[rows][:, ~own], sizes) ** 2
            yield CellGroup(
                inside[rows],
                axes[rows][:, own],
                tuple(widths[axes[rows[0]][own]].tolist()) if own.any() else (),
                _positions(workload.closure, attributes[rows], own, member),
                plain * importance[inside[rows], None],
            )


def similar_rows(factors: FloatArray, limit: int) -> NDArray[np.int64]:
    """Blocks of rows with similar ``factors`` (2, rows), at most ``limit``: halved by one factor, then the other."""
    count = factors.shape[1]
    if count <= limit:
        return np.arange(count)
    block = np.zeros(count, dtype=np.int64)
    factors = np.round(factors / factors.max(axis=1, keepdims=True), 7)  # rounding is not to part rows that are equal
    for depth in range(limit.bit_length() - 1):
        order = np.lexsort((factors[1 - depth % 2], block))
        start = np.searchsorted(block[order], block[order])
        size = np.bincount(block)[block[order]]
        block[order] = 2 * block[order] + (2 * (np.arange(count) - start) >= size)
    return np.unique(block, return_inverse=True)[1]


def _positions(
    closure: Closure, attributes: NDArray[np.int32], own: NDArray[np.bool_], member: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each query the noise of its subsets: an axis of length 2 for each own axis, one axis for the others."""
    count, order = attributes.shape
    subsets = member[closure.subset_positions(attributes)]
    by_column = subsets.reshape(count, *(2,) * order).transpose(0, *range(order, 0, -1))
    ordered = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)[::-1]])  # as `subset_products` has them
    moved = by_column.transpose(0, *(1 + ordered).tolist())
    return moved.reshape(count, *(2,) * int(own.sum()), -1)


def _contracted(array: FloatArray, factors: FloatArray) -> FloatArray:
    """Sum the second axis of (m, a, ..) against (m, a, b), query by query; the new axis goes last, (m, .., b)."""
    rest = array.shape[2:]
    flat = array.reshape(len(array), array.shape[1], -1)
    result: FloatArray = np.matmul(flat.swapaxes(1, 2), factors)
    return result.reshape(len(array), *rest, factors.shape[2])
