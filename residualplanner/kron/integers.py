"""Integer maps along every axis of a stack of tables, exact: what happens to counts before the noise, and after.

Reads: a stack of equal-shaped tables of integers, batch axis first.  Gives: a stack.

NumPy only, in place of any library of the array API: counts stay on the machine that reads them.  Arrays are int64, or
hold Python integers (``dtype=object``), which never overflow; the caller knows that int64 is wide enough.
Source: spec eqs. (34), (35) and (36).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from residualplanner._checks import FloatArray, IntArray
from residualplanner.kron.arrays import Array, Scratch
from residualplanner.kron.exact_products import exact_product, float_product

_INT64 = 2**63


def differences_of_tables(
    tables: Array, *, axes: Sequence[int] | None = None, scratch: Scratch | None = None, out: Array | None = None
) -> Array:
    """The first entry minus each other one, along some axes, or all of them: `subtracting` in integers.

    Args:
        tables (b, n_1, .., n_k): integers; written over if they lie in slot 0 of ``scratch``, else only read.
        axes: some of 1, .., k, ascending; all of them when omitted.
        scratch: memory to work in.
        out (b, m_1, .., m_k): where the result goes, contiguous; a new array when omitted.

    Returns:
        The differences, (b, m_1, .., m_k), with ``m_i = n_i - 1`` for these axes and n_i for the others.

    Guarantees: exact.  Along each of these axes numbers at most double in size.
    Source: spec eq. (35), the product with Sub along every axis.

    Example:
        >>> differences_of_tables(np.array([[5, 3, 1]]))
        array([[2, 4]])
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


class IntegerMap(Protocol):
    """A matrix (m, n) of integers, in whatever form, that is applied along one axis of tables."""

    @property
    def largest(self) -> int:
        """The largest entry in size, at least 1."""
        ...

    @property
    def roundings(self) -> int:
        """How many roundings a term of an answer goes through at most in floating point."""
        ...

    def modulo(self, tables: IntArray, axis: int, total: int) -> IntArray:
        """The products modulo ``2**64``: exact where ``total``, as in `exact_product`, times the largest entry fits."""
        ...

    def exact(self, tables: Array, axis: int) -> Array:
        """The products in Python integers."""
        ...

    def near(self, tables: FloatArray, axis: int) -> FloatArray:
        """The products in floating point."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class DenseIntegers:
    """A matrix of integers as it is.

    Attributes:
        matrix (m, n): int64.
    """

    matrix: IntArray

    @property
    def largest(self) -> int:
        """The largest entry in size, at least 1."""
        return max(1, int(np.abs(self.matrix).max(initial=0)))

    @property
    def roundings(self) -> int:
        """N: one for each term of a sum."""
        return int(self.matrix.shape[1])

    def modulo(self, tables: IntArray, axis: int, total: int) -> IntArray:
        """As `exact_product`."""
        return along_axis(partial(exact_product, total=total), self.matrix, tables, axis)

    def exact(self, tables: Array, axis: int) -> Array:
        """In Python integers."""
        return along_axis(np.matmul, self.matrix.astype(object), tables.astype(object), axis)

    def near(self, tables: FloatArray, axis: int) -> FloatArray:
        """In double precision."""
        return along_axis(float_product, self.matrix.astype(np.float64), tables, axis)


def integer_products(tables: Array, matrices: Mapping[int, IntArray | IntegerMap], *, total: int) -> Array:
    """Apply an integer matrix along some axes.

    Args:
        tables (b, n_1, .., n_k): integers, int64 or Python integers.
        matrices: by axis, some of 1, .., k ascending, a matrix (m_i, n_i).
        total: the entries of no table add up, in absolute value, to more than this.

    Returns:
        The Kronecker product of the matrices applied to every table, (b, m_1, .., m_k): int64 as long as ``total``
        times the matrices' largest entries is below ``2**63``, Python integers from there on.

    Guarantees: exact.  Every number is at most ``total`` times the product of the matrices' largest entries in size.
    Source: spec eq. (36).

    Example:
        >>> integer_products(np.array([[[1, 2], [3, 4]]]), {2: np.array([[1, -1]])}, total=10)
        array([[[-1],
                [-1]]])
    """
    result = tables
    for axis, matrix in integer_maps(matrices).items():
        largest = total * matrix.largest
        is_narrow = result.dtype == np.int64 and largest < _INT64
        result = matrix.modulo(result, axis, total) if is_narrow else matrix.exact(result, axis)
        total = largest
    return result


def integer_maps(matrices: Mapping[int, IntArray | IntegerMap]) -> dict[int, IntegerMap]:
    """The matrices of axes, each as a map."""
    return {
        axis: DenseIntegers(matrix) if isinstance(matrix, np.ndarray) else matrix for axis, matrix in matrices.items()
    }


def along_axis(product: Callable[[Array, Array], Array], matrix: Array, tables: Array, axis: int) -> Array:
    """Apply a matrix (m, n) along one axis of ``tables`` by a product along the middle axis of a stack (a, n, r)."""
    before, after = tables.shape[:axis], tables.shape[axis + 1 :]
    mapped = product(matrix, tables.reshape(math.prod(before), tables.shape[axis], math.prod(after)))
    return mapped.reshape(*before, len(matrix), *after)
