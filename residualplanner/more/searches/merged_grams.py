"""The kinds of query of an attribute whose values can be exchanged in groups: a problem of the groups' size.

Source: eqs. (112) to (114).

Exchanges of values within a group leave cost and variances as they are, so some best basis is invariant: one of the
sums of the groups, and for the contrasts among the values of each group one scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.more.nested.axis_maps import NestedMaps
from residualplanner.more.nested.nested import nested_basis
from residualplanner.more.nested.nested_layers import RealLayer, integer_layers, layers_of_groups
from residualplanner.more.nested.nested_maps import float_maps, row_factors, squared_lengths
from residualplanner.more.searches.attribute_grams import AttributeGrams
from residualplanner.more.searches.basis_problem import ResidualBasis
from residualplanner.more.searches.contrasts import Contrasts
from residualplanner.more.searches.exchangeable import MergedRows, merged_rows
from residualplanner.more.searches.tangent import Tangent, forms_of_found
from residualplanner.more.searches.workload_grams import CONSTANT


@dataclass(frozen=True, eq=False, slots=True)
class Layered:
    """What a basis in layers, of real numbers or of integers, contributes to cost and variances.

    Attributes:
        pcost: the squared length of its longest column.
        factors: the variance factors s and t of every row of each kind, (2, rows).
    """

    pcost: float
    factors: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False, slots=True)
class RoundedLayered(Layered):
    """The same of a basis of integers, with the basis.

    Attributes:
        basis: it; the other members are those of `Layered`.
    """

    basis: Basis


@dataclass(frozen=True, eq=False)
class MergedGrams(AttributeGrams):
    """The Gram matrices of all kinds of an attribute, where values that can be exchanged are merged in groups.

    Attributes:
        merged: the rows of each kind.
        own: the kinds themselves; the other members are those of `AttributeGrams`.
    """

    merged: tuple[MergedRows, ...]
    own: tuple[Kind, ...]

    def coarse(self, groups: int | None = None) -> "MergedGrams":
        """Itself: merged values are few."""
        del groups
        return self

    @cached_property
    def freedom(self) -> FloatArray:
        """How many contrasts of each group are measured: all, or none if no query tells its values apart, (g,)."""
        seen = np.sum([rows.contrasts(np.ones(rows.count)) for rows in self.merged], axis=0)
        return np.where(seen > 0, self.width - 1, 0.0)

    @cached_property
    def inside(self) -> FloatArray:
        """What each kind weighs of the contrasts of each group, divided by its number of rows, (kinds, g)."""
        return np.array([rows.contrasts(np.full(rows.count, 1 / rows.count)) for rows in self.merged])

    def tangent(self, weights: FloatArray) -> Tangent:
        """The objective for ``weights`` (2 kinds,): of each kind's t, then of each kind's s."""
        present, absent = np.split(weights, 2)
        contrasts = Contrasts(self.width, self.freedom, present @ self.inside)
        return Tangent.of(self.weighted(present), self.weighted(absent), contrasts)

    @cached_property
    def scales(self) -> FloatArray:
        """The mean squared length of the rows of each kind, apart from constant parts, (kinds,)."""
        return np.array([float(lengths.mean()) for lengths in self._lengths])

    def factors(self, found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
        """The variance factors t and s of each kind, (kinds,) both, with p = 1."""
        present, absent = super().factors(found)
        measured = found.scales > 0
        return present + self.inside[:, measured] @ (self.freedom[measured] / found.scales[measured]), absent

    def exact(self, found: ResidualBasis) -> Layered:
        """The basis in layers of real numbers."""
        return Layered(1.0, self._factors(float_maps(self._layers(found), self._order)))

    def rounded(self, found: ResidualBasis, exponent: int, slack: float) -> RoundedLayered:
        """The basis in layers of integers, ``2**exponent`` times as long."""
        basis = nested_basis(integer_layers(self._layers(found), exponent, slack), self._order, "optimal")
        return RoundedLayered(float(basis.pcost), self._factors(basis.maps), basis)

    def loss(self, weights: FloatArray, near: Layered) -> float:
        """The objective of `tangent` at a basis from `exact` or `rounded`."""
        means = np.array([factors.mean(axis=1) for factors in near.factors])
        present, absent = np.split(weights, 2)
        return float(near.pcost * (present @ means[:, 1]) + absent @ means[:, 0])

    def rows_present(self, workload: Workload, near: Layered) -> FloatArray:
        """The present factor of every row of every kind for noise of cost 1, divided by the row's squared length."""
        del workload
        lengths = [np.maximum(lengths, 1e-300) for lengths in self._lengths]
        factors = [factors[1] for factors in near.factors]
        return np.concatenate([each / length for each, length in zip(factors, lengths, strict=True)]) * near.pcost

    def row_factors(self, workload: Workload, kind: int, near: Layered) -> FloatArray:
        """The variance factors s and t of every row of a kind of the workload, (2, rows)."""
        del workload
        return near.factors[self.kinds.index(kind)]

    def scaled_factors(self, workload: Workload, kinds: Sequence[int], near: Layered) -> list[FloatArray]:
        """For each kind the factors s and p t of its rows, (2, rows), where p is the cost factor."""
        return [np.asarray(self.row_factors(workload, kind, near) * [[1.0], [near.pcost]]) for kind in kinds]

    def real_factors(self, workload: Workload, kind: int, found: ResidualBasis) -> FloatArray:
        """The factors of every row for a basis in real numbers, (2, rows)."""
        del workload
        return self.merged[self.kinds.index(kind)].factors(*forms_of_found(found), found.scales)

    def row_orbits(self, kind: int, rows: int) -> NDArray[np.int64]:
        """Equal numbers for rows of a kind that exchanges take to one another, (rows,)."""
        del rows
        return self.merged[self.kinds.index(kind)].orbit

    def tangent_of_rows(self, workload: Workload, slopes: list[tuple[int, FloatArray, FloatArray]]) -> Tangent:
        """The objective for slopes in the factors s and t of every row, of some kinds of the workload; of trace 1."""
        del workload
        both = np.zeros((2, 1 + len(self.width), 1 + len(self.width)))
        inside = np.zeros((2, len(self.width)))
        for kind, *parts in slopes:
            rows = self.merged[self.kinds.index(kind)]
            for number, slope in enumerate(parts):
                both[number] += rows.gram(slope)
                inside[number] += rows.contrasts(slope)
        trace = float(np.trace(both[:, 1:, 1:], axis1=1, axis2=2).sum() + (inside @ self.freedom).sum())
        absent, present = both / trace
        return Tangent.of(present, absent, Contrasts(self.width, self.freedom, inside[1] / trace))

    def in_integers(self, near: RoundedLayered, exponent: int, family: str, gap: float) -> Basis:
        """The basis of integers of one from `rounded`."""
        del exponent
        return replace(near.basis, family=family, gap=gap)

    def _layers(self, found: ResidualBasis) -> list[RealLayer]:
        return layers_of_groups(found, self.width.astype(np.int64))

    @property
    def _order(self) -> IntArray:
        return np.argsort(self.group, kind="stable")

    @cached_property
    def _lengths(self) -> list[FloatArray]:
        return [squared_lengths(kind.centered(self.size).rows.sparse_rows(self.size)) for kind in self.own]

    def _factors(self, maps: NestedMaps) -> tuple[FloatArray, ...]:
        return tuple(_factors(kind, maps) for kind in self.own)


def merged_grams(own: Sequence[Kind], codes: tuple[int, ...], group: IntArray) -> MergedGrams:
    """The Gram matrices of kinds, with their numbers in a workload, for groups (n,) of values that can be exchanged."""
    rows = tuple(merged_rows(kind, group) for kind in own)
    grams = np.array([each.gram(np.full(each.count, 1 / each.count)) for each in rows])
    width = np.bincount(group).astype(np.float64)
    reach: NDArray[np.float64] = np.sum(
        [_reach(kind, each, len(group)) for kind, each in zip(own, rows, strict=True)], axis=0
    )
    return MergedGrams(len(group), codes, group, width, grams, reach, rows, tuple(own))


def _reach(kind: Kind, rows: MergedRows, size: int) -> NDArray[np.float64]:
    """As of `AttributeGrams`, for one kind."""
    entries = kind.centered(size).rows.sparse_rows(size)
    squares = squared_lengths(entries)
    lengths = squares - np.asarray(entries.sum(axis=1)) ** 2 / size
    weights = np.divide(1.0, lengths, where=lengths > CONSTANT * squares, out=np.zeros(len(lengths)))
    return rows.gram(weights / rows.count)[1:, 1:]


def _factors(kind: Kind, maps: NestedMaps) -> FloatArray:
    """The variance factors s and t of every row of a kind, (2, rows)."""
    rows, constant = kind.centered(maps.size)
    present, absent = row_factors(maps, rows.sparse_rows(maps.size))
    return np.stack([(constant + absent) ** 2, present])
