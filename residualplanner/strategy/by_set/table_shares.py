"""What a table takes of the noise of each set, where attributes have bases by set: its mean, cells, combinations.

Reads: the kinds of query of a table's attributes, and their bases in each subset.  Gives: TableShares.
Source: spec eqs. (T2) and (T3).

A subset of a table's attributes is told by its bits: bit i stands for the attribute of axis i.  Arrays have an axis for
each attribute of the table, of length 1 where the attribute makes no difference: an array is not about it, or all its
cells are alike.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray
from residualplanner.queries import Kind
from residualplanner.strategy.by_set.axis_shares import AxisShares
from residualplanner.strategy.by_set.rest_tables import rest_tables
from residualplanner.strategy.covariance import (
    present_parts,
    require_few_cells,
    require_small_covariance,
    weights_by_value,
)
from residualplanner.workload import Closure

#: How many cells are worked on at a time.
CHUNK = 2**21

_Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TableShares:
    """What a table takes of the noise of each subset of its attributes.

    Attributes:
        kinds: what is asked of each attribute.
        places: each subset's axes, with their bases there.  Attributes of one value are in no subset.

    Example:
        >>> from residualplanner.bases import integer_basis
        >>> from residualplanner.queries import Identity
        >>> place = AxisShares(integer_basis([[1, -3]], "given"), Identity())
        >>> shares = TableShares((Identity(),), {(1, 0): place})
        >>> [share.tolist() for share in shares.of_cells()]  # of the total's noise, and of the attribute's
        [[[0.5625, 0.0625], [0.0625, 0.0625]]]
    """

    kinds: tuple[Kind, ...]
    places: Mapping[tuple[int, int], AxisShares]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        alone = [self.places.get((1 << axis, axis)) for axis in range(len(self.kinds))]
        return tuple(1 if place is None else place.basis.size for place in alone)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each attribute has."""
        return tuple(kind.rows(size) for kind, size in zip(self.kinds, self.sizes, strict=True))

    @property
    def differing(self) -> tuple[int, ...]:
        """How many of them differ: 1 where all are alike."""
        alone = [self.places.get((1 << axis, axis)) for axis in range(len(self.kinds))]
        is_alike = [place is not None and place.is_alike for place in alone]
        return tuple(1 if alike else rows for alike, rows in zip(is_alike, self.shape, strict=True))

    @cached_property
    def subsets(self) -> tuple[int, ...]:
        """The subsets that are measured, ascending, (s,)."""
        single = sum(1 << axis for axis, size in enumerate(self.sizes) if size == 1)
        return tuple(bits for bits in range(1 << len(self.kinds)) if not bits & single)

    def sets(self, closure: Closure, attributes: NDArray[np.int32]) -> IntArray:
        """The numbers of the subsets of tables that take these shares, of the rows ``attributes`` (m, k), (m, s)."""
        return closure.subset_positions(attributes)[:, list(self.subsets)]

    @cached_property
    def means(self) -> FloatArray:
        """What an average cell takes of the noise of each subset, (s,).

        Attributes with more answers than values are taken by their Gram matrices: nothing has an entry for each answer.

        Source: spec eq. (T3).
        """
        grams = {
            axis: kind.gram(size) / kind.rows(size)
            for axis, (kind, size) in enumerate(zip(self.kinds, self.sizes, strict=True))
            if kind.rows(size) > size
        }
        rests = self._rests(by_value=grams)
        return np.array([self._mean(bits, rests[bits], grams) for bits in self.subsets])

    def of_cells(self) -> Iterator[_Array]:
        """What cells take of the noise of each subset: those that differ, some of them at a time, (s, cells).

        Source: spec eq. (T3).
        """
        for part in _parts(self.differing, max(1, CHUNK // len(self.subsets))):
            lengths = [piece.stop - piece.start for piece in part]
            yield np.stack([np.broadcast_to(share, lengths).ravel() for share in self._cells(part)])

    def differing_variances(self, noise: FloatArray) -> _Array:
        """The variances of all cells that differ, (h_1, .., h_k), with the ``noise`` (s,) of each subset.

        Raises:
            WorkloadError: there are too many.

        Source: spec eq. (T3).
        """
        require_few_cells(self.shape, self.differing)
        total = np.zeros(self.differing)
        for variance, share in zip(noise.tolist(), self._cells([slice(0, h) for h in self.differing]), strict=True):
            total += variance * share
        return total

    def covariance(self, noise: FloatArray) -> _Array:
        """The covariance of all cells in C order, (cells, cells), with the ``noise`` (s,) of each subset.

        Raises:
            WorkloadError: the matrix would have more than 2**28 entries.

        Source: spec eq. (T3).
        """
        cells, order = math.prod(self.shape), len(self.shape)
        require_small_covariance(cells)
        rests, total = self._rests(), np.zeros(self.shape * 2)
        for variance, bits in zip(noise.tolist(), self.subsets, strict=True):
            rest = rests[bits]
            term = variance * rest.reshape(rest.shape + (1,) * order) * rest
            for axis in _axes(bits):
                form, lengths = self.places[bits, axis].form(), [1] * (2 * order)
                lengths[axis] = lengths[axis + order] = len(form)
                term = term * form.reshape(lengths)
            total += term
        return total.reshape(cells, cells)

    def combination_variance(self, weights: _Array, noise: FloatArray) -> float:
        """The variance of the sum of all cells times ``weights`` (q_1, .., q_k), without their covariance.

        The weights are taken through the transposes of each basic matrix and of what multiplies the noise of each set.

        Source: spec eq. (T3).
        """
        for axis, (kind, size) in enumerate(zip(self.kinds, self.sizes, strict=True)):
            weights = weights_by_value(kind, size, weights, axis)
        axes = range(len(self.kinds))
        rests, total = self._rests(by_value=axes), 0.0
        for variance, bits in zip(noise.tolist(), self.subsets, strict=True):
            taken = (weights * rests[bits]).sum(axis=tuple(set(axes) - set(_axes(bits))), keepdims=True)
            for axis in _axes(bits):
                taken = present_parts(self.places[bits, axis].basis, taken, axis)
            total += variance * float(np.vdot(taken, taken))
        return total

    def _rests(self, part: Sequence[slice] | None = None, *, by_value: Container[int] = ()) -> dict[int, _Array]:
        """The tables of (T2), those of some answers of each attribute, or on the values of the axes ``by_value``."""
        order = len(self.kinds)
        pieces = part or [slice(None)] * order
        origins = {
            (bits, axis): _along((place.values if axis in by_value else place.origin)[pieces[axis]], axis, order)
            for (bits, axis), place in self.places.items()
        }
        start = np.ones((1,) * order)
        for axis, (kind, size) in enumerate(zip(self.kinds, self.sizes, strict=True)):
            if size == 1:
                alone = np.ones(1) if axis in by_value else kind.apply(np.ones(1), 0)
                start = start * _along(alone[pieces[axis]], axis, order)
        return rest_tables(origins, start)

    def _cells(self, part: Sequence[slice]) -> Iterator[_Array]:
        """For each subset what the cells of a part of the table take of its noise, as an array that spreads over it."""
        rests = self._rests(part)
        for bits in self.subsets:
            share = rests[bits] ** 2
            for axis in _axes(bits):
                share = share * _along(self.places[bits, axis].present[part[axis]], axis, len(part))
            yield share

    def _mean(self, bits: int, rest: _Array, grams: Mapping[int, _Array]) -> float:
        """What an average cell takes of one subset's noise, from the table of the other attributes."""
        weighed, mean = rest, 1.0
        for axis in range(len(self.kinds)):
            if bits >> axis & 1:
                mean *= self.places[bits, axis].mean_present
            elif axis in grams:
                weighed = np.moveaxis(np.tensordot(grams[axis], weighed, axes=(1, axis)), 0, axis)
            else:
                mean /= rest.shape[axis]
        return mean * float(np.vdot(rest, weighed))


def _axes(bits: int) -> Iterator[int]:
    """The axes of a subset, ascending."""
    return (axis for axis in range(bits.bit_length()) if bits >> axis & 1)


def _along(vector: _Array, axis: int, order: int) -> _Array:
    """A vector as an array of so many axes."""
    return vector.reshape([-1 if each == axis else 1 for each in range(order)])


def _parts(lengths: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Parts of an array of at most so many entries, which together are all of it."""
    pieces: list[list[slice]] = []
    for length in reversed(lengths):
        step = min(length, most)
        most = max(1, most // step)
        pieces.insert(0, [slice(first, min(first + step, length)) for first in range(0, length, step)])
    return product(*pieces)
