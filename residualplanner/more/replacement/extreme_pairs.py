"""Pairs of columns that replacing a value of one attribute can cost the most with.

Source: eq. (37).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.more.nested.axis_maps import Layer

_ULP = 2.0**-52
#: Products of integers below this are exact in floating point.
EXACT = 2.0**53


def extreme_pairs(pairs: FloatArray) -> FloatArray:
    """Those of ``pairs`` (m, 3) that no other surpasses: no smaller squared lengths and no larger product, (t, 3).

    Args:
        pairs (m, 3): the squared lengths of two columns, the longer one first, and their product.

    Cost: a pass over what is left for each pair that is kept.

    Example:
        >>> extreme_pairs(np.array([[2.0, 1.0, -1.0], [2.0, 1.0, 0.5], [1.0, 1.0, -2.0]])).tolist()
        [[1.0, 1.0, -2.0], [2.0, 1.0, -1.0]]
    """
    left, found = np.asarray(pairs, dtype=np.float64), []
    while len(left):
        best = left[np.lexsort((left[:, 2], -(left[:, 0] + left[:, 1] - 2 * left[:, 2])))[0]]
        found.append(best)
        left = left[(left[:, :2] > best[:2]).any(axis=1) | (left[:, 2] < best[2])]
    return frozen(np.array(found).reshape(-1, 3))


def pairs_of_columns(columns: NDArray[np.float64], chunk: int) -> FloatArray:
    """The extreme pairs of different columns of a matrix (m, n) of integers; products are never too large, (t, 3).

    Args:
        columns (m, n): integers.
        chunk: how many products are held at a time.
    """
    lengths, size = (columns * columns).sum(axis=0), columns.shape[1]
    lost = 0.0 if lengths.max() < EXACT else (len(columns) + 4) * _ULP * float(lengths.max())
    step, found = max(1, chunk // size), np.empty((0, 3))
    for start in range(0, size, step):
        rows = np.arange(start, min(start + step, size))
        products = columns[:, rows].T @ columns[:, start:] - lost
        first, second = np.nonzero(np.arange(start, size) > rows[:, None])
        own, other = lengths[rows[first]], lengths[start:][second]
        table = np.column_stack([np.maximum(own, other), np.minimum(own, other), products[first, second]])
        found = extreme_pairs(np.concatenate([found, table]))
    return found


def pairs_of_layers(layers: Sequence[Layer], lost: float) -> FloatArray:
    """The extreme pairs of different columns of a nested basis, (t, 3).

    Args:
        layers: of integers, from coarse to fine.
        lost: what products may have lost by rounding.
    """
    above, below = [np.zeros(1)], []
    for layer in layers:
        above.append(above[-1][layer.parent] + _squares(layer))
    longest = above.pop()
    for layer in reversed(layers):
        below.append(longest)
        longest = np.maximum.reduceat(longest, layer.starts)
    found = np.empty((0, 3))
    for layer, before, own in zip(layers, above, reversed(below), strict=True):
        for lengths, products in _pairs_in_groups(layer, before, own):
            table = np.column_stack([lengths.max(axis=1), lengths.min(axis=1), products - lost])
            found = extreme_pairs(np.concatenate([found, table]))
    return found


def _pairs_in_groups(layer: Layer, before: FloatArray, longest: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Squared lengths (m, 2) and products (m,) of columns of values that part in a layer.

    Args:
        layer: the layer.
        before (groups,): the squared length of the part of a column above each group.
        longest (members,): the largest squared length of a column of a value at or below each member.
    """
    if not layer.rows.shape[0]:  # all products in a group are equal: its two longest columns suffice
        order = np.lexsort((-longest, layer.parent))
        pairs = np.column_stack([order[:-1], order[1:]])
        first, second = layer.parent[pairs].T
        pairs = pairs[(first == second) & (np.diff(first, prepend=-1) > 0)]
        yield longest[pairs], before[layer.parent[pairs[:, 0]]]
        return
    for groups, blocks in _blocks(layer):
        first, second = np.triu_indices(blocks.shape[2], 1)
        products = np.einsum("gij,gik->gjk", blocks, blocks)[:, first, second] + before[groups][:, None]
        members = layer.starts[groups][:, None]
        lengths = np.stack([longest[members + first], longest[members + second]], axis=-1)
        yield lengths.reshape(-1, 2), products.ravel()


def _squares(layer: Layer) -> FloatArray:
    squares = layer.rows.data.astype(np.float64) ** 2
    return np.bincount(layer.rows.indices, squares, minlength=layer.rows.shape[1]).astype(np.float64)


def _blocks(layer: Layer) -> Iterator[tuple[IntArray, FloatArray]]:
    """The matrices (g, c - 1, c) of groups of c members, measured ones only, with the numbers of the groups."""
    children = np.bincount(layer.parent)
    measured = children if layer.rows.shape[0] else np.ones_like(children)
    count = measured * (measured - 1)
    first = np.cumsum(count) - count
    for c in np.unique(measured[measured > 1]).tolist():
        groups = np.flatnonzero(measured == c)
        entries = layer.rows.data[first[groups][:, None] + np.arange(c * (c - 1))]
        yield groups, entries.reshape(len(groups), c - 1, c).astype(np.float64)
