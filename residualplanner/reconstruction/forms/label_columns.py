"""The columns of a table that say which cell a row is about: labels, and what they mean in words.

Reads: attributes and kinds of query.  Gives: columns by name.
"""

from collections.abc import Iterable

from residualplanner.domain import Attribute
from residualplanner.queries import Kind, meanings_of

#: What the name of an attribute is followed by in the name of the column of its meanings.
MEANING = "_meaning"


def label_columns(attribute: Attribute, kind: Kind) -> dict[str, tuple[object, ...]]:
    """The columns of one axis of a table, by name: the labels of its answers, and if values have meanings, these.

    Example:
        >>> from residualplanner.queries import Identity
        >>> label_columns(Attribute("sex", labels={1: "female", 2: "male"}), Identity())
        {'sex': (1, 2), 'sex_meaning': ('female', 'male')}
        >>> label_columns(Attribute("sex", 2), Identity())
        {'sex': (0, 1)}
    """
    meanings = meanings_of(kind, attribute)
    labels = {attribute.name: kind.labels(attribute)}
    return labels if meanings is None else {**labels, f"{attribute.name}{MEANING}": meanings}


def label_column_names(attributes: Iterable[Attribute]) -> list[str]:
    """The names of all such columns; a name is there twice if two attributes have a column of that name."""
    pairs = ([each.name, f"{each.name}{MEANING}"] if each.meanings else [each.name] for each in attributes)
    return [name for names in pairs for name in names]
