"""Whole-number maps along every axis of a stack of tables, exact: what happens to counts before the noise, and after.

Reads: a stack of equal-shaped tables of whole numbers, batch axis first.  Gives: a stack.

NumPy only, in place of any library of the array API: counts stay on the machine that reads them.  Arrays are int64, or
hold Python integers (``dtype=object``), which never overflow; the caller knows that int64 is wide enough.
Source: spec eqs. (34), (35) and (36).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.kron.arrays import Array, Scratch

#: How many times as long as wide a stack must be for its columns to be worked on one by one.
_LONG = 8


def centered_tables(tables: Array, *, scratch: Scratch | None = None) -> Array:
    """Apply ``n I - 1 1^T`` along every axis: each entry times n, less the sum over the axis.

    Args:
        tables (b, n_1, .., n_k): whole numbers; only read.
        scratch: memory to work in; the result lies in its slot 0.

    Returns:
        The matrix Xi of spec eq. (34) applied to every table, (b, n_1, .., n_k).

    Guarantees: exact.  For counts of N records every number on the way is at most ``N n_1 .. n_k`` in size.
    Cost: three passes over the cells for each axis.

    Example:
        >>> centered_tables(np.array([[5, 3, 1]]))
        array([[ 6,  0, -6]])
    """
    scratch = scratch or Scratch()
    result = scratch.empty(0, tables.shape, tables)
    np.multiply(tables, math.prod(tables.shape[1:]), out=result)
    for axis, size in enumerate(tables.shape[1:], start=1):
        stack = result.reshape(math.prod(tables.shape[:axis]), size, math.prod(tables.shape[axis + 1 :]))
        means = scratch.empty(2, (len(stack), 1, stack.shape[2]), tables)
        if stack.size < _LONG * (size * stack.shape[2]) ** 2:
            _subtract_means(stack, means)
            continue
        for column in range(stack.shape[2]):  # one long pass for each entry, as short ones take their time to start
            _subtract_means_of_short_axis(stack[:, :, column], means[:, 0, column])
    return result


def differences_of_tables(tables: Array, *, scratch: Scratch | None = None, out: Array | None = None) -> Array:
    """The first entry minus each other one, along every axis: `residuals_of_tables` for whole numbers.

    Args:
        tables (b, n_1, .., n_k): whole numbers; written over if they lie in slot 0 of ``scratch``, else only read.
        scratch: memory to work in.
        out (b, n_1 - 1, .., n_k - 1): where the result goes, contiguous; a new array when omitted.

    Guarantees: exact.  Along each axis numbers at most double in size.
    Source: spec eq. (35), the product with Sub along every axis.

    Example:
        >>> differences_of_tables(np.array([[5, 3, 1]]))
        array([[2, 4]])
    """
    scratch = scratch or Scratch()
    batch, *sizes = tables.shape
    result = np.empty((batch, *(size - 1 for size in sizes)), dtype=tables.dtype) if out is None else out
    if not sizes:
        result[...] = tables
    done, rest = batch, math.prod(sizes)
    for number, size in enumerate(sizes, start=1):
        rest //= size
        stack = tables.reshape(done, size, rest)
        shape = (done, size - 1, rest)
        tables = result.reshape(shape) if number == len(sizes) else scratch.empty(number % 2, shape, stack)
        np.subtract(stack[:, :1], stack[:, 1:], out=tables)
        done *= size - 1
    return result


def integer_products(tables: Array, matrices: Sequence[NDArray[np.int64] | None]) -> Array:
    """Apply one whole-number matrix along each axis.

    Args:
        tables (b, n_1, .., n_k): whole numbers.
        matrices (k,): for each axis a matrix (m_i, n_i), or None for ``n I - 1 1^T``.

    Returns:
        The Kronecker product of the matrices applied to every table, (b, m_1, .., m_k).

    Guarantees: exact.  For counts of N records every number on the way is at most N times the product of the matrices'
        largest entries, where ``n I - 1 1^T`` counts as n.
    Source: spec eq. (36).

    Example:
        >>> integer_products(np.array([[[1, 2], [3, 4]]]), [None, np.array([[1, 1]])])
        array([[[-4],
                [ 4]]])
    """
    result = tables
    for axis, matrix in enumerate(matrices, start=1):
        stack = result.reshape(math.prod(result.shape[:axis]), result.shape[axis], math.prod(result.shape[axis + 1 :]))
        mapped = _centered(stack) if matrix is None else np.matmul(matrix.astype(stack.dtype), stack)
        result = mapped.reshape(*result.shape[:axis], mapped.shape[1], *result.shape[axis + 1 :])
    return result


def _subtract_means(stack: Array, means: Array) -> None:
    """Subtract from (a, n, r) the mean over the middle axis, a whole number; ``means`` (a, 1, r) is written over."""
    np.add.reduce(stack, axis=1, keepdims=True, out=means)
    np.floor_divide(means, stack.shape[1], out=means)
    stack -= means


def _subtract_means_of_short_axis(stack: Array, means: Array) -> None:
    """Subtract from (a, n) the mean over the last axis, a whole number; ``means`` (a,) is written over."""
    means[...] = 0
    for entry in stack.T:
        means += entry
    np.floor_divide(means, stack.shape[1], out=means)
    for entry in stack.T:
        np.subtract(entry, means, out=entry)


def _centered(stack: Array) -> Array:
    """``n I - 1 1^T`` along the middle axis of (a, n, r)."""
    return stack * stack.shape[1] - stack.sum(axis=1, keepdims=True)
