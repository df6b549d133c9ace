"""The tables h of (39) that a search for bases by set needs, in coordinates, and the chain rule through them.

In the coordinates of ``[1/g | Z]`` every u is ``(1, b)``, and the part of a table h at index 0 of some axes is the h of
the others: summing over an axis leaves index 0.  So a rest table has smaller ones as parts, and one part that is new.

Source: eq. (39).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.terms import RestTable, parts_of
from residualplanner.more.varying.varying_tables import along

Table = NDArray[np.float64]
#: A rest table h in coordinates, (1+r_1, .., 1+r_k), and for the chain rule those whose axes were mapped in turn to
#: make the part that is new.
_Made = tuple[Table, list[Table]]


class RestTables:
    """Rest tables, those of fewer axes first, for the offsets b (r,) of each group."""

    def __init__(self, rests: Sequence[RestTable], offsets: Sequence[FloatArray]) -> None:
        self.rests, self._offsets, self._made = rests, offsets, list[_Made]()
        for rest in rests:
            self._made.append(_made(rest, self._made, offsets))

    def __getitem__(self, number: int) -> Table:
        """A rest table in coordinates, (1+r_1, .., 1+r_k)."""
        return self._made[number][0]

    def slopes(self, by_tables: dict[int, Table]) -> list[FloatArray]:
        """From the slopes by the entries of some tables: by b (r,) of each group."""
        by_b: list[FloatArray] = [np.zeros(len(b)) for b in self._offsets]
        by_table = [by_tables.get(number, np.zeros(table.shape)) for number, (table, _) in enumerate(self._made)]
        for number in range(len(self.rests) - 1, -1, -1):
            _back(self.rests[number], self._made[number][1], self._offsets, by_table, by_table[number], by_b)
        return by_b


def _made(rest: RestTable, smaller: list[_Made], offsets: Sequence[FloatArray]) -> _Made:
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
    offsets: Sequence[FloatArray],
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


def applied(matrices: Sequence[FloatArray], table: Table) -> Table:
    """A table with each of its axes multiplied by a matrix (n, m), (m_1, .., m_k)."""
    for matrix in matrices:
        # The first axis goes last, so that in the end all are in order.
        table = (table.reshape(len(matrix), -1).T @ matrix).reshape(*table.shape[1:], matrix.shape[1])
    return table
