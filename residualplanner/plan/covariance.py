"""Covariances within one table, dense or as quadratic forms.

Source: spec eq. (12); paper Theorem 4.4.
"""

import math

import numpy as np
from numpy.typing import NDArray

from residualplanner.bases import cell_covariances
from residualplanner.errors import WorkloadError

_ENTRY_LIMIT = 2**28


def dense_covariance(shape: tuple[int, ...], noise_variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariance of all cells of a table of ``shape`` in C order, (cells, cells).

    Args:
        shape: the sizes (n_1, .., n_k).
        noise_variance (2, .., 2): sigma squared of every subset; index 1 on an axis where the attribute is present.

    Raises:
        WorkloadError: the matrix would have more than 2**28 entries.

    Example:
        >>> dense_covariance((2,), np.array([4.0, 1.0])).tolist()
        [[1.5, 0.5], [0.5, 1.5]]
    """
    if math.prod(shape) ** 2 > _ENTRY_LIMIT:
        raise WorkloadError(
            f"too large: the covariance of {math.prod(shape):,} cells; ask for the variance of a combination instead"
        )
    if not shape:
        return noise_variance.reshape(1, 1).copy()
    absent, present = cell_covariances(shape[0])
    return np.kron(absent, dense_covariance(shape[1:], noise_variance[0])) + np.kron(
        present, dense_covariance(shape[1:], noise_variance[1])
    )


def quadratic_form(weights: NDArray[np.float64], noise_variance: NDArray[np.float64]) -> float:
    """The variance of the sum of the cells of a table times ``weights`` (n_1, .., n_k).

    A covariance factor is the deviation from the mean where the attribute is present, the mean of the weights where it
    is absent.  Taken axis by axis they give 2**k blocks, whose squares are summed.

    Args:
        weights (n_1, .., n_k): one per cell.
        noise_variance (2, .., 2): as in `dense_covariance`.

    Example:
        >>> quadratic_form(np.array([1.0, 1.0]), np.array([4.0, 1.0]))
        4.0
    """
    parts = weights
    spread = noise_variance
    for axis, size in enumerate(weights.shape):
        mean = parts.mean(axis=axis, keepdims=True)
        parts = np.concatenate([mean, parts - mean], axis=axis)
        spread = np.repeat(spread, [1, size], axis=axis)
    return float((spread * parts**2).sum())
