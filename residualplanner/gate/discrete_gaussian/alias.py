"""Alias tables in integers: a cell is drawn with probability exactly ``weight / total``.

Reads: weights.  Gives: for each column, the threshold below which it gives its own cell, and the cell that it gives
otherwise.
"""

from collections.abc import Sequence
from typing import NamedTuple


class AliasTable(NamedTuple):
    """Column k gives cell k where a uniform digit is below ``threshold[k]``, else cell ``alias[k]``."""

    threshold: list[int]
    alias: list[int]


def alias_table(weights: Sequence[int], *, columns: int, capacity: int) -> AliasTable:
    """Split cells over columns of equal capacity, at most two cells to a column.

    Args:
        weights (n,): integers, at least 0, of sum ``columns * capacity``; n is at most ``columns``.
        columns: their number.
        capacity: the weight that each column holds.

    Raises:
        ValueError: the weights do not fill the columns exactly.

    Guarantees: the columns give every cell its weight, which is verified on the finished table.
    Cost: O(columns).
    Source: Vose 1991.

    Example:
        >>> alias_table([1, 5], columns=2, capacity=3)
        AliasTable(threshold=[1, 3], alias=[1, 1])
    """
    left = [*weights, *[0] * (columns - len(weights))]
    if len(left) != columns or min(left) < 0 or sum(left) != columns * capacity:
        raise ValueError(f"weights must be at least 0 and sum to {columns} x {capacity}")
    threshold, alias = [capacity] * columns, list(range(columns))
    small = [cell for cell in range(columns) if left[cell] < capacity]
    large = [cell for cell in range(columns) if left[cell] >= capacity]
    while small:
        column, donor = small.pop(), large[-1]
        threshold[column], alias[column] = left[column], donor
        left[donor] -= capacity - left[column]
        if left[donor] < capacity:
            small.append(large.pop())
    table = AliasTable(threshold, alias)
    if masses(table, capacity=capacity)[: len(weights)] != list(weights):
        raise ValueError("the alias table does not give every cell its weight")
    return table


def masses(table: AliasTable, *, capacity: int) -> list[int]:
    """Return the weight that the table gives each cell, counted column by column.

    Example:
        >>> masses(AliasTable([1, 3], [1, 1]), capacity=3)
        [1, 5]
    """
    total = list(table.threshold)
    for threshold, cell in zip(table.threshold, table.alias, strict=True):
        total[cell] += capacity - threshold
    return total
