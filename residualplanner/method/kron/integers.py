"""Matrices of integers, in whatever form, applied along axes of tables: exact.

NumPy only, in place of any library of the array API: counts stay on the machine that reads them.  Arrays are int64, or
hold Python integers (``dtype=object``), which never overflow; the caller knows that int64 is wide enough.
Source: eqs. (34), (35) and (36).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron.arrays import Array, Scratch

_INT64 = 2**63


@dataclass(frozen=True, eq=False, slots=True)
class IntegerMap:
    """A matrix (m, n) of integers, in whatever form, that is applied along one axis of tables."""

    largest: int  # the largest entry in size, at least 1
    roundings: int  # how many roundings a term of an answer goes through at most in floating point
    #: The products with tables along an axis, modulo ``2**64``: exact where the last argument, a total as in
    #: `exact_product`, times the largest entry fits.
    modulo: Callable[[IntArray, int, int], IntArray]
    exact: Callable[[Array, int], Array]  # in Python integers
    near: Callable[[FloatArray, int], FloatArray]  # in floating point


def along_axis(product: Callable[[Array, Array], Array], matrix: Array, tables: Array, axis: int) -> Array:
    """Apply a matrix (m, n) along one axis of ``tables`` by a product along the middle axis of a stack (a, n, r)."""
    before, after = tables.shape[:axis], tables.shape[axis + 1 :]
    mapped = product(matrix, tables.reshape(math.prod(before), tables.shape[axis], math.prod(after)))
    return mapped.reshape(*before, len(matrix), *after)


def differences_of_tables(
    tables: Array, *, axes: Sequence[int] | None = None, scratch: Scratch | None = None, out: Array | None = None
) -> Array:
    """The first entry minus each other one, along some axes, or all of them: `subtracting` in integers, exactly.

    Tables (b, n_1, .., n_k) are written over if they lie in slot 0 of ``scratch``, else only read; the result goes to
    ``out``, contiguous, if given.  Along each of the axes, which keeps ``n_i - 1`` entries, numbers at most double.
    Source: eq. (35), the product with Sub along every axis.
    """
    scratch = scratch or Scratch()
    chosen = list(range(1, tables.ndim) if axes is None else axes)
    shape = tuple(size - (axis in chosen) for axis, size in enumerate(tables.shape))
    result = np.empty(shape, dtype=tables.dtype) if out is None else out
    if not chosen:
        result[...] = tables
    for number, axis in enumerate(chosen, start=1):
        before, after = math.prod(shape[:axis]), math.prod(tables.shape[axis + 1 :])
        stack = tables.reshape(before, tables.shape[axis], after)
        target = (*shape[: axis + 1], *tables.shape[axis + 1 :])
        tables = result if number == len(chosen) else scratch.empty(number % 2, target, tables)
        np.subtract(stack[:, :1], stack[:, 1:], out=tables.reshape(before, shape[axis], after))
    return result


def integer_products(tables: Array, maps: Mapping[int, IntegerMap], *, total: int) -> Array:
    """Apply maps of integers, from n_i to m_i, by axis, along some axes of tables (b, n_1, .., n_k) of integers.

    The entries of no table add up, in absolute value, to more than ``total``.  The result (b, m_1, .., m_k) is int64 as
    long as ``total`` times the maps' largest entries, which bounds every number, is below ``2**63``, and Python
    integers from there on.  Exact.  Source: eq. (36).
    """
    result = tables
    for axis, each in maps.items():
        largest = total * each.largest
        is_narrow = result.dtype == np.int64 and largest < _INT64
        result = each.modulo(result, axis, total) if is_narrow else each.exact(result, axis)
        total = largest
    return result
