"""The bound (T4) of the privacy cost with smooth maxima, and its slopes.

Reads: classes of sets, lengths of columns, messages.  Gives: numbers and arrays.
Source: spec eq. (T4).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray

Table = NDArray[np.float64]


class CostSlopes(NamedTuple):
    """Derivatives of the cost.

    Attributes:
        by_precision (classes,): by the logarithm of each class's precision.
        by_lengths: by the squared column lengths (g,) of each group.
        by_messages: by the messages of each class of two own attributes or more, an array (g,) for each of them.
    """

    by_precision: FloatArray
    by_lengths: list[FloatArray]
    by_messages: dict[int, list[FloatArray]]


def cost_and_slopes(
    classes: tuple[tuple[int, ...], ...],
    attribute: list[int],
    precision: FloatArray,
    lengths: list[FloatArray],
    messages: dict[int, list[FloatArray]],
    sharpness: float | None = None,
) -> tuple[float, CostSlopes]:
    """A bound of the privacy cost, for any messages; with ``sharpness`` a smooth function just above it.

    Args:
        classes: the groups of the own attributes of each class of sets.
        attribute: of each group.
        precision (classes,): the sum over a class of 1 / sigma squared times the factor of the other attributes.
        lengths: the squared column lengths (g,) of each group.
        messages: for each class of two own attributes or more an array (g,) for each of them.
        sharpness: of the smooth maxima, relative to a cost of 1.
    """
    by_precision, by_lengths = np.zeros(len(classes)), [np.zeros(len(q)) for q in lengths]
    by_messages: dict[int, list[FloatArray]] = {}
    single: dict[int, FloatArray] = {}
    cost = 0.0
    for number, groups in enumerate(classes):
        if not groups:
            cost += float(precision[number])
            by_precision[number] = precision[number]
        elif len(groups) == 1:
            i = attribute[groups[0]]
            single[i] = single.get(i, 0.0) + precision[number] * lengths[groups[0]]
        else:
            own = product_table(float(precision[number]), [lengths[group] for group in groups])
            rest = own - sum_table(messages[number])
            for group, phi in zip(groups, messages[number], strict=True):
                single[attribute[group]] = single.get(attribute[group], 0.0) + phi
            value, share = largest(rest, sharpness)
            cost += value
            by_messages[number] = [-margin for margin in margins(share)]
            own *= share
            for group, taken in zip(groups, margins(own), strict=True):
                by_lengths[group] += taken / lengths[group]
            by_precision[number] = own.sum()
    shares = {}
    for i, column in single.items():
        value, shares[i] = largest(column, sharpness)
        cost += value
    for number, groups in enumerate(classes):
        if len(groups) == 1:
            share = shares[attribute[groups[0]]]
            by_lengths[groups[0]] += precision[number] * share
            by_precision[number] = precision[number] * (share @ lengths[groups[0]])
        elif len(groups) > 1:
            for slope, group in zip(by_messages[number], groups, strict=True):
                slope += shares[attribute[group]]
    return cost, CostSlopes(by_precision, by_lengths, by_messages)


def product_table(factor: float, columns: list[FloatArray]) -> Table:
    """The product of one entry from each column, times a factor: a table with an axis for each."""
    table = columns[0] * factor
    for column in columns[1:]:
        table = table[..., None] * column
    return table


def sum_table(columns: list[FloatArray]) -> Table:
    """The sum of one entry from each column: a table with an axis for each."""
    table = columns[0]
    for column in columns[1:]:
        table = table[..., None] + column
    return table


def margins(table: Table) -> list[FloatArray]:
    """The sums of a table over all axes but each one."""
    return [table.sum(axis=tuple(other for other in range(table.ndim) if other != axis)) for axis in range(table.ndim)]


def largest(table: Table, sharpness: float | None) -> tuple[float, Table]:
    """The maximum, or log sum exp(sharpness * table) / sharpness, which is not below it; and its derivative.

    Example:
        >>> largest(np.array([1.0, 3.0, 3.0]), None)
        (3.0, array([0. , 0.5, 0.5]))
    """
    most = float(table.max())
    if sharpness is None:
        share = (table == most).astype(np.float64)
        return most, share / share.sum()
    powers = table - most
    powers *= sharpness
    np.exp(powers, out=powers)
    total = float(powers.sum())
    powers /= total
    return most + math.log(total) / sharpness, powers
