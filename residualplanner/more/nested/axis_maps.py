"""Maps of an axis whose entries are added up in groups, and these in groups of groups: a few operations an entry.

From fine to coarse, each layer maps the entries of every group to answers, and adds them up for the next layer.

Source: eqs. (110) to (112).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.matrix import pseudo_inverse_parts
from residualplanner.method.kron.arrays import Array, like, multiply_into, namespace
from residualplanner.method.kron.axis_maps import AxisMap
from residualplanner.method.kron.integers import IntegerMap

#: Python integers are multiplied, some entries at a time.
_CHUNK = 2**20
#: The most entries of a matrix that is written out.
_ENTRIES = 2**28
#: The largest condition of two members, by the sizes of their entries.
_CONDITION = 1e8


class NestedLayer(NamedTuple):
    """What is measured of the members of groups, in integers or real numbers."""

    children: IntArray  # (groups,): c, how many members each has
    #: (all,): the matrix (c - 1, c) of each group, row by row, group after group; or none where nothing is measured of
    #: the members of any group, as no query tells them apart.
    entries: NDArray[Any]


@dataclass(frozen=True, eq=False, slots=True)
class Layer:
    """One step from groups to their members, which stand group after group."""

    starts: IntArray  # (groups,): where the members of each group start, from 0 on, ascending
    parent: IntArray  # (members,): the group of each
    rows: sparse.csr_array  # (answers, members): what is measured besides the sum of a group, in integers or floats
    proportions: FloatArray  # (members,): how the sum of a group is divided where all answers are 0
    back: sparse.csr_array  # (members, answers): how much each answer adds to each member

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of each group's members, (groups, c), of values (members, c)."""
        if values.dtype != np.float64:
            return np.asarray(np.add.reduceat(values, self.starts, axis=0))
        # A product, since `reduceat` adds floats in an order that depends on c.
        members = len(self.parent)
        ends = np.append(self.starts, members)
        adding = sparse.csr_array((np.ones(members), np.arange(members), ends), shape=(len(self.starts), members))
        return np.asarray(adding @ values)


@dataclass(frozen=True, eq=False, slots=True)
class NestedMaps:
    """The maps of an attribute whose values are nested in groups: from values to answers, and back."""

    layers: tuple[Layer, ...]  # from coarse to fine, the first with a single group
    order: IntArray  # (n,): the value that each member of the last layer is

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

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Weights (n, c) on the values as weights (1 + m, c) on the total and the answers: `rebuilt`, transposed."""
        parts, weights = [], weights[self.order]
        for layer in reversed(self.layers):
            parts.append(layer.back.T @ weights)
            weights = layer.sums(layer.proportions[:, None] * weights)
        return np.concatenate([weights, *parts[::-1]])


def nested_integers(maps: NestedMaps, largest: int) -> IntegerMap:
    """The matrix (m, n) from values to answers, of int64, as `integer_products` applies it.  Source: eq. (36)."""

    def along(product: Callable[[Layer, NDArray[Any]], NDArray[Any]]) -> Callable[..., NDArray[Any]]:
        def apply(tables: NDArray[Any], axis: int, *_: int) -> NDArray[Any]:
            moved = np.moveaxis(tables, axis, 0)
            mapped = maps.measured(np.ascontiguousarray(moved.reshape(len(moved), -1)), product)
            return np.ascontiguousarray(np.moveaxis(mapped.reshape(-1, *moved.shape[1:]), 0, axis))

        return apply

    def exact(tables: NDArray[Any], axis: int) -> NDArray[Any]:
        return along(_python_product)(tables.astype(object), axis)

    # Sums of members are rounded, then those of a row.
    return IntegerMap(largest, 2 * maps.size + 1, along(_wrapped_product), exact, along(float_product))


def _nested_rows(children: IntArray, entries: NDArray[Any]) -> sparse.csr_array:
    """The block-diagonal matrix of blocks (c - 1, c) of these entries (all,), row by row, one for each group."""
    starts, count = np.cumsum(children) - children, children - 1
    group = np.repeat(np.arange(len(children)), count)
    lengths = children[group]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths) + np.repeat(starts[group], lengths)
    return sparse.csr_array((entries, columns, ends), shape=(len(group), int(children.sum())))


def inverted_layer(layer: NestedLayer) -> Layer:
    """The layer with what divides a group's sum and what adds its answers, group by group."""
    children, entries = layer
    measured = children if entries.size else np.ones_like(children)
    proportions, back = 1.0 / np.repeat(children, children), np.zeros(entries.size)
    count = measured * (measured - 1)
    first_entry, first = np.cumsum(count) - count, np.cumsum(children) - children
    pairs = np.flatnonzero(measured == 2)
    left, right = (entries[first_entry[pairs] + side].astype(np.float64) for side in (0, 1))
    apart = right - left
    if not (np.abs(left) + np.abs(right) <= _CONDITION * np.abs(apart)).all() or (apart == 0).any():
        raise WorkloadError("a basis must have rows that are independent of one another and of a row of ones")
    for side, proportion, step in ((0, right / apart, -1 / apart), (1, -left / apart, 1 / apart)):
        proportions[first[pairs] + side], back[first_entry[pairs] + side] = proportion, step
    for group in np.flatnonzero(measured > 2).tolist():
        c, at = int(measured[group]), int(first_entry[group])
        u, G = pseudo_inverse_parts(entries[at : at + c * (c - 1)].reshape(c - 1, c))
        proportions[first[group] : first[group] + c], back[at : at + c * (c - 1)] = u, G.T.ravel()
    if entries.size:
        rows, back_rows = _nested_rows(children, entries), _nested_rows(children, back)
    else:
        rows = back_rows = sparse.csr_array((0, int(children.sum())))
    return Layer(first, np.repeat(np.arange(len(children)), children), rows, proportions, sparse.csr_array(back_rows.T))


def row_factors(maps: NestedMaps, rows: sparse.csr_array) -> tuple[FloatArray, FloatArray]:
    """``||w_r G||**2`` and ``w_r u`` of rows (q, n), (q,) each.

    A row that holds whole groups has one entry for each of them in the layers above, so this takes a few operations for
    each entry of the rows.  Source: eq. (112).
    """
    *parts, total = parts_of_rows(maps, rows)
    present: FloatArray = np.sum([squared_lengths(part) for part in parts], axis=0)
    return present, np.asarray(total.sum(axis=1))


def squared_lengths(rows: sparse.csr_array) -> FloatArray:
    """The squared length of each row of a sparse matrix (q, n), (q,)."""
    squares = sparse.csr_array((rows.data * rows.data, rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(squares @ np.ones(rows.shape[1]))


def parts_of_rows(maps: NestedMaps, rows: sparse.csr_array) -> Iterator[sparse.csr_array]:
    """``W G`` of rows W (q, n), layer after layer from fine to coarse, and ``W u`` (q, 1) in the end."""
    weights = sparse.csr_array(rows[:, maps.order])
    for layer in reversed(maps.layers):
        yield sparse.csr_array(weights @ layer.back)
        shape = len(layer.parent), len(layer.starts)
        proportions = sparse.csr_array((layer.proportions, layer.parent, np.arange(shape[0] + 1)), shape=shape)
        weights = sparse.csr_array(weights @ proportions)
    yield weights


def float_product(layer: Layer, values: NDArray[Any]) -> NDArray[Any]:
    """What is measured of values (members, c), in floating point."""
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


def axis_map(columns: int, rows: int, apply: Callable[[FloatArray], FloatArray]) -> AxisMap:
    """The map of an axis that `apply` makes of columns (n, c); a matrix where arrays are not NumPy's."""

    def make_matrix() -> FloatArray:
        if columns * rows > _ENTRIES:
            raise WorkloadError(
                f"this needs a matrix of {rows:,} x {columns:,} for an attribute with a nested basis; use NumPy's "
                "arrays, or plan with bases='orthogonal'"
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
