"""Pairs of columns that replacing a value of one attribute can cost the most with.

Source: eq. (37).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.method.bases.basis import farthest
from residualplanner.more.nested.axis_maps import Layer

_ULP = 2.0**-52
#: How many products of columns are held at a time.
_CHUNK = 2**22
#: Products of integers below this are exact in floating point.
EXACT = 2.0**53


def extreme_pairs(pairs: FloatArray) -> FloatArray:
    """Those of ``pairs`` (m, 3) that no other surpasses: no smaller squared lengths and no larger product, (t, 3).

    A pair is the squared lengths of two columns, the longer one first, and their product.  Takes a pass over what is
    left for each pair that is kept.
    """
    left, found = np.asarray(pairs, dtype=np.float64), []
    while len(left):
        best = left[np.lexsort((left[:, 2], -(left[:, 0] + left[:, 1] - 2 * left[:, 2])))[0]]
        found.append(best)
        left = left[(left[:, :2] > best[:2]).any(axis=1) | (left[:, 2] < best[2])]
    return frozen(np.array(found).reshape(-1, 3))


def pairs_of_columns(columns: NDArray[np.float64]) -> FloatArray:
    """The extreme pairs of different columns of a matrix (m, n) of integers; products are never too large, (t, 3)."""
    found = np.empty((0, 3))
    for table in _tables_of_columns(columns):
        found = extreme_pairs(np.concatenate([found, table]))
    return found


def farthest_columns(columns: NDArray[np.float64]) -> FloatArray:
    """Of these pairs the one whose columns are the farthest apart, (1, 3)."""
    return farthest(np.concatenate([farthest(table) for table in _tables_of_columns(columns)]))


def _tables_of_columns(columns: NDArray[np.float64]) -> Iterator[FloatArray]:
    """All pairs of different columns as above, some at a time, (k, 3)."""
    lengths, size = (columns * columns).sum(axis=0), columns.shape[1]
    lost = 0.0 if lengths.max() < EXACT else (len(columns) + 4) * _ULP * float(lengths.max())
    step = max(1, _CHUNK // size)
    for start in range(0, size - 1, step):
        rows = np.arange(start, min(start + step, size))
        products = columns[:, rows].T @ columns[:, start:] - lost
        first, second = np.nonzero(np.arange(start, size) > rows[:, None])
        own, other = lengths[rows[first]], lengths[start:][second]
        yield np.column_stack([np.maximum(own, other), np.minimum(own, other), products[first, second]])


def pairs_of_layers(layers: Sequence[Layer], lost: float) -> FloatArray:
    """The extreme pairs of different columns of a nested basis of integers, less what products may lose, (t, 3)."""
    above, below = [np.zeros(1)], []
    for layer in layers:
        squares = layer.rows.data.astype(np.float64) ** 2
        lengths = np.bincount(layer.rows.indices, squares, minlength=layer.rows.shape[1]).astype(np.float64)
        above.append(above[-1][layer.parent] + lengths)
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

    From the squared length of the part of a column above each group (groups,), and the largest squared length of a
    column of a value at or below each member (members,).
    """
    if not layer.rows.shape[0]:  # all products in a group are equal: its two longest columns suffice
        order = np.lexsort((-longest, layer.parent))
        pairs = np.column_stack([order[:-1], order[1:]])
        first, second = layer.parent[pairs].T
        pairs = pairs[(first == second) & (np.diff(first, prepend=-1) > 0)]
        yield longest[pairs], before[layer.parent[pairs[:, 0]]]
        return
    children = np.bincount(layer.parent)
    count = children * (children - 1)
    start = np.cumsum(count) - count
    for c in np.unique(children[children > 1]).tolist():
        groups = np.flatnonzero(children == c)
        entries = layer.rows.data[start[groups][:, None] + np.arange(c * (c - 1))]
        blocks = entries.reshape(len(groups), c - 1, c).astype(np.float64)
        first, second = np.triu_indices(c, 1)
        products = np.einsum("gij,gik->gjk", blocks, blocks)[:, first, second] + before[groups][:, None]
        members = layer.starts[groups][:, None]
        lengths = np.stack([longest[members + first], longest[members + second]], axis=-1)
        yield lengths.reshape(-1, 2), products.ravel()
