"""The variances of a plan with bases by set, as a sum over the noise of every set, and the slopes by the bases.

Source: eqs. (39) and (40).

In the coordinates of ``[1/g | Z]`` every u is ``(1, b)``, and the part of a table h at index 0 of some axes is the h of
the others: summing over an axis leaves index 0.  So a rest table has smaller ones as parts, and one part that is new.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.terms import LossTerms, RestTable, parts_of

Table = NDArray[np.float64]
#: The least weight of a set, relative to the largest: so the noise of one that no query needs has an optimum.
_LEAST = 2.0**-60


@dataclass(frozen=True, eq=False, slots=True)
class _Made:
    """A rest table with what the chain rule needs.

    Attributes:
        table (1+r_1, .., 1+r_k): h in coordinates.
        steps: the tables whose axes were mapped in turn to make the part that is new.
    """

    table: Table
    steps: list[Table]


@dataclass(frozen=True, eq=False, slots=True)
class SetVariances:
    """The weight of each set's noise in the loss, and what the chain rule needs.

    Attributes:
        weights (m,): V_A: the loss is the sum of ``V_A sigma_A**2``.
    """

    weights: FloatArray
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
        """Evaluate (40).

        Args:
            terms: of the loss.
            sets: m, how many sets there are.
            grams: of each own attribute, (kinds, 1+r, 1+r).
            present (factors,): ``||W G||**2`` per row for each group and kind.
            absent (factors,): ``||W u||**2`` per row, likewise.
            offsets: b (r,) of each group.
        """
        made: list[_Made] = []
        for rest in terms.rests:
            made.append(_made(rest, made, offsets))
        formed = [_formed(made[number].table, terms.rests[number], kinds, grams) for number, kinds in terms.forms]
        products = [float(np.vdot(made[number].table, f)) for (number, _), f in zip(terms.forms, formed, strict=True)]
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
        by_table = [np.zeros(made.table.shape) for made in self._made]
        for (number, _), formed, slope in zip(terms.forms, self._formed, by_form[1 + factors :].tolist(), strict=True):
            by_table[number] += 2 * slope * formed
        for number in range(len(terms.rests) - 1, -1, -1):
            _back(terms.rests[number], self._made[number], self._offsets, by_table, by_table[number], by_b)
        return by_present[:-1], by_form[1 : 1 + factors], by_b


def _made(rest: RestTable, smaller: list[_Made], offsets: list[FloatArray]) -> _Made:
    """A rest table: the parts that it has from smaller ones, and the new one."""
    bs = [offsets[group] for group in rest.groups]
    table = np.zeros([1 + len(b) for b in bs])
    table[(0,) * len(bs)] = 1
    for part, number in zip(parts_of(tuple(range(len(bs)))), rest.parts, strict=True):
        new = offsets[number] if len(part) == 1 else _new(smaller[number].table)
        table[_where(len(bs), part)] = new
    steps: list[Table] = []
    left = table
    for axis, b in enumerate(bs):
        steps.append(left)
        absent, present = _split(left, axis)
        left = present - absent * _along(b, axis, len(bs))
    table = table.copy()
    table[(slice(1, None),) * len(bs)] = -left
    return _Made(table, steps)


def _back(
    rest: RestTable,
    made: _Made,
    offsets: list[FloatArray],
    by_tables: list[Table],
    by_table: Table,
    by_b: list[FloatArray],
) -> None:
    """The chain rule of `_made`: from the slope by a rest table to those by the b and tables in it."""
    order = len(rest.groups)
    slope = -by_table[(slice(1, None),) * order]
    for axis in range(order - 1, -1, -1):
        b, (absent, _) = offsets[rest.groups[axis]], _split(made.steps[axis], axis)
        by_absent = -(slope * _along(b, axis, order)).sum(axis=axis, keepdims=True)
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


def _along(b: FloatArray, axis: int, order: int) -> Table:
    return b.reshape([-1 if other == axis else 1 for other in range(order)])


def _formed(table: Table, rest: RestTable, kinds: tuple[int, ...], grams: dict[int, FloatArray]) -> Table:
    """The Gram matrices of the kinds, applied to the axes of a rest table."""
    pairs = zip(rest.attributes, kinds, strict=True)
    # Each product takes the first axis and puts it last, so that in the end all are in order.
    return reduce(lambda left, pair: np.tensordot(left, grams[pair[0]][pair[1]], axes=(0, 0)), pairs, table)
