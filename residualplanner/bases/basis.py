"""The residual basis of one attribute: what is measured of it, and how its values follow from that.

Reads: an integer matrix.  Gives: Basis.
Source: spec section 5, eqs. (24) to (28) and (36).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.bases.inverse import rebuilding_of
from residualplanner.errors import WorkloadError

#: How many products of columns are held at a time.
_CHUNK = 2**22


@dataclass(frozen=True, eq=False, slots=True)
class Basis:
    """The residual basis of one attribute of n values.

    Either the subtraction basis, measured by ``n I - 1 1^T`` with noise that becomes ``Sub Sub^T`` (spec eq. (35)), or
    a matrix B of integers, whose answers ``B x`` get independent noise of equal variance (spec eq. (36)).  With T
    the row of ones above B, ``[u | G]`` is the pseudo-inverse of T, its inverse where B has n-1 rows: every query whose
    rows are combinations of T's is ``W (u 1^T + G B)``.

    Attributes:
        size: n.
        family: how the basis was found: "subtraction", "orthogonal", "optimal", "near_optimal" (from a problem with
            neighboring values taken together, a few steps in full), "optimal_by_set" (for some of the sets that the
            attribute is in), "given".
        matrix (m, n): B, int64; None for the subtraction basis.
        u (n,): the first part of the pseudo-inverse; None for the subtraction basis, for which closed forms serve.
        G (n, m): the second part, likewise.
        pcost: p, the exact cost factor: ``max_j ||B e_j||**2``, or ``(n-1)/n``.
        gap: with the noise and the other attributes' bases as they are, no basis of this attribute (of its family, if
            that is "orthogonal") with the same cost factor makes the part of the loss that has to do with it smaller by
            more than this fraction; infinite where nothing is proved.

    Source: spec eqs. (24) and (28).
    """

    size: int
    family: str
    matrix: IntArray | None = None
    u: FloatArray | None = field(default=None, repr=False)
    G: FloatArray | None = field(default=None, repr=False)
    pcost: Fraction = Fraction(0)
    gap: float = math.inf

    @property
    def answers(self) -> int:
        """How many residual answers the attribute has: m, or n-1 for the subtraction basis."""
        return self.size - 1 if self.matrix is None else len(self.matrix)

    @property
    def largest_entry(self) -> int:
        """The largest entry in size of the integer matrix that counts are multiplied by before there is noise."""
        return self.size if self.matrix is None else int(np.abs(self.matrix).max())

    @property
    def column_squares(self) -> list[Fraction]:
        """``||B e_j||**2`` of every value, exactly; one entry, p, for the subtraction basis, where they are alike.

        Source: spec eq. (28).
        """
        return [self.pcost] if self.matrix is None else [Fraction(square) for square in _column_squares(self.matrix)]

    @property
    def worst_replacement(self) -> float:
        """How negative the product of two columns can be, relative to p: ``max(0, -min_{j,k} B_j^T B_k / p)``.

        With noise variance s for a set A, replacing one record costs at most ``2 / s * prod p_i * (1 + max_i)`` of
        this, the maximum being over the attributes of A.

        Source: spec eq. (37), generalized.
        """
        if self.matrix is None:
            return 1 / (self.size - 1) if self.size > 1 else 0.0
        columns = self.matrix.astype(np.float64)
        step = max(1, _CHUNK // self.size)
        least = min(float((columns[:, i : i + step].T @ columns).min()) for i in range(0, self.size, step))
        return max(0.0, -least / float(self.pcost) * (1 + 1e-12))

    def spans(self, rows: ArrayLike) -> bool:
        """Whether queries with these rows (q, n) can be answered: always where m = n-1.

        Constant parts of rows are best taken off before: they can always be answered.
        """
        if self.matrix is None or len(self.matrix) == self.size - 1:
            return True
        assert self.u is not None
        assert self.G is not None
        wanted = np.asarray(rows, dtype=np.float64)
        rebuilt = np.outer(wanted @ self.u, np.ones(self.size)) + (wanted @ self.G) @ self.matrix
        return bool((np.abs(rebuilt - wanted) <= 1e-8 * np.abs(wanted).max(axis=1, keepdims=True)).all())

    def present_form(self) -> NDArray[np.float64]:
        """The symmetric matrix (n, n) whose form ``w^T M w`` is what a query row takes of the noise where present.

        ``G G^T``, or ``I - 1 1^T / n``.  Source: spec eqs. (12) and (26).
        """
        if self.G is None:
            return np.eye(self.size) - 1 / self.size
        form: NDArray[np.float64] = self.G @ self.G.T
        return form

    def absent_vector(self) -> NDArray[np.float64]:
        """The vector (n,) whose product with a query row, squared, is what the row takes of the noise where absent.

        u, or ``1/n``.  Source: spec eqs. (12) and (26).
        """
        return np.full(self.size, 1 / self.size) if self.u is None else self.u

    def rebuilding(self) -> NDArray[np.float64]:
        """``[u | G]`` (n, 1 + m), of a basis that is not the subtraction basis."""
        assert self.u is not None
        assert self.G is not None
        return np.column_stack([self.u, self.G])


def subtraction_basis(size: int) -> Basis:
    """The subtraction basis of an attribute of ``size`` values.

    Example:
        >>> subtraction_basis(4).pcost
        Fraction(3, 4)
    """
    return Basis(size, "subtraction", pcost=Fraction(size - 1, size), gap=0.0)


def integer_basis(matrix: ArrayLike, family: str, *, gap: float = math.inf) -> Basis:
    """The basis of an integer matrix B (m, n), 1 <= m < n.

    Args:
        matrix (m, n): B.
        family: how it was found.
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
    u, G = rebuilding_of(B)
    return Basis(B.shape[1], family, frozen(B), frozen(u), frozen(G), Fraction(max(_column_squares(B))), gap)


def basis_codes(bases: Sequence[Basis]) -> NDArray[np.int64]:
    """A number for each basis (d,), equal exactly where bases are: same size, same matrix.

    Example:
        >>> basis_codes([subtraction_basis(3), subtraction_basis(2), subtraction_basis(3)]).tolist()
        [0, 1, 0]
    """
    keys = [(basis.size, b"" if basis.matrix is None else basis.matrix.tobytes()) for basis in bases]
    numbers: dict[tuple[int, bytes], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _column_squares(B: IntArray) -> list[int]:
    """The squared lengths of the columns, exactly."""
    is_narrow = B.shape[0] * float(np.abs(B).max()) ** 2 < 2**62
    exact = B if is_narrow else B.astype(object)
    squares: list[int] = (exact * exact).sum(axis=0).tolist()
    return squares
