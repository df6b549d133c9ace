"""Which of an attribute's values are selected, by their labels, and how that is said in words."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label, label_text, plain_label
from residualplanner.method.queries.runs import Range, span_texts

#: Runs of values are recognized by their labels up to this many values.
_RUNS = 512
#: How many labels, or runs of them, are spelled out in words.
SPELLED = 4


def checked_values(values: object) -> tuple[Label, ...]:
    """The labels of a selection, each once; a single one may stand by itself.

    Raises:
        WorkloadError: there are none, or one is no label.

    Example:
        >>> checked_values("yes"), checked_values(["yes", "no", "yes"])
        (('yes',), ('yes', 'no'))
    """
    several = values if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    given = list(several)
    plain = [label.isoformat() if isinstance(label, dt.date) else plain_label(label) for label in given]
    wrong = next((label for label, found in zip(given, plain, strict=True) if found is None), None)
    if wrong is not None or None in plain:
        raise WorkloadError(f'a selection has labels of values, such as ["yes", "part-time"], got {value_text(wrong)}')
    if not plain:
        raise WorkloadError("a selection of no values counts no records; name the labels of one value or more")
    return tuple({(type(label), label): label for label in plain if label is not None}.values())


def selected_codes(attribute: Attribute, labels: Iterable[Label]) -> tuple[int, ...]:
    """The codes of the values with these labels, or in runs with these labels, ascending.

    Raises:
        DomainError: the attribute has neither such a value nor such a run; the nearest label is named.

    Example:
        >>> from residualplanner import Bins
        >>> selected_codes(Attribute("age", bins=Bins([0, 18, 65, 80, 120])), ["[18, 80)"])
        (1, 2)
        >>> selected_codes(Attribute("state", labels=["CA", "OR", "WA"]), ["WA", "CA"])
        (0, 2)
    """
    given = list(labels)
    codes = [_code(attribute, label) for label in given]
    runs = _runs_with_labels(attribute) if None in codes else {}
    found = {code for code in codes if code is not None}
    for label in (label for label, code in zip(given, codes, strict=True) if code is None):
        if not isinstance(label, str) or label not in runs:
            raise _unknown(attribute, label)
        first, last = runs[label]
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def selected_words(attribute: Attribute, codes: tuple[int, ...]) -> str:
    """The selected values in words: runs of bins and of integers as such, other values one by one, many in short.

    Example:
        >>> selected_words(Attribute("age", 100), (*range(18, 65), 70))
        '18 – 64 or 70'
        >>> selected_words(Attribute("state", labels=["CA", "OR", "WA"]), (0, 1))
        'CA or OR'
    """
    is_ordered = attribute.bins is not None or type(attribute.value_labels[0]) is int
    runs = _runs(codes) if is_ordered else [(code, code) for code in codes]
    shown = runs if len(runs) <= SPELLED else runs[: SPELLED - 1]
    labels = attribute.value_labels
    texts = [
        label_text(labels[first]) if first == last else span_texts(attribute, [(first, last)])[0]
        for first, last in shown
    ]
    return " or ".join([*texts, *([f"{len(runs) - len(shown)} more"] if len(runs) > len(shown) else [])])


def _code(attribute: Attribute, label: Label) -> int | None:
    try:
        return attribute.code_of_label(label)
    except DomainError:
        return None


def _unknown(attribute: Attribute, label: Label) -> DomainError:
    """The error for a label that is neither a value's nor a run's."""
    texts = [label_text(each) for each in attribute.value_labels]
    return DomainError(
        f"{attribute.name!r} has no value {value_text(label)} to select; its labels are "
        f"{_listed(texts)}{suggestion(label_text(label), texts)}",
        attributes=[attribute.name],
    )


def _runs_with_labels(attribute: Attribute) -> dict[str, tuple[int, int]]:
    """The first and the last code of each run of values, by its label."""
    if attribute.size > _RUNS:
        return {}
    first, last = np.triu_indices(attribute.size)
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    labels: Any = Range().labels(attribute)
    return dict(zip(labels, pairs, strict=True))


def _runs(codes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Consecutive codes as runs, by the first and last of each."""
    cuts = np.flatnonzero(np.diff(codes) > 1) + 1
    return [(int(run[0]), int(run[-1])) for run in np.split(np.array(codes), cuts)]


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(map(repr, texts[:SPELLED]))
    return shown if len(texts) <= SPELLED else f"{shown}, ..."
