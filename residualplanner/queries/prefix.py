"""Prefix sums: how many records have a value up to this one, as in a cumulative distribution."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import Attribute
from residualplanner.queries.kind import PlainRows
from residualplanner.queries.spans import span_texts, value_texts


@dataclass(frozen=True, slots=True)
class Prefix(PlainRows):
    """One answer per value: the sum over all values up to and including it, in the order in which they were declared.

    Example:
        >>> Prefix().matrix(3)
        array([[1., 0., 0.],
               [1., 1., 0.],
               [1., 1., 1.]])
        >>> Prefix().labels(Attribute("grade", labels=["a", "b", "c"]))
        ('≤ a', '≤ b', '≤ c')
    """

    name = "prefix"

    def matrix(self, size: int) -> NDArray[np.float64]:
        """Ones on and below the diagonal, (size, size)."""
        return np.tri(size)

    def gram(self, size: int) -> NDArray[np.float64]:
        """``size - max(i, j)``, the number of prefixes that hold both values, (size, size)."""
        return self.weighted_gram(np.ones(size), size)

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """The weight of all prefixes that hold both values, (size, size), for weights (size,)."""
        codes = np.arange(size)
        from_here_on: NDArray[np.float64] = np.cumsum(weights[::-1])[::-1]
        return from_here_on[np.maximum.outer(codes, codes)]

    def apply(self, array: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Cumulative sums along an axis."""
        return np.cumsum(array, axis=axis)

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of every leading square block of a symmetric ``form`` (size, size), (size,)."""
        # Block j + 1 is block j and a border: twice the entries above the diagonal, and the diagonal.
        above = np.triu(form, 1).sum(axis=0)
        return np.cumsum(2 * above + np.diagonal(form))

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``≤ value`` for each value, or the interval up to the bin's upper edge, (size,)."""
        if attribute.bins is not None and attribute.bins.labels_are_intervals:
            return span_texts(attribute, ((0, last) for last in range(attribute.size)))
        return tuple(f"≤ {text}" for text in value_texts(attribute))
