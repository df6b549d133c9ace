"""What tables of statistics by group have in common: labels, a data frame, and what their columns mean.

Reads: arrays, an axis for each attribute of the groups.  Gives: StatisticTable.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner._html import frame_html
from residualplanner.domain import Attribute

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """A column of a table of statistics.

    Attributes:
        name: of the column.
        field: of the table, which holds its values.
        of: whose unit it has: that of the amounts, that of counts of records, or none.
        meaning: in words; ``{level}`` is the confidence level.
    """

    name: str
    field: str
    of: Literal["amounts", "counts", "neither"]
    meaning: str

    def described(self, attribute: Attribute, count_unit: str, level: float) -> tuple[str, str, str]:
        """Name, unit and meaning; the unit is empty where there is none."""
        units = {"amounts": unit_of(attribute), "counts": count_unit, "neither": ""}
        return self.name, units[self.of], self.meaning.format(level=f"{level:.15g}")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class StatisticTable:
    """A statistic of the amounts, or bins, of an attribute for each group.

    Attributes:
        columns: those of its numbers, in their order.
        attribute: whose amounts it is about.
        unit: of the amounts, in words.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        level: the confidence level of the intervals.
    """

    columns: ClassVar[tuple[Column, ...]]

    attribute: str
    unit: str
    names: tuple[str, ...]
    labels: tuple[tuple[object, ...], ...]
    level: float

    def __repr__(self) -> str:
        return f"{self.title}\n{self.to_pandas()}"

    def _repr_html_(self) -> str:
        return frame_html(self.to_pandas())

    @property
    @abstractmethod
    def title(self) -> str:
        """What the table holds, in words."""

    @property
    def more_axes(self) -> dict[str, tuple[float, ...]]:
        """The labels of axes after those of the groups, by the names of their columns."""
        return {}

    @property
    def values(self) -> dict[str, FloatArray]:
        """The numbers by the names of their columns, (rows,) each: groups in C order."""
        return {column.name: np.ravel(getattr(self, column.field)) for column in self.columns}

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each group, with its labels and the columns of numbers."""
        import pandas as pd

        rows = [*product(*self.labels, *self.more_axes.values())]
        frame = pd.DataFrame(rows, columns=[*self.names, *self.more_axes], index=range(len(rows)))
        return frame.assign(**self.values)


def unit_of(attribute: Attribute) -> str:
    """The unit of the amounts of an attribute, or else its name."""
    return attribute.about.unit or attribute.name
