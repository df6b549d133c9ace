"""Words for runs of consecutive values of an attribute.

Reads: an attribute, first and last codes.  Gives: one text for each run.
"""

import json
from collections.abc import Iterable

from residualplanner.domain import Attribute


def span_texts(attribute: Attribute, spans: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """A text for each run of values, given by its first and its last code; no two are equal where no runs are.

    A run of bins is the interval that they cover, unless the bins have names of their own.  A run of one value is
    called as the value is.

    Example:
        >>> span_texts(Attribute("grade", labels=["a", "b", "c"]), [(0, 2), (1, 1)])
        ('a – c', 'b')
    """
    runs = list(spans)
    bins = attribute.bins
    if bins is not None and bins.labels_are_intervals:
        return tuple(bins.interval_text(first, last) for first, last in runs)
    words = value_texts(attribute)
    texts = _joined(words, runs)
    if len(set(texts)) == len(texts):
        return texts
    # Labels with dashes in them, such as "a", "b", "a – b": quotes tell where one ends.
    return _joined([json.dumps(word, ensure_ascii=False) for word in words], runs)


def value_texts(attribute: Attribute) -> tuple[str, ...]:
    """The values of the attribute as texts, (size,)."""
    return tuple(map(str, attribute.value_labels))


def _joined(words: list[str] | tuple[str, ...], runs: list[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(words[first] if first == last else f"{words[first]} – {words[last]}" for first, last in runs)
