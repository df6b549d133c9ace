"""Residuals of tables and back: the subtraction matrix along every axis, and its inverse or any other map.

Source: eqs. (5), (7), (13) and (25).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from residualplanner.method.kron.arrays import Array, Scratch, empty_floats, namespace, quotients, subtract_into, take
from residualplanner.method.kron.axis_maps import AxisMap, ProductMap


def tables_of_residuals(
    blocks: Sequence[Array],
    rows: NDArray[np.int64],
    *,
    maps: ProductMap,
    divisors: Sequence[int] | None = None,
    scratch: Scratch | None = None,
) -> Array:
    """The tables whose residuals are given.

    Args:
        blocks (2**k,): block j (g_j, ..) holds residuals of sets of attributes of the same bases; it has an axis of
            m_i answers for every i whose bit in j is set (bit 0 is the first attribute).
        rows (b, 2**k): for each table, which rows of the blocks are its own.
        maps: from a tensor, whose axes have the total and then the m_i answers, to a table; axes of one entry may be
            added.
        divisors (2**k,): the blocks are the residuals times these; omitted, they are the residuals.
        scratch: memory to work in.

    Returns:
        The tables, (b, n_1, .., n_k), double precision where there are divisors.

    Source: eqs. (10), (13) and (25).

    Example:
        >>> maps = ProductMap([rebuilding(3)])
        >>> tables_of_residuals([np.array([9.0]), np.array([[2.0, 4.0]])], np.array([[0, 0]]), maps=maps).round(12)
        array([[5., 3., 1.]])
    """
    scratch = scratch or Scratch()
    tensors = tensors_of_residuals(blocks, rows, divisors, scratch)
    return maps.apply(namespace(tensors).reshape(tensors, (len(rows), *maps.columns)), scratch=scratch)


def tensors_of_residuals(
    blocks: Sequence[Array], rows: NDArray[np.int64], divisors: Sequence[int] | None, scratch: Scratch
) -> Array:
    """The tensor Z of eq. (13) of each table, (b, 1 + m_1, .., 1 + m_k), in slot 0 of ``scratch``.

    Arguments as in `tables_of_residuals`.
    """
    top = blocks[-1]
    shape = (len(rows), *(size + 1 for size in top.shape[1:]))
    tensors = scratch.empty(0, shape, top if divisors is None else empty_floats((0,), top))
    by = [1] * len(blocks) if divisors is None else divisors
    indices = product((0, slice(1, None)), repeat=top.ndim - 1)
    *lower, last = zip(blocks, by, indices, rows.T, strict=True)
    for block, divisor, index, column in lower:
        tensors[(slice(None), *reversed(index))] = quotients(take(block, column), divisor)
    # Most entries are of the last block, and its rows usually follow one another: then they are not copied twice.
    block, divisor, index, column = last
    chosen = block[int(column[0]) : int(column[-1]) + 1, ...] if _is_run(column) else take(block, column)
    tensors[(slice(None), *index)] = quotients(chosen, divisor)
    return tensors


def _is_run(rows: NDArray[np.int64]) -> bool:
    return bool(len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (rows[1:] - rows[:-1] == 1).all())


@lru_cache(maxsize=4096)
def subtracting(size: int) -> AxisMap:
    """The subtraction matrix as the map of one axis, in O(n).

    Source: eq. (5).

    Example:
        >>> subtracting(3).matrix
        array([[ 1., -1., -0.],
               [ 1., -0., -1.]])
    """
    return AxisMap(size, size - 1, lambda: np.hstack([np.ones((size - 1, 1)), -np.eye(size - 1)]), _subtract)


@lru_cache(maxsize=4096)
def rebuilding(size: int) -> AxisMap:
    """The inverse of a row of ones above the subtraction matrix as the map of one axis, in O(n).

    Source: eqs. (9) and (13).

    Example:
        >>> rebuilding(2).matrix
        array([[ 0.5,  0.5],
               [ 0.5, -0.5]])
    """
    return AxisMap(size, size, lambda: _rebuilding_matrix(size), _rebuild)


@lru_cache(maxsize=4096)
def rebuilding_differences(size: int) -> AxisMap:
    """The same without a total, from the ``size - 1`` differences alone, in O(n): what they add to each value.

    Source: eq. (9).

    Example:
        >>> rebuilding_differences(2).matrix
        array([[ 0.5],
               [-0.5]])
    """
    return AxisMap(size - 1, size, lambda: _rebuilding_matrix(size)[:, 1:], _rebuild_differences)


def _rebuilding_matrix(size: int) -> NDArray[np.float64]:
    matrix = np.full((size, size), 1 / size)
    matrix[1:, 1:] -= np.eye(size - 1)
    return matrix


def _subtract(stack: Array, out: Array) -> None:
    turned = namespace(stack).matrix_transpose(stack)
    subtract_into(out, turned[:, :, :1], turned[:, :, 1:])


def _rebuild_differences(stack: Array, out: Array) -> None:
    xp = namespace(stack)
    out[:, :, 0] = xp.sum(stack, axis=1) / out.shape[2]
    subtract_into(out[:, :, 1:], out[:, :, :1], xp.matrix_transpose(stack))


def _rebuild(stack: Array, out: Array) -> None:
    xp = namespace(stack)
    turned = xp.matrix_transpose(stack)
    out[:, :, 0] = xp.sum(stack, axis=1) / stack.shape[1]
    subtract_into(out[:, :, 1:], out[:, :, :1], turned[:, :, 1:])
