"""The identity: one count per value of an attribute, as in marginals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import Attribute
from residualplanner.kron import SameArray
from residualplanner.queries.kind import PlainRows


@dataclass(frozen=True, slots=True)
class Identity(PlainRows):
    """One answer per value: the basic matrix is the identity.

    Source: spec eq. (1).

    Example:
        >>> Identity().matrix(2)
        array([[1., 0.],
               [0., 1.]])
    """

    name = "identity"

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The identity matrix, (size, size)."""
        return np.eye(size)

    def gram(self, size: int) -> NDArray[np.float64]:
        """The identity matrix, (size, size)."""
        return np.eye(size)

    def require_fit(self, attribute: Attribute) -> None:
        """Accept every attribute, whatever its size."""

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """The diagonal matrix of the weights, (size, size)."""
        del size
        return np.diag(weights)

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """The array itself."""
        del axis
        return array

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """The diagonal of ``form`` (size, size)."""
        return np.diagonal(form).copy()

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The values of the attribute, (size,)."""
        return attribute.value_labels

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The values of the attribute in words, (size,)."""
        return attribute.value_meanings
