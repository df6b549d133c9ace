"""The bound (41) of the privacy cost with smooth maxima, and its slopes.

Source: eq. (41).
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.convex.table_bound import product_table, sum_table

Table = NDArray[np.float64]
#: Logarithms of weights are at least this, so that a cell that did not count can count again.
_LEAST_LOG = -60.0


@dataclass(frozen=True, eq=False, slots=True)
class Maxima:
    """How the maxima in the cost are computed.

    Attributes:
        sharpness: the maximum of x is ``log sum_r w_r exp(sharpness x_r) / sharpness``, or the maximum itself if None.
        tables, axes: logarithms of the weights w of the cells of each class, and of the values of each attribute; 0,
            with which it is not below the maximum, where there are none.
    """

    sharpness: float | None = None
    tables: dict[int, Table] = field(default_factory=dict)
    axes: dict[int, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class CostSlopes:
    """Derivatives of the cost.

    Attributes:
        by_precision (classes,): by the logarithm of each class's precision.
        by_lengths: by the squared column lengths (g,) of each group.
        by_messages: by the messages of each class of two own attributes or more, an array (g,) for each of them.
        tables, axes: by the entries of the tables and columns whose maxima are in the cost.
    """

    by_precision: FloatArray
    by_lengths: list[FloatArray]
    by_messages: dict[int, list[FloatArray]]
    tables: dict[int, Table]
    axes: dict[int, FloatArray]

    def maxima(self, sharpness: float) -> Maxima:
        """Smooth maxima that are exact to first order here: what counts here has a larger weight.

        Source: Bertsekas, Constrained Optimization and Lagrange Multiplier Methods (1982), section 5.1.2, the
        exponential method of multipliers.
        """
        floor = math.exp(_LEAST_LOG)
        tables, axes = (
            {key: np.log(np.maximum(derivative, floor)) for key, derivative in derivatives.items()}
            for derivatives in (self.tables, self.axes)
        )
        return Maxima(sharpness, tables, axes)


def cost_and_slopes(
    classes: tuple[tuple[int, ...], ...],
    attribute: list[int],
    precision: FloatArray,
    lengths: list[FloatArray],
    messages: dict[int, list[FloatArray]],
    maxima: Maxima,
) -> tuple[float, CostSlopes]:
    """A bound of the privacy cost, for any messages, or a smooth function near it.

    Args:
        classes: the groups of the own attributes of each class of sets.
        attribute: of each group.
        precision (classes,): the sum over a class of 1 / sigma squared times the factor of the other attributes.
        lengths: the squared column lengths (g,) of each group.
        messages: for each class of two own attributes or more an array (g,) for each of them.
        maxima: how they are computed.
    """
    slopes = CostSlopes(np.zeros(len(classes)), [np.zeros(len(q)) for q in lengths], {}, {}, {})
    single: dict[int, FloatArray] = {}
    cost = 0.0
    for number, groups in enumerate(classes):
        columns = [lengths[group] for group in groups]
        if not groups:
            cost += float(precision[number])
            slopes.by_precision[number] = precision[number]
            continue
        if len(groups) > 1:
            cost += _table(number, groups, float(precision[number]), columns, messages[number], maxima, slopes)
        for group, message in zip(groups, messages.get(number, [precision[number] * columns[0]]), strict=True):
            single[attribute[group]] = single.get(attribute[group], 0.0) + message
    for i, column in single.items():
        value, slopes.axes[i] = largest(column, maxima.sharpness, maxima.axes.get(i))
        cost += value
    for number, groups in enumerate(classes):
        if len(groups) == 1:
            derivative = slopes.axes[attribute[groups[0]]]
            slopes.by_lengths[groups[0]] += precision[number] * derivative
            slopes.by_precision[number] = precision[number] * (derivative @ lengths[groups[0]])
        else:
            for by_message, group in zip(slopes.by_messages.get(number, []), groups, strict=True):
                np.add(by_message, slopes.axes[attribute[group]], out=by_message)
    return cost, slopes


def _table(
    number: int,
    groups: tuple[int, ...],
    precision: float,
    columns: list[FloatArray],
    messages: list[FloatArray],
    maxima: Maxima,
    slopes: CostSlopes,
) -> float:
    """The maximum of what a class costs above its messages; its slopes are added."""
    own = product_table(precision, columns)
    value, derivative = largest(own - sum_table(messages), maxima.sharpness, maxima.tables.get(number))
    slopes.tables[number] = derivative
    slopes.by_messages[number] = [-margin for margin in margins(derivative)]
    own *= derivative
    for group, column, margin in zip(groups, columns, margins(own), strict=True):
        slopes.by_lengths[group] += np.divide(margin, column, out=np.zeros_like(margin), where=column > 0)
    slopes.by_precision[number] = own.sum()
    return value


def margins(table: Table) -> list[FloatArray]:
    """The sums of a table over all axes but each one."""
    return [table.sum(axis=tuple(other for other in range(table.ndim) if other != axis)) for axis in range(table.ndim)]


def largest(table: Table, sharpness: float | None, logs: Table | None = None) -> tuple[float, Table]:
    """The maximum, or ``log sum exp(sharpness * table + logs) / sharpness``; and its derivative.

    Example:
        >>> largest(np.array([1.0, 3.0, 3.0]), None)
        (3.0, array([0. , 0.5, 0.5]))
    """
    if sharpness is None:
        most = float(table.max())
        derivative = (table == most).astype(np.float64)
        return most, derivative / derivative.sum()
    powers = table * sharpness
    if logs is not None:
        powers += logs
    most = float(powers.max())
    powers -= most
    np.exp(powers, out=powers)
    total = float(powers.sum())
    powers /= total
    return (most + math.log(total)) / sharpness, powers
