"""Residual matrices orthogonal to the total, from a strategy that somebody already has.

Source: paper section 7, Algorithm 4; docs/mathematics.md section 4.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, frozen, require_numbers
from residualplanner.ground.errors import WorkloadError

_TOLERANCE = 1e-10


def orthogonal_residuals(strategy: ArrayLike, covariance: ArrayLike | None = None) -> FloatArray:
    """The residual matrix of a strategy replacement: what the strategy measures apart from the total.

    Args:
        strategy (m, n): S, of full column rank, whose rows can be anything that the queries follow from.
        covariance (m, m): C, of the noise the strategy would be measured with; independent and equal when omitted.

    Returns:
        Sub (n-1, n) with rows orthogonal to the row of ones and ``Sub^T Sub = P^T P``, where
        ``P = C^{-1/2} (S - S 1 1^T / n)``; ``select`` takes it as a basis: ``bases={"age": Sub}``.

    Raises:
        WorkloadError: a matrix is not finite, of another shape, or the strategy's columns are dependent.

    Source: paper Algorithm 4.

    Example:
        >>> Sub = orthogonal_residuals(np.eye(3))
        >>> np.round(Sub.T @ Sub, 6)
        array([[ 0.666667, -0.333333, -0.333333],
               [-0.333333,  0.666667, -0.333333],
               [-0.333333, -0.333333,  0.666667]])
    """
    S = require_numbers("a strategy must be a matrix of numbers", strategy)
    if S.ndim != 2 or S.shape[1] < 2 or S.shape[0] < S.shape[1] - 1 or not np.isfinite(S).all():
        raise WorkloadError(f"a strategy must be finite, of shape (m, n) with m >= n - 1 and n >= 2, got {S.shape}")
    P = S - S.mean(axis=1, keepdims=True)
    if covariance is not None:
        C = require_numbers("the covariance must be a matrix of numbers", covariance)
        if C.shape != (len(S), len(S)) or not np.isfinite(C).all() or not np.allclose(C, C.T):
            raise WorkloadError(f"the covariance must be symmetric, of shape ({len(S)}, {len(S)}), got {C.shape}")
        try:
            P = scipy.linalg.solve_triangular(np.linalg.cholesky(C), P, lower=True)
        except np.linalg.LinAlgError:
            raise WorkloadError("the covariance of a strategy's noise must be positive definite") from None
    R: FloatArray = np.asarray(np.linalg.qr(P, mode="r"))[: S.shape[1] - 1]
    # The last diagonal entry of the triangle belongs to the total, which P does not see.
    if not (np.abs(np.diagonal(R)) > _TOLERANCE * np.abs(R).max(initial=0.0)).all():
        raise WorkloadError("a strategy must have independent columns, apart from the total")
    return frozen(R)
