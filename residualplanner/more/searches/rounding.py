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
#: So many columns at once: what is computed of them stays in the processor's cache.
_BLOCK = 64
#: From what the squared lengths (c,) of columns are off, and from integers and real numbers (m, c): the best moves of
#: each column, as rows and steps, and whether they are made.  Moving an entry B by one in direction d changes the
#: squared length by ``1 + 2 d B``, and the squared error by ``1 + 2 d (B - wanted)``.
_Moves = tuple[Sequence[tuple[IntArray, FloatArray]], NDArray[np.bool_]]
_Choice = Callable[[FloatArray, FloatArray, FloatArray], _Moves]


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
    target = (wanted * wanted).sum(axis=0)
    allowed = slack * target.max()
    for choice in (_one_entry, _two_entries)[: 2 if len(B) <= _PAIR_ROWS else 1]:
        for block in (slice(start, start + _BLOCK) for start in range(0, B.shape[1], _BLOCK)):
            _move(B[:, block], wanted[:, block], target[block], allowed, choice)
    return B.astype(np.int64)


def _move(
    B: NDArray[np.float64], wanted: NDArray[np.float64], target: FloatArray, allowed: float, choice: _Choice
) -> None:
    """Move entries by one, in each column whose squared length is off, until it is not or no move is any better."""
    columns = np.arange(B.shape[1])
    for _ in range(_STEPS):
        excess = (B[:, columns] ** 2).sum(axis=0) - target[columns]
        is_far = np.abs(excess) > allowed
        columns, excess = columns[is_far], excess[is_far]
        if not len(columns):
            break
        moves, is_better = choice(excess, B[:, columns], wanted[:, columns])
        columns = columns[is_better]
        if not len(columns):
            break
        for rows, steps in moves:
            B[rows[is_better], columns] += steps[is_better]


def _one_entry(excess: FloatArray, part: FloatArray, goal: FloatArray) -> _Moves:
    """The entry that loses least closeness for what it brings the length nearer to its target, if one does."""
    # Only moves away from 0 make a column longer, and only those towards it shorter.
    direction = np.copysign(np.sign(-excess), np.where(part == 0, goal, part) * -excess)
    nearer = np.abs(excess) - np.abs(excess + 1 + 2 * direction * part)
    price = np.full(part.shape, np.inf)
    np.divide(1 + 2 * direction * (part - goal), np.maximum(nearer, 1e-9), out=price, where=nearer > 0)
    best, every = price.argmin(axis=0), np.arange(len(excess))
    return [(best, direction[best, every])], np.isfinite(price[best, every])


def _two_entries(excess: FloatArray, part: FloatArray, goal: FloatArray) -> _Moves:
    """The two entries with which a column gains more in length than it loses in closeness, if there are two."""
    m = len(part)
    direction = np.repeat([-1.0, 1.0], m)[:, None]
    change = 1 + 2 * direction * np.tile(part, (2, 1))
    error = 1 + 2 * direction * np.tile(part - goal, (2, 1))
    left = np.abs(excess + change[:, None] + change) + error[:, None] + error
    same = np.tile(np.eye(m, dtype=bool), (2, 2))[:, :, None]
    left = np.where(same, np.inf, left).reshape(4 * m * m, -1)
    best = left.argmin(axis=0)
    moves = [(move % m, direction[move, 0]) for move in divmod(best, 2 * m)]
    return moves, left[best, np.arange(len(excess))] < np.abs(excess)
