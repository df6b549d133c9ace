"""Prefix sums and ranges: how many records have a value in a run of consecutive ones, and labels for runs."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.kron.arrays import SameArray, add_up_into, cumulative_sums, namespace
from residualplanner.method.queries.kind import PlainRows


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

    def matrix(self, size: int) -> FloatArray:
        """Ones on and below the diagonal, (size, size)."""
        return np.tri(size)

    def weighted_gram(self, weights: FloatArray, size: int) -> FloatArray:
        """The weight of all prefixes that hold both values, (size, size), for weights (size,)."""
        codes = np.arange(size)
        from_here_on: FloatArray = np.cumsum(weights[::-1])[::-1]
        return from_here_on[np.maximum.outer(codes, codes)]

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """Cumulative sums along an axis."""
        return cumulative_sums(array, axis)

    def row_forms(self, form: FloatArray) -> FloatArray:
        """The sum of every leading square block of a symmetric ``form`` (size, size), (size,)."""
        # Block j + 1 is block j and a border: twice the entries above the diagonal, and the diagonal.
        above = np.triu(form, 1).sum(axis=0)
        return np.cumsum(2 * above + np.diagonal(form))

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``≤ value`` for each value, or the interval up to the bin's upper edge, (size,)."""
        words = tuple(map(str, attribute.value_labels))
        return distinct_texts(lambda words: _prefix_texts(attribute, words), words)

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The same in the meanings of the values, (size,)."""
        return _prefix_texts(attribute, attribute.value_meanings)


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

    def matrix(self, size: int) -> FloatArray:
        """The matrix itself, (size (size + 1) / 2, size): ones from a to b."""
        first, last = np.triu_indices(size)
        codes = np.arange(size)
        return ((first[:, None] <= codes) & (codes <= last[:, None])).astype(np.float64)

    def gram(self, size: int) -> FloatArray:
        """``(min(i, j) + 1) (size - max(i, j))``, the number of ranges that hold both values, (size, size)."""
        codes = np.arange(size, dtype=np.float64)
        low: FloatArray = np.minimum.outer(codes, codes)
        high: FloatArray = np.maximum.outer(codes, codes)
        return (low + 1) * (size - high)

    def weighted_gram(self, weights: FloatArray, size: int) -> FloatArray:
        """The weight of all ranges that hold both values, (size, size), for weights (size (size + 1) / 2,)."""
        table = np.zeros((size, size))
        table[np.triu_indices(size)] = weights
        # Entry (i, j), i <= j, becomes the sum over a <= i and b >= j.
        held = np.cumsum(np.cumsum(table, axis=0)[:, ::-1], axis=1)[:, ::-1]
        above = np.triu(held, 1)
        return above + above.T + np.diag(np.diagonal(held))

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """Sums over all ranges along an axis, which grows from n to n(n+1)/2 entries: one addition for each."""
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

    def row_forms(self, form: FloatArray) -> FloatArray:
        """The sum of every square block on the diagonal of a symmetric ``form`` (n, n), (n (n + 1) / 2,)."""
        # Block [a, b] is block [a, b-1] and a border: twice the entries (a, b) .. (b-1, b), and the diagonal's (b, b).
        border = 2 * np.triu(form, 1) + np.diag(np.diagonal(form))
        blocks = np.cumsum(np.cumsum(border[::-1], axis=0)[::-1], axis=1)
        return blocks[np.triu_indices(len(form))]

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``first – last`` for each range, a value's own label for itself, or the interval that bins cover."""
        return span_texts(attribute, _all_runs(attribute.size))

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The same in the meanings of the values, (size (size + 1) / 2,)."""
        return tuple(_spelled(attribute, attribute.value_meanings, run) for run in _all_runs(attribute.size))


def span_texts(attribute: Attribute, spans: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """A label for each run of values, given by its first and last codes; different runs have different labels.

    A run of bins is the interval that they cover, unless the bins have names of their own.  A run of one value has the
    value's label.  A label that no value has, such as that of missing entries, is in no interval, and added in words.
    """
    runs = list(spans)
    words = tuple(map(str, attribute.value_labels))
    return distinct_texts(lambda words: tuple(_spelled(attribute, words, run) for run in runs), words)


def distinct_texts(texts_of: Callable[[Sequence[str]], tuple[str, ...]], words: Sequence[str]) -> tuple[str, ...]:
    """Labels made of the values' own; in quotes where some would be equal, as of the labels "a", "b" and "a – b"."""
    texts = texts_of(words)
    if len(set(texts)) == len(texts):
        return texts
    return texts_of([json.dumps(word, ensure_ascii=False) for word in words])


def _prefix_texts(attribute: Attribute, words: Sequence[str]) -> tuple[str, ...]:
    if _has_intervals(attribute):
        return tuple(_spelled(attribute, words, (0, last)) for last in range(attribute.size))
    final = len(attribute.values) - 1
    return tuple(f"≤ {_spelled(attribute, words, (min(last, final), last))}" for last in range(attribute.size))


def _spelled(attribute: Attribute, words: Sequence[str], run: tuple[int, int]) -> str:
    """A run of values in words, one for each of the values; of bins as the interval."""
    first, last = run
    last_value = min(last, len(attribute.values) - 1)
    texts = list(words[max(first, last_value + 1) : last + 1])  # labels of unknown and missing entries
    if first <= last_value:
        if _has_intervals(attribute):
            assert attribute.bins is not None
            texts.insert(0, attribute.bins.interval_text(first, last_value))
        else:
            texts.insert(0, words[first] if first == last_value else f"{words[first]} – {words[last_value]}")
    return " or ".join(texts)


def _has_intervals(attribute: Attribute) -> bool:
    return attribute.bins is not None and attribute.bins.labels_are_intervals


def _all_runs(size: int) -> Iterator[tuple[int, int]]:
    return ((first, last) for first in range(size) for last in range(first, size))
