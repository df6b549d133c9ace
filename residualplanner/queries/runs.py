"""Prefix sums and ranges: how many records have a value in a run of consecutive ones, and labels for runs.

Reads: the values of an attribute in the order in which they were declared.  Gives: Prefix and Range; labels.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import Attribute
from residualplanner.kron import SameArray, add_up_into, cumulative_sums, namespace
from residualplanner.queries.kind import PlainRows


@dataclass(frozen=True, slots=True)
class Prefix(PlainRows):
    """One answer per value: the sum over all values up to and including it, as in a cumulative distribution.

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

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """Cumulative sums along an axis."""
        return cumulative_sums(array, axis)

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of every leading square block of a symmetric ``form`` (size, size), (size,)."""
        # Block j + 1 is block j and a border: twice the entries above the diagonal, and the diagonal.
        above = np.triu(form, 1).sum(axis=0)
        return np.cumsum(2 * above + np.diagonal(form))

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``≤ value`` for each value, or the interval up to the bin's upper edge, (size,)."""
        if attribute.bins is not None and attribute.bins.labels_are_intervals:
            return span_texts(attribute, ((0, last) for last in range(attribute.size)))
        return tuple(f"≤ {text}" for text in _value_texts(attribute))


@dataclass(frozen=True, slots=True)
class Range(PlainRows):
    """One answer for each run of consecutive values [a, b], in lexicographic order of (a, b): n(n+1)/2 of them.

    Example:
        >>> Range().matrix(3).astype(int).tolist()
        [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 1], [0, 0, 1]]
        >>> Range().labels(Attribute("grade", labels=["a", "b", "c"]))
        ('a', 'a – b', 'a – c', 'b', 'b – c', 'c')
    """

    name = "range"

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: one for each pair a <= b."""
        return size * (size + 1) // 2

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The matrix itself, (size (size + 1) / 2, size): ones from a to b."""
        first, last = np.triu_indices(size)
        codes = np.arange(size)
        return ((first[:, None] <= codes) & (codes <= last[:, None])).astype(np.float64)

    def gram(self, size: int) -> NDArray[np.float64]:
        """``(min(i, j) + 1) (size - max(i, j))``, the number of ranges that hold both values, (size, size)."""
        codes = np.arange(size, dtype=np.float64)
        low: NDArray[np.float64] = np.minimum.outer(codes, codes)
        high: NDArray[np.float64] = np.maximum.outer(codes, codes)
        return (low + 1) * (size - high)

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """The weight of all ranges that hold both values, (size, size), for weights (size (size + 1) / 2,)."""
        table = np.zeros((size, size))
        table[np.triu_indices(size)] = weights
        # Entry (i, j), i <= j, becomes the sum over a <= i and b >= j.
        held = np.cumsum(np.cumsum(table, axis=0)[:, ::-1], axis=1)[:, ::-1]
        above = np.triu(held, 1)
        return above + above.T + np.diag(np.diagonal(held))

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """Sums over all ranges along an axis, which grows from n to n(n+1)/2 entries.

        Cost: one addition an entry, and no memory but the result's.
        """
        xp = namespace(array)
        values = xp.moveaxis(array, axis, -1)
        size = values.shape[-1]
        sums = xp.empty((*values.shape[:-1], self.rows(size)), dtype=values.dtype, device=values.device)
        start = 0
        for first in range(size):
            # Sums start anew at each first value: differences of cumulative sums would lose digits.
            add_up_into(sums[..., start : start + size - first], values[..., first:])
            start += size - first
        ranges: SameArray = xp.moveaxis(sums, -1, axis)
        return ranges

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of every square block on the diagonal of a symmetric ``form`` (n, n), (n (n + 1) / 2,).

        Cost: O(n^2) in time and memory.
        """
        # Block [a, b] is block [a, b-1] and a border: twice the entries (a, b) .. (b-1, b), and the diagonal's (b, b).
        border = 2 * np.triu(form, 1) + np.diag(np.diagonal(form))
        blocks = np.cumsum(np.cumsum(border[::-1], axis=0)[::-1], axis=1)
        return blocks[np.triu_indices(len(form))]

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``first – last`` for each range, a value's own label for itself, or the interval that bins cover."""
        size = attribute.size
        return span_texts(attribute, ((first, last) for first in range(size) for last in range(first, size)))


def span_texts(attribute: Attribute, spans: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """A label for each run of values, given by its first and last codes; different runs have different labels.

    A run of bins is the interval that they cover, unless the bins have names of their own.  A run of one value has the
    value's label.

    Example:
        >>> span_texts(Attribute("grade", labels=["a", "b", "c"]), [(0, 2), (1, 1)])
        ('a – c', 'b')
    """
    runs = list(spans)
    bins = attribute.bins
    if bins is not None and bins.labels_are_intervals:
        return tuple(bins.interval_text(first, last) for first, last in runs)
    words = _value_texts(attribute)
    texts = _spelled(words, runs)
    if len(set(texts)) == len(texts):
        return texts
    # Labels that contain dashes, such as "a", "b", "a – b": quotes show where one ends.
    return _spelled([json.dumps(word, ensure_ascii=False) for word in words], runs)


def _value_texts(attribute: Attribute) -> tuple[str, ...]:
    """The values of the attribute as strings, (size,)."""
    return tuple(map(str, attribute.value_labels))


def _spelled(words: list[str] | tuple[str, ...], runs: list[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(words[first] if first == last else f"{words[first]} – {words[last]}" for first, last in runs)
