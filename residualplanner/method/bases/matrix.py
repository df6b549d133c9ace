"""A basis of integers: any residual matrix, measured with independent noise of equal variance.

Source: eqs. (24) to (28) and (36).
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.inverse import pseudo_inverse_parts
from residualplanner.method.kron import AxisMap, matrix_map

#: How many products of columns are held at a time.
_CHUNK = 2**22


@dataclass(frozen=True, eq=False, repr=False)
class MatrixBasis(Basis):
    """The basis of an integer matrix B, whose answers ``B x`` get independent noise of equal variance.

    Attributes:
        inverse: u (n,) and G (n, m), the pseudo-inverse of a row of ones above B, its inverse where B has n-1 rows; the
            other members are those of `Basis`.

    Source: eqs. (24) and (36).
    """

    inverse: tuple[FloatArray, FloatArray] = field(repr=False)

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

        return pairs_of_columns(self._floats, _CHUNK)

    @property
    def before_noise(self) -> AxisMap:
        """B, in floating point."""
        return matrix_map(self._floats)

    @property
    def reconstruction(self) -> AxisMap:
        """``[u | G]``, by a product."""
        return matrix_map(np.column_stack([self.u, self.G]))

    @property
    def _floats(self) -> NDArray[np.float64]:
        return self.multipliers[0].astype(np.float64)


def integer_basis(matrix: ArrayLike, family: str, *, gap: float = math.inf) -> MatrixBasis:
    """The basis of an integer matrix B (m, n), 1 <= m < n.

    Args:
        matrix (m, n): B.
        family: how it was found, see `Basis`.
        gap: how close to the best it is proved to be, see `Basis`.

    Raises:
        WorkloadError: it is of another shape or type, its rows with a row of ones are dependent or nearly so, or its
            entries are so large that floating point does not hold them.

    Example:
        >>> basis = integer_basis([[1, -1]], "given")
        >>> basis.pcost, basis.u, basis.G.ravel()
        (Fraction(1, 1), array([0.5, 0.5]), array([ 0.5, -0.5]))
    """
    B = np.array(matrix)
    if B.dtype.kind not in "iu" or B.ndim != 2 or not 1 <= len(B) < B.shape[1]:
        raise WorkloadError(f"a basis must be integers of shape (m, n), 1 <= m < n, got {B.dtype} {B.shape}")
    if not (abs(B.astype(object)) <= 2**50).all():
        raise WorkloadError("a basis must have entries of at most 2**50")
    B = frozen(B.astype(np.int64))
    u, G = pseudo_inverse_parts(B)
    return MatrixBasis(B.shape[1], family, len(B), Fraction(max(_column_squares(B))), gap, (B,), (frozen(u), frozen(G)))


def _column_squares(B: IntArray) -> list[int]:
    """The squared lengths of the columns, exactly."""
    is_narrow = B.shape[0] * float(np.abs(B).max()) ** 2 < 2**62
    exact = B if is_narrow else B.astype(object)
    squares: list[int] = (exact * exact).sum(axis=0).tolist()
    return squares
