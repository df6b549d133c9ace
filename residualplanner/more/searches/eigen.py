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
    """Eigenvalues, ascending (n,), and eigenvectors in columns (n, n); SolverError where no algorithm finds them."""
    if np.isfinite(matrix).all():
        for driver in _DRIVERS:
            try:
                values, vectors = scipy.linalg.eigh(matrix, driver=driver, check_finite=False)
            except scipy.linalg.LinAlgError:
                continue
            return values, vectors
    raise SolverError("the search for a basis left floating point; ask for bases='orthogonal', or scale the weights")


def zero_sum_basis(size: int) -> NDArray[np.float64]:
    """Orthonormal columns that each sum to zero, (size, size - 1)."""
    return reflected(np.eye(size))[:, 1:]


def reflected(rows: NDArray[np.float64], first: FloatArray | None = None) -> NDArray[np.float64]:
    """Rows (q, n) in orthonormal coordinates of which the first is along a unit vector (n,), negated; in O(q n).

    The unit vector has no entry below 0; it is along a row of ones when omitted.
    """
    n = rows.shape[1]
    # Householder's reflection I - w w' / w[0] maps the first axis to the unit vector, negated.
    w = np.full(n, 1 / np.sqrt(n)) if first is None else first.copy()
    w[0] += 1
    return rows - np.outer(rows @ w / w[0], w)


def reflected_form(form: NDArray[np.float64], first: FloatArray | None = None) -> NDArray[np.float64]:
    """A symmetric matrix (n, n) in the coordinates of `reflected`, of which ``first`` (n,), negated, is the first."""
    return reflected(reflected(form, first).T, first)
