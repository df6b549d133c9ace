"""The answers of relaxed records to whole tables, by one matrix product, and their gradients.

Reads: values of relaxed records.  Gives: tables of fractions, and gradients.
Source: rap-and-microdata (A7), (A9).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.rap.relaxation import Relaxed

#: A table of fractions in single precision.
Fractions = NDArray[np.float32]


def mixture_table(columns: Sequence[Relaxed]) -> Fractions:
    """The marginal table of relaxed records: the mean over records of the products of their values.

    Args:
        columns (k,): of each attribute the values (t_i, records).

    Returns:
        The table (t_1, .., t_k).

    Cost: two multiplications for each cell and record.
    Source: rap-and-microdata (A7).

    Example:
        >>> half = np.full((2, 4), 0.5, dtype=np.float32)
        >>> mixture_table([half, half]).tolist()
        [[0.25, 0.25], [0.25, 0.25]]
    """
    if not columns:
        return np.ones((), dtype=np.float32)
    shape = tuple(len(column) for column in columns)
    cut, records = _cut(shape), columns[0].shape[1]
    left, right = khatri_rao(columns[:cut], records), khatri_rao(columns[cut:], records)
    return (left @ right.T / np.float32(records)).reshape(shape)


def table_slopes(columns: Sequence[Relaxed], weights: Fractions) -> list[Relaxed]:
    """The gradients of a weighted sum of a table's cells by the values of each attribute, (t_i, records) each.

    Args:
        columns (k,): of each attribute the values (t_i, records).
        weights (t_1, .., t_k): of the cells.
    """
    if not columns:
        return []
    shape, records = weights.shape, columns[0].shape[1]
    cut = _cut(shape)
    left, right = columns[:cut], columns[cut:]
    matrix = weights.reshape(math.prod(shape[:cut]), -1) / np.float32(records)
    by_left, by_right = matrix @ khatri_rao(right, records), matrix.T @ khatri_rao(left, records)
    return _side_slopes(left, by_left) + _side_slopes(right, by_right)


def khatri_rao(columns: Sequence[Relaxed], records: int) -> Relaxed:
    """The products of all combinations of rows, (product of t_i, records); a row of ones where there are no columns.

    Args:
        columns: of each attribute the values (t_i, records).
        records: how many relaxed records there are.
    """
    if not columns:
        return np.ones((1, records), dtype=np.float32)
    product = columns[0]
    for column in columns[1:]:
        product = (product[:, None, :] * column[None, :, :]).reshape(-1, records)
    return product


def _side_slopes(columns: Sequence[Relaxed], slopes: Relaxed) -> list[Relaxed]:
    """Gradients by each attribute's values, from the gradient by their Khatri-Rao product."""
    sizes, records = [len(column) for column in columns], slopes.shape[1]
    found = []
    for number in range(len(columns)):
        before, after = khatri_rao(columns[:number], records), khatri_rao(columns[number + 1 :], records)
        block = slopes.reshape(len(before), sizes[number], len(after), records)
        found.append(((block * after[None, None]).sum(axis=2) * before[:, None]).sum(axis=0))
    return found


def _cut(shape: Sequence[int]) -> int:
    """Where to cut the axes so that both halves have about equally many cells; at least one axis on the left."""
    return min(range(1, len(shape) + 1), key=lambda cut: math.prod(shape[:cut]) + math.prod(shape[cut:]))
