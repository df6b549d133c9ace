"""The cost that a search for bases by set descends, with smooth maxima, and its slopes.

Source: eq. (41).
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.group_basis import Member
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.table_costs import (
    CostTable,
    Rows,
    TableChoice,
    minimize_over_tables,
    product_table,
    sum_table,
)

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
    #: Of those of the values of each attribute; where records are replaced, by 0 of those of the pairs of records.
    axes: dict[int, FloatArray] = field(default_factory=dict)
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

    by_precision: FloatArray  # (noises,): by the logarithm of each noise's precision
    #: By the products of the columns of each group's basis, (g, g), or by their squared lengths alone, (g,).
    by_products: list[FloatArray]
    by_messages: dict[int, list[FloatArray]]  # (g,) for each own attribute of each class of two or more
    tables: dict[int, Table]  # by the entries of the tables whose maxima are in the cost
    axes: dict[int, FloatArray]  # by those of the columns, or of the pairs of records

    def maxima(self, sharpness: float, loss: LossSlopes) -> Maxima:
        """Smooth maxima that are exact to first order here: what counts here has a larger weight.

        Source: Bertsekas, Constrained Optimization and Lagrange Multiplier Methods (1982), section 5.1.2, the
        exponential method of multipliers.
        """

        def logs(derivative: FloatArray) -> FloatArray:
            return np.log(np.maximum(derivative, math.exp(_LEAST_LOG)))

        tables, axes = ({key: logs(each) for key, each in by.items()} for by in (self.tables, self.axes))
        return Maxima(sharpness, tables, axes, None if loss.cells is None else logs(loss.cells))


class TableCost:
    """The right side of (41): a bound of the privacy cost where records are added or removed, for any messages.

    The cost of a class of sets is a table over the values of their own attributes.  A class with two of these or more
    has a message (g,) for each.
    """

    def __init__(self, problem: BySetProblem) -> None:
        self._problem, self._classes = problem, problem.classes
        self._attribute: list[int] = problem.attribute_of_group.tolist()
        joint = [(number, groups) for number, groups in enumerate(problem.classes) if len(groups) > 1]
        #: How long the messages of each class are.
        self.message_lengths = {n: [problem.axis(group).values for group in groups] for n, groups in joint}

    def value_and_slopes(self, member: Member, maxima: Maxima) -> tuple[float, CostSlopes]:
        """The bound, or a smooth function near it, and its slopes."""
        precision, lengths = self._problem.of_classes(member.precision), [basis.lengths for basis in member.bases]
        by_class = np.zeros(len(precision))
        slopes = CostSlopes(by_class, [np.zeros(len(q)) for q in lengths], {}, {}, {})
        single: dict[int, FloatArray] = {}
        cost = 0.0
        for number, groups in enumerate(self._classes):
            columns = [lengths[group] for group in groups]
            if not groups:
                cost += float(precision[number])
                by_class[number] = precision[number]
                continue
            sent = member.messages.get(number, [precision[number] * columns[0]])
            if len(groups) > 1:
                cost += _table(number, groups, float(precision[number]), columns, sent, maxima, slopes)
            for group, message in zip(groups, sent, strict=True):
                attribute = self._attribute[group]
                single[attribute] = single.get(attribute, 0.0) + message
        for i, column in single.items():
            value, slopes.axes[i] = largest(column, maxima.sharpness, maxima.axes.get(i))
            cost += value
        for number, groups in enumerate(self._classes):
            if len(groups) == 1:
                derivative = slopes.axes[self._attribute[groups[0]]]
                slopes.by_products[groups[0]] += precision[number] * derivative
                by_class[number] = precision[number] * (derivative @ lengths[groups[0]])
            else:
                for by_message, group in zip(slopes.by_messages.get(number, []), groups, strict=True):
                    np.add(by_message, slopes.axes[self._attribute[group]], out=by_message)
        by_noise = (by_class / precision)[self._problem.class_of_noise] * member.precision
        return cost, replace(slopes, by_precision=by_noise)

    def with_worst(self, member: Member) -> "TableCost":
        """The same: its maxima are over all cells."""
        del member
        return self

    def best_noise(self, member: Member, rows: Rows) -> TableChoice:
        """The best precisions and messages for a member's bases, for the rows of a loss.

        Raises SolverError: the solver gave no usable answer.
        """
        lengths = [basis.lengths for basis in member.bases]
        tables = [
            CostTable(tuple(self._attribute[group] for group in groups), tuple(lengths[group] for group in groups))
            for groups in self._classes
        ]
        return minimize_over_tables(rows, tables, self._problem.class_of_noise, member.precision, member.messages)


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
        slopes.by_products[group] += np.divide(margin, column, out=np.zeros_like(margin), where=column > 0)
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
