"""A basis of integers: any residual matrix, measured with independent noise of equal variance.

Reads: an integer matrix.  Gives: MatrixBasis.
Source: spec section 5, eqs. (24) to (28) and (36).
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.bases.basis import Basis
from residualplanner.bases.inverse import pseudo_inverse_parts
from residualplanner.errors import WorkloadError
from residualplanner.kron import AxisMap, keeping, matrix_map
from residualplanner.queries import Identity, Kind, Prefix, Range, Rows

#: How many products of columns are held at a time.
_CHUNK = 2**22
#: Up to this many entries a basic matrix is formed to see whether a basis spans it.
_FORMED = 2**24
#: Up to this many entries ``W G`` is formed: sums of squares lose no digits.
_PRODUCTS = 2**22
#: Kinds with more rows than this for each value are averaged by their Gram matrix.
_FEW = 1.5
#: Kinds whose rows span everything, which fewer than n-1 answers and the total do not.
_FULL_RANK = (Identity(), Prefix(), Range())


@dataclass(frozen=True, eq=False)
class MatrixBasis(Basis):
    """The basis of an integer matrix B, whose answers ``B x`` get independent noise of equal variance.

    Attributes:
        inverse: u (n,) and G (n, m), the pseudo-inverse of a row of ones above B, its inverse where B has n-1 rows; the
            other members are those of `Basis`.

    Source: spec eqs. (24) and (36).
    """

    inverse: tuple[FloatArray, FloatArray] = field(repr=False)

    is_symmetric = False
    takes_differences = False

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

    @property
    def worst_replacement(self) -> float:
        """From the products of all columns, in floating point."""
        columns, step = self._floats, max(1, _CHUNK // self.size)
        least = min(float((columns[:, i : i + step].T @ columns).min()) for i in range(0, self.size, step))
        return max(0.0, -least / float(self.pcost) * (1 + 1e-12))

    @property
    def before_noise(self) -> AxisMap:
        """B, in floating point."""
        return matrix_map(self._floats)

    @property
    def after_noise(self) -> AxisMap:
        """Answers as they are."""
        return keeping(self.answers)

    @property
    def reconstruction(self) -> AxisMap:
        """``[u | G]``, by a product."""
        return matrix_map(np.column_stack([self.u, self.G]))

    def spans(self, kind: Kind) -> bool:
        """Whether the rows of a kind are combinations of B's and a row of ones.

        Large basic matrices are judged by their Gram matrix, which has the same row space.
        """
        if self.answers == self.size - 1:
            return True
        if kind in _FULL_RANK:
            return False
        rows = kind.centered(self.size).rows
        is_small = rows.rows(self.size) * self.size <= _FORMED
        return self.spans_rows(rows.matrix(self.size) if is_small else rows.gram(self.size))

    def spans_rows(self, rows: NDArray[Any]) -> bool:
        """Whether they are, but for rounding, what their answers rebuild."""
        wanted = np.asarray(rows, dtype=np.float64)
        rebuilt = np.outer(wanted @ self.u, np.ones(self.size)) + (wanted @ self.G) @ self._floats
        return bool((np.abs(rebuilt - wanted) <= 1e-8 * np.abs(wanted).max(axis=1, keepdims=True)).all())

    def has_equal_variances(self, kind: Kind) -> bool:
        """Never: symmetry is not looked for."""
        del kind
        return False

    def mean_variance_factors(self, kind: Kind) -> tuple[float, float]:
        """From the factors of the rows where these are few, else from the Gram matrix.

        Example:
            >>> integer_basis([[1, -1]], "given").mean_variance_factors(Identity())
            (0.25, 0.25)
        """
        rows = kind.rows(self.size)
        if rows > _FEW * self.size or rows * self.answers > _PRODUCTS:
            return super().mean_variance_factors(kind)
        present, absent = self.row_variance_factors(kind)
        return float(present.mean()), float(absent.mean())

    def present_parts(self, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """``G^T`` along the axis."""
        found: NDArray[np.float64] = np.moveaxis(np.moveaxis(values, axis, -1) @ self.G, -1, axis)
        return found

    def _trace(self, gram: FloatArray) -> float:
        return float(((gram @ self.G) * self.G).sum())

    def _squares(self, rows: Rows) -> FloatArray:
        if rows.rows(self.size) * self.answers > _PRODUCTS:
            return rows.row_forms(self.G @ self.G.T)
        squares: FloatArray = (rows.apply(self.G, 0) ** 2).sum(axis=1)
        return squares

    def _products(self, rows: Rows) -> FloatArray:
        parts = rows.apply(self.G, 0)
        return parts @ parts.T

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
