"""Integers of more than 64 bits, exact, at the speed of int64: modulo ``2**64``, and beside it nearly.

Additions, subtractions and products of int64 are exact modulo ``2**64``, which leaves integers ``2**64`` apart.
The same steps in double precision give a number that is near, and tells which of them it is.  So no result is ever
rounded, although floating point has a part in it.
Source: docs/mathematics.md section 6.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron import IntegerMap

_INT64 = 2**63


def float_identifies(bound: int, roundings: int) -> bool:
    """Whether results in double precision are as near as `combine_words` needs them.

    The terms that a result is the sum of add up, in absolute value, to at most ``bound``, and go through at most so
    many roundings: n in a sum of n products, 1 in an addition, in a product, and where an integer is made a float.

    Guarantees: with ``u = 2**-53`` a result errs by at most ``roundings u / (1 - roundings u)`` times the bound, in
        whatever order sums are added and whether or not products are fused (Higham, Accuracy and Stability of Numerical
        Algorithms, 2002, section 3.1); this is below ``2 roundings u bound``, and that is at most ``2**62``.
    """
    return roundings < 2**50 and bound <= 2**112 and 2 * roundings * bound <= 2**115


def products_modulo(tables: IntArray, maps: Mapping[int, IntegerMap], *, total: int) -> tuple[IntArray, FloatArray]:
    """Apply a map from n_i to m_i integers along some axes i of tables (b, n_1, .., n_k), with results of any size.

    The entries of no table add up, in absolute value, to more than ``total``, at most ``2**63``.  The products (b, m_1,
    .., m_k) are those modulo ``2**64``, int64 and exact, and those in float64, near: after n_i roundings for each
    matrix and 1 more.  A product in double precision is made from the first matrix on with which int64 may be too
    narrow.
    Source: eq. (36).
    """
    near: FloatArray | None = None
    low, largest = tables, total
    for axis, each in maps.items():
        before, largest = largest, largest * each.largest
        if largest >= _INT64:
            near = each.near(low.astype(np.float64) if near is None else near, axis)
        low = each.modulo(low, axis, min(before, _INT64))
    return low, low.astype(np.float64) if near is None else near


def combine_words(low: IntArray, near: FloatArray) -> NDArray[Any]:
    """The integers that are ``low`` (..) modulo ``2**64``, and within ``2**62`` of ``near`` (..).

    None is above ``2**112`` in size.  They are ``low`` itself where int64 can hold them all, else Python integers;
    ``near`` is written over.

    Guarantees: exact, so that the type and the steps are functions of the numbers y alone, whatever the
        errors of ``near`` are.  ``y = low + 2**64 h`` for an integer h.  As a float ``low`` errs by at most
        ``2**9``, and ``near - low``, at most ``2**113`` in size, is rounded by at most ``2**60``.  So it is within
        ``2**62 + 2**9 + 2**60 < 2**63`` of ``2**64 h``: below ``2**63`` in size if and only if h is 0, and h is the
        integer closest to it over ``2**64``.
    Cost: 3 nanoseconds a number where int64 can hold them all, a tenth of a microsecond where not.
    """
    apart = np.subtract(near, low, out=near)
    if apart.min(initial=0) > -_INT64 and apart.max(initial=0) < _INT64:
        return low
    high = np.rint(np.ldexp(apart, -64)).astype(np.int64)
    numbers: NDArray[Any] = low.astype(object) + (high.astype(object) << 64)
    return numbers
