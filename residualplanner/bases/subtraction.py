"""The subtraction basis: every attribute's values compared with its first one.

Reads: attribute sizes.  Gives: the numbers p, s, t of each attribute.
Source: paper section 4; spec eqs. (5) to (12).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import FloatArray, frozen


@dataclass(frozen=True, eq=False, slots=True)
class ResidualNumbers:
    """What one attribute contributes, as a factor, to privacy cost and to the variance of an average cell.

    Attributes:
        sizes (d,): how many values each attribute has.
        pcost (d,): to the cost of a base mechanism that contains the attribute; one that does not has factor 1.
        present (d, kinds): to the variance that a query takes from a base mechanism that contains the attribute.
        absent (d, kinds): to the variance that a query takes from one that leaves the attribute out.
    """

    sizes: FloatArray
    pcost: FloatArray
    present: FloatArray
    absent: FloatArray


def subtraction_numbers(sizes: ArrayLike) -> ResidualNumbers:
    """The numbers of the subtraction basis for identity queries on attributes of the given sizes (d,).

    Returns:
        p = (n-1)/n, present = (n-1)/n and absent = 1/n**2, with one column for the one kind, identity.

    Source: spec eqs. (8) and (11); paper Theorems 4.3 and 4.4.

    Example:
        >>> numbers = subtraction_numbers([2, 4])
        >>> numbers.pcost, numbers.absent.ravel()
        (array([0.5 , 0.75]), array([0.25  , 0.0625]))
    """
    n = np.asarray(sizes, dtype=np.float64)
    present = (n - 1) / n
    return ResidualNumbers(
        frozen(n.copy()), frozen(present), frozen(present[:, None].copy()), frozen(1 / (n * n)[:, None])
    )


def cell_covariances(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The covariance factors of one attribute of ``size`` values, (size, size) each: absent, present.

    Source: spec eq. (12); paper Theorem 4.4.

    Example:
        >>> absent, present = cell_covariances(2)
        >>> absent.tolist(), present.tolist()
        ([[0.25, 0.25], [0.25, 0.25]], [[0.5, -0.5], [-0.5, 0.5]])
    """
    ones = np.ones((size, size))
    return ones / size**2, np.eye(size) - ones / size
