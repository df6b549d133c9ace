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


@dataclass(frozen=True, eq=False)
class AlignedTables:
    """Two tables that follow from the same noise; the second has the first one's attributes, or some, in their order.

    On each attribute that both have the second has as many answers as the first, or one; on others it has one.
    """

    one: TableAccuracy
    other: TableAccuracy
    positions: tuple[IntArray, IntArray]  # in the domain, of the attributes of each, ascending

    def covariances(self) -> FloatArray:
        """The covariance of each cell of the first table with that of the second which stands there, (q_1, .., q_k)."""
        measured = [
            position for position, axis in zip(self.positions[0], self.one.axes, strict=True) if axis.basis.size > 1
        ]
        both = np.intersect1d(measured, self.positions[1])
        every = np.union1d(*self.positions)
        if math.prod(self.one.shape) * len(every) > _ENTRY_LIMIT:
            raise WorkloadError(f"too large: the covariances of {math.prod(self.one.shape):,} cells of two tables")
        of_one, of_other = (_Parts(*each, every) for each in zip((self.one, self.other), self.positions, strict=True))
        total: FloatArray = np.zeros([1] * len(every))
        for chosen in range(1 << len(both)):
            within = [int(position) for bit, position in enumerate(both) if chosen >> bit & 1]
            bits = of_one.bits(within), of_other.bits(within)
            term = math.sqrt(self.one.noise[bits[0]] * self.other.noise[bits[1]]) * of_one.outside(within)
            term = term * of_other.outside(within)
            for position in within:
                inner = _inner(of_one.axis(bits[0], position), of_other.axis(bits[1], position))
                term = term * of_one.along(inner, position)
            total = total + term
        lengths = [axis.rows for axis in self.one.axes]
        own = tuple(number for number, position in enumerate(every) if position not in self.positions[0])
        moved = np.broadcast_to(total.sum(axis=own), lengths).transpose(self.one.written)  # those have one entry
        return np.asarray(moved.reshape(self.one.shape))


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
