"""What a search for bases by set descends: the sum of variances, the bound of the cost, and their slopes.

Source: eqs. (39) to (41).

In the coordinates of ``[1/g | Z]`` every u is ``(1, b)``, and the part of a table h at index 0 of some axes is the h of
the others: summing over an axis leaves index 0.  So a rest table has smaller ones as parts, and one part that is new.
The maxima in the cost are smooth.
"""

import math
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.problem import LossTerms, RestTable, parts_of
from residualplanner.more.by_set.table_costs import product_table, sum_table
from residualplanner.more.by_set.varying_tables import along

Table = NDArray[np.float64]
#: A rest table h in coordinates, (1+r_1, .., 1+r_k), and for the chain rule those whose axes were mapped in turn to
#: make the part that is new.
_Made = tuple[Table, list[Table]]
#: The least weight of a set, relative to the largest: so the noise of one that no query needs has an optimum.
_LEAST = 2.0**-60
#: Logarithms of weights are at least this, so that a cell that did not count can count again.
_LEAST_LOG = -60.0


@dataclass(frozen=True, eq=False, slots=True)
class SetVariances:
    """The weight of each set's noise in the loss, and what the chain rule needs."""

    weights: FloatArray  # (m,): V_A; the loss is the sum of V_A sigma_A**2
    _terms: LossTerms
    _present: FloatArray
    _offsets: list[FloatArray]
    _made: list[_Made]
    _formed: list[Table]
    _forms: FloatArray
    _values: FloatArray

    @classmethod
    def of(
        cls,
        terms: LossTerms,
        sets: int,
        grams: dict[int, FloatArray],
        present: FloatArray,
        absent: FloatArray,
        offsets: list[FloatArray],
    ) -> "SetVariances":
        """Evaluate (40) for so many sets, with the grams (kinds, 1+r, 1+r) of each own attribute.

        ``||W G||**2`` and ``||W u||**2`` per row are ``present`` and ``absent`` (factors,), for each group and kind;
        offsets are b (r,) of each group.
        """
        made: list[_Made] = []
        for rest in terms.rests:
            made.append(_made(rest, made, offsets))
        formed = [_formed(made[number][0], terms.rests[number], kinds, grams) for number, kinds in terms.forms]
        products = [float(np.vdot(made[number][0], f)) for (number, _), f in zip(terms.forms, formed, strict=True)]
        forms = np.concatenate([[1.0], absent, products])
        factors = np.append(present, 1.0)
        values = terms.weight * factors[terms.present].prod(axis=1)
        weights = np.bincount(terms.set, values * forms[terms.form], sets).astype(np.float64)
        weights = np.maximum(weights, _LEAST * weights.max())
        return cls(weights, terms, factors, offsets, made, formed, forms, values)

    def slopes(self, by_weights: FloatArray) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """From the slopes by the weights (m,): by the present and absent factors, and by b through the rest tables."""
        terms = self._terms
        by_set = by_weights[terms.set]
        by_form = np.bincount(terms.form, by_set * self._values, len(self._forms)).astype(np.float64)
        by_present = np.zeros(len(self._present))
        common, factors_of = by_set * terms.weight * self._forms[terms.form], self._present[terms.present]
        for column in range(terms.present.shape[1]):
            others = np.delete(factors_of, column, axis=1).prod(axis=1)
            by_present += np.bincount(terms.present[:, column], common * others, len(by_present))
        factors = len(self._present) - 1
        by_b: list[FloatArray] = [np.zeros(len(b)) for b in self._offsets]
        by_table = [np.zeros(table.shape) for table, _ in self._made]
        for (number, _), formed, slope in zip(terms.forms, self._formed, by_form[1 + factors :].tolist(), strict=True):
            by_table[number] += 2 * slope * formed
        for number in range(len(terms.rests) - 1, -1, -1):
            _, steps = self._made[number]
            _back(terms.rests[number], steps, self._offsets, by_table, by_table[number], by_b)
        return by_present[:-1], by_form[1 : 1 + factors], by_b


def _made(rest: RestTable, smaller: list[_Made], offsets: list[FloatArray]) -> _Made:
    """A rest table: the parts that it has from smaller ones, and the new one."""
    bs = [offsets[group] for group in rest.groups]
    table = np.zeros([1 + len(b) for b in bs])
    table[(0,) * len(bs)] = 1
    for part, number in zip(parts_of(tuple(range(len(bs)))), rest.parts, strict=True):
        new = offsets[number] if len(part) == 1 else _new(smaller[number][0])
        table[_where(len(bs), part)] = new
    steps: list[Table] = []
    left = table
    for axis, b in enumerate(bs):
        steps.append(left)
        absent, present = _split(left, axis)
        left = present - absent * along(b, axis, len(bs))
    table = table.copy()
    table[(slice(1, None),) * len(bs)] = -left
    return table, steps


def _back(
    rest: RestTable,
    steps: list[Table],
    offsets: list[FloatArray],
    by_tables: list[Table],
    by_table: Table,
    by_b: list[FloatArray],
) -> None:
    """The chain rule of `_made`: from the slope by a rest table to those by the b and tables in it."""
    order = len(rest.groups)
    slope = -by_table[(slice(1, None),) * order]
    for axis in range(order - 1, -1, -1):
        b, (absent, _) = offsets[rest.groups[axis]], _split(steps[axis], axis)
        by_absent = -(slope * along(b, axis, order)).sum(axis=axis, keepdims=True)
        by_b[rest.groups[axis]] -= (slope * absent).sum(axis=tuple(other for other in range(order) if other != axis))
        slope = np.concatenate([by_absent, slope], axis=axis)
    slope = by_table + slope
    for part, number in zip(parts_of(tuple(range(order))), rest.parts, strict=True):
        mine = slope[_where(order, part)]
        if len(part) == 1:
            by_b[number] += mine
        else:
            _new(by_tables[number])[...] += mine


def _where(order: int, part: tuple[int, ...]) -> tuple[slice | int, ...]:
    """The index of a part of the axes in a rest table."""
    return tuple(slice(1, None) if axis in part else 0 for axis in range(order))


def _new(table: Table) -> Table:
    return table[(slice(1, None),) * table.ndim]


def _split(table: Table, axis: int) -> tuple[Table, Table]:
    """Index 0 of an axis, kept as an axis, and the others."""
    before = (slice(None),) * axis
    return table[(*before, slice(0, 1))], table[(*before, slice(1, None))]


def _formed(table: Table, rest: RestTable, kinds: tuple[int, ...], grams: dict[int, FloatArray]) -> Table:
    """The Gram matrices of the kinds, applied to the axes of a rest table."""
    pairs = zip(rest.attributes, kinds, strict=True)
    # Each product takes the first axis and puts it last, so that in the end all are in order.
    return reduce(lambda left, pair: np.tensordot(left, grams[pair[0]][pair[1]], axes=(0, 0)), pairs, table)


@dataclass(frozen=True, eq=False, slots=True)
class Maxima:
    """How the maxima in the cost are computed.

    That of x is ``log sum_r w_r exp(sharpness x_r) / sharpness``, or the maximum itself without a sharpness.  Where no
    weights w are known they are 1, with which it is not below the maximum.
    """

    sharpness: float | None = None
    tables: dict[int, Table] = field(default_factory=dict)  # logarithms of the weights of the cells of each class
    axes: dict[int, FloatArray] = field(default_factory=dict)  # of those of the values of each attribute


@dataclass(frozen=True, eq=False, slots=True)
class CostSlopes:
    """Derivatives of the cost."""

    by_precision: FloatArray  # (classes,): by the logarithm of each class's precision
    by_lengths: list[FloatArray]  # (g,): by the squared column lengths of each group
    by_messages: dict[int, list[FloatArray]]  # (g,) for each own attribute of each class of two or more
    tables: dict[int, Table]  # by the entries of the tables whose maxima are in the cost
    axes: dict[int, FloatArray]  # by those of the columns

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
        value, slopes.axes[i] = _largest(column, maxima.sharpness, maxima.axes.get(i))
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
    value, derivative = _largest(own - sum_table(messages), maxima.sharpness, maxima.tables.get(number))
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


def _largest(table: Table, sharpness: float | None, logs: Table | None = None) -> tuple[float, Table]:
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
