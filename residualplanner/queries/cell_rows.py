"""Rows on the cells of an attribute, whatever its values are: for statistics that are made of several answers.

Reads: a matrix.  Gives: CellRows, which no workload holds and no file has.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.domain import Attribute
from residualplanner.errors import WorkloadError
from residualplanner.queries.plain_kinds import OfAllRecords
from residualplanner.queries.sparse_kind import SparseKind


@dataclass(frozen=True, eq=False)
class CellRows(SparseKind, OfAllRecords):
    """Rows that are given, on the cells of one attribute: also on the two ends of each bin of amounts.

    Attributes:
        rows_of_cells (q, n): the rows.

    Example:
        >>> CellRows(np.array([[1.0, 2.0]])).labels(Attribute("pay", size=2))
        (0,)
    """

    name = "statistics"

    rows_of_cells: NDArray[np.float64]

    def on(self, attribute: Attribute) -> Self:
        """The same."""
        del attribute
        return self

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError unless the attribute has as many cells."""
        if attribute.size != self.rows_of_cells.shape[1]:
            raise WorkloadError(f"these are rows for another attribute than {attribute.name!r}")

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The rows, (q, size)."""
        del size
        return sparse.csr_array(self.rows_of_cells)

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The numbers of the rows, (q,)."""
        del attribute
        return tuple(range(len(self.rows_of_cells)))

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The same."""
        return tuple(map(str, self.labels(attribute)))
