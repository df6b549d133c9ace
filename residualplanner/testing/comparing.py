"""What checks have in common: how they fail, and exact arithmetic on small matrices."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.method.bases.basis import Basis

#: An array of Python's integers or fractions.
Exact = NDArray[np.object_]


def require(is_so: bool, message: str) -> None:
    """Raise AssertionError with a message unless it is so, under ``python -O``, too."""
    if not is_so:
        raise AssertionError(message)


def agree(
    found: ArrayLike,
    expected: ArrayLike,
    what: str,
    remedy: str,
    *,
    within: ArrayLike = 1e-11,
    by_row: bool = False,
) -> None:
    """Raise AssertionError, naming the first entry that differs, unless two arrays of one shape are nearly equal.

    Entries may differ by ``within``, for each row or for all, times the largest one of their row, or of all.
    """
    ours, theirs = np.asarray(expected, dtype=np.float64), np.asarray(found, dtype=np.float64)
    require(ours.shape == theirs.shape, f"{what}: expected shape {ours.shape}, got {theirs.shape}; {remedy}")
    axes = tuple(range(1, ours.ndim)) if by_row else None
    room = np.asarray(within) * np.abs(ours).max(axis=axes, initial=0, keepdims=True)
    is_near = np.abs(theirs - ours) <= room.reshape(room.shape if ours.ndim else ())
    for at in np.argwhere(~is_near)[:1].tolist():  # NaN is not near
        where = f" at {at}" if at else ""
        message = f"{what}{where}: expected {ours[tuple(at)]:.12g}, got {theirs[tuple(at)]:.12g}; {remedy}"
        raise AssertionError(message)


def exact_inverse(matrix: Exact) -> Exact:
    """The inverse of a matrix (n, n) of fractions, by Gauss and Jordan; AssertionError where there is none."""
    size = len(matrix)
    rows = np.concatenate([matrix, np.eye(size, dtype=np.int64).astype(object)], axis=1) + Fraction(0)
    for column in range(size):
        pivots = np.flatnonzero(rows[column:, column] != 0)
        require(len(pivots) > 0, "the rows of a matrix depend on one another; leave out those that follow from others")
        rows[[column, column + pivots[0]]] = rows[[column + pivots[0], column]]
        rows[column] /= rows[column, column]
        others = np.arange(size) != column
        rows[others] -= rows[others, column, None] * rows[column]
    inverse: Exact = rows[:, size:]
    return inverse


@lru_cache(maxsize=256)
def exact_precision(basis: Basis) -> Exact:
    """The inverse of the covariance of a basis' answers at unit noise, (m, m), from its map after the noise."""
    after = exact_integers(basis.after_noise.matrix, "the map after the noise")
    covariance = after @ after.T
    return covariance if (covariance == np.eye(len(after))).all() else exact_inverse(covariance)


def exact_integers(matrix: NDArray[Any], what: str) -> Exact:
    """A matrix of floats as Python's integers; AssertionError where an entry is none."""
    rounded = np.rint(matrix)
    require(bool((rounded == matrix).all()), f"{what} must have integers for entries, so that its noise is exact")
    exact: Exact = np.vectorize(int, otypes=[object])(rounded)
    return exact
