"""A few rows of one table of a release, with intervals that hold however the rows were picked.

Reads: Table.  Gives: ShownTable.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner._margins import margin_factor
from residualplanner.reconstruction import Table

#: How many rows of a table are shown.
ROWS = 20


@dataclass(frozen=True, eq=False, slots=True)
class ShownTable:
    """Some cells of one table: all if they are few, else those with the largest estimates.

    Attributes:
        names: the attributes.
        cells: how many cells the table has.
        labels (r,): the labels of each row shown, one for each attribute.
        estimates (r,): in counts.
        margins (r,): of each cell by itself, in counts.
        joint_margins (r,): within which all cells of the table are at once, in counts.
    """

    names: tuple[str, ...]
    cells: int
    labels: tuple[tuple[str, ...], ...]
    estimates: FloatArray
    margins: FloatArray
    joint_margins: FloatArray

    @property
    def is_whole(self) -> bool:
        """Whether all cells are shown."""
        return len(self.labels) == self.cells


def shown_table(table: Table, *, level: float) -> ShownTable:
    """The rows to show of a table, with margins of this confidence level."""
    estimate, std_err = table.estimate.ravel(), table.std_err.ravel()
    chosen = rows_to_show(estimate)
    indices = np.stack(np.unravel_index(chosen, table.estimate.shape or (1,)), axis=1)[:, : table.estimate.ndim]
    labels = table.labels
    texts = tuple(tuple(str(labels[axis][i]) for axis, i in enumerate(row)) for row in indices.tolist())
    return with_margins(table.names, texts, estimate[chosen], std_err[chosen], cells=estimate.size, level=level)


def with_margins(
    names: tuple[str, ...],
    labels: tuple[tuple[str, ...], ...],
    estimates: Any,
    std_errs: Any,
    *,
    cells: int,
    level: float,
) -> ShownTable:
    """Rows with their margins: ``level`` for each by itself, and, by the union bound, for all ``cells`` at once.

    Example:
        >>> shown = with_margins(("sex",), (("F",), ("M",)), [5.0, 9.0], [1.0, 1.0], cells=2, level=0.95)
        >>> shown.margins.round(2).tolist(), shown.joint_margins.round(2).tolist()
        ([1.96, 1.96], [2.24, 2.24])
    """
    joint_level = min(1 - (1 - level) / max(cells, 1), 1 - 2**-53)
    std_err = np.asarray(std_errs, dtype=np.float64)
    return ShownTable(
        names,
        cells,
        labels,
        np.asarray(estimates, dtype=np.float64),
        margin_factor(level) * std_err,
        margin_factor(joint_level) * std_err,
    )


def rows_to_show(estimate: FloatArray) -> NDArray[np.int64]:
    """The numbers of the cells of a table (cells,) to show: all, or those with the largest estimates, largest first.

    Example:
        >>> rows_to_show(np.array([3.0, 9.0])).tolist(), rows_to_show(np.arange(100.0))[:3].tolist()
        ([0, 1], [99, 98, 97])
    """
    if estimate.size <= ROWS:
        return np.arange(estimate.size)
    return np.argsort(-estimate, kind="stable")[:ROWS]
