"""The matrices of kinds of query on one attribute, without the labels of their answers."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.completion import hides
from residualplanner.method.kron import SameArray


@hides(
    "apply",
    "augmented_gram",
    "centered",
    "equal_columns",
    "exchangeable_values",
    "gram",
    "is_identity",
    "matrix",
    "row_forms",
    "rows",
    "sparse_rows",
    "weighted_gram",
)
class Rows(Protocol):
    """A matrix W (q, n) over the values of one attribute.  No method but ``matrix`` forms it densely."""

    @property
    def is_identity(self) -> bool:
        """Whether its rows are the values themselves, one after another."""
        ...

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: q."""
        ...

    def matrix(self, size: int) -> NDArray[np.float64]:
        """W itself, dense, (q, n)."""
        ...

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """W itself, without its entries 0, (q, n)."""
        ...

    def gram(self, size: int) -> NDArray[np.float64]:
        """``W^T W``, (n, n), in closed form where W is large."""
        ...

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """``W^T diag(weights) W`` for weights (q,), (n, n)."""
        ...

    def augmented_gram(self, size: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """``[c | D]^T diag(weights) [c | D]`` for the parts of `centered` and weights (q,) or 1, (1 + n, 1 + n)."""
        ...

    def centered(self, size: int) -> "Centered":
        """``W = c 1^T + D``: the constant parts of its rows, and the rest."""
        ...

    def equal_columns(self, size: int) -> NDArray[np.int64]:
        """The first value that has the same column of W as each, (n,)."""
        ...

    def exchangeable_values(self, size: int) -> NDArray[np.int64]:
        """Numbers (n,) that are equal only where values can be exchanged: some order of the rows is then unchanged.

        Source: eq. (113).
        """
        ...

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """W along one axis of an array of any library: that axis goes from n to q entries, where the array is."""
        ...

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """``w_r^T form w_r`` for every row of W and a symmetric matrix (n, n), (q,)."""
        ...


class Centered(NamedTuple):
    """A basic matrix as ``W = c 1^T + D``.

    Residuals other than the total do not depend on c.  Rows such as the days 20,240,101 to 20,240,105 would lose all
    digits in which their entries differ in products with W.

    Attributes:
        rows: D (q, n).
        constant (q,): c, or one 0 that stands for all.
    """

    rows: Rows
    constant: FloatArray


def bordered(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """A Gram matrix (n, n) as the augmented one, (1 + n, 1 + n), of rows without a constant part.

    Example:
        >>> bordered(np.array([[2.0]]))
        array([[0., 0.],
               [0., 2.]])
    """
    return np.pad(gram, ((1, 0), (1, 0)))
