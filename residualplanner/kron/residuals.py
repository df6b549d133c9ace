"""Residuals of tables and back: the subtraction matrix along every axis, and its inverse or any other map.

Reads: stacks of equal-shaped tables or residuals, batch axis first.  Gives: stacks.
Source: spec eqs. (5), (7), (13) and (25).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from residualplanner.kron.arrays import Array, Scratch, namespace, subtract_into, take
from residualplanner.kron.axis_maps import AxisMap, ProductMap


def residuals_of_tables(tables: Array, *, scratch: Scratch | None = None, out: Array | None = None) -> Array:
    """The first entry minus each other one, along every axis.

    Args:
        tables (b, n_1, .., n_k): floating point, n_i >= 2.
        scratch: memory to work in; where ``tables`` lies in its slot 0, they are written over.
        out (b, n_1 - 1, .., n_k - 1): where the result goes, contiguous; a new array when omitted.

    Returns:
        The subtraction matrix of spec eq. (5) along every axis, (b, n_1 - 1, .., n_k - 1).

    Source: spec eq. (7), the product with H.

    Example:
        >>> residuals_of_tables(np.array([[5.0, 3.0, 1.0]]))
        array([[2., 4.]])
    """
    return subtractions(tables.shape[1:]).apply(tables, scratch=scratch, out=out)


def tables_of_tensors(tensors: Array, *, scratch: Scratch | None = None) -> Array:
    """Undo the sum and the subtraction along every axis.

    Args:
        tensors (b, n_1, .., n_k): on each axis entry 0 is the sum over the attribute, entry j >= 1 its j-th residual.
        scratch: as in `residuals_of_tables`.

    Returns:
        The tables, (b, n_1, .., n_k).

    Source: spec eq. (13).

    Example:
        >>> tables_of_tensors(np.array([[9.0, 2.0, 4.0]])).round(12)
        array([[5., 3., 1.]])
    """
    return rebuildings(tensors.shape[1:]).apply(tensors, scratch=scratch)


def tables_of_residuals(
    blocks: Sequence[Array],
    rows: NDArray[np.int64],
    *,
    divisors: Sequence[int] | None = None,
    maps: ProductMap | None = None,
    scratch: Scratch | None = None,
) -> Array:
    """The tables whose residuals are given.

    Args:
        blocks (2**k,): block j (g_j, ..) holds residuals of sets of attributes of the same bases; it has an axis of
            m_i answers for every i whose bit in j is set (bit 0 is the first attribute).
        rows (b, 2**k): for each table, which rows of the blocks are its own.
        divisors (2**k,): the blocks are NumPy arrays of integers, and these times the residuals; omitted, they are
            the residuals.
        maps: what makes a table of a tensor, whose axes have the total and then the m_i answers; axes of one entry may
            be added.  Omitted, the inverse of sums and subtractions, with m_i = n_i - 1.
        scratch: memory to work in.

    Returns:
        The tables, (b, n_1, .., n_k), double precision where there are divisors.

    Source: spec eqs. (10), (13) and (25).

    Example:
        >>> tables_of_residuals([np.array([9.0]), np.array([[2.0, 4.0]])], np.array([[0, 0]])).round(12)
        array([[5., 3., 1.]])
    """
    scratch = scratch or Scratch()
    tensors = tensors_of_residuals(blocks, rows, divisors, scratch)
    if maps is None:
        return tables_of_tensors(tensors, scratch=scratch)
    return maps.apply(namespace(tensors).reshape(tensors, (len(rows), *maps.columns)), scratch=scratch)


def tensors_of_residuals(
    blocks: Sequence[Array], rows: NDArray[np.int64], divisors: Sequence[int] | None, scratch: Scratch
) -> Array:
    """The tensor Z of spec eq. (13) of each table, (b, 1 + m_1, .., 1 + m_k), in slot 0 of ``scratch``.

    Arguments as in `tables_of_residuals`.
    """
    top = blocks[-1]
    shape = (len(rows), *(size + 1 for size in top.shape[1:]))
    tensors = scratch.empty(0, shape, top if divisors is None else np.empty(0))
    by = [1] * len(blocks) if divisors is None else divisors
    places = product((0, slice(1, None)), repeat=top.ndim - 1)
    *lower, last = zip(blocks, by, places, rows.T, strict=True)
    for block, divisor, place, column in lower:
        tensors[(slice(None), *reversed(place))] = divided(take(block, column), divisor)
    # Most entries are of the last block, and its rows usually follow one another: then they are not copied twice.
    block, divisor, place, column = last
    taken = block[_run(column), ...] if _is_run(column) else take(block, column)
    tensors[(slice(None), *place)] = divided(taken, divisor)
    return tensors


def divided(block: Array, divisor: int) -> Array:
    """``block`` divided by an integer; itself where that is 1.

    Example:
        >>> divided(np.array([6, 9]), 2)
        array([3. , 4.5])
    """
    return block if divisor == 1 else block / divisor


def _is_run(rows: NDArray[np.int64]) -> bool:
    return bool(len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (rows[1:] - rows[:-1] == 1).all())


def _run(rows: NDArray[np.int64]) -> slice:
    return slice(int(rows[0]), int(rows[-1]) + 1)


@lru_cache(maxsize=4096)
def subtractions(sizes: tuple[int, ...]) -> ProductMap:
    """The map of `residuals_of_tables` for tables of a shape."""
    return ProductMap([subtracting(size) for size in sizes])


@lru_cache(maxsize=4096)
def rebuildings(sizes: tuple[int, ...]) -> ProductMap:
    """The map of `tables_of_tensors` for tables of a shape."""
    return ProductMap([rebuilding(size) for size in sizes])


@lru_cache(maxsize=4096)
def subtracting(size: int) -> AxisMap:
    """The subtraction matrix as the map of one axis, in O(n).

    Source: spec eq. (5).

    Example:
        >>> subtracting(3).matrix
        array([[ 1., -1., -0.],
               [ 1., -0., -1.]])
    """
    return AxisMap(size, size - 1, lambda: np.hstack([np.ones((size - 1, 1)), -np.eye(size - 1)]), _subtract)


@lru_cache(maxsize=4096)
def rebuilding(size: int) -> AxisMap:
    """The inverse of a row of ones above the subtraction matrix as the map of one axis, in O(n).

    Source: spec eqs. (9) and (13).

    Example:
        >>> rebuilding(2).matrix
        array([[ 0.5,  0.5],
               [ 0.5, -0.5]])
    """
    return AxisMap(size, size, lambda: _rebuilding_matrix(size), _rebuild)


def _rebuilding_matrix(size: int) -> NDArray[np.float64]:
    matrix = np.full((size, size), 1 / size)
    matrix[1:, 1:] -= np.eye(size - 1)
    return matrix


def _subtract(stack: Array, place: Array) -> None:
    turned = namespace(stack).matrix_transpose(stack)
    subtract_into(place, turned[:, :, :1], turned[:, :, 1:])


def _rebuild(stack: Array, place: Array) -> None:
    xp = namespace(stack)
    turned = xp.matrix_transpose(stack)
    place[:, :, 0] = xp.sum(stack, axis=1) / stack.shape[1]
    subtract_into(place[:, :, 1:], place[:, :, :1], turned[:, :, 1:])
