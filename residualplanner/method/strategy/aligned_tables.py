"""Covariances between the cells of two tables, cell by cell: of a count and what it is divided by or compared with.

Source: eq. (136), from (12), (26) and (40).
"""

import math
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.strategy.table_accuracy import Axis, TableAccuracy

#: How many numbers products of rows may take.
_ENTRY_LIMIT = 2**28


def table_covariances(one: TableAccuracy, other: TableAccuracy, positions: tuple[IntArray, IntArray]) -> FloatArray:
    """The covariance of each cell of a table with that of another one which stands there, (q_1, .., q_k).

    Both follow from the same noise; the positions are those of the attributes of each in the domain, ascending.  On
    each attribute that both have the second has as many answers as the first, or one; on others it has one.
    """
    measured = [position for position, axis in zip(positions[0], one.axes, strict=True) if axis.basis.size > 1]
    both, every = np.intersect1d(measured, positions[1]), np.union1d(*positions)
    if math.prod(one.shape) * len(every) > _ENTRY_LIMIT:
        raise WorkloadError(f"too large: the covariances of {math.prod(one.shape):,} cells of two tables")
    of_one, of_other = _Parts(one, positions[0], every), _Parts(other, positions[1], every)
    total: FloatArray = np.zeros([1] * len(every))
    for chosen in range(1 << len(both)):
        within = [int(position) for bit, position in enumerate(both) if chosen >> bit & 1]
        bits = of_one.bits(within), of_other.bits(within)
        term = math.sqrt(one.noise[bits[0]] * other.noise[bits[1]]) * of_one.outside(within) * of_other.outside(within)
        for position in within:
            inner = _inner(of_one.axis(bits[0], position), of_other.axis(bits[1], position))
            term = term * of_one.along(inner, position)
        total = total + term
    own = tuple(number for number, position in enumerate(every) if position not in positions[0])
    moved = np.broadcast_to(total.sum(axis=own), [axis.rows for axis in one.axes])  # those have one entry
    return np.asarray(moved.transpose(one.written).reshape(one.shape))


@dataclass(frozen=True, eq=False)
class _Parts:
    """What the cells of a table are made of, with an axis for each attribute of either table."""

    table: TableAccuracy
    positions: IntArray
    every: IntArray

    def bits(self, within: list[int]) -> int:
        """A subset of the attributes as the table numbers it."""
        return sum(1 << self.number(position) for position in within)

    def number(self, position: int) -> int:
        """The number of an attribute among the table's."""
        return int(np.searchsorted(self.positions, position))

    def axis(self, bits: int, position: int) -> Axis:
        """An attribute of the table with the basis that it has in a subset."""
        number = self.number(position)
        return self.table.varying.factors.get((bits, number), self.table.axes[number])

    def along(self, numbers: FloatArray, position: int) -> FloatArray:
        """Numbers along the axis of an attribute, one or for each answer."""
        return numbers.reshape([-1 if each == position else 1 for each in self.every])

    def outside(self, within: list[int]) -> FloatArray:
        """What the noise of a subset is multiplied by outside of it: ``W u``, or tables of (39) where bases vary."""
        bits = self.bits(within)
        rest = self.table.varying.rest(bits)
        found = rest.reshape([self._length(rest, position) for position in self.every.tolist()])
        for number in self.table.varying.constant:
            position = int(self.positions[number])
            if position not in within:
                found = found * self.along(self.table.axes[number].origin, position)
        return found

    def _length(self, rest: FloatArray, position: int) -> int:
        number = self.number(position)
        is_own = number < len(self.positions) and self.positions[number] == position
        varying = self.table.varying.axes
        return rest.shape[varying.index(number)] if is_own and number in varying else 1


def _inner(one: Axis, other: Axis) -> FloatArray:
    """``w_r G G^T v_r`` for the rows w_r of one kind and v_r of another, or its only one, (q,).  Source: eq. (136)."""
    rows, others = (axis.kind.centered(axis.basis.size).rows for axis in (one, other))
    spread = one.basis.present_parts(np.eye(one.basis.size), 1)
    second = others.apply(spread, 0)
    if len(second) == 1:
        return rows.apply(spread @ second[0], 0)
    if one.rows * spread.shape[1] > _ENTRY_LIMIT:
        raise WorkloadError(f"too large: the covariances of {one.rows:,} answers on an attribute with as many others")
    return np.asarray((rows.apply(spread, 0) * second).sum(axis=1))
