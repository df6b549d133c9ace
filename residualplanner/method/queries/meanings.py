"""The labels of answers in words, by the meanings of the attribute's values."""

from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.kind import Kind

#: What the name of an attribute is followed by in the name of the column of its meanings.
MEANING = "meaning"


def meanings_of(kind: Kind, attribute: Attribute) -> tuple[str, ...] | None:
    """The labels of the answers in words, (q,); None where no value of the attribute has a meaning."""
    return kind.meanings(attribute) if attribute.meanings else None


def meaning_column(kind: Kind, attribute: Attribute) -> dict[str, tuple[str, ...]]:
    """The column of the labels in words, (q,), by the word for it; none where no value of the attribute has a meaning.

    Example:
        >>> from residualplanner import Identity
        >>> meaning_column(Identity(), Attribute("sex", labels={1: "female", 2: "male"}))
        {'meaning': ('female', 'male')}
    """
    meanings = meanings_of(kind, attribute)
    return {} if meanings is None else {MEANING: meanings}


def names_by_meaning(kind: Kind, attribute: Attribute) -> tuple[tuple[str, ...], ...]:
    """The labels in words, one for each answer, (q,); () for each where no value of the attribute has a meaning."""
    meanings = meanings_of(kind, attribute)
    return tuple((meaning,) for meaning in meanings) if meanings else ((),) * len(kind.labels(attribute))


def labels_in_words(kind: Kind, attribute: Attribute) -> tuple[str, ...]:
    """Each label with its meaning, where it has one, in one string, (q,).

    Example:
        >>> from residualplanner import Identity
        >>> labels_in_words(Identity(), Attribute("sex", labels={1: "female", 2: ""}, missing="Not stated"))
        ('1 (female)', '2', 'Not stated')
    """
    labels = tuple(map(label_text, kind.labels(attribute)))
    meanings = meanings_of(kind, attribute) or labels
    return tuple(
        label if meaning == label else f"{label} ({meaning})" for label, meaning in zip(labels, meanings, strict=True)
    )
