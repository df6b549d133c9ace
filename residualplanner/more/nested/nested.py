"""A basis of groups of values, of groups in groups, and of the values in each group: nothing of size n x n.

Source: eqs. (110) to (112).

Of each group its sum is known from the layer above, and a matrix C of integers says what is measured of its members
beside that.  So B stacks ``C E``, with sums E of the values below each member; it has a few entries for each value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis, first_numbers
from residualplanner.method.kron.axis_maps import AxisMap
from residualplanner.method.kron.integers import IntegerMap
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.rows import Rows
from residualplanner.more.nested import axis_maps
from residualplanner.more.replacement.extreme_pairs import EXACT, pairs_of_layers

#: The largest entry in size.
_LARGEST = 2**50
#: So many numbers stand before the layers of a basis in one array; so many layers are read at most.
_HEAD, _MOST_LAYERS = 2, 64


@dataclass(frozen=True, eq=False, repr=False)
class NestedBasis(Basis):
    """The basis of an attribute whose values are nested in groups, measured with noise of equal variance."""

    maps: axis_maps.NestedMaps = field(repr=False)  # from counts to answers, and back
    array: IntArray = field(repr=False)  # the layers in one array; `nested_basis_of_array` reads it

    @property
    def u(self) -> FloatArray:
        """The product of the proportions from the total down to each value."""
        return self.maps.rebuilt(np.eye(1 + self.answers, 1))[:, 0]

    @property
    def matrix(self) -> IntArray:
        """B (m, n), written out."""
        return np.rint(self.before_noise.matrix).astype(np.int64)

    @property
    def stored(self) -> IntArray:
        """The layers in one array."""
        return self.array

    @property
    def largest_entry(self) -> int:
        """The largest entry of B in size, or 1."""
        return max((int(np.abs(layer.rows.data).max(initial=0)) for layer in self.maps.layers), default=1) or 1

    @property
    def integer_maps(self) -> tuple[IntegerMap, ...]:
        """B, layer by layer."""
        return (axis_maps.nested_integers(self.maps, self.largest_entry),)

    @property
    def column_squares(self) -> list[Fraction]:
        """Of every column, exactly."""
        return [Fraction(square) for square in _column_squares(self.maps)]

    @cached_property
    def extreme_pairs(self) -> FloatArray:
        """Of two values the layers up to the group in which they part give the product."""
        lost = 0.0 if self.pcost < EXACT else (self.size + 4) * 2.0**-52 * float(self.pcost)
        return pairs_of_layers(self.maps.layers, lost)

    @property
    def random_pair(self) -> tuple[float, float]:
        """The mean of squared lengths, and the squared length of the mean column, layer by layer."""
        mean = self.maps.measured(np.full((self.size, 1), 1 / self.size), axis_maps.float_product)
        return float(np.mean([float(square) for square in self.column_squares])), float((mean * mean).sum())

    @property
    def before_noise(self) -> AxisMap:
        """B, layer by layer, in floating point."""
        return axis_maps.axis_map(
            self.size, self.answers, lambda values: self.maps.measured(values, axis_maps.float_product)
        )

    @property
    def reconstruction(self) -> AxisMap:
        """``[u | G]``, layer by layer."""
        return axis_maps.axis_map(1 + self.answers, self.size, self.maps.rebuilt)

    @property
    def reconstruction_transposed(self) -> AxisMap:
        """Its transpose, layer by layer."""
        return axis_maps.axis_map(self.size, 1 + self.answers, self.maps.weighted)

    def spans(self, kind: Kind) -> bool:
        """Whether values of which nothing is measured have equal columns in a kind."""
        if kind.at_least or self.answers == self.size - 1:
            return not kind.at_least
        same = kind.equal_columns(self.size)[self.maps.order]
        return all(bool((same[layer.starts][layer.parent] == same).all()) for layer in self._unmeasured)

    def spans_rows(self, rows: NDArray[Any]) -> bool:
        """The same for the rows (q, n) of a query."""
        wanted = np.asarray(rows, dtype=np.float64)[:, self.maps.order]
        limit = 1e-8 * np.abs(wanted).max(axis=1, keepdims=True)
        apart = (np.abs(wanted[:, layer.starts][:, layer.parent] - wanted) for layer in self._unmeasured)
        return all(bool((each <= limit).all()) for each in apart)

    def present_parts(self, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """``G^T`` times the weights, layer by layer."""
        moved = np.moveaxis(values, axis, 0)
        parts = self.maps.weighted(np.ascontiguousarray(moved.reshape(len(moved), -1)))[1:]
        return np.moveaxis(parts.reshape(-1, *moved.shape[1:]), 0, axis)

    def mean_variance_factors(self, kind: Kind) -> tuple[float, float]:
        """The means of the factors of the rows."""
        present, absent = (float(factors.mean()) for factors in self.row_variance_factors(kind))
        return present, absent

    def row_variance_factors(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``||w_r G||**2`` and ``(w_r u)**2`` of each row, (q,) each, layer by layer.  Source: eq. (112)."""
        rows, constant = kind.centered(self.size)
        present, absent = axis_maps.row_factors(self.maps, rows.sparse_rows(self.size))
        absent = (constant + absent) ** 2
        return np.maximum(present, self._least * absent), np.maximum(absent, self._least_absent * present)

    @property
    def value_groups(self) -> IntArray:
        """The groups of the last layer, if nothing is measured of their members; else each value alone."""
        group = np.arange(self.size)
        for layer in self._unmeasured:
            group[self.maps.order] = layer.parent
        return first_numbers(group)

    @property
    def _unmeasured(self) -> list[axis_maps.Layer]:
        """The last layer, if nothing is measured of its groups' members."""
        return [layer for layer in self.maps.layers[-1:] if not layer.rows.shape[0]]

    def _products(self, rows: Rows) -> FloatArray:
        parts = sparse.hstack(list(axis_maps.parts_of_rows(self.maps, rows.sparse_rows(self.size)))[:-1], format="csr")
        return np.asarray((parts @ parts.T).toarray())


def nested_basis(layers: Sequence[axis_maps.NestedLayer], order: IntArray, family: str) -> NestedBasis:
    """The basis of layers from coarse to fine: the first has one group; each member of a layer is a group of the next.

    ``order`` (n,) is the value that each member of the last layer is, ``family`` how it was found, see `Basis`.
    Source: eq. (110).
    """
    members = 1
    for layer in layers:
        is_whole = layer.children.shape == (members,) and bool((layer.children >= 1).all())
        wanted = {0, int((layer.children * (layer.children - 1)).sum())} if is_whole else set()
        if not is_whole or layer.entries.size not in wanted or (layer is not layers[-1] and layer.entries.size == 0):
            raise WorkloadError("the layers of a nested basis must have a group for each member above, and its matrix")
        members = int(layer.children.sum())
    if members < 2 or members != len(order) or not np.array_equal(np.sort(order), np.arange(members)):
        raise WorkloadError("a nested basis must have every value once, and at least 2 of them")
    if not all(((layer.entries <= _LARGEST) & (layer.entries >= -_LARGEST)).all() for layer in layers):
        raise WorkloadError("a basis must have entries of at most 2**50")
    values = frozen(np.array(order, dtype=np.int64))
    maps = axis_maps.NestedMaps(tuple(map(axis_maps.inverted_layer, layers)), values)
    pcost = Fraction(max(_column_squares(maps)))
    arrays = [array for layer in layers for array in layer]
    parts = [np.array([members, len(layers)]), *(part for array in arrays for part in (np.array([len(array)]), array))]
    stored = frozen(np.concatenate([*parts, order]).astype(np.int64))
    return NestedBasis(members, family, maps.answers, pcost, math.inf, (), maps, stored)


def nested_basis_of_array(stored: IntArray, family: str) -> NestedBasis:
    """Undo `NestedBasis.array`.  Raises WorkloadError: as `nested_basis`, or the array is not of that form."""
    numbers = stored.tolist()[:_HEAD]
    if stored.ndim != 1 or len(numbers) < _HEAD or not 0 < numbers[1] <= _MOST_LAYERS:
        raise WorkloadError("a nested basis must begin with the numbers of its values and layers")
    position, layers = _HEAD, []

    def part() -> IntArray:
        nonlocal position
        length = int(stored[position]) if position < len(stored) else -1
        if not 0 <= length < len(stored) - position:
            raise WorkloadError("the array of a nested basis ends too early")
        position += 1 + length
        return stored[position - length : position]

    for _ in range(numbers[1]):
        layers.append(axis_maps.NestedLayer(part(), part()))
    order = stored[position:]
    if len(order) != numbers[0] or any((layer.children > len(order)).any() for layer in layers):
        raise WorkloadError("the array of a nested basis must end with the order of its values")
    return nested_basis(layers, order, family)


def _column_squares(maps: axis_maps.NestedMaps) -> list[int]:
    squares = np.zeros(1, dtype=object)
    for layer in maps.layers:
        rows = layer.rows
        is_narrow = rows.shape[0] * float(np.abs(rows.data).max(initial=0)) ** 2 < 2**62
        own = np.zeros(rows.shape[1], dtype=np.int64 if is_narrow else object)
        np.add.at(own, rows.indices, rows.data.astype(own.dtype) ** 2)
        squares = squares[layer.parent] + own.astype(object)
    values = np.empty(maps.size, dtype=object)
    values[maps.order] = squares
    return [int(square) for square in values]
