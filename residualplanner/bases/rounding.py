"""Whole-number matrices close to real ones, with columns that are as long.

Reads: a real residual matrix.  Gives: whole numbers.
Source: spec eq. (36).
"""

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray

_STEPS = 200


def rounded_matrix(S: NDArray[np.float64], exponent: int) -> IntArray:
    """``2**exponent S`` in whole numbers, with columns of almost the same length.

    At the optimum, what a small change of S does to the loss is of second order, but for the lengths of the columns:
    the longest is paid for.  So after rounding to the nearest whole numbers some entries are moved by one until the
    lengths are right, those first that lose least closeness for what they change.

    Args:
        S (m, n): real.
        exponent: how many binary digits to keep, at least 1.

    Example:
        >>> rounded_matrix(np.array([[0.8, 0.4], [0.6, -0.7]]), 4)
        array([[ 13,   7],
               [  9, -11]])
    """
    wanted = np.ldexp(S, exponent)
    B = np.rint(wanted)
    target = (wanted * wanted).sum(axis=0)
    columns = np.arange(S.shape[1])
    for _ in range(_STEPS):
        part, goal = B[:, columns], wanted[:, columns]
        excess = (part * part).sum(axis=0) - target[columns]
        # Moving an entry by one in direction d changes the squared length by 1 + 2 d B, the squared error by
        # 1 + 2 d (B - wanted).
        moves = []
        for direction in (-1.0, 1.0):
            nearer = np.abs(excess) - np.abs(excess + 1 + 2 * direction * part)
            error = 1 + 2 * direction * (part - goal)
            moves.append(np.where(nearer > 0, error / np.maximum(nearer, 1e-9), np.inf))
        price = np.concatenate(moves)
        best = price.argmin(axis=0)
        moved = np.isfinite(price[best, np.arange(len(columns))])
        columns, best = columns[moved], best[moved]
        if not len(columns):
            break
        B[best % len(B), columns] += np.where(best < len(B), -1.0, 1.0)
    return B.astype(np.int64)
