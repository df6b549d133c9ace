"""Whole-number matrices in place of real ones, so that a basis of any kind can be measured with exact noise.

Reads: a basis matrix S.  Gives: IntegerTwin: ``B = round(2**b S)`` and all that follows from B itself.
Source: spec eq. (36).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.errors import WorkloadError

#: How much larger, relative, a variance may get because S is rounded.
LOSS = 1e-4
#: Entries up to here are floats without rounding.
_LARGEST_ENTRY = 2.0**50


@dataclass(frozen=True, eq=False, slots=True)
class IntegerTwin:
    """A whole-number basis matrix B for one attribute of n values.

    With T the row of ones above B, the inverse of T is ``[u | G]``: ``1^T u = 1``, ``B u = 0``, ``1^T G = 0``,
    ``B G = I``.

    Attributes:
        matrix (n-1, n): B, int64: in whole numbers, close to ``2**exponent`` times the matrix that it stands for.
        exponent: b.
        pcost: the exact cost ``max_j ||B e_j||**2``: with noise variance s for the answers ``B x`` the
            privacy cost is ``pcost / s``.
        u (n,): the share of the total that each value is taken to have.
        G (n, n-1): what each answer adds to each value.
        loss: how much larger, relative and at equal privacy cost, a variance is at most than with the matrix that B
            stands for; see `integer_twin`.
    """

    matrix: IntArray
    exponent: int
    pcost: int
    u: FloatArray
    G: FloatArray
    loss: float

    @property
    def largest_entry(self) -> int:
        """The largest entry of B in size: a table of N counts has answers of at most N times this."""
        return int(np.abs(self.matrix).max())


def integer_twin(basis: ArrayLike, *, loss: float = LOSS) -> IntegerTwin:
    """The whole-number twin of a basis matrix, with the smallest exponent that loses little enough.

    Args:
        basis (n-1, n): S, with n >= 2; the rows of ones and S together must be independent.
        loss: how much larger, relative, a variance may get.

    Raises:
        WorkloadError: the matrix is of another shape, not finite, or too close to dependent rows.

    Guarantees: at equal cost, for every query W the part of the variances that comes from the attribute's own answers,
        ``W G G^T W^T``, grows by less than ``loss`` relative, and so does, for identity queries, the part
        ``W u u^T W^T`` that comes from the total; u moves by less than ``loss / 2`` of its length.
    Source: spec eq. (36).

    Example:
        >>> twin = integer_twin([[1.0, -1.0]])
        >>> twin.matrix, twin.pcost, twin.u, twin.G.ravel()
        (array([[ 1, -1]]), 1, array([0.5, 0.5]), array([ 0.5, -0.5]))
    """
    S = _checked(basis)
    u, G = inverse_parts(S)
    pcost = float((S * S).sum(axis=0).max())
    first = -math.floor(math.log2(np.abs(S).max()))
    for exponent in range(first, first + 50):
        rounded = np.rint(np.ldexp(S, exponent))
        found = _loss(rounded, G, u, pcost)
        if found < loss:
            return _twin(rounded.astype(np.int64), exponent, found)
    raise WorkloadError(
        "a basis matrix must be well conditioned; no whole-number matrix comes close enough to this one"
    )


def inverse_parts(basis: NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
    """The inverse of the row of ones above ``basis`` (n-1, n): its first column u (n,) and the others G (n, n-1).

    Source: spec eq. (36).

    Example:
        >>> u, G = inverse_parts(np.array([[1.0, -1.0]]))
        >>> u, G.ravel()
        (array([0.5, 0.5]), array([ 0.5, -0.5]))
    """
    scale = np.abs(basis).max()
    inverse = np.linalg.inv(np.vstack([np.ones(basis.shape[1]), basis / scale]))
    return frozen(inverse[:, 0].copy()), frozen(inverse[:, 1:] / scale)


def _loss(rounded: NDArray[np.float64], G: FloatArray, u: FloatArray, pcost: float) -> float:
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


def _twin(matrix: IntArray, exponent: int, loss: float) -> IntegerTwin:
    pcost = max(sum(entry * entry for entry in column) for column in matrix.T.tolist())
    u, G = inverse_parts(matrix.astype(np.float64))
    return IntegerTwin(frozen(matrix), exponent, pcost, u, G, loss)


def _checked(basis: ArrayLike) -> NDArray[np.float64]:
    S = np.array(basis, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] < 1 or S.shape[1] != S.shape[0] + 1 or not np.isfinite(S).all():
        raise WorkloadError(f"a basis matrix must be finite, of shape (n-1, n) with n >= 2, got shape {S.shape}")
    with np.errstate(all="ignore"):
        scaled = np.vstack([np.ones(S.shape[1]), S / np.abs(S).max()])
    if not np.isfinite(scaled).all() or not np.linalg.cond(scaled) < 1e10:
        raise WorkloadError("a basis matrix must have rows that are independent of one another and of a row of ones")
    return S
