"""What tables of statistics by group have in common: labels, and a data frame."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.completion import hides
from residualplanner.ground.html import frame_html
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.release.statistics.columns import Column

if TYPE_CHECKING:
    import pandas as pd


@hides("axes_of", "columns", "more_axes", "phrase", "title", "title_of", "values", "values_of", "word")
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class StatisticTable:
    """A statistic of the amounts, or bins, of an attribute for each group.

    Attributes:
        word: what such statistics are called.
        phrase: the same before the name of an attribute.
        columns: those of its numbers, in their order.
        attribute: whose amounts it is about.
        unit: of the amounts, in words.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        level: the confidence level of the intervals.
        estimate: an axis for each attribute of the groups, and for more.
        low: the lower ends of the intervals.
        high: the upper ends.
    """

    word: ClassVar[str]
    phrase: ClassVar[str]
    columns: ClassVar[tuple[Column, ...]]

    attribute: str
    unit: str
    names: tuple[str, ...]
    labels: tuple[tuple[object, ...], ...]
    level: float
    estimate: FloatArray
    low: FloatArray
    high: FloatArray

    def __repr__(self) -> str:
        return f"{self.title}\n{self.to_frame()}"

    def _repr_html_(self) -> str:
        return frame_html(self.to_frame())

    @property
    def title(self) -> str:
        """What the table holds, in words."""
        return self.title_of(self.attribute, self.unit)

    @classmethod
    def title_of(cls, attribute: str, unit: str) -> str:
        """What the table of an attribute's statistic holds, in words."""
        return f"{cls.phrase} {attribute} ({unit})"

    @classmethod
    def axes_of(cls, kind: Statistic) -> dict[str, tuple[float, ...]]:
        """The labels of axes after those of the groups, by the names of their columns, where the statistic has such."""
        del kind
        return {}

    @property
    def more_axes(self) -> dict[str, tuple[float, ...]]:
        """The labels of axes after those of the groups, by the names of their columns."""
        return {}

    @property
    def values(self) -> dict[str, FloatArray]:
        """The numbers by the names of their columns, (rows,) each: groups in C order."""
        return self.values_of(self.columns, self)

    def values_of(self, columns: Iterable[Column], adjusted: "StatisticTable") -> dict[str, FloatArray]:
        """The values of columns, (rows,) each: those of adjusted numbers from another table of the same groups."""
        return {
            column.name: np.ravel(getattr(adjusted if column.is_adjusted else self, column.field)) for column in columns
        }

    def to_frame(self) -> "pd.DataFrame":
        """A row for each group, with its labels and the columns of numbers."""
        import pandas as pd

        rows = [*product(*self.labels, *self.more_axes.values())]
        frame = pd.DataFrame(rows, columns=[*self.names, *self.more_axes], index=range(len(rows)))
        return frame.assign(**self.values)
