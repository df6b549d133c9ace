"""From what is measured of the members of groups to the maps of all layers, and what rows of queries become in each.

Source: eqs. (110) to (112).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.matrix import pseudo_inverse_parts
from residualplanner.more.nested.axis_maps import Layer, NestedMaps, layer_of, nested_rows

#: The largest condition of two members, by the sizes of their entries.
_CONDITION = 1e8


@dataclass(frozen=True, eq=False)
class NestedLayer:
    """What is measured of the members of groups.

    Attributes:
        children (groups,): how many members each has, c.
        entries (all,): int64, its matrix (c - 1, c), row by row, group after group; or none where nothing is measured
            of the members of any group, as no query tells them apart.
    """

    children: IntArray
    entries: IntArray


def float_maps(layers: Sequence[tuple[IntArray, FloatArray]], order: IntArray) -> NestedMaps:
    """The maps of layers of real numbers: members of each group, and the entries of its matrix, as of `NestedLayer`."""
    return NestedMaps(tuple(inverted_layer(children, entries) for children, entries in layers), order)


def inverted_layer(children: IntArray, entries: NDArray[Any]) -> Layer:
    """The layer with what divides a group's sum and what adds its answers, group by group."""
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
        rows, back_rows = nested_rows(children, entries), nested_rows(children, back)
    else:
        rows = back_rows = sparse.csr_array((0, int(children.sum())))
    return layer_of(children, rows, proportions, sparse.csr_array(back_rows.T))


def row_factors(maps: NestedMaps, rows: sparse.csr_array) -> tuple[FloatArray, FloatArray]:
    """``||w_r G||**2`` and ``w_r u`` of rows (q, n), (q,) each.

    A row that holds whole groups has one entry for each of them in the layers above, so this takes a few operations for
    each entry of the rows.

    Source: eq. (112).
    """
    *parts, total = parts_of_rows(maps, rows)
    present: FloatArray = np.sum([squared_lengths(part) for part in parts], axis=0)
    return present, np.asarray(total.sum(axis=1))


def squared_lengths(rows: sparse.csr_array) -> FloatArray:
    """The squared length of each row of a sparse matrix (q, n), (q,).

    Example:
        >>> squared_lengths(sparse.csr_array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [25.0, 0.0]
    """
    squares = sparse.csr_array((rows.data * rows.data, rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(squares @ np.ones(rows.shape[1]))


def parts_of_rows(maps: NestedMaps, rows: sparse.csr_array) -> Iterator[sparse.csr_array]:
    """``W G`` of rows W (q, n), layer after layer from fine to coarse, and ``W u`` (q, 1) in the end."""
    weights = sparse.csr_array(rows[:, maps.order])
    for layer in reversed(maps.layers):
        yield sparse.csr_array(weights @ layer.back)
        members = len(layer.parent)
        proportions = sparse.csr_array(
            (layer.proportions, layer.parent, np.arange(members + 1)), shape=(members, len(layer.starts))
        )
        weights = sparse.csr_array(weights @ proportions)
    yield weights
