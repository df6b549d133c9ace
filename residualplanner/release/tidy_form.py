"""The tidy form of a table: one row for each cell.

Reads: labels, estimates and standard errors.  Gives: columns by name; cells in words.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.words import AMONG, TOTAL
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.meanings import labels_in_words
from residualplanner.publish.files.profiles import QUERY, ProfileName, level_of, profile_named, require_free_names
from residualplanner.release.label_columns import label_column_names, label_columns
from residualplanner.release.origin import Origin, unlimited
from residualplanner.release.product import Product
from residualplanner.release.quality import Quality


@dataclass(frozen=True, eq=False, slots=True)
class TidyForm:
    """A table as rows.

    Attributes:
        names: of the attributes.
        universe: which records it is about, where these are not all.
        axes: each attribute, and the kind of query on it.
        estimate (q_1, .., q_k): in counts.
        std_err (q_1, .., q_k): in counts, of the unbiased estimates.
        product: what the numbers are.
        origin: what numbers that are not unbiased were made from, where that is known.
    """

    names: Sequence[str]
    universe: str
    axes: Sequence[tuple[Attribute, Kind]]
    estimate: FloatArray
    std_err: FloatArray
    product: Product
    origin: Origin | None

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
