"""Pairs of columns that replacing a value of one attribute can cost the most with.

Reads: lengths and products of columns.  Gives: those of the pairs that no other pair surpasses.
Source: spec eq. (37).
"""

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen

_ULP = 2.0**-52
#: Products of integers below this are exact in floating point.
_EXACT = 2.0**53


def extreme_pairs(pairs: FloatArray) -> FloatArray:
    """Those of ``pairs`` (m, 3) that no other surpasses: no smaller squared lengths and no larger product, (t, 3).

    Args:
        pairs (m, 3): the squared lengths of two columns, the longer one first, and their product.

    Cost: a pass over what is left for each pair that is kept.

    Example:
        >>> extreme_pairs(np.array([[2.0, 1.0, -1.0], [2.0, 1.0, 0.5], [1.0, 1.0, -2.0]])).tolist()
        [[1.0, 1.0, -2.0], [2.0, 1.0, -1.0]]
    """
    left, found = np.asarray(pairs, dtype=np.float64), []
    while len(left):
        best = left[np.lexsort((left[:, 2], -(left[:, 0] + left[:, 1] - 2 * left[:, 2])))[0]]
        found.append(best)
        left = left[(left[:, :2] > best[:2]).any(axis=1) | (left[:, 2] < best[2])]
    return frozen(np.array(found).reshape(-1, 3))


def pairs_of_columns(columns: NDArray[np.float64], chunk: int) -> FloatArray:
    """The extreme pairs of different columns of a matrix (m, n) of integers; products are never too large, (t, 3).

    Args:
        columns (m, n): integers.
        chunk: how many products are held at a time.
    """
    lengths, size = (columns * columns).sum(axis=0), columns.shape[1]
    lost = 0.0 if lengths.max() < _EXACT else (len(columns) + 4) * _ULP * float(lengths.max())
    step, found = max(1, chunk // size), np.empty((0, 3))
    for start in range(0, size, step):
        rows = np.arange(start, min(start + step, size))
        products = columns[:, rows].T @ columns[:, start:] - lost
        first, second = np.nonzero(np.arange(start, size) > rows[:, None])
        own, other = lengths[rows[first]], lengths[start:][second]
        table = np.column_stack([np.maximum(own, other), np.minimum(own, other), products[first, second]])
        found = extreme_pairs(np.concatenate([found, table]))
    return found
