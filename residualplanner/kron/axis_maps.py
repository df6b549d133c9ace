"""The same linear map along every axis of a stack of tables.

Reads: a stack of equal-shaped tables, batch axis first.  Gives: a stack.

A stack is turned while it is mapped: each pass takes the first axis after the batch and puts its result last, so that
after one pass per axis all stand in order again.  Where an axis is short a pass is one matrix product, which is what
array libraries do best, and neighbors that are very short are merged into one axis first; a long axis is mapped
directly, in O(n) instead of O(n**2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from residualplanner.kron.arrays import Array, Scratch, like, multiply_into, namespace

#: Up to this many values an axis, or several merged into one, is mapped by a matrix product.
DENSE_LIMIT = 32


@dataclass(frozen=True, slots=True)
class AxisMap:
    """A linear map for axes of every size n.

    Attributes:
        matrix: its matrix for size n, (m, n).
        direct: of a stack (b, n, r) and a place (b, r, m): the same map of the middle axis, put last, in O(n) for each
            column.
        shortens: n - m, the same for every n.
    """

    matrix: Callable[[int], NDArray[np.float64]]
    direct: Callable[[Array, Array], None]
    shortens: int

    def along_all_axes(self, tables: Array, *, scratch: Scratch | None = None, out: Array | None = None) -> Array:
        """Map all axes of ``tables`` (b, n_1, .., n_k) but the first, (b, m_1, .., m_k).

        Args:
            tables (b, n_1, .., n_k): written over if it lies in slot 0 of ``scratch``, else only read.
            scratch: memory to work in.
            out (b, m_1, .., m_k): where the result goes, contiguous; a new array when omitted.

        Guarantees: with NumPy a table's result does not depend, to the last bit, on which others it is stacked with.
        Cost: for each axis O(b * cells * n) flops where n is at most `DENSE_LIMIT`, else O(b * cells).
        """
        xp, scratch = namespace(tables), scratch or Scratch()
        batch, *sizes = tables.shape
        mapped = (batch, *(size - self.shortens for size in sizes))
        result = xp.empty(mapped, dtype=tables.dtype, device=tables.device) if out is None else out
        passes = merged_axes(tuple(sizes))
        if not passes:
            result[...] = tables
        for number, axes in enumerate(passes, start=1):
            width = math.prod(axes)
            stack = xp.reshape(tables, (batch, width, math.prod(tables.shape[1:]) // width))
            shape = (batch, stack.shape[2], math.prod(size - self.shortens for size in axes))
            tables = xp.reshape(result, shape) if number == len(passes) else scratch.empty(number % 2, shape, tables)
            if width <= DENSE_LIMIT:
                matrix = like(_transposed_matrix(self, axes), stack)
                multiply_into(tables, xp.matrix_transpose(stack), matrix)
            else:
                self.direct(stack, tables)
        return result


def merged_axes(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Join neighbors as long as together they have at most `DENSE_LIMIT` entries.

    Example:
        >>> merged_axes((2, 3, 100, 5, 6, 2))
        [(2, 3), (100,), (5, 6), (2,)]
    """
    merged: list[tuple[int, ...]] = []
    for size in sizes:
        if merged and math.prod(merged[-1]) * size <= DENSE_LIMIT:
            merged[-1] += (size,)
        else:
            merged.append((size,))
    return merged


@lru_cache(maxsize=4096)
def _transposed_matrix(axis_map: AxisMap, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """The transpose of the Kronecker product of a map's matrices, (n_1 * .. * n_k, m_1 * .. * m_k)."""
    product: NDArray[np.float64] = np.ones((1, 1))
    for size in sizes:
        product = np.kron(product, axis_map.matrix(size)).astype(np.float64, copy=False)
    return np.ascontiguousarray(product.T)
