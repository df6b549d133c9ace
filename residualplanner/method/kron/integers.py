"""Integer maps along every axis of a stack of tables, exact: what happens to counts before the noise, and after.

Reads: a stack of equal-shaped tables of integers, batch axis first.  Gives: a stack.

NumPy only, in place of any library of the array API: counts stay on the machine that reads them.  Arrays are int64, or
hold Python integers (``dtype=object``), which never overflow; the caller knows that int64 is wide enough.
Source: eqs. (34), (35) and (36).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from residualplanner.ground.checks import IntArray
from residualplanner.method.kron.arrays import Array, Scratch
from residualplanner.method.kron.integer_maps import IntegerMap, integer_maps

_INT64 = 2**63


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


def integer_products(tables: Array, matrices: Mapping[int, IntArray | IntegerMap], *, total: int) -> Array:
    """Apply integer matrices (m_i, n_i), by axis, along some axes of tables (b, n_1, .., n_k) of integers.

    The entries of no table add up, in absolute value, to more than ``total``.  The result (b, m_1, .., m_k) is int64 as
    long as ``total`` times the matrices' largest entries, which bounds every number, is below ``2**63``, and Python
    integers from there on.

    Guarantees: exact.
    Source: eq. (36).
    """
    result = tables
    for axis, matrix in integer_maps(matrices).items():
        largest = total * matrix.largest
        is_narrow = result.dtype == np.int64 and largest < _INT64
        result = matrix.modulo(result, axis, total) if is_narrow else matrix.exact(result, axis)
        total = largest
    return result
