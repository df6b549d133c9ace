"""Eigenvalues of symmetric matrices, whatever their multiplicity."""

from typing import Literal

import numpy as np
import scipy  # which loads scipy.linalg, a tenth of the time to import this package, where it is first used
from numpy.typing import NDArray

from residualplanner.ground.errors import SolverError

#: LAPACK's algorithms in the order of trying.  "evr", SciPy's own choice, gives up where many eigenvalues are equal, as
#: in a hierarchy of groups of equal size; the last one is slow and takes every matrix.
_DRIVERS: tuple[Literal["evd", "evr", "ev"], ...] = ("evd", "evr", "ev")


def eigen(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues, ascending (n,), and eigenvectors in the columns of a matrix (n, n).

    Raises:
        SolverError: the matrix is not finite, or no algorithm finds them.

    Example:
        >>> eigen(np.array([[2.0, 0.0], [0.0, 1.0]]))[0]
        array([1., 2.])
    """
    if np.isfinite(matrix).all():
        for driver in _DRIVERS:
            try:
                values, vectors = scipy.linalg.eigh(matrix, driver=driver, check_finite=False)
            except scipy.linalg.LinAlgError:
                continue
            return values, vectors
    raise SolverError("the search for a basis left floating point; ask for bases='orthogonal', or scale the weights")
