"""The identity: one count per value of an attribute, which makes a query a marginal."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import Attribute


class Kind(Protocol):
    """What is asked of one attribute: a basic matrix with one row per answer, the all-ones row in its row space."""

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        ...

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets."""
        ...

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The basic matrix, (rows, size)."""
        ...

    def gram(self, size: int) -> NDArray[np.float64]:
        """The basic matrix's transpose times itself, (size, size)."""
        ...

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """What each answer is about, in the words of the attribute, (rows,)."""
        ...


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

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The values of the attribute, (size,)."""
        return attribute.value_labels
