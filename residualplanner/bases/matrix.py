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
from residualplanner.bases.basis import positive_factors
from residualplanner.bases.inverse import pseudo_inverse_parts
from residualplanner.errors import WorkloadError
from residualplanner.kron import AxisMap, keeping, matrix_map
from residualplanner.queries import Identity, Kind, Prefix, Range

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


@dataclass(frozen=True, eq=False, slots=True)
class MatrixBasis:
    """The basis of an integer matrix B (m, n), whose answers ``B x`` get independent noise of equal variance.

    Attributes:
        matrix (m, n): B, int64.
        family: how it was found, a word.
        u (n,), G (n, m): the pseudo-inverse of a row of ones above B, its inverse where B has n-1 rows.
        pcost: the largest squared length of a column.
        gap: how close to the best it is proved to be.

    Source: spec eqs. (24) and (36); the members are those of `Basis`.
    """

    matrix: IntArray
    family: str
    u: FloatArray = field(repr=False)
    G: FloatArray = field(repr=False)
    pcost: Fraction
    gap: float

    is_symmetric = False
    takes_differences = False
    divisor = 1

    @property
    def size(self) -> int:
        """The number of columns, n."""
        return int(self.matrix.shape[1])

    @property
    def answers(self) -> int:
        """The number of rows, m."""
        return len(self.matrix)

    @property
    def column_squares(self) -> list[Fraction]:
        """Of every column, exactly."""
        return [Fraction(square) for square in _column_squares(self.matrix)]

    @property
    def worst_replacement(self) -> float:
        """From all products of columns, in floating point."""
        columns = self.matrix.astype(np.float64)
        step = max(1, _CHUNK // self.size)
        least = min(float((columns[:, i : i + step].T @ columns).min()) for i in range(0, self.size, step))
        return max(0.0, -least / float(self.pcost) * (1 + 1e-12))

    @property
    def key(self) -> tuple[int, bytes]:
        """The size and the entries of the matrix."""
        return self.size, self.matrix.tobytes()

    @property
    def multipliers(self) -> tuple[IntArray, ...]:
        """B."""
        return (self.matrix,)

    @property
    def largest_entry(self) -> int:
        """Of B, in size."""
        return int(np.abs(self.matrix).max())

    @property
    def noise_values(self) -> int:
        """M."""
        return self.answers

    @property
    def before_noise(self) -> AxisMap:
        """B, in floating point."""
        return matrix_map(self.matrix.astype(np.float64))

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
        """Whether they are combinations of B's and a row of ones, but for rounding."""
        wanted = np.asarray(rows, dtype=np.float64)
        rebuilt = np.outer(wanted @ self.u, np.ones(self.size)) + (wanted @ self.G) @ self.matrix
        return bool((np.abs(rebuilt - wanted) <= 1e-8 * np.abs(wanted).max(axis=1, keepdims=True)).all())

    def has_equal_variances(self, kind: Kind) -> bool:
        """Symmetry is not looked for."""
        del kind
        return False

    def mean_variance_factors(self, kind: Kind) -> tuple[float, float]:
        """From the factors of the rows where these are few, else from the Gram matrix.

        Example:
            >>> integer_basis([[1, -1]], "given").mean_variance_factors(Identity())
            (0.25, 0.25)
        """
        rows = kind.rows(self.size)
        if rows <= _FEW * self.size and rows * self.answers <= _PRODUCTS:
            each = self.row_variance_factors(kind)
            return float(each[0].mean()), float(each[1].mean())
        form, u = kind.augmented_gram(self.size), np.concatenate([[1.0], self.u])
        present, absent = ((form[1:, 1:] @ self.G) * self.G).sum(), u @ form @ u
        return float(positive_factors(present, absent, self.pcost)) / rows, float(absent) / rows

    def row_variance_factors(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``||w_r G||**2`` and ``(w_r u)**2`` for every row w_r."""
        rows, constant = kind.centered(self.size)
        absent: FloatArray = (constant + rows.apply(self.u, 0)) ** 2
        if len(absent) * self.answers <= _PRODUCTS:
            present: FloatArray = (rows.apply(self.G, 0) ** 2).sum(axis=1)
        else:
            present = rows.row_forms(self.G @ self.G.T)
        return positive_factors(present, absent, self.pcost), absent

    def cell_covariances(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``W u u^T W^T`` and ``W G G^T W^T``."""
        rows, constant = kind.centered(self.size)
        spread, parts = constant + rows.apply(self.u, 0), rows.apply(self.G, 0)
        return np.outer(spread, spread), parts @ parts.T

    def present_parts(self, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """``G^T`` along the axis."""
        found: NDArray[np.float64] = np.moveaxis(np.moveaxis(values, axis, -1) @ self.G, -1, axis)
        return found


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
    B = B.astype(np.int64)
    u, G = pseudo_inverse_parts(B)
    return MatrixBasis(frozen(B), family, frozen(u), frozen(G), Fraction(max(_column_squares(B))), gap)


def _column_squares(B: IntArray) -> list[int]:
    """The squared lengths of the columns, exactly."""
    is_narrow = B.shape[0] * float(np.abs(B).max()) ** 2 < 2**62
    exact = B if is_narrow else B.astype(object)
    squares: list[int] = (exact * exact).sum(axis=0).tolist()
    return squares
