"""A linear map for each axis of a stack of tables; residuals of tables, by Sub along every axis, and back.

A stack is turned while it is mapped: each pass takes the first axis after the batch and puts its result last, so that
after one pass per axis all stand in order again.  Where an axis is short, or its map has nothing better, a pass is one
matrix product, which is what array libraries do best, and neighbors that are very short are merged into one axis first;
a long axis is mapped directly where that takes less than a product.  Source: eqs. (5), (7), (13) and (25).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron import arrays

#: Up to this many values several axes are merged into one; what is shorter is mapped by a matrix product.
DENSE_LIMIT = 32


@dataclass(frozen=True, eq=False)
class AxisMap:
    """A linear map from n entries of an axis to m."""

    columns: int  # n
    rows: int  # m
    make_matrix: Callable[[], FloatArray]  # (m, n), called only where a product is formed
    # From a stack (b, n, r) to an array (b, r, m): the middle axis mapped and put last, in less than a matrix product.
    direct: Callable[[arrays.Array, arrays.Array], None] | None = None

    @cached_property
    def matrix(self) -> FloatArray:
        """The matrix, (m, n)."""
        return self.make_matrix()

    def turn(self, stack: arrays.Array, out: arrays.Array) -> None:
        """Map the middle axis of a stack (b, n, r), put it last, and write the result to ``out`` (b, r, m)."""
        if self.direct is not None and self.columns > DENSE_LIMIT:
            self.direct(stack, out)
        else:
            arrays.multiply_into(
                out, arrays.namespace(stack).matrix_transpose(stack), arrays.like(self._transposed, stack)
            )

    @cached_property
    def _transposed(self) -> FloatArray:
        return np.ascontiguousarray(self.matrix.T)


def matrix_map(matrix: FloatArray) -> AxisMap:
    """The map of a matrix (m, n)."""
    return AxisMap(matrix.shape[1], matrix.shape[0], lambda: matrix)


@lru_cache(maxsize=4096)
def keeping(size: int) -> AxisMap:
    """The map that leaves an axis as it is."""
    return AxisMap(size, size, lambda: np.eye(size), _turn)


class ProductMap:
    """The Kronecker product of a map for each axis after the first, applied to every table of a stack."""

    def __init__(self, maps: Sequence[AxisMap]) -> None:
        self.columns = tuple(axis.columns for axis in maps)
        self.rows = tuple(axis.rows for axis in maps)
        self.is_identity = all(axis.direct is _turn for axis in maps)
        self.axes = tuple(maps)

    @cached_property
    def _passes(self) -> list[AxisMap]:
        parts = [[self.axes[number] for number in part] for part in merged_axes(self.columns, self.rows)]
        return [part[0] if len(part) == 1 else _merged(*part) for part in parts]

    def apply(
        self, tables: arrays.Array, *, scratch: arrays.Scratch | None = None, out: arrays.Array | None = None
    ) -> arrays.Array:
        """Map all axes of ``tables`` (b, n_1, .., n_k) but the first, (b, m_1, .., m_k).

        Tables in slot 0 of ``scratch`` are written over; the result goes to ``out``, contiguous, if given.
        With NumPy a table's result does not depend, to the last bit, on which others it is stacked with.
        """
        xp, scratch = arrays.namespace(tables), scratch or arrays.Scratch()
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
    """Join neighbors as long as together they have at most `DENSE_LIMIT` entries, before (k,) and after (k,)."""
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
    return matrix_map(kronecker(axis.matrix for axis in maps))


def kronecker(factors: Iterable[FloatArray]) -> FloatArray:
    """The Kronecker product of matrices from left to right; of none, the 1 x 1 identity.  Source: eq. (1)."""
    product: FloatArray = np.ones((1, 1))
    for factor in factors:
        product = np.asarray(np.kron(product, factor))
    return product


def _turn(stack: arrays.Array, out: arrays.Array) -> None:
    out[...] = arrays.namespace(stack).matrix_transpose(stack)


def tables_of_residuals(
    blocks: Sequence[arrays.Array],
    rows: IntArray,
    *,
    maps: ProductMap,
    divisors: Sequence[int] | None = None,
    scratch: arrays.Scratch | None = None,
) -> arrays.Array:
    """The tables (b, n_1, .., n_k) whose residuals are given, in double precision where there are divisors.

    Block j (g_j, ..) of ``blocks`` (2**k,) holds residuals of sets of attributes of the same bases; it has an axis of
    m_i answers for every i whose bit in j is set (bit 0 is the first attribute).  ``rows`` (b, 2**k) are, for each
    table, which rows of the blocks are its own; ``maps`` go from a tensor, whose axes have the total and then the m_i
    answers, to a table (axes of one entry may be added).  Where there are ``divisors`` (2**k,), blocks are the
    residuals times these.  Source: eqs. (10), (13) and (25).
    """
    scratch = scratch or arrays.Scratch()
    tensors = tensors_of_residuals(blocks, rows, divisors, scratch)
    return maps.apply(arrays.namespace(tensors).reshape(tensors, (len(rows), *maps.columns)), scratch=scratch)


def tensors_of_residuals(
    blocks: Sequence[arrays.Array], rows: IntArray, divisors: Sequence[int] | None, scratch: arrays.Scratch
) -> arrays.Array:
    """The tensor Z of eq. (13) of each table, (b, 1 + m_1, .., 1 + m_k), in slot 0 of ``scratch``; else as above."""
    top = blocks[-1]
    shape = (len(rows), *(size + 1 for size in top.shape[1:]))
    tensors = scratch.empty(0, shape, top if divisors is None else arrays.empty_floats((0,), top))
    by = [1] * len(blocks) if divisors is None else divisors
    indices = product((0, slice(1, None)), repeat=top.ndim - 1)
    *lower, last = zip(blocks, by, indices, rows.T, strict=True)
    # Along each axis entry 0 is the total's, the others are residuals: block j has the axes of its set bits in these.
    for block, divisor, index, column in lower:
        tensors[(slice(None), *reversed(index))] = arrays.quotients(arrays.take(block, column), divisor)
    # Most entries are of the last block, and its rows usually follow one another: then they are not copied twice.
    block, divisor, index, column = last
    is_run = bool(len(column) and column[-1] - column[0] == len(column) - 1 and (np.diff(column) == 1).all())
    chosen = block[int(column[0]) : int(column[-1]) + 1, ...] if is_run else arrays.take(block, column)
    tensors[(slice(None), *index)] = arrays.quotients(chosen, divisor)
    return tensors


@lru_cache(maxsize=4096)
def subtracting(size: int) -> AxisMap:
    """The subtraction matrix as the map of one axis, in O(n).  Source: eq. (5)."""
    return AxisMap(size, size - 1, lambda: np.hstack([np.ones((size - 1, 1)), -np.eye(size - 1)]), _subtract)


@lru_cache(maxsize=4096)
def rebuilding(size: int) -> AxisMap:
    """The inverse of a row of ones above the subtraction matrix, in O(n).  Source: eqs. (9) and (13)."""
    return AxisMap(size, size, lambda: _rebuilding_matrix(size), _rebuild)


@lru_cache(maxsize=4096)
def rebuilding_differences(size: int) -> AxisMap:
    """The same without a total: what the ``size - 1`` differences add to each value, in O(n).  Source: eq. (9)."""
    return AxisMap(size - 1, size, lambda: _rebuilding_matrix(size)[:, 1:], _rebuild)


def _rebuilding_matrix(size: int) -> FloatArray:
    matrix = np.full((size, size), 1 / size)
    matrix[1:, 1:] -= np.eye(size - 1)
    return matrix


def _subtract(stack: arrays.Array, out: arrays.Array) -> None:
    # A row of Sub is 1 for the first value, and -1 for one of the others: differences, without a product.
    turned = arrays.namespace(stack).matrix_transpose(stack)
    arrays.subtract_into(out, turned[:, :, :1], turned[:, :, 1:])


def _rebuild(stack: arrays.Array, out: arrays.Array) -> None:
    # With t the total, 0 where there is none, and d_j = x_0 - x_j, the sum of all is t = n x_0 - sum d: so x_0 is
    # (t + sum d) / n, and x_j = x_0 - d_j.
    xp, size = arrays.namespace(stack), out.shape[2]
    differences = xp.matrix_transpose(stack)[:, :, stack.shape[1] - size + 1 :]
    out[:, :, 0] = xp.sum(stack, axis=1) / size
    arrays.subtract_into(out[:, :, 1:], out[:, :, :1], differences)
