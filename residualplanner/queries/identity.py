"""The identity: one count per value of an attribute, which makes a query a marginal."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import Attribute
from residualplanner.queries.kind import Centered, bordered


@dataclass(frozen=True, slots=True)
class Identity:
    """One answer per value: the basic matrix is the identity.

    Source: spec eq. (1).

    Example:
        >>> Identity().matrix(2)
        array([[1., 0.],
               [0., 1.]])
    """

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        return "identity"

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: as many as it has values."""
        return size

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The identity matrix, (size, size)."""
        return np.eye(size)

    def gram(self, size: int) -> NDArray[np.float64]:
        """The identity matrix, (size, size)."""
        return np.eye(size)

    def require_fit(self, attribute: Attribute) -> None:
        """Every attribute has values that can be counted."""

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """The diagonal matrix of the weights, (size, size)."""
        del size
        return np.diag(weights)

    def augmented_gram(self, size: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The Gram matrix of the rows times the roots of ``weights`` (q,), with a border of 0, (1 + size, 1 + size)."""
        return bordered(self.gram(size) if weights is None else self.weighted_gram(weights, size))

    def centered(self, size: int) -> Centered:
        """The kind itself; its rows hold no large constant."""
        del size
        return Centered(self, np.zeros(1))

    def equal_columns(self, size: int) -> NDArray[np.int64]:
        """No columns are equal, (size,)."""
        return np.arange(size)

    def apply(self, array: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """The array itself."""
        del axis
        return array

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """The diagonal of ``form`` (size, size)."""
        return np.diagonal(form).copy()

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The values of the attribute, (size,)."""
        return attribute.value_labels
