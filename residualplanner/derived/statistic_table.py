"""What tables of statistics by group have in common: labels, a data frame, and what their columns mean.

Reads: arrays, an axis for each attribute of the groups.  Gives: StatisticTable.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner._html import frame_html

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """A column of numbers of a statistic.

    Attributes:
        name: of the column.
        unit: of its numbers; empty where there is none.
        meaning: in words.
        values: an array with an entry for each row, its axes those of the table.
    """

    name: str
    unit: str
    meaning: str
    values: NDArray[np.float64] | NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class StatisticTable:
    """A statistic of the amounts, or bins, of an attribute for each group.

    Attributes:
        attribute: whose amounts it is about.
        unit: of the amounts, in words.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        level: the confidence level of the intervals.
    """

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
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns of numbers, in their order."""

    @property
    def axes(self) -> dict[str, tuple[object, ...]]:
        """The labels of the rows, by the names of their columns; the last changes fastest."""
        return dict(zip(self.names, self.labels, strict=True))

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each group, with its labels and `columns`."""
        import pandas as pd

        rows = [*product(*self.axes.values())]
        frame = pd.DataFrame(rows, columns=[*self.axes], index=range(len(rows)))
        return frame.assign(**{column.name: np.ravel(column.values) for column in self.columns})
