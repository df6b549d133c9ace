"""Integer matrices close to real ones, with columns that are as long.

Source: eq. (36).
"""

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray

_STEPS = 200
#: Up to so many rows two entries are moved at once; columns with more have some small entries.
_PAIR_ROWS = 64


def rounded_matrix(S: NDArray[np.float64], exponent: int, slack: float = 0.0) -> IntArray:
    """``2**exponent S`` in integers, with columns of almost the same length.

    At the optimum, what a small change of S does to the loss is of second order, but for the lengths of the columns:
    the longest is paid for.  So after rounding to the nearest integers some entries are moved by one until the
    lengths are right, those first that lose least closeness for what they change; in short columns then two at a time.

    Args:
        S (m, n): real.
        exponent: how many binary digits to keep, at least 1.
        slack: how far from its own a squared length may be, relative to the longest; moves beyond that are not made.

    Example:
        >>> rounded_matrix(np.array([[0.8, 0.4], [0.6, -0.7]]), 4)
        array([[ 13,   7],
               [  9, -11]])
    """
    wanted = np.ldexp(S, exponent)
    B = np.rint(wanted)
    target = (wanted * wanted).sum(axis=0)
    allowed = slack * target.max()
    _move_entries(B, wanted, target, allowed)
    if len(B) <= _PAIR_ROWS:
        _move_pairs(B, wanted, target, allowed)
    return B.astype(np.int64)


def _far(B: NDArray[np.float64], columns: IntArray, target: FloatArray, allowed: float) -> tuple[IntArray, FloatArray]:
    """Those of some columns whose squared length is not within ``allowed`` of its target, and by how much it is off."""
    excess = (B[:, columns] ** 2).sum(axis=0) - target[columns]
    is_far = np.abs(excess) > allowed
    return columns[is_far], excess[is_far]


def _move_entries(B: NDArray[np.float64], wanted: NDArray[np.float64], target: FloatArray, allowed: float) -> None:
    """Move one entry of a column after another by one, as long as that brings its squared length nearer to its target.

    Columns with a squared length within ``allowed`` of its target stay.
    """
    columns = np.arange(B.shape[1])
    for _ in range(_STEPS):
        columns, excess = _far(B, columns, target, allowed)
        if not len(columns):
            break
        part, goal = B[:, columns], wanted[:, columns]
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


def _move_pairs(B: NDArray[np.float64], wanted: NDArray[np.float64], target: FloatArray, allowed: float) -> None:
    """Move two entries of a column at once as long as it gains more in length than it loses in closeness.

    Columns with a squared length within ``allowed`` of its target stay.

    Where all entries of a column are large, none can be moved alone without changing the length by too much.
    """
    m, columns = len(B), np.arange(B.shape[1])
    direction = np.repeat([-1.0, 1.0], m)[:, None]
    same = np.tile(np.eye(m, dtype=bool), (2, 2))[:, :, None]
    for _ in range(_STEPS):
        columns, excess = _far(B, columns, target, allowed)
        if not len(columns):
            break
        part, goal = np.tile(B[:, columns], (2, 1)), np.tile(wanted[:, columns], (2, 1))
        change = 1 + 2 * direction * part
        error = 1 + 2 * direction * (part - goal)
        left = np.abs(excess + change[:, None] + change) + error[:, None] + error
        left = np.where(same, np.inf, left).reshape(4 * m * m, -1)
        best = left.argmin(axis=0)
        moved = left[best, np.arange(len(columns))] < np.abs(excess)
        columns, best = columns[moved], best[moved]
        if not len(columns):
            break
        for move in divmod(best, 2 * m):
            B[move % m, columns] += np.where(move < m, -1.0, 1.0)
