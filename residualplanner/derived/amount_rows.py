"""Rows on the cells of an attribute, from whose variances covariances of counts and sums follow.

Reads: an attribute of amounts, or of bins.  Gives: CellRows.
"""

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.domain import Attribute
from residualplanner.errors import WorkloadError
from residualplanner.queries import CellRows, Identity, amounts_of, tied_kind


def moment_rows(attribute: Attribute) -> CellRows:
    """The count C, the sum D of deviations from the middle of the range, and D + h C where h is half the range: (3, n).

    Raises:
        WorkloadError: the attribute has no amounts.
    """
    ends = amounts_of(attribute, "to average").ends.ravel()
    low, high = ends[0], ends[-1]
    rows = np.zeros((3, attribute.size))
    rows[:, : len(ends)] = np.ones(len(ends)), ends - (low + high) / 2, ends - low
    return CellRows(rows)


def tail_rows(attribute: Attribute) -> tuple[CellRows, FloatArray]:
    """Rows (2 B - 1, n) of the counts in the first b of B bins, and, for b < B, in the others; the B + 1 edges.

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
    of_bins = tied_kind(Identity(), attribute).matrix(attribute.size)[: len(edges) - 1]
    upward = of_bins.cumsum(axis=0)
    return CellRows(np.concatenate([upward, upward[-1] - upward[:-1]])), edges
