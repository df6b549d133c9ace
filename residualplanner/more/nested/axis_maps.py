"""Maps of an axis whose entries are added up in groups, and these in groups of groups: a few operations an entry.

From fine to coarse, each layer maps the entries of every group to answers, and adds them up for the next layer.
Source: eqs. (110) and (111).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.kron.arrays import Array, like, multiply_into, namespace
from residualplanner.method.kron.axis_maps import AxisMap

#: Python integers are multiplied, some entries at a time.
_CHUNK = 2**20
#: The most entries of a matrix that is written out.
_ENTRIES = 2**28


@dataclass(frozen=True, eq=False, slots=True)
class Layer:
    """One step from groups to their members, which stand group after group.

    Attributes:
        starts (groups,): where the members of each group start, from 0 on, ascending.
        parent (members,): the group of each.
        rows (answers, members): what is measured of the members of a group besides their sum, in integers or floats.
        proportions (members,): how the sum of a group is divided among its members where all answers are 0.
        back (members, answers): how much each answer adds to each member.
    """

    starts: IntArray
    parent: IntArray
    rows: sparse.csr_array
    proportions: FloatArray
    back: sparse.csr_array

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of each group's members, (groups, c), of values (members, c).

        Floats are added in an order that does not depend on c.
        """
        if values.dtype != np.float64:
            return np.asarray(np.add.reduceat(values, self.starts, axis=0))
        return np.asarray(self.adding @ values)

    @property
    def adding(self) -> sparse.csr_array:
        """The matrix that adds up the members of each group, (groups, members)."""
        members = len(self.parent)
        ends = np.append(self.starts, members)
        return sparse.csr_array((np.ones(members), np.arange(members), ends), shape=(len(self.starts), members))


@dataclass(frozen=True, eq=False, slots=True)
class NestedMaps:
    """The maps of an attribute whose values are nested in groups: from values to answers, and back.

    Attributes:
        layers: from coarse to fine, the first with a single group.
        order (n,): the value that each member of the last layer is.
    """

    layers: tuple[Layer, ...]
    order: IntArray

    @property
    def size(self) -> int:
        """How many values there are: n."""
        return len(self.order)

    @property
    def answers(self) -> int:
        """How many answers there are: m."""
        return sum(layer.rows.shape[0] for layer in self.layers)

    def measured(self, values: NDArray[Any], product: Callable[[Layer, NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """The answers (m, c) of values (n, c), the coarsest first; ``product`` multiplies the rows of a layer."""
        parts, values = [], values[self.order]
        for layer in reversed(self.layers):
            parts.append(product(layer, values))
            values = layer.sums(values)
        return np.concatenate(parts[::-1])

    def rebuilt(self, answers: FloatArray) -> FloatArray:
        """The values (n, c) of the total and the answers (1 + m, c).  Source: eq. (111)."""
        values, first = answers[:1], 1
        for layer in self.layers:
            last = first + layer.rows.shape[0]
            values = layer.proportions[:, None] * values[layer.parent] + layer.back @ answers[first:last]
            first = last
        result = np.empty_like(values)
        result[self.order] = values
        return result

    def weights_on_answers(self, weights: FloatArray) -> FloatArray:
        """Weights (n, c) on the values as weights (m, c) on the answers: `weighted`, without the total."""
        return self.weighted(weights)[1:]

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Weights (n, c) on the values as weights (1 + m, c) on the total and the answers: `rebuilt`, transposed."""
        parts, weights = [], weights[self.order]
        for layer in reversed(self.layers):
            parts.append(layer.back.T @ weights)
            weights = layer.sums(layer.proportions[:, None] * weights)
        return np.concatenate([weights, *parts[::-1]])

    @property
    def before(self) -> AxisMap:
        """The map from values to answers, of an axis."""
        return _axis_map(self.size, self.answers, lambda values: self.measured(values, _float_product))

    @property
    def after(self) -> AxisMap:
        """The map from the total and the answers to values, of an axis."""
        return _axis_map(1 + self.answers, self.size, self.rebuilt)

    @property
    def after_transposed(self) -> AxisMap:
        """The transpose of `after`, of an axis."""
        return _axis_map(self.size, 1 + self.answers, self.weighted)


@dataclass(frozen=True, eq=False, slots=True)
class NestedIntegers:
    """The matrix (m, n) from values to answers, of integers, as `integer_products` applies it.

    Attributes:
        maps: whose rows are int64.
        largest: the largest entry in size, at least 1.

    Source: eq. (36).
    """

    maps: NestedMaps
    largest: int

    @property
    def roundings(self) -> int:
        """How many roundings a term goes through at most in floating point: in sums of members, then of a row."""
        return 2 * self.maps.size + 1

    def modulo(self, tables: IntArray, axis: int, total: int) -> IntArray:
        """The products along an axis modulo ``2**64``."""
        del total
        found: IntArray = _along(tables, axis, lambda values: self.maps.measured(values, _wrapped_product))
        return found

    def exact(self, tables: NDArray[Any], axis: int) -> NDArray[Any]:
        """The products along an axis, in Python integers."""
        return _along(tables.astype(object), axis, lambda values: self.maps.measured(values, _python_product))

    def near(self, tables: FloatArray, axis: int) -> FloatArray:
        """The products along an axis in floating point."""
        return _along(tables, axis, lambda values: self.maps.measured(values, _float_product))


def nested_rows(children: IntArray, entries: NDArray[Any]) -> sparse.csr_array:
    """The block-diagonal matrix of blocks (c - 1, c) of these entries, one after another, row by row.

    Args:
        children (groups,): c, the number of members of each group.
        entries (all,): of the blocks; none of groups of one member.

    Example:
        >>> nested_rows(np.array([2, 1]), np.array([3, -3])).toarray()
        array([[ 3, -3,  0]])
    """
    starts, count = _starts(children), children - 1
    group = np.repeat(np.arange(len(children)), count)
    lengths = children[group]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths) + np.repeat(starts[group], lengths)
    return sparse.csr_array((entries, columns, ends), shape=(len(group), int(children.sum())))


def layer_of(children: IntArray, rows: sparse.csr_array, proportions: FloatArray, back: sparse.csr_array) -> Layer:
    """The layer of groups of so many members each (groups,)."""
    return Layer(_starts(children), np.repeat(np.arange(len(children)), children), rows, proportions, back)


def _starts(children: IntArray) -> IntArray:
    starts: IntArray = np.cumsum(children) - children
    return starts


def _float_product(layer: Layer, values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(layer.rows @ values, dtype=np.float64)


def _wrapped_product(layer: Layer, values: NDArray[Any]) -> NDArray[Any]:
    """In unsigned integers, which wrap around as the standard says."""
    rows = layer.rows
    unsigned = sparse.csr_array((rows.data.view(np.uint64), rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(unsigned @ np.ascontiguousarray(values).view(np.uint64)).view(np.int64)


def _python_product(layer: Layer, values: NDArray[Any]) -> NDArray[Any]:
    rows, (_, width) = layer.rows, values.shape
    result = np.zeros((rows.shape[0], width), dtype=object)
    step = max(1, _CHUNK // max(1, len(rows.data)))
    for first in range(0, width if len(rows.data) else 0, step):
        terms = rows.data.astype(object)[:, None] * values[rows.indices, first : first + step]
        result[:, first : first + step] = np.add.reduceat(terms, rows.indptr[:-1], axis=0)
    return result


def _along(tables: NDArray[Any], axis: int, apply: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
    """A map of columns (n, c) -> (m, c) along one axis of tables."""
    moved = np.moveaxis(tables, axis, 0)
    mapped = apply(np.ascontiguousarray(moved.reshape(len(moved), -1)))
    return np.ascontiguousarray(np.moveaxis(mapped.reshape(-1, *moved.shape[1:]), 0, axis))


def _axis_map(columns: int, rows: int, apply: Callable[[FloatArray], FloatArray]) -> AxisMap:
    """The map of an axis that `apply` makes of columns (n, c); a matrix where arrays are not NumPy's."""

    def make_matrix() -> FloatArray:
        if columns * rows > _ENTRIES:
            raise WorkloadError(
                f"this needs a matrix of {rows:,} x {columns:,} for an attribute with a nested basis; leave out what "
                "cannot be computed group by group, or use coarser values"
            )
        return apply(np.eye(columns))

    def direct(stack: Array, out: Array) -> None:
        if isinstance(stack, np.ndarray):
            flat = np.moveaxis(stack, 1, 0).reshape(columns, -1)
            mapped = apply(np.ascontiguousarray(flat, dtype=np.float64))
            out[...] = np.moveaxis(mapped.reshape(rows, stack.shape[0], stack.shape[2]), 0, 2)
        else:
            multiply_into(out, namespace(stack).matrix_transpose(stack), like(make_matrix().T.copy(), stack))

    return AxisMap(columns, rows, make_matrix, direct)
