"""The few answers of an attribute that can have the largest variance in any table.

Reads: the variance factors of each answer.  Gives: those on their upper-right convex hull.
Source: spec eq. (23), sharpened.
"""

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen

#: Answers whose factors differ by less than this, relative to the largest, count as equal: symmetry, but for rounding.
_ALIKE = 1e-13


def hull_rows(present: NDArray[np.float64], absent: NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
    """The points (present, absent) (q,) that are largest in some direction with no negative component, (h,) each.

    With the answers of the other attributes fixed, the variance of a cell is linear in the factors of one attribute's
    answer, with coefficients of at least 0: so its maximum is attained at one of these.  That holds up to a relative
    1e-13, since points that only rounding tells apart become one.

    Example:
        >>> hull_rows(np.array([2.0, 1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.5, 1.2]))
        (array([2., 1., 0.]), array([0. , 1. , 1.2]))
    """
    order = np.lexsort([-absent, -present])
    x, y = present[order], absent[order]
    highest = np.maximum.accumulate(np.concatenate([[-np.inf], y[:-1]]))
    hull: list[tuple[float, float]] = []
    for point in _merged(x[y > highest].tolist(), y[y > highest].tolist()):
        while len(hull) > 1 and not _is_outside(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    rows = np.array(hull)
    return frozen(rows[:, 0].copy()), frozen(rows[:, 1].copy())


def _merged(x: list[float], y: list[float]) -> list[tuple[float, float]]:
    """Points from right to left and from below, those next to each other made one that is no smaller than either."""
    near_x, near_y = _ALIKE * x[0], _ALIKE * y[-1]
    points = [(x[0], y[0])]
    for right, high in zip(x[1:], y[1:], strict=True):
        last_right, last_high = points[-1]
        if last_right - right < near_x:
            points[-1] = (last_right, high)
        elif high - last_high >= near_y:
            points.append((right, high))
    return points


def _is_outside(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle one of three points from right to left is beyond the line through the others."""
    rise, fall = middle[1] - first[1], middle[0] - last[0]
    return rise * fall > (last[1] - middle[1]) * (first[0] - middle[0])
