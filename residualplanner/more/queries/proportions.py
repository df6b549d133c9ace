"""The kind of query for proportions: which fraction of the records of a group has each value of an attribute.

Source: eq. (135).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label, label_text
from residualplanner.method.queries.kind import require_size
from residualplanner.method.queries.runs import distinct_texts
from residualplanner.more.amounts.statistics import COUNT, Statistic
from residualplanner.more.queries.selection import checked_values, selected_codes


@dataclass(frozen=True, slots=True, repr=False)
class Proportions(Statistic):
    """The proportions of the values of an attribute: percentages by group, with their errors.

    Its answers are the number of the records that are in question, how many have each value, and how many have another
    one of these; of the three variances follows the covariance of a count and the number of records.

    Attributes:
        among: labels of the values that are in question, such as ("yes", "no") where some entries are "unknown"; all
            unless given.
        values: the labels of these in words, (q,); none as long as there is no attribute.
        cells: the positions of each among those of the attribute, (q,): one, or those of a bin of amounts.
        size: how many positions the attribute has; 0 as long as there is none.

    Raises:
        WorkloadError: a label is none; or, once tied, fewer than two values are in question.

    Source: eq. (135).

    Example:
        >>> vote = Attribute("vote", labels=["yes", "no", "unknown"])
        >>> Proportions(["yes", "no"]).on(vote).matrix(3).astype(int).tolist()
        [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
        >>> Proportions().labels(vote)
        ('count', 'yes', 'no', 'unknown', 'not yes', 'not no', 'not unknown')
    """

    statistics: ClassVar[str] = "proportions"
    name = "proportions"
    axis_of_values: ClassVar[str] = "value"

    among: tuple[Label, ...] = ()
    values: tuple[str, ...] = ()
    cells: tuple[tuple[int, ...], ...] = ()
    size: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "among", checked_values(self.among) if self.among else ())

    def __repr__(self) -> str:
        return f"Proportions({list(self.among) if self.among else ''})"

    @property
    def written(self) -> "Proportions":
        """The same without an attribute."""
        return Proportions(self.among)

    @property
    def more_axes(self) -> dict[str, tuple[object, ...]]:
        """The values."""
        return {self.axis_of_values: self.values}

    def to_json(self) -> dict[str, Any]:
        """Labels and positions."""
        cells = [list(each) for each in self.cells]
        fields = {"among": list(self.among), "values": list(self.values), "cells": cells, "size": self.size}
        return {"kind": self.name, **fields}

    def on(self, attribute: Attribute) -> "Proportions":
        """The proportions tied to the values, or bins, of an attribute; errors as of `Proportions`, and DomainError."""
        require_size(attribute)
        per_bin, bins = 1, 0
        if attribute.numeric is not None:
            per_bin, bins = attribute.numeric.per_bin, len(attribute.numeric) // attribute.numeric.per_bin
        by_bin = attribute if attribute.numeric is None else attribute.by_bin
        codes = selected_codes(by_bin, self.among) if self.among else tuple(range(by_bin.size))
        if len(codes) < 2:
            raise WorkloadError(f"{attribute.name!r} needs two values or more for proportions; leave them out")
        own = (per_bin - 1) * bins  # how many more cells than bins there are before labels
        cells = tuple(
            tuple(range(per_bin * code, per_bin * (code + 1))) if code < bins else (own + code,) for code in codes
        )
        values = tuple(label_text(by_bin.value_labels[code]) for code in codes)
        return replace(self, values=values, cells=cells, size=attribute.size)

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError unless it is tied to this attribute's values."""
        if self.on(attribute) != self:
            raise WorkloadError(f"the proportions of {attribute.name!r} are tied to other values than that has")

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """All records in question, those with each value, and those with another one, (1 + 2 q, size): eq. (135)."""
        if not self.cells:
            raise WorkloadError("proportions have no matrix before they are tied to an attribute's values")
        columns = np.concatenate(self.cells)
        rows = np.repeat(np.arange(len(self.cells)), [len(each) for each in self.cells])
        each_value = np.zeros((len(self.cells), size))
        each_value[rows, columns] = 1
        total = each_value.sum(axis=0)
        return sparse.csr_array(np.concatenate([total[None], each_value, total - each_value]))

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``count``, each value, and ``not`` each value, (1 + 2 q,); values in quotes where some would be equal."""
        return distinct_texts(_texts, self.on(attribute).values)

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The same in the meanings of the values, (1 + 2 q,)."""
        tied = self.on(attribute)
        return _texts(tied.meanings_of_values(attribute) or tied.values)


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    return COUNT, *values, *(f"not {value}" for value in values)
