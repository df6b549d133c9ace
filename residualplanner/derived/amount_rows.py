"""Rows on the cells of an attribute, from whose variances covariances of counts and sums follow.

Reads: an attribute of amounts, or of bins.  Gives: AmountRows, a kind of query that is never planned or written.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray
from residualplanner.domain import Attribute, Label
from residualplanner.errors import WorkloadError
from residualplanner.queries import Identity, Kind, tied_kind
from residualplanner.queries.kind import OfAllRecords
from residualplanner.queries.sparse_kind import SparseKind


@dataclass(frozen=True, eq=False)
class AmountRows(SparseKind, OfAllRecords):
    """Rows that are given, on one attribute.

    Attributes:
        rows_of_cells (q, n): the rows.
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
            raise WorkloadError(f"{self.name} of another attribute than {attribute.name!r}")

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The rows, (q, size)."""
        del size
        return sparse.csr_array(self.rows_of_cells)

    def labels(self, attribute: Attribute) -> tuple[Label, ...]:
        """The rows' numbers, (q,)."""
        del attribute
        return tuple(range(len(self.rows_of_cells)))

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The same."""
        return tuple(map(str, self.labels(attribute)))


def moment_rows(attribute: Attribute) -> AmountRows:
    """The count C, the sum D of deviations from the middle of the range, and D + h C where h is half the range.

    Raises:
        WorkloadError: the attribute has no amounts.
    """
    if attribute.numeric is None:
        raise WorkloadError(
            f"{attribute.name!r} has no amounts to average; declare Numeric(low, high) in place of "
            f"{attribute.values.words}"
        )
    ends = attribute.numeric.ends.ravel()
    low, high = ends[0], ends[-1]
    rows = np.zeros((3, attribute.size))
    rows[:, : len(ends)] = np.ones(len(ends)), ends - (low + high) / 2, ends - low
    return AmountRows(rows)


def tail_rows(attribute: Attribute) -> tuple[AmountRows, FloatArray]:
    """How many records are in the first b of B bins, and, for b < B, how many in the others; the B + 1 edges.

    Raises:
        WorkloadError: the values of the attribute are no amounts and no bins of numbers.
    """
    bins = attribute.numeric.bins if attribute.numeric is not None else attribute.bins
    if bins is None or not all(isinstance(edge, int | float) for edge in bins.edges):
        raise WorkloadError(
            f"{attribute.name!r} has no amounts and no bins of numbers, so that it has no quantiles; declare "
            f"Numeric(low, high, bins=...) or Bins in place of {attribute.values.words}"
        )
    edges = np.array(bins.edges, dtype=float)
    kind: Kind = tied_kind(Identity(), attribute)
    of_bins = kind.matrix(attribute.size)[: len(edges) - 1]
    upward = of_bins.cumsum(axis=0)
    return AmountRows(np.concatenate([upward, upward[-1] - upward[:-1]])), edges
