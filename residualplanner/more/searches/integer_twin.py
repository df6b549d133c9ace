"""Integer matrices in place of real ones, so that a basis of any kind can be measured with exact noise.

Source: eq. (36).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.matrix import inverse_parts

#: How much larger, relative, a variance may get because S is rounded.
LOSS = 1e-4
#: Entries up to here are floats without rounding.
_LARGEST_ENTRY = 2.0**50
#: The largest condition number of a matrix with its row of ones, that of a basis.
_CONDITION = 1e8


class IntegerTwin(NamedTuple):
    """An integer matrix that stands for a real one.

    Attributes:
        matrix (n-1, n): B, int64: in integers, close to ``2**exponent`` times the matrix that it stands for.
        exponent: b.
        loss: how much larger, relative and at equal privacy cost, a variance is at most than with the matrix that B
            stands for; see `integer_twin`.
    """

    matrix: IntArray
    exponent: int
    loss: float


def integer_twin(basis: ArrayLike, *, loss: float = LOSS) -> IntegerTwin:
    """The integer twin of a basis matrix, with the smallest exponent that loses little enough.

    Args:
        basis (n-1, n): S, with n >= 2; the rows of ones and S together must be independent.
        loss: how much larger, relative, a variance may get.

    Raises:
        WorkloadError: the matrix is of another shape, not finite, or too close to dependent rows.

    Guarantees: at equal cost, for every query W the part of the variances that comes from the attribute's own answers,
        ``W G G^T W^T``, grows by less than ``loss`` relative, and so does, for identity queries, the part
        ``W u u^T W^T`` that comes from the total; u moves by less than ``loss / 2`` of its length.
    Source: eq. (36).

    Example:
        >>> from residualplanner.method.bases.matrix import integer_basis
        >>> twin = integer_twin([[0.3, -0.3]])
        >>> twin.matrix, twin.exponent  # 0.3 * 2**2, rounded
        (array([[ 1, -1]]), 2)
        >>> integer_basis(twin.matrix, "optimal").pcost
        Fraction(1, 1)
    """
    S = _checked(basis)
    scale = np.abs(S).max()
    u, G = inverse_parts(S / scale)
    G = G / scale
    pcost = float((S * S).sum(axis=0).max())
    first = -math.floor(math.log2(scale))
    for exponent in range(first, first + 50):
        rounded = np.rint(np.ldexp(S, exponent))
        found = _loss(rounded, G, u, pcost)
        if found < loss:
            return IntegerTwin(frozen(rounded.astype(np.int64)), exponent, found)
    raise WorkloadError("a basis matrix must be well conditioned; no integer matrix comes close enough to this one")


def _loss(rounded: NDArray[np.float64], G: NDArray[np.float64], u: NDArray[np.float64], pcost: float) -> float:
    """How much worse the rounded matrix is than the one with inverse parts u and G and cost ``pcost``.

    Its own inverse parts are ``G M`` and ``u - G M B u`` with ``M`` the inverse of ``B G``, so that ``G M M^T G^T`` is
    at most the largest eigenvalue of ``M M^T`` times ``G G^T``, for every query.
    """
    if np.abs(rounded).max() > _LARGEST_ENTRY:
        return math.inf
    product = rounded @ G
    largest, smallest = np.linalg.norm(product, 2), np.linalg.norm(product, -2)
    if not smallest > largest / 2:  # near 2**b times the identity they are equal
        return math.inf
    own = (rounded * rounded).sum(axis=0).max() / smallest**2 / pcost - 1
    moved = np.linalg.norm(G @ np.linalg.solve(product, rounded @ u)) / np.linalg.norm(u)
    return float(max(own, 2 * moved + moved * moved))


def _checked(basis: ArrayLike) -> NDArray[np.float64]:
    S = np.array(basis, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] < 1 or S.shape[1] != S.shape[0] + 1 or not np.isfinite(S).all():
        raise WorkloadError(f"a basis matrix must be finite, of shape (n-1, n) with n >= 2, got shape {S.shape}")
    with np.errstate(all="ignore"):
        scaled = np.vstack([np.ones(S.shape[1]), S / np.abs(S).max()])
    if not np.isfinite(scaled).all() or not np.linalg.cond(scaled) < _CONDITION:
        raise WorkloadError("a basis matrix must have rows that are independent of one another and of a row of ones")
    return S
