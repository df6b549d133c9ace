"""What every kind of query on one attribute can do.

Reads: nothing.  Gives: Kind, a protocol.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import Attribute


class Kind(Protocol):
    """What is asked of one attribute of n values: a basic matrix W (q, n), the row of ones in its row space.

    Kinds are immutable and hashable; equal kinds ask the same.  No method but ``matrix`` forms W.
    """

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        ...

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError, naming the attribute, unless the kind can be asked of it."""
        ...

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: q."""
        ...

    def matrix(self, size: int) -> NDArray[np.float64]:
        """W itself, dense, (q, n)."""
        ...

    def gram(self, size: int) -> NDArray[np.float64]:
        """``W^T W``, (n, n), in closed form where W is large."""
        ...

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """``W^T diag(weights) W`` for weights (q,), (n, n)."""
        ...

    def apply(self, array: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """W along one axis of an array: that axis goes from n to q entries."""
        ...

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """``w_r^T form w_r`` for every row of W and a symmetric matrix (n, n), (q,)."""
        ...

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """What each answer is about, in the words of the attribute, (q,)."""
        ...
