"""Symmetric matrices: eigenvalues whatever their multiplicity, and coordinates that are apart from the total."""

from typing import Literal

import numpy as np
import scipy  # which loads scipy.linalg, a tenth of the time to import this package, where it is first used
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import SolverError

#: LAPACK's algorithms in the order of trying.  "evr", SciPy's own choice, gives up where many eigenvalues are equal, as
#: in a hierarchy of groups of equal size; the last one is slow and takes every matrix.
_DRIVERS: tuple[Literal["evd", "evr", "ev"], ...] = ("evd", "evr", "ev")


def eigen(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues, ascending (n,), and eigenvectors in the columns of a matrix (n, n).

    Raises SolverError: the matrix is not finite, or no algorithm finds them.
    """
    if np.isfinite(matrix).all():
        for driver in _DRIVERS:
            try:
                values, vectors = scipy.linalg.eigh(matrix, driver=driver, check_finite=False)
            except scipy.linalg.LinAlgError:
                continue
            return values, vectors
    raise SolverError("the search for a basis left floating point; ask for bases='orthogonal', or scale the weights")


def _mirror(size: int) -> FloatArray:
    """The normal w of the reflection ``I - w w' / w[0]`` (Householder's) that maps the first axis to ``-1/sqrt(n)``."""
    w = np.full(size, 1 / np.sqrt(size))
    w[0] += 1
    return w


def zero_sum_basis(size: int) -> NDArray[np.float64]:
    """Orthonormal columns that each sum to zero, (size, size - 1)."""
    w = _mirror(size)
    reflection = np.eye(size) - np.outer(w, w) / w[0]
    columns: NDArray[np.float64] = reflection[:, 1:]
    return columns


def reflected(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows of ``array`` (q, n) in coordinates of which the first is along a row of ones, negated; in O(q n)."""
    w = _mirror(array.shape[1])
    turned: NDArray[np.float64] = array - np.outer(array @ w / w[0], w)
    return turned
