"""Variances and covariances within one table: of all cells, of all pairs of cells, of one combination.

And between the cells of two tables, cell by cell: of a count and what it is divided by or compared with.
Source: eqs. (12), (26), (40) and (136); paper Theorems 4.4 and 7.2.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.rows import Rows
from residualplanner.method.strategy.cells import CellTable

#: How many entries of a basic matrix are formed at a time.
_FORMED = 2**22


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute of a table, with a basis: where it varies, that of one of the table's subsets."""

    basis: Basis
    kind: Kind

    @property
    def rows(self) -> int:
        """How many answers the attribute has in the table."""
        return self.kind.rows(self.basis.size)

    @cached_property
    def origin(self) -> FloatArray:
        """``W u``, (q,)."""
        return self.kind.apply(self.basis.u, 0)

    @property
    def augmented(self) -> FloatArray:
        """1 for the constant parts of rows, then u, (1 + n,): the others lose no digits to them."""
        return np.concatenate([[1.0], self.basis.u])

    @cached_property
    def present(self) -> FloatArray:
        """The squared length of every row of ``W G``, (q,)."""
        return self.basis.row_variance_factors(self.kind)[0]

    @cached_property
    def mean_present(self) -> float:
        """Their mean."""
        return self.basis.mean_variance_factors(self.kind)[0]

    def form(self) -> FloatArray:
        """``W G G^T W^T``, (q, q)."""
        return self.basis.cell_covariances(self.kind)[1]

    def augmented_weights(self, weights: FloatArray, number: int) -> FloatArray:
        """Weights on answers along the axis of this ``number`` as weights on the total and the values, (.., 1 + n, ..).

        The constant parts of rows depend on the total alone; taken off first, they cost the others no digits.
        Differences of constants of like size are exact in floating point, so nothing is lost either where weights of
        such rows cancel.
        """
        rows, constant = self.kind.centered(self.basis.size)
        largest = constant[np.abs(constant).argmax()]
        is_close = (constant * largest > 0) & (np.abs(constant) >= np.abs(largest) / 2)
        parts = np.stack([constant - largest * is_close, np.where(is_close, largest, 0.0)])
        total = (np.moveaxis(weights, number, -1)[..., None, :] * parts).sum(axis=-1)
        values = _weights_by_value(rows, self.basis.size, weights, number)
        return np.concatenate([np.expand_dims(total.sum(axis=-1), number), values], axis=number)


def _weights_by_value(rows: Rows, size: int, weights: FloatArray, number: int) -> FloatArray:
    """Weights on values that amount to weights (.., q, ..) on answers: a matrix's transpose along one axis."""
    if rows.is_identity:
        return weights
    each_value = np.eye(size)
    last = np.moveaxis(weights, number, -1)
    step = max(1, _FORMED // rows.rows(size))
    columns = [last @ rows.apply(each_value[:, first : first + step], 0) for first in range(0, size, step)]
    return np.moveaxis(np.concatenate(columns, axis=-1), -1, number)


#: How many entries a covariance, an array of cells that differ, or products of rows may have.
_ENTRY_LIMIT = 2**28
#: NumPy makes no array of more cells, not even one whose cells share their memory.
_CELL_LIMIT = 2**60 - 1


@dataclass(frozen=True, eq=False, slots=True)
class TableAccuracy:
    """Variances and covariances within one table."""

    axes: tuple[Axis, ...]  # its attributes in the domain's order, with their bases where they are constant
    varying: CellTable  # what depends on the attributes that vary
    noise: FloatArray  # (2**k,), sigma squared of all subsets of its attributes; bit i stands for the i-th
    written: tuple[int, ...]  # which of them each axis of the table is, as the query is written

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each attribute has along whose values the table has an axis."""
        return tuple(self.axes[number].rows for number in self.written if self.axes[number].kind.is_axis)

    @property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(self.axes[number].rows for number in self.written)

    def variances(self) -> FloatArray:
        """The variance of every cell, in the table's shape, read-only.  Source: eqs. (26) and (40)."""
        self._require_at_most(_CELL_LIMIT, math.prod(self.shape))
        return np.broadcast_to(self.differing_variances(), self._lengths).reshape(self.shape)

    def differing_variances(self) -> FloatArray:
        """The same, but an axis along which all cells have one variance has one entry."""
        found: FloatArray = self._with_noise(self.noise[None])[0]
        return found.transpose(self.written)

    def stacked_variances(self, noise: FloatArray) -> FloatArray:
        """The variances, (m, q_1, .., q_k), of tables like this one but for their noise (m, 2**k), read-only."""
        self._require_at_most(_CELL_LIMIT, math.prod(self.shape) * len(noise))
        found = self._with_noise(noise).transpose(0, *(1 + axis for axis in self.written))
        return np.broadcast_to(found, (len(noise), *self._lengths))

    def covariance(self) -> FloatArray:
        """The covariance of all cells in C order, (cells, cells).  Source: eqs. (12), (26) and (40)."""
        cells, order = math.prod(self.shape), len(self.axes)
        if cells**2 > _ENTRY_LIMIT:
            raise WorkloadError(f"too large: the covariance of {cells:,} cells; ask for combination_variance instead")
        varying = np.stack(list(self.varying.covariances(self.noise[self.varying.columns])))
        matrix = _covariance(self._constant, self._by_subset(varying, varying.shape[1:]))
        lengths = [*(axis.rows for axis in self._constant), *self.varying.shape]
        # Where each axis of the table is behind the constant attributes and the varying ones.
        moved = np.argsort([*self.varying.constant, *self.varying.axes])[list(self.written)]
        return matrix.reshape(lengths * 2).transpose([*moved, *(moved + order)]).reshape(cells, cells)

    def combination_variance(self, weights: FloatArray) -> float:
        """The variance of the sum of all cells times ``weights``, in the table's shape.  Source: eqs. (26) and (40)."""
        squares = (self.noise[bits] * float(np.vdot(own, own)) for bits, own in self.noise_weights(weights))
        return float(sum(squares, start=0.0))

    def noise_weights(self, weights: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """What the sum of all cells times ``weights`` multiplies the noise of each subset by, by the subset's bits.

        The weights are multiplied by the transposes of each basic matrix and of the parts u and G of each basis: the
        result has the weight of the noise of every residual answer.  Source: eqs. (26) and (40).
        """
        weights = weights.reshape(self._lengths).transpose(np.argsort(self.written))
        for number in self.varying.axes:
            weights = self.axes[number].augmented_weights(weights, number)
        yield from self.varying.noise_weights(list(self._residual_weights(weights, self.varying.constant)))

    @property
    def _constant(self) -> list[Axis]:
        return [self.axes[number] for number in self.varying.constant]

    def _with_noise(self, noise: FloatArray) -> FloatArray:
        """The variances that differ with each row of noise (m, 2**k), an axis for it first, then in domain order."""
        factors = [axis.basis.row_variance_factors(axis.kind) for axis in self._constant]
        differing = math.prod([*self.varying.shape, *(len(present) for present, _ in factors)])
        self._require_at_most(_ENTRY_LIMIT, differing * len(noise))
        (weights,) = self.varying.of_cells()
        applied = np.moveaxis(self.varying.applied(noise, weights), 0, -1)
        cells = self._by_subset(applied, (*self.varying.shape, len(noise)))
        for present, absent in factors:
            # The first axis left is the attribute's; its cells become the last one.
            cells = np.tensordot(cells, np.stack([absent, present])[: len(cells)], axes=(0, 0))
        return cells.transpose(np.argsort([*self.varying.axes, -1, *self.varying.constant]))

    def _require_at_most(self, limit: int, cells: int) -> None:
        if cells > limit:
            cells = math.prod(self.shape)
            raise WorkloadError(f"too large: a table of {cells:,} cells; errors() has its std_err and max_std_err")

    def _by_subset(self, parts: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        """Parts (2**c, ..) for all subsets of the constant attributes with an axis for each of these, of length 2.

        Attributes of one value are never measured: theirs has only index 0.
        """
        constant = self._constant
        by_bit = parts.reshape((2,) * len(constant) + shape)
        in_order = by_bit.transpose(*reversed(range(len(constant))), *range(len(constant), by_bit.ndim))
        return in_order[tuple(slice(0, min(axis.basis.size, 2)) for axis in constant)]

    def _residual_weights(self, weights: FloatArray, constant: Sequence[int]) -> Iterator[FloatArray]:
        """What weights on answers are on the residuals of each subset of the constant attributes."""
        if not constant:
            yield weights
            return
        *others, last = constant
        basis = self.axes[last].basis
        # By (26) a residual answer has the weights times W G where the attribute is in its set, times W u where not.
        total, values = np.split(self.axes[last].augmented_weights(weights, last), [1], axis=last)
        absent = np.expand_dims(np.moveaxis(values, last, -1) @ basis.u, last)
        yield from self._residual_weights(absent + total, others)
        yield from self._residual_weights(basis.present_parts(values, last), others)


def _covariance(axes: Sequence[Axis], parts: FloatArray) -> FloatArray:
    """The covariance of all cells, from those over varying attributes for all subsets of ``axes``, (2, .., 2, x, x)."""
    if not axes:
        return parts
    # By (26) the covariance is a sum over subsets of Kronecker products: absent times the rest without this attribute,
    # plus present times the rest with it, and so on for each attribute of the rest.
    first, *others = axes
    factors = first.basis.cell_covariances(first.kind)
    terms = [np.kron(factor, _covariance(others, part)) for factor, part in zip(factors, parts, strict=False)]
    return np.asarray(np.add.reduce(terms))


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
        lengths = dict(zip(self.positions[list(self.table.varying.axes)].tolist(), rest.shape, strict=True))
        found = rest.reshape([lengths.get(position, 1) for position in self.every.tolist()])
        for number in self.table.varying.constant:
            position = int(self.positions[number])
            if position not in within:
                found = found * self.along(self.table.axes[number].origin, position)
        return found


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
