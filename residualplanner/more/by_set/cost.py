"""The cost that a search for bases by set descends, with smooth maxima, and its slopes.

Source: eq. (41).
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.table_costs import product_table, sum_table

Table = NDArray[np.float64]
#: Logarithms of weights are at least this, so that a cell that did not count can count again.
_LEAST_LOG = -60.0


@dataclass(frozen=True, eq=False, slots=True)
class Maxima:
    """How maxima are computed: those in the cost, and that of the logarithms of variances.

    That of x is ``log sum_r w_r exp(sharpness x_r) / sharpness``, or the maximum itself without a sharpness.  Where no
    weights w are known they are 1, with which it is not below the maximum.
    """

    sharpness: float | None = None
    tables: dict[int, Table] = field(default_factory=dict)  # logarithms of the weights of the cells of each class
    axes: dict[int, FloatArray] = field(default_factory=dict)  # of those of the values of each attribute
    cells: FloatArray | None = None  # of those of the cells of all tables


@dataclass(frozen=True, eq=False, slots=True)
class LossSlopes:
    """Derivatives of the logarithm of the loss."""

    by_precision: FloatArray  # (noises,): by the logarithm of each noise's precision
    by_forms: list[FloatArray]  # (r, r): by the form of each group's basis, symmetric
    by_us: list[FloatArray]  # (1+r,): by its u
    cells: FloatArray | None  # by the logarithms of the variances whose maximum it is


@dataclass(frozen=True, eq=False, slots=True)
class CostSlopes:
    """Derivatives of the cost."""

    by_precision: FloatArray  # (classes,): by the logarithm of each class's precision
    by_lengths: list[FloatArray]  # (g,): by the squared column lengths of each group
    by_messages: dict[int, list[FloatArray]]  # (g,) for each own attribute of each class of two or more
    tables: dict[int, Table]  # by the entries of the tables whose maxima are in the cost
    axes: dict[int, FloatArray]  # by those of the columns

    def maxima(self, sharpness: float, loss: LossSlopes) -> Maxima:
        """Smooth maxima that are exact to first order here: what counts here has a larger weight.

        Source: Bertsekas, Constrained Optimization and Lagrange Multiplier Methods (1982), section 5.1.2, the
        exponential method of multipliers.
        """

        def logs(derivative: FloatArray) -> FloatArray:
            return np.log(np.maximum(derivative, math.exp(_LEAST_LOG)))

        tables, axes = ({key: logs(each) for key, each in by.items()} for by in (self.tables, self.axes))
        return Maxima(sharpness, tables, axes, None if loss.cells is None else logs(loss.cells))


def cost_and_slopes(
    classes: tuple[tuple[int, ...], ...],
    attribute: list[int],
    precision: FloatArray,
    lengths: list[FloatArray],
    messages: dict[int, list[FloatArray]],
    maxima: Maxima,
) -> tuple[float, CostSlopes]:
    """A bound of the privacy cost, for any messages, or a smooth function near it.  Source: eq. (41).

    The classes of sets are given by the groups of their own attributes, and these groups by the ``attribute`` of each
    and its squared column ``lengths`` (g,).  The precision (classes,) is the sum over a class of 1 / sigma squared
    times the factor of the other attributes; classes of two own attributes or more have a message (g,) for each of
    them.
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
    slopes.by_messages[number] = [-margin for margin in _margins(derivative)]
    own *= derivative
    for group, column, margin in zip(groups, columns, _margins(own), strict=True):
        slopes.by_lengths[group] += np.divide(margin, column, out=np.zeros_like(margin), where=column > 0)
    slopes.by_precision[number] = own.sum()
    return value


def _margins(table: Table) -> list[FloatArray]:
    """The sums of a table over all axes but each one."""
    return [table.sum(axis=tuple(other for other in range(table.ndim) if other != axis)) for axis in range(table.ndim)]


def largest(table: Table, sharpness: float | None, logs: Table | None = None) -> tuple[float, Table]:
    """The maximum, or ``log sum exp(sharpness * table + logs) / sharpness``; and its derivative."""
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
