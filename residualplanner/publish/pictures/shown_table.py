"""A few cells of a table, with intervals that hold however the cells were picked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.html import ROWS
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import COUNTS, RECORDS


@dataclass(frozen=True, eq=False, slots=True)
class ShownTable:
    """Some cells of one table: all if they are few, else those with the largest estimates.

    Example:
        >>> shown = ShownTable(("sex",), 2, (("F",), ("M",)), np.array([5.0, 9.0]), np.array([1.0, 1.0]), 0.95)
        >>> shown.margins.round(2).tolist(), shown.joint_margins.round(2).tolist()
        ([1.96, 1.96], [2.24, 2.24])
    """

    names: tuple[str, ...]  # of the attributes
    cells: int  # how many cells the table has
    labels: tuple[tuple[str, ...], ...]  # of each of the r rows shown, one for each attribute
    estimates: FloatArray  # (r,)
    std_errs: FloatArray  # (r,)
    level: float  # of confidence
    unit: str = RECORDS  # of estimates and errors, in words
    has_intervals: bool = True
    #: The low and high ends of the interval of each cell, (r,) each, where they are not the estimates and a margin.
    ends: tuple[FloatArray, FloatArray] | None = None
    #: Those of the intervals that hold for all cells at once, likewise.
    joint_ends: tuple[FloatArray, FloatArray] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all cells are shown."""
        return len(self.labels) == self.cells

    @property
    def margins(self) -> FloatArray:
        """The margin of each cell by itself, (r,)."""
        return margin_factor(self.level) * self.std_errs

    @property
    def joint_margins(self) -> FloatArray:
        """The margins within which all cells of the table are at once, by the union bound, (r,)."""
        return margin_factor(min(1 - (1 - self.level) / max(self.cells, 1), 1 - 2**-53)) * self.std_errs

    @property
    def intervals(self) -> tuple[tuple[FloatArray, FloatArray] | None, ...]:
        """The ends of the intervals for all cells at once, and of those of each cell by itself; None for no such."""
        if not self.has_intervals:
            return None, None
        if self.ends is not None:
            return self.joint_ends, self.ends
        margins = self.joint_margins, self.margins
        return tuple((self.estimates - margin, self.estimates + margin) for margin in margins)


def shown_table(
    names: tuple[str, ...],
    labels: Sequence[Sequence[object]],
    estimate: FloatArray,
    std_err: FloatArray,
    *,
    level: float,
    unit: str,
) -> ShownTable:
    """The rows to show of a table: labels of each attribute, estimates and their standard errors, (q_1, .., q_k)."""
    chosen = rows_to_show(estimate.ravel())
    indices = np.stack(np.unravel_index(chosen, estimate.shape or (1,)), axis=1)[:, : estimate.ndim]
    texts = tuple(tuple(str(labels[axis][i]) for axis, i in enumerate(row)) for row in indices.tolist())
    return ShownTable(
        names,
        estimate.size,
        texts,
        estimate.ravel()[chosen],
        std_err.ravel()[chosen],
        level,
        RECORDS if unit == COUNTS else unit,
    )


def shown_statistic(
    names: tuple[str, ...],
    labels: Sequence[Sequence[object]],
    estimate: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    *,
    level: float,
    unit: str,
) -> ShownTable:
    """The rows to show of a statistic, whose intervals are not the estimates and a margin; else as `shown_table`."""
    found = shown_table(names, labels, estimate, np.full_like(estimate, np.nan), level=level, unit=unit)
    chosen = rows_to_show(estimate.ravel())
    return replace(found, ends=(frozen(ends[0].ravel()[chosen]), frozen(ends[1].ravel()[chosen])))


def rows_to_show(estimate: FloatArray) -> NDArray[np.int64]:
    """The numbers of the cells of a table (cells,) to show: all, or those with the largest estimates, largest first."""
    if estimate.size <= ROWS:
        return np.arange(estimate.size)
    return np.argsort(-estimate, kind="stable")[:ROWS]
