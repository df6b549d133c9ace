"""The tidy form of a table: one row for each cell."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.words import AMONG, TOTAL
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind, labels_in_words
from residualplanner.release.product import Origin, Product, unlimited
from residualplanner.release.profiles import QUERY, ProfileName, level_of, profile_named, require_free_names
from residualplanner.release.quality import Quality

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
        >>> from residualplanner import Identity
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


@dataclass(frozen=True, eq=False, slots=True)
class TidyForm:
    """A table as rows."""

    names: Sequence[str]  # of the attributes
    universe: str  # which records it is about, where these are not all
    axes: Sequence[tuple[Attribute, Kind]]  # each attribute, and the kind of query on it
    estimate: FloatArray  # (q_1, .., q_k): in counts
    std_err: FloatArray  # (q_1, .., q_k): in counts, of the unbiased estimates
    product: Product  # what the numbers are
    origin: Origin | None  # what numbers that are not unbiased were made from, where that is known

    def columns(self, level: float | None, profile: ProfileName, quality: Quality | None) -> dict[str, Any]:
        """The columns by name, in their order; arguments and errors as of `Table.to_frame`."""
        import pandas as pd

        chosen = profile_named(profile).of(self.product, with_intervals=self.origin is not None).graded(quality)
        require_free_names(label_column_names((attribute, [kind]) for attribute, kind in self.axes), chosen)
        indices = np.indices(self.estimate.shape).reshape(len(self.names), self.estimate.size)
        columns: dict[str, Any] = {
            name: pd.Series(list(labels)).take(index).array
            for axis, index in zip(self.axes, indices, strict=True)
            for name, labels in label_columns(*axis).items()
        }
        if chosen.is_described:
            labels = [labels_in_words(kind, attribute) for attribute, kind in self.axes]
            columns[QUERY] = cell_words(self.names, labels, self.universe)
        origin = (self.origin or unlimited(self.estimate)).raveled()
        numbers = chosen.numbers(self.estimate.ravel(), self.std_err.ravel(), level_of(profile, level), origin=origin)
        columns.update(zip((name for name, _ in chosen.columns), numbers, strict=True))
        return columns


def cell_words(names: Sequence[str], labels: Sequence[Sequence[str]], universe: str = "") -> list[str]:
    """Every cell of a table in words, in C order.

    Args:
        names: of the attributes.
        labels: of each attribute, in words, in the order of its axis.
        universe: which records the table is about, where these are not all.

    Example:
        >>> cell_words(["sex", "yes"], [["F", "M"], ["false", "true"]])
        ['sex=F, yes=false', 'sex=F, yes=true', 'sex=M, yes=false', 'sex=M, yes=true']
        >>> cell_words([], []), cell_words(["sex"], [["F", "M"]], "employed: yes")
        (['(total)'], ['sex=F among employed: yes', 'sex=M among employed: yes'])
    """
    pairs = [[f"{name}={label}" for label in entries] for name, entries in zip(names, labels, strict=True)]
    about = f"{AMONG}{universe}" if universe else ""
    return [(", ".join(words) or TOTAL) + about for words in itertools.product(*pairs)]
