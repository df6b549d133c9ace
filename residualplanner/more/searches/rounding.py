"""Integer matrices close to real ones, with columns that are as long.

Source: eq. (36).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray

_STEPS = 200
#: Up to so many rows two entries are moved at once; columns with more have some small entries.
_PAIR_ROWS = 64
#: From what the squared lengths (c,) of columns are off, by how much more than 1 each move of an entry (2 m, c) changes
#: them, and the squared errors it adds (2 m, c): the best moves of each column, and whether they are made.
_Choice = Callable[[FloatArray, FloatArray, FloatArray], tuple[Sequence[IntArray], NDArray[np.bool_]]]


def rounded_matrix(S: NDArray[np.float64], exponent: int, slack: float = 0.0) -> IntArray:
    """``2**exponent S`` (m, n) in integers, with columns of almost the same length.

    At the optimum, what a small change of S does to the loss is of second order, but for the lengths of the columns:
    the longest is paid for.  So after rounding to the nearest integers some entries are moved by one until the lengths
    are right, those first that lose least closeness for what they change; in short columns then two at a time: where
    all entries of a column are large, none can be moved alone without changing the length by too much.

    ``slack`` is how far from its own a squared length may be, relative to the longest; moves beyond that are not made.
    """
    wanted = np.ldexp(S, exponent)
    B = np.rint(wanted)
    _move(B, wanted, slack, _one_entry)
    if len(B) <= _PAIR_ROWS:
        _move(B, wanted, slack, _two_entries)
    return B.astype(np.int64)


def _move(B: NDArray[np.float64], wanted: NDArray[np.float64], slack: float, choice: _Choice) -> None:
    """Move entries by one, in each column whose squared length is off, until it is not or no move is any better."""
    m, columns = B.shape[0], np.arange(B.shape[1])
    target = (wanted * wanted).sum(axis=0)
    allowed = slack * target.max()
    direction = np.repeat([-1.0, 1.0], m)[:, None]
    for _ in range(_STEPS):
        excess = (B[:, columns] ** 2).sum(axis=0) - target[columns]
        is_far = np.abs(excess) > allowed
        columns, excess = columns[is_far], excess[is_far]
        if not len(columns):
            break
        # Moving an entry by one in direction d changes the squared length by 1 + 2 d B, the squared error by
        # 1 + 2 d (B - wanted).
        part, goal = np.tile(B[:, columns], (2, 1)), np.tile(wanted[:, columns], (2, 1))
        moves, is_better = choice(excess, 2 * direction * part, 1 + 2 * direction * (part - goal))
        columns = columns[is_better]
        if not len(columns):
            break
        for move in moves:
            B[move[is_better] % m, columns] += np.where(move[is_better] < m, -1.0, 1.0)


def _one_entry(
    excess: FloatArray, change: FloatArray, error: FloatArray
) -> tuple[Sequence[IntArray], NDArray[np.bool_]]:
    """The entry that loses least closeness for what it brings the length nearer to its target, if one does."""
    nearer = np.abs(excess) - np.abs(excess + 1 + change)
    price = np.where(nearer > 0, error / np.maximum(nearer, 1e-9), np.inf)
    best = price.argmin(axis=0)
    return [best], np.isfinite(price[best, np.arange(len(excess))])


def _two_entries(
    excess: FloatArray, change: FloatArray, error: FloatArray
) -> tuple[Sequence[IntArray], NDArray[np.bool_]]:
    """The two entries with which a column gains more in length than it loses in closeness, if there are two."""
    moves = len(change)
    change = 1 + change
    left = np.abs(excess + change[:, None] + change) + error[:, None] + error
    same = np.tile(np.eye(moves // 2, dtype=bool), (2, 2))[:, :, None]
    left = np.where(same, np.inf, left).reshape(moves * moves, -1)
    best = left.argmin(axis=0)
    return divmod(best, moves), left[best, np.arange(len(excess))] < np.abs(excess)
