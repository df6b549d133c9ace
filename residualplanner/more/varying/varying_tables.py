"""The variance factors of a table by its varying attributes: a table over these for each subset, beside a product.

Source: eqs. (39) and (40).

The variance of a cell is a sum over the subsets B of its table's attributes: of the noise of B, times a factor for each
constant attribute, times what this module gives, a function of the cell's answers on the varying attributes.  Without
varying attributes it is 1.

A subset is given by its bits: bit i is for the attribute of axis i.  Arrays have an axis for each varying attribute, of
length 1 where the attribute makes no difference.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from itertools import product
from operator import or_

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.cells import Cells, CellTable, ConstantTable
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.strategy.table_accuracy import Axis
from residualplanner.method.workload.attribute_sets import row_numbers


@dataclass(frozen=True, eq=False)
class VaryingTable:
    """The `CellTable` of a table with varying attributes."""

    order: int  # how many attributes the table has
    axes: tuple[int, ...]  # of its varying attributes, ascending
    kinds: tuple[Kind, ...]  # of these
    factors: Mapping[tuple[int, int], Axis]  # for each subset and each varying axis in it, the attribute with its basis

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
        """The factor of the noise of each subset in the variance of an average cell, (2**k,).  Source: eq. (40).

        Attributes with more answers than values enter by their Gram matrices: nothing has an entry for each answer.
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
        """The factor of the noise of each subset in the variance of cells, at most so many at a time, (2**k, cells)."""
        for part in _parts(self.shape, most / (1 << self.order)):  # a cell has a factor for each subset
            lengths = [piece.stop - piece.start for piece in part]
            yield np.stack([np.broadcast_to(factor, lengths).ravel() for factor in self._cells(part)])

    def applied(self, noise: FloatArray, weights: Cells) -> Cells:
        """The noise of all subsets of the constant attributes at some cells over the varying ones, (m, 2**c, x)."""
        columns = self.columns
        return np.asarray(np.matmul(noise[:, columns].swapaxes(0, 1), weights[columns]).swapaxes(0, 1))

    def covariances(self, noise: FloatArray) -> Iterator[Cells]:
        """The covariance of cells over the varying attributes for each subset of the constant ones, (cells, cells)."""
        order, cells = len(self.axes), math.prod(self.shape)
        rests = self._rests()
        for variances, columns in zip(noise.tolist(), self.columns.tolist(), strict=True):
            total = np.zeros(self.shape * 2)  # the axes of one cell, then those of the other
            for variance, bits in zip(variances, columns, strict=True):
                rest = rests[bits]
                term = variance * rest.reshape(rest.shape + (1,) * order) * rest
                for number in self._within(bits):
                    form, lengths = self.factors[bits, self.axes[number]].form(), [1] * (2 * order)
                    lengths[number] = lengths[number + order] = len(form)
                    term = term * form.reshape(lengths)
                total += term
            yield total.reshape(cells, cells)

    def noise_weights(self, parts: Sequence[Cells]) -> Iterator[tuple[int, Cells]]:
        """What a weighted sum of cells multiplies the noise of each subset by; no matrix of their covariances."""
        rests = self._rests(by_value=range(len(self.axes)))
        for weights, columns in zip(parts, self.columns.tolist(), strict=True):
            for bits in columns:
                within = [self.axes[number] for number in self._within(bits)]
                rest = np.expand_dims(rests[bits], self.constant)
                summed = (weights * rest).sum(axis=tuple(set(self.axes) - set(within)), keepdims=True)
                for axis in within:
                    values = np.split(summed, [1], axis=axis)[1]  # residuals add nothing to the total, at index 0
                    summed = self.factors[bits, axis].basis.present_parts(values, axis)
                yield bits, summed

    def rest(self, bits: int) -> Cells:
        """What cells depend on beside the attributes of a subset, an axis for each that varies.  Source: eq. (39)."""
        return self._rests_of_cells[bits]

    @cached_property
    def _rests_of_cells(self) -> dict[int, Cells]:
        return self._rests()

    def _within(self, bits: int) -> list[int]:
        """Which varying attributes a subset has, by their number among these."""
        return [number for number, axis in enumerate(self.axes) if bits >> axis & 1]

    def _rests(self, part: Sequence[slice] | None = None, *, by_value: Container[int] = ()) -> dict[int, Cells]:
        """The tables of (39): for some answers of each attribute, or for the values of the attributes ``by_value``."""
        order = len(self.axes)
        pieces = part or [slice(None)] * order
        origins = {
            (bits, axis): along(
                (factor.augmented if number in by_value else factor.origin)[pieces[number]], number, order
            )
            for number, own in enumerate(self.axes)
            for (bits, axis), factor in self.factors.items()
            if axis == own
        }
        return _rest_tables(origins, np.ones((1,) * order), self.order)

    def _cells(self, part: Sequence[slice]) -> Iterator[Cells]:
        """For each subset its factor in the variance of the cells of a part of the table, broadcasting."""
        rests, order = self._rests(part), len(self.axes)
        for bits in range(1 << self.order):
            factor = rests[bits] ** 2
            for number in self._within(bits):
                present = self.factors[bits, self.axes[number]].present[part[number]]
                factor = factor * along(present, number, order)
            yield factor

    def _mean(self, bits: int, rest: Cells, grams: Mapping[int, Cells]) -> float:
        """The factor of one subset's noise in the mean variance, from the table of the other attributes."""
        weighed, mean, within = rest, 1.0, self._within(bits)
        for number in range(len(self.axes)):
            if number in within:
                mean *= self.factors[bits, self.axes[number]].mean_present
            elif number in grams:
                # Divided by the number of answers already, as the next branch does.
                weighed = np.moveaxis(np.tensordot(grams[number], weighed, axes=(1, number)), 0, number)
            else:
                mean /= rest.shape[number]
        return mean * float(np.vdot(rest, weighed))


@dataclass(frozen=True, eq=False, slots=True)
class VaryingTables:
    """The tables over varying attributes, each found once, whichever queries have it."""

    strategy: Strategy
    axes: dict[tuple[int, Kind], Axis] = field(default_factory=dict)  # by the number of a basis, and the kind of query
    #: By order, the numbers of the bases of all varying factors in all subsets, and their kinds.
    tables: dict[tuple[int, bytes, tuple[Kind, ...]], VaryingTable] = field(default_factory=dict)

    def numbered(
        self, attributes: NDArray[np.int32], kinds: NDArray[np.int16], names: Sequence[Kind]
    ) -> tuple[IntArray, Sequence[CellTable]]:
        """The tables of some queries, see `CellTables`."""
        varies = self.strategy.varying[attributes]
        numbers = self._numbers(attributes)
        # Kinds of constant attributes make no difference to these tables; no entry is below 0, as numbering needs.
        keys = np.concatenate([np.where(varies, kinds, -1) + 1, numbers.reshape(len(attributes), -1) + 1], axis=1)
        group = row_numbers(keys)
        firsts = np.unique(group, return_index=True)[1].tolist()
        tables = [self.table(attributes[row], [names[code] for code in kinds[row].tolist()]) for row in firsts]
        return group, tables

    def table(self, attributes: NDArray[np.int32], kinds: Sequence[Kind]) -> CellTable:
        """The table of one query."""
        numbers, varies = self._numbers(attributes[None])[0], self.strategy.varying[attributes]
        axes = tuple(np.flatnonzero(varies).tolist())
        if not axes:
            return ConstantTable(len(attributes))
        own = tuple(kinds[axis] for axis in axes)
        key = (len(attributes), numbers.tobytes(), own)
        if key not in self.tables:
            factors = {}
            for bits, axis in np.argwhere(numbers >= 0).tolist():
                number, kind = int(numbers[bits, axis]), kinds[axis]
                factors[bits, axis] = self.axes.setdefault((number, kind), Axis(self.strategy.bases[number], kind))
            self.tables[key] = VaryingTable(len(attributes), axes, own, factors)
        return self.tables[key]

    def _numbers(self, attributes: NDArray[np.int32]) -> IntArray:
        """The number of the basis of each varying attribute in each subset, (m, 2**k, k); -1 where it is not in it."""
        order = attributes.shape[1]
        is_in = np.arange(1 << order)[:, None] & 1 << np.arange(order) > 0
        is_factor = is_in & self.strategy.varying[attributes][:, None, :]
        starts = self.strategy.varying_starts[self.strategy.closure.subset_positions(attributes)]
        # The varying factors of a set have successive numbers, by attribute.
        factor = starts[:, :, None] + np.cumsum(is_factor, axis=2) - 1
        numbers = np.full(factor.shape, -1, dtype=np.int64)
        numbers[is_factor] = self.strategy.of_factor[factor[is_factor]]
        return numbers


def _bits(axes: Sequence[int]) -> NDArray[np.int64]:
    """The subsets of some axes, (2**k,): bit i of the index stands for the i-th of them."""
    chosen = np.arange(1 << len(axes))[:, None] >> np.arange(len(axes)) & 1
    return np.asarray((chosen << np.array(axes, dtype=np.int64)).sum(axis=1))


def along(vector: Cells, axis: int, order: int) -> Cells:
    """A vector along one of so many axes, the others of length 1."""
    return vector.reshape([-1 if each == axis else 1 for each in range(order)])


def _parts(lengths: Sequence[int], most: float) -> Iterator[tuple[slice, ...]]:
    """Parts of an array of at most so many entries, which together are all of it."""
    pieces: list[list[slice]] = []
    for length in reversed(lengths):  # the last axes whole, if they fit, so that parts are runs of cells in order
        step = int(max(1, min(length, most)))
        most = most / step
        pieces.insert(0, [slice(first, min(first + step, length)) for first in range(0, length, step)])
    return product(*pieces)


def _rest_tables(origins: Mapping[tuple[int, int], Cells], start: Cells, order: int) -> dict[int, Cells]:
    """``W h_{A,B}`` for all subsets B of a table's ``order`` attributes A: the table on A without B, by the bits of B.

    The origins are, for each subset and each axis in it, ``W u`` of that attribute there, along its axis; axes without
    one count as 1.  All tables are multiplied by ``start``.  An attribute that is spread in the same way in all sets is
    a factor: ``h_{A,B}`` is its u times ``h_{A without it, B}``.

    Cost: ``4**k`` products of tables at most, for k attributes that are not spread in the same way in all sets.
    Source: eq. (39).
    """
    everything = (1 << order) - 1
    apart = (axis for (_, axis), origin in origins.items() if not np.array_equal(origin, origins[1 << axis, axis]))
    constant = everything & ~reduce(or_, (1 << axis for axis in apart), 0)

    def without(outside: int, whole: int, part: int) -> Cells:
        """The table of ``whole`` without the attributes ``outside``, times the u that these have in ``whole``."""
        found = table(whole & ~outside, part)
        for axis in range(outside.bit_length()):
            if outside >> axis & 1 and (whole, axis) in origins:
                found = found * origins[whole, axis]
        return found

    @cache
    def table(whole: int, part: int) -> Cells:
        if whole == part:
            return start
        rest = whole & ~part
        factors = rest & constant
        if factors:
            return without(factors & -factors, whole, part)  # the lowest bit: one attribute at a time
        # In (39), C is the whole without these attributes: an odd number of them adds, an even one subtracts.
        terms = ((outside.bit_count(), without(outside, whole, part)) for outside in _subsets(rest) if outside)
        return np.asarray(sum(term if count % 2 else -term for count, term in terms))

    return {part: table(everything, part) for part in _subsets(everything)}


def _subsets(bits: int) -> Iterator[int]:
    """All subsets of a subset, itself last."""
    part = 0
    while part != bits:
        yield part
        part = (part - bits) & bits  # counts up by 1, with carries over the bits that are not there
    yield bits
