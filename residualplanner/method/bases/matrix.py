"""A basis of integers, any residual matrix B, measured with independent noise of equal variance; and its ``[u | G]``.

Source: eqs. (24) to (28) and (36).
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron.axis_maps import AxisMap, matrix_map

#: The largest condition number of a basis, by Frobenius norms, with rows scaled to similar lengths, divided by n: above
#: it, tables would be differences of large numbers.
_CONDITION = 1e8
#: Above this condition number the inverse is improved once.
_ROUGH = 1e4
#: Products of numbers of so many digits are exact, summed over up to 2**13.
_DIGITS = 20


def inverse_parts(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The parts u (g,) and G (g, g-1) of the inverse of a row of ones above S (g-1, g); LinAlgError if none is."""
    inverse = np.linalg.inv(np.vstack([np.ones(S.shape[1]), S]))
    return inverse[:, 0], inverse[:, 1:]


def pseudo_inverse_parts(B: IntArray) -> tuple[FloatArray, FloatArray]:
    """The parts u (n,) and G (n, m) of the pseudo-inverse of a row of ones above B (m, n).

    Equal columns of B are merged: where the distinct ones make a square matrix, each of its inverse's rows is divided
    evenly among the equal columns, and errors are a few units in the last place of each column's largest entry.
    WorkloadError where the rows are dependent, or nearly so.  Source: eq. (24).
    """
    scale = np.exp2(np.ceil(np.log2(np.maximum(np.abs(B).max(axis=1), 1))))  # powers of 2: no digit is lost
    rows = np.vstack([np.ones(B.shape[1]), B / scale[:, None]])
    if len(B) == B.shape[1] - 1:
        inverse, is_square = _inverse(rows), True
    else:
        _, first, group, count = np.unique(B, axis=1, return_index=True, return_inverse=True, return_counts=True)
        is_square = len(first) == len(rows)
        if is_square:
            inverse = _inverse(rows[:, first])[group.ravel()] / count[group.ravel(), None]
        else:
            inverse = np.linalg.pinv(rows, rcond=0.1 / _CONDITION)
    with np.errstate(over="ignore", invalid="ignore"):
        condition = np.linalg.norm(rows) * np.linalg.norm(inverse)
        is_inverse = is_square or np.abs(rows @ inverse - np.eye(len(rows))).max() < 1e-6
    if not (condition < _CONDITION * rows.shape[1] and is_inverse):
        raise WorkloadError("a basis must have rows that are independent of one another and of a row of ones")
    return inverse[:, 0].copy(), inverse[:, 1:] / scale


def _inverse(T: FloatArray) -> FloatArray:
    """The inverse, improved by one step of Newton's method whose remainder is computed with twice the digits."""
    try:
        X = np.asarray(np.linalg.inv(T), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(T.shape, np.inf)
    if not _ROUGH < np.linalg.norm(T) * np.linalg.norm(X) < np.inf:
        return X
    coarse, fine = _leading(X), _leading(T)
    # left = I - T X, of which the large part, fine @ coarse, is exact: both have at most 20 binary digits.
    left = np.eye(len(T)) - fine @ coarse
    left -= fine @ (X - coarse) + (T - fine) @ X
    return X + X @ left


def _leading(matrix: FloatArray) -> FloatArray:
    """The entries to `_DIGITS` binary digits below the largest of their column."""
    unit = np.exp2(np.ceil(np.log2(np.maximum(np.abs(matrix).max(axis=0), 1e-300))) - _DIGITS)
    return np.asarray(np.rint(matrix / unit) * unit)


@dataclass(frozen=True, eq=False, repr=False)
class MatrixBasis(Basis):
    """The basis of an integer matrix B, whose answers ``B x`` get noise of equal variance.  Source: eqs. (24), (36)."""

    inverse: tuple[FloatArray, FloatArray] = field(repr=False)  # u (n,) and G (n, m)

    @property
    def u(self) -> FloatArray:
        """The first column of the pseudo-inverse, (n,)."""
        return self.inverse[0]

    @property
    def G(self) -> FloatArray:
        """Its other columns, (n, m)."""
        return self.inverse[1]

    @property
    def column_squares(self) -> list[Fraction]:
        """Of every column, exactly."""
        return [Fraction(square) for square in _column_squares(*self.multipliers)]

    @cached_property
    def extreme_pairs(self) -> FloatArray:
        """From the products of all columns, in floating point."""
        from residualplanner.more.replacement.extreme_pairs import pairs_of_columns  # a door

        return pairs_of_columns(self._floats)

    @cached_property
    def farthest_pair(self) -> FloatArray:
        """Without the others, of which there may be many."""
        from residualplanner.more.replacement.extreme_pairs import farthest_columns  # a door

        return farthest_columns(self._floats)

    @property
    def before_noise(self) -> AxisMap:
        """B, in floating point."""
        return matrix_map(self._floats)

    @property
    def reconstruction(self) -> AxisMap:
        """``[u | G]``, by a product."""
        return matrix_map(np.column_stack([self.u, self.G]))

    @property
    def _floats(self) -> FloatArray:
        return self.multipliers[0].astype(np.float64)


def integer_basis(matrix: ArrayLike, family: str, *, gap: float = math.inf) -> MatrixBasis:
    """The basis of an integer matrix B (m, n), 1 <= m < n; ``family`` and ``gap`` as of `Basis`."""
    B = np.array(matrix)
    if B.dtype.kind not in "iu" or B.ndim != 2 or not 1 <= len(B) < B.shape[1]:
        raise WorkloadError(f"a basis must be integers of shape (m, n), 1 <= m < n, got {B.dtype} {B.shape}")
    if not -(2**50) <= int(B.min()) <= int(B.max()) <= 2**50:
        raise WorkloadError("a basis must have entries of at most 2**50")
    B = frozen(B.astype(np.int64))
    u, G = pseudo_inverse_parts(B)
    return MatrixBasis(B.shape[1], family, len(B), Fraction(max(_column_squares(B))), gap, (B,), (frozen(u), frozen(G)))


def _column_squares(B: IntArray) -> list[int]:
    is_narrow = B.shape[0] * float(np.abs(B).max()) ** 2 < 2**62
    exact = B if is_narrow else B.astype(object)
    squares: list[int] = (exact * exact).sum(axis=0).tolist()
    return squares
