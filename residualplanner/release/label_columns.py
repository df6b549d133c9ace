"""The columns of a table that say which cell a row is about: labels, and what is said of them in words.

Reads: attributes and kinds of query.  Gives: columns by name.
"""

from collections.abc import Iterable

from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind

#: What a column beside the labels is, by the word that its name ends in.
BESIDE = {
    "meaning": "the meaning of the label in the column before it",
    "level": "the level of the classification that the label is of",
    "code": "the code of the label in its level",
    "name": "the name of what the code stands for",
    "parent": "the label of what it is a part of, in the same column of labels; empty for none",
}


def label_columns(attribute: Attribute, kind: Kind) -> dict[str, tuple[object, ...]]:
    """The columns of one axis of a table, by name: the labels of its answers, and what the kind has beside them.

    Example:
        >>> from residualplanner.method.queries.identity import Identity
        >>> label_columns(Attribute("sex", labels={1: "female", 2: "male"}), Identity())
        {'sex': (1, 2), 'sex_meaning': ('female', 'male')}
        >>> label_columns(Attribute("sex", 2), Identity())
        {'sex': (0, 1)}
    """
    beside = kind.columns_beside(attribute)
    return {attribute.name: kind.labels(attribute)} | {name_beside(attribute, word): beside[word] for word in beside}


def name_beside(attribute: Attribute, word: str) -> str:
    """The name of a column beside the labels of an attribute.

    Example:
        >>> name_beside(Attribute("sex", 2), "meaning")
        'sex_meaning'
    """
    return f"{attribute.name}_{word}"


def label_column_names(axes: Iterable[tuple[Attribute, Iterable[Kind]]]) -> list[str]:
    """The names of all such columns of attributes with kinds; one is there twice if two attributes have it."""
    every = ({name: None for kind in kinds for name in label_columns(attribute, kind)} for attribute, kinds in axes)
    return [name for names in every for name in names]
