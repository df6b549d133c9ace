"""A linear map for each axis of a stack of tables.

A stack is turned while it is mapped: each pass takes the first axis after the batch and puts its result last, so that
after one pass per axis all stand in order again.  Where an axis is short, or its map has nothing better, a pass is one
matrix product, which is what array libraries do best, and neighbors that are very short are merged into one axis first;
a long axis is mapped directly where that takes less than a product.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from residualplanner.method.kron.arrays import Array, Scratch, like, multiply_into, namespace

#: Up to this many values several axes are merged into one; what is shorter is mapped by a matrix product.
DENSE_LIMIT = 32


@dataclass(frozen=True, eq=False)
class AxisMap:
    """A linear map from n entries of an axis to m.

    Attributes:
        columns: n.
        rows: m.
        make_matrix: gives its matrix, (m, n); called only where a product is formed.
        direct: of a stack (b, n, r) and an array (b, r, m): the map of the middle axis, put last, in fewer operations
            than a matrix product; None where there is no such way.
    """

    columns: int
    rows: int
    make_matrix: Callable[[], NDArray[np.float64]]
    direct: Callable[[Array, Array], None] | None = None

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The matrix, (m, n)."""
        return self.make_matrix()

    def turn(self, stack: Array, out: Array) -> None:
        """Map the middle axis of a stack (b, n, r), put it last, and write the result to ``out`` (b, r, m)."""
        if self.direct is not None and self.columns > DENSE_LIMIT:
            self.direct(stack, out)
        else:
            multiply_into(out, namespace(stack).matrix_transpose(stack), like(self._transposed, stack))

    @cached_property
    def _transposed(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.matrix.T)


def matrix_map(matrix: NDArray[np.float64]) -> AxisMap:
    """The map of a matrix (m, n).

    Example:
        >>> ProductMap([matrix_map(np.array([[1.0, 1.0]]))]).apply(np.array([[2.0, 3.0]]))
        array([[5.]])
    """
    return AxisMap(matrix.shape[1], matrix.shape[0], lambda: matrix)


@lru_cache(maxsize=4096)
def keeping(size: int) -> AxisMap:
    """The map that leaves an axis as it is.

    Example:
        >>> ProductMap([keeping(2)]).apply(np.array([[2.0, 3.0]]))
        array([[2., 3.]])
    """
    return AxisMap(size, size, lambda: np.eye(size), _turn)


class ProductMap:
    """The Kronecker product of a map for each axis, applied to every table of a stack.

    Args:
        maps: one for each axis after the first.

    Attributes:
        axes (k,): these maps.
        columns (k,): how many entries each axis has before it is mapped.
        rows (k,): after.
    """

    def __init__(self, maps: Sequence[AxisMap]) -> None:
        self.columns = tuple(axis.columns for axis in maps)
        self.rows = tuple(axis.rows for axis in maps)
        self.is_identity = all(axis.direct is _turn for axis in maps)
        self.axes = tuple(maps)

    @cached_property
    def _passes(self) -> list[AxisMap]:
        parts = [[self.axes[number] for number in part] for part in merged_axes(self.columns, self.rows)]
        return [part[0] if len(part) == 1 else _merged(*part) for part in parts]

    def apply(self, tables: Array, *, scratch: Scratch | None = None, out: Array | None = None) -> Array:
        """Map all axes of ``tables`` (b, n_1, .., n_k) but the first, (b, m_1, .., m_k).

        Args:
            tables (b, n_1, .., n_k): written over if it lies in slot 0 of ``scratch``, else only read.
            scratch: memory to work in.
            out (b, m_1, .., m_k): where the result goes, contiguous; a new array when omitted.

        Guarantees: with NumPy a table's result does not depend, to the last bit, on which others it is stacked with.
        Cost: for each axis O(b * cells * n) flops, or what its direct map takes.
        """
        xp, scratch = namespace(tables), scratch or Scratch()
        batch, rest = tables.shape[0], math.prod(self.columns)
        mapped = (batch, *self.rows)
        result = xp.empty(mapped, dtype=tables.dtype, device=tables.device) if out is None else out
        if not self._passes:
            result[...] = tables
        for number, step in enumerate(self._passes, start=1):
            rest //= step.columns
            stack = xp.reshape(tables, (batch, step.columns, rest))
            shape = (batch, rest, step.rows)
            rest *= step.rows
            is_last = number == len(self._passes)
            tables = xp.reshape(result, shape) if is_last else scratch.empty(number % 2, shape, tables)
            step.turn(stack, tables)
        return result


def merged_axes(columns: tuple[int, ...], rows: tuple[int, ...]) -> list[list[int]]:
    """Join neighbors as long as together they have at most `DENSE_LIMIT` entries, before and after.

    Args:
        columns (k,): the entries of each axis before it is mapped.
        rows (k,): after.

    Example:
        >>> merged_axes((2, 3, 100, 5, 6, 2), (1, 2, 99, 4, 5, 1))
        [[0, 1], [2], [3, 4], [5]]
    """
    merged: list[list[int]] = []
    width = height = DENSE_LIMIT + 1
    for number, (n, m) in enumerate(zip(columns, rows, strict=True)):
        width, height = width * n, height * m
        if merged and width <= DENSE_LIMIT and height <= DENSE_LIMIT:
            merged[-1].append(number)
        else:
            merged.append([number])
            width, height = n, m
    return merged


@lru_cache(maxsize=4096)  # none has more than DENSE_LIMIT rows and columns
def _merged(*maps: AxisMap) -> AxisMap:
    """Several maps as one, of their axes merged."""
    product: NDArray[np.float64] = np.ones((1, 1))
    for axis in maps:
        product = np.kron(product, axis.matrix).astype(np.float64, copy=False)
    return matrix_map(product)


def _turn(stack: Array, out: Array) -> None:
    out[...] = namespace(stack).matrix_transpose(stack)
