"""Matrices of integers, in whatever form, applied along axes of tables: exact, and at the speed of floating point.

NumPy only, in place of any library of the array API: counts stay on the machine that reads them.  Arrays are int64, or
hold Python integers (``dtype=object``), which never overflow; the caller knows that int64 is wide enough.

NumPy multiplies int64 matrices without the processor's vector units.  Double precision has them, and computes sums and
products of integers without rounding as long as none exceeds ``2**53``.  So tables whose products could be larger
are cut into limbs of few bits, each limb is multiplied in double precision, and the results are put together again in
int64.  How many limbs there are follows from bounds alone, never from the entries of a table.
Source: eqs. (34), (35) and (36).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron.arrays import Array, Scratch

_INT64 = 2**63
#: Integers up to here, and sums of them up to here, are exact in double precision.
EXACT = 2**53
#: Below this many entries an axis is multiplied in int64: cutting into limbs costs more than it saves.
_SHORT = 8
#: How many entries an axis must have for each limb, for several of them to be faster than one product in int64.
_PER_LIMB = 16


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


def exact_product(matrix: IntArray, tables: IntArray, total: int) -> IntArray:
    """Apply ``matrix`` (m, n) along the middle axis of ``tables`` (a, n, r), integers modulo ``2**64``, (a, m, r).

    No n entries along the axis add up, in absolute value, to more than ``total``, ``2**63`` where nothing is known of
    them: where it is below ``2**63`` divided by the matrix's largest entry, these are the products themselves.

    Exact: let e be the largest entry of the matrix in size.  If ``e total <= 2**53``, every product and every sum of
    some products is an integer that double precision holds.  If not, choose k with ``e n 2**k <= 2**53`` and L with
    ``total <= 2**(k L)``, and write each entry of the table in L digits of k bits, of which the last has the sign: the
    sums for one digit are exact, and adding them up in int64 gives the result modulo ``2**64``.  The choice depends on
    the matrix, the sizes and ``total`` alone.  Source: eq. (36).
    """
    n = matrix.shape[1]
    entry = int(np.abs(matrix).max(initial=0)) or 1
    if n < _SHORT:
        return _int64_product(matrix, tables)
    if entry * total <= EXACT:
        return _product(matrix.astype(np.float64), tables)
    bits = (EXACT // (entry * n)).bit_length() - 1
    if bits < 1:
        return _int64_product(matrix, tables)
    limbs = -(-(total - 1).bit_length() // bits)
    if limbs * _PER_LIMB > n:
        return _int64_product(matrix, tables)
    factor = matrix.astype(np.float64)
    result, rest = _product(factor, tables & (2**bits - 1)), tables >> bits
    for limb in range(1, limbs):
        part = rest & (2**bits - 1) if limb < limbs - 1 else rest
        result += _product(factor, part) * (1 << bits * limb)
        rest = rest >> bits
    return result


def _product(matrix: FloatArray, tables: IntArray) -> IntArray:
    """``matrix`` (m, n) along the middle axis of (a, n, r), where all numbers on the way are below `EXACT`."""
    products = float_product(matrix, tables.astype(np.float64))
    return np.asarray(products.astype(np.int64))


def float_product(matrix: FloatArray, tables: FloatArray) -> FloatArray:
    """``matrix`` (m, n) along the middle axis of (a, n, r), in double precision."""
    # With r = 1 it is one large product in place of many small ones.
    return np.matmul(matrix, tables) if tables.shape[2] > 1 else (tables[:, :, 0] @ matrix.T)[:, :, None]


def _int64_product(matrix: IntArray, tables: IntArray) -> IntArray:
    return np.asarray(np.matmul(matrix, tables))


def dense_integers(matrix: IntArray) -> IntegerMap:
    """The map of a matrix (m, n) as it is, int64."""

    def modulo(tables: IntArray, axis: int, total: int) -> IntArray:
        return np.asarray(along_axis(partial(exact_product, total=total), matrix, tables, axis))

    def exact(tables: Array, axis: int) -> Array:
        return along_axis(np.matmul, matrix.astype(object), tables.astype(object), axis)

    def near(tables: FloatArray, axis: int) -> FloatArray:
        return np.asarray(along_axis(float_product, matrix.astype(np.float64), tables, axis))

    return IntegerMap(max(1, int(np.abs(matrix).max(initial=0))), matrix.shape[1], modulo, exact, near)
