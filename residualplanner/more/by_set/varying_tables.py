"""The variance factors of a table by its varying attributes: a table over these for each subset, beside a product.

Source: eqs. (39) and (40).

The variance of a cell is a sum over the subsets B of its table's attributes: of the noise of B, times a factor for each
constant attribute, times what this module gives, a function of the cell's answers on the varying attributes.  Without
varying attributes it is 1.

A subset is given by its bits: bit i is for the attribute of axis i.  Arrays have an axis for each varying attribute.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.cells import Cells
from residualplanner.method.strategy.table_accuracy import Axis
from residualplanner.more.by_set.rest_tables import rest_tables


@dataclass(frozen=True, eq=False)
class VaryingTable:
    """The `CellTable` of a table with varying attributes.

    Attributes:
        order: how many attributes the table has.
        axes: the axes of its varying attributes, ascending.
        kinds: of these.
        factors: for each subset and each varying axis in it, the attribute with its basis there.

    Example:
        >>> from residualplanner import Identity
        >>> from residualplanner.method.bases.matrix import integer_basis
        >>> factor = Axis(integer_basis([[1, -3]], "given"), Identity())
        >>> table = VaryingTable(1, (0,), (Identity(),), {(1, 0): factor})
        >>> [part.tolist() for part in table.of_cells()]  # of the total's noise, and of the attribute's
        [[[0.5625, 0.0625], [0.0625, 0.0625]]]
    """

    order: int
    axes: tuple[int, ...]
    kinds: tuple[Kind, ...]
    factors: Mapping[tuple[int, int], Axis]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each varying attribute has."""
        return tuple(self.factors[1 << axis, axis].basis.size for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each varying attribute has."""
        return tuple(kind.rows(size) for kind, size in zip(self.kinds, self.sizes, strict=True))

    @property
    def constant(self) -> tuple[int, ...]:
        """The axes of the constant attributes, ascending."""
        return tuple(axis for axis in range(self.order) if axis not in self.axes)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """The bits of every subset, by those of its constant and of its varying attributes alone, (2**c, 2**v)."""
        constant, varying = (_bits(axes) for axes in (self.constant, self.axes))
        return constant[:, None] + varying

    @cached_property
    def means(self) -> FloatArray:
        """The factor of the noise of each subset in the variance of an average cell, (2**k,).

        Attributes with more answers than values enter by their Gram matrices: nothing has an entry for each answer.

        Source: eq. (40).
        """
        grams = {
            number: kind.augmented_gram(size) / kind.rows(size)
            for number, (kind, size) in enumerate(zip(self.kinds, self.sizes, strict=True))
            if kind.rows(size) > size
        }
        rests = self._rests(by_value=grams)
        return np.array([self._mean(bits, rests[bits], grams) for bits in range(1 << self.order)])

    def multiply(self, coefficients: FloatArray, rows: NDArray[np.bool_]) -> None:
        """Multiply those rows of ``coefficients`` (m, 2**k) by the `means`."""
        coefficients[rows] *= self.means

    def of_cells(self, most: float = math.inf) -> Iterator[Cells]:
        """The factor of the noise of each subset in the variance of cells, at most so many at a time, (2**k, cells).

        Source: eq. (40).
        """
        for part in _parts(self.shape, most / (1 << self.order)):
            lengths = [piece.stop - piece.start for piece in part]
            yield np.stack([np.broadcast_to(factor, lengths).ravel() for factor in self._cells(part)])

    def applied(self, noise: FloatArray, weights: Cells) -> Cells:
        """The noise of all subsets of the constant attributes at some cells over the varying ones, (m, 2**c, x)."""
        columns = self.columns
        found: Cells = np.matmul(noise[:, columns].swapaxes(0, 1), weights[columns]).swapaxes(0, 1)
        return found

    def covariances(self, noise: FloatArray) -> Iterator[Cells]:
        """The covariance of cells over the varying attributes for each subset of the constant ones, (cells, cells)."""
        order, cells = len(self.axes), math.prod(self.shape)
        rests = self._rests()
        for variances, columns in zip(noise.tolist(), self.columns.tolist(), strict=True):
            total = np.zeros(self.shape * 2)
            for variance, bits in zip(variances, columns, strict=True):
                rest = rests[bits]
                term = variance * rest.reshape(rest.shape + (1,) * order) * rest
                for number in self._within(bits):
                    form, lengths = self.factors[bits, self.axes[number]].form(), [1] * (2 * order)
                    lengths[number] = lengths[number + order] = len(form)
                    term = term * form.reshape(lengths)
                total += term
            yield total.reshape(cells, cells)

    def combination_variance(self, parts: Sequence[Cells], noise: FloatArray) -> float:
        """The variance of a weighted sum of cells, without their covariance."""
        rests, total = self._rests(by_value=range(len(self.axes))), 0.0
        for weights, variances, columns in zip(parts, noise.tolist(), self.columns.tolist(), strict=True):
            for variance, bits in zip(variances, columns, strict=True):
                within = [self.axes[number] for number in self._within(bits)]
                rest = np.expand_dims(rests[bits], self.constant)
                summed = (weights * rest).sum(axis=tuple(set(self.axes) - set(within)), keepdims=True)
                for axis in within:
                    values = np.split(summed, [1], axis=axis)[1]
                    summed = self.factors[bits, axis].basis.present_parts(values, axis)
                total += variance * float(np.vdot(summed, summed))
        return total

    def _within(self, bits: int) -> list[int]:
        """Which varying attributes a subset has, by their number among these."""
        return [number for number, axis in enumerate(self.axes) if bits >> axis & 1]

    def _rests(self, part: Sequence[slice] | None = None, *, by_value: Container[int] = ()) -> dict[int, Cells]:
        """The tables of (39): for some answers of each attribute, or for the values of the attributes ``by_value``."""
        order = len(self.axes)
        pieces = part or [slice(None)] * order
        origins = {
            (bits, axis): _along(
                (factor.augmented if number in by_value else factor.origin)[pieces[number]], number, order
            )
            for number, own in enumerate(self.axes)
            for (bits, axis), factor in self.factors.items()
            if axis == own
        }
        return rest_tables(origins, np.ones((1,) * order), self.order)

    def _cells(self, part: Sequence[slice]) -> Iterator[Cells]:
        """For each subset its factor in the variance of the cells of a part of the table, broadcasting."""
        rests, order = self._rests(part), len(self.axes)
        for bits in range(1 << self.order):
            factor = rests[bits] ** 2
            for number in self._within(bits):
                present = self.factors[bits, self.axes[number]].present[part[number]]
                factor = factor * _along(present, number, order)
            yield factor

    def _mean(self, bits: int, rest: Cells, grams: Mapping[int, Cells]) -> float:
        """The factor of one subset's noise in the mean variance, from the table of the other attributes."""
        weighed, mean, within = rest, 1.0, self._within(bits)
        for number in range(len(self.axes)):
            if number in within:
                mean *= self.factors[bits, self.axes[number]].mean_present
            elif number in grams:
                weighed = np.moveaxis(np.tensordot(grams[number], weighed, axes=(1, number)), 0, number)
            else:
                mean /= rest.shape[number]
        return mean * float(np.vdot(rest, weighed))


def _bits(axes: Sequence[int]) -> NDArray[np.int64]:
    """The subsets of some axes, (2**k,): bit i of the index stands for the i-th of them."""
    chosen = np.arange(1 << len(axes))[:, None] >> np.arange(len(axes)) & 1
    bits: NDArray[np.int64] = (chosen << np.array(axes, dtype=np.int64)).sum(axis=1)
    return bits


def _along(vector: Cells, axis: int, order: int) -> Cells:
    """A vector as an array of so many axes."""
    return vector.reshape([-1 if each == axis else 1 for each in range(order)])


def _parts(lengths: Sequence[int], most: float) -> Iterator[tuple[slice, ...]]:
    """Parts of an array of at most so many entries, which together are all of it."""
    pieces: list[list[slice]] = []
    for length in reversed(lengths):
        step = int(max(1, min(length, most)))
        most = most / step
        pieces.insert(0, [slice(first, min(first + step, length)) for first in range(0, length, step)])
    return product(*pieces)
