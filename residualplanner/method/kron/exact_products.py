"""Products of matrices of integers, exact, at the speed of floating point; and the map of such a matrix.

NumPy multiplies int64 matrices without the processor's vector units.  Double precision has them, and computes sums and
products of integers without rounding as long as none exceeds ``2**53``.  So tables whose products could be larger
are cut into limbs of few bits, each limb is multiplied in double precision, and the results are put together again in
int64.  How many limbs there are follows from bounds alone, never from the entries of a table.
Source: eq. (36).
"""

from functools import partial

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron.arrays import Array
from residualplanner.method.kron.integers import IntegerMap, along_axis

#: Integers up to here, and sums of them up to here, are exact in double precision.
EXACT = 2**53
#: Below this many entries an axis is multiplied in int64: cutting into limbs costs more than it saves.
_SHORT = 8
#: How many entries an axis must have for each limb, for several of them to be faster than one product in int64.
_PER_LIMB = 16


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
