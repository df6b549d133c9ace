"""Labels for runs of consecutive values of an attribute.

Reads: an attribute, first and last codes.  Gives: one string for each run.
"""

import json
from collections.abc import Iterable

from residualplanner.domain import Attribute


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
    words = value_texts(attribute)
    texts = _spelled(words, runs)
    if len(set(texts)) == len(texts):
        return texts
    # Labels that contain dashes, such as "a", "b", "a – b": quotes show where one ends.
    return _spelled([json.dumps(word, ensure_ascii=False) for word in words], runs)


def value_texts(attribute: Attribute) -> tuple[str, ...]:
    """The values of the attribute as strings, (size,)."""
    return tuple(map(str, attribute.value_labels))


def _spelled(words: list[str] | tuple[str, ...], runs: list[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(words[first] if first == last else f"{words[first]} – {words[last]}" for first, last in runs)
