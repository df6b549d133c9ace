"""How far the tables of synthetic records are from those of the records: the measures of all comparisons.

Source: docs/synthetic-records.md.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer[Any]]
Weights = NDArray[np.float64]


def table_of(codes: Codes, weights: Weights, members: Sequence[int], sizes: Sequence[int]) -> NDArray[np.float64]:
    """The weighted counts of one table as fractions of the total, flat in C order."""
    cells = np.zeros(len(codes), np.int64)
    for member in members:
        cells = cells * sizes[member] + codes[:, member]
    counts = np.bincount(cells, weights, int(np.prod([sizes[member] for member in members])))
    return counts / counts.sum()


def errors_by_order(
    truth: Codes,
    synthetic: Codes,
    sizes: Sequence[int],
    *,
    weights: Weights | None = None,
    orders: Iterable[int] = (2, 3),
) -> dict[str, dict[str, float]]:
    """The mean total variation and the largest error of a cell, over all tables of each order.

    Args:
        truth (n, d): the records.
        synthetic (m, d): the records to be judged.
        sizes: of the attributes.
        weights (m,): of the synthetic records, 1 by default.
        orders: numbers of attributes.
    """
    ones = np.ones(len(truth))
    by_record = np.ones(len(synthetic)) if weights is None else weights
    rows = {}
    for order in orders:
        variations, largest = [], []
        for members in combinations(range(len(sizes)), order):
            difference = np.abs(table_of(truth, ones, members, sizes) - table_of(synthetic, by_record, members, sizes))
            variations.append(difference.sum() / 2)
            largest.append(difference.max())
        rows[str(order)] = {"total_variation": float(np.mean(variations)), "largest_error": float(max(largest))}
    return rows
