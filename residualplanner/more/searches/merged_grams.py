"""The kinds of query of an attribute whose values can be exchanged in groups: a problem of the groups' size.

Source: eqs. (110) to (114).

Two values can be exchanged if every row treats them in the same way, apart from rows of a single value, of which both
have the same: in a hierarchy, leaves of one parent.  Exchanges leave cost and variances as they are, so some best basis
is invariant: one of the sums of the groups, and for the contrasts among the values of each group one scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.queries.kind import Kind
from residualplanner.more.nested.axis_maps import NestedLayer, NestedMaps, inverted_layer, row_factors, squared_lengths
from residualplanner.more.nested.nested import nested_basis
from residualplanner.more.searches.attribute_grams import CONSTANT, AttributeGrams
from residualplanner.more.searches.basis_problem import Contrasts, ResidualBasis
from residualplanner.more.searches.optimal import Tangent, inverse_forms
from residualplanner.more.searches.rounding import rounded_matrix

#: Matrices of at most so many columns are rounded such that the lengths of columns are kept.
_KEPT = 512


@dataclass(frozen=True, eq=False, slots=True)
class MergedRows:
    """The rows of one kind where values that can be exchanged are merged in groups."""

    constant: FloatArray  # (q,): the constant parts of the rows
    means: sparse.csr_array  # (q, g): their other parts, averaged over the values of each group
    alone: IntArray  # (q,): for a row of a single value the group of that value, else -1
    square: FloatArray  # (q,): the square of its entry, or 0
    orbit: IntArray  # (q,): equal numbers for rows that exchanges take to one another, ascending
    width: FloatArray  # (g,): how many values each group has

    @property
    def count(self) -> int:
        """How many rows there are: q."""
        return len(self.alone)

    def gram(self, weights: FloatArray) -> NDArray[np.float64]:
        """The augmented Gram matrix of the rows times the roots of weights (q,), (1 + g, 1 + g)."""
        rows = sparse.csr_array(sparse.hstack([sparse.csr_array(self.constant[:, None]), self.means]))
        return np.asarray((rows.T @ (sparse.diags_array(weights) @ rows)).toarray())

    def contrasts(self, weights: FloatArray) -> FloatArray:
        """The eigenvalue of that Gram matrix on the differences among the values of each group, (g,)."""
        single = self.alone >= 0
        summed = np.bincount(self.alone[single], (weights * self.square)[single], minlength=len(self.width))
        return summed / self.width

    def factors(self, u: FloatArray, form: NDArray[np.float64], scales: FloatArray) -> FloatArray:
        """The factors s and t of every row, (2, q), for u (g,), G G^T (g, g) and `ResidualBasis.scales` (g,)."""
        absent = (self.constant + self.means @ u) ** 2
        present = np.asarray(self.means.multiply(self.means @ form).sum(axis=1))
        inside = np.divide(1 - 1 / self.width, scales, where=scales > 0, out=np.zeros(len(scales)))
        present += np.where(self.alone >= 0, self.square * inside[self.alone], 0.0)
        return np.stack([absent, np.maximum(present, 0.0)])


def exchangeable_groups(kinds: Sequence[Kind], size: int) -> IntArray:
    """The group of each value, (n,), numbered in the order of their first values; two at least.  Source: eq. (113)."""
    same = zip(*(kind.exchangeable_values(size).tolist() for kind in kinds), strict=True)
    number: dict[tuple[int, ...], int] = {}
    group = np.array([number.setdefault(key, len(number)) for key in same], dtype=np.int64)
    return group if len(number) > 1 else (np.arange(size) >= size // 2).astype(np.int64)


def merged_rows(kind: Kind, group: IntArray) -> MergedRows:
    """The rows of a kind over groups (n,) of values that can be exchanged."""
    size = len(group)
    width = np.bincount(group).astype(np.float64)
    fractions = 1 / width[group]
    spread = sparse.csr_array((fractions, group, np.arange(size + 1)), shape=(size, len(width)))
    centered, constant = kind.centered(size)
    rows = centered.sparse_rows(size)
    single = np.diff(rows.indptr) == 1
    columns, entries = (array[rows.indptr[:-1][single]] for array in (rows.indices, rows.data))
    alone, entry = np.full(rows.shape[0], -1, dtype=np.int64), np.zeros(rows.shape[0])
    alone[single], entry[single] = group[columns], entries
    own = np.where(single, -1, np.arange(rows.shape[0]))
    orbit = np.unique(np.column_stack([own, alone, entry]), axis=0, return_inverse=True)[1].ravel()
    means = sparse.csr_array(rows @ spread)
    return MergedRows(np.broadcast_to(constant, len(alone)).astype(np.float64), means, alone, entry**2, orbit, width)


@dataclass(frozen=True, eq=False, slots=True)
class Layered:
    """What a basis in layers contributes to cost and variances."""

    pcost: float  # the squared length of its longest column
    factors: tuple[FloatArray, ...]  # (2, rows) of each kind: the variance factors s and t of every row
    basis: Basis | None = None  # where the layers are of integers


@dataclass(frozen=True, eq=False)
class MergedGrams(AttributeGrams):
    """The Gram matrices of all kinds of an attribute, where values that can be exchanged are merged in groups.

    A basis that is `exact` or `rounded` is `Layered`.
    """

    merged: tuple[MergedRows, ...]  # the rows of each kind

    def coarse(self, groups: int) -> "MergedGrams":
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

    @cached_property
    def scales(self) -> FloatArray:
        """The mean squared length of the rows of each kind, apart from constant parts, (kinds,)."""
        return np.array([float(lengths.mean()) for lengths in self._lengths])

    @cached_property
    def _lengths(self) -> list[FloatArray]:
        return [squared_lengths(kind.centered(self.size).rows.sparse_rows(self.size)) for kind in self.own]

    def tangent(self, weights: FloatArray) -> Tangent:
        """As of `AttributeGrams`."""
        present, _ = np.split(weights, 2)
        return super().tangent(weights)._replace(contrasts=self._contrasts(present))

    def _contrasts(self, present: FloatArray) -> Contrasts:
        """What is weighed inside of groups, for weights (kinds,) of the present parts."""
        return Contrasts(self.width, self.freedom, present @ self.inside)

    def tangent_of_rows(self, slopes: list[tuple[int, FloatArray, FloatArray]]) -> Tangent:
        """As of `AttributeGrams`."""
        both = np.zeros((2, 1 + len(self.width), 1 + len(self.width)))
        inside = np.zeros((2, len(self.width)))
        for kind, *parts in slopes:
            rows = self._rows(kind)
            for number, slope in enumerate(parts):
                both[number] += rows.gram(slope)
                inside[number] += rows.contrasts(slope)
        trace = float(np.trace(both[:, 1:, 1:], axis1=1, axis2=2).sum() + (inside @ self.freedom).sum())
        absent, present = both / trace
        return Tangent.of(present, absent, Contrasts(self.width, self.freedom, inside[1] / trace))

    def factors(self, found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
        """As of `AttributeGrams`."""
        present, absent = super().factors(found)
        measured = found.scales > 0
        return present + self.inside[:, measured] @ (self.freedom[measured] / found.scales[measured]), absent

    def real_factors(self, kind: int, found: ResidualBasis) -> FloatArray:
        """As of `AttributeGrams`."""
        return self._rows(kind).factors(*inverse_forms(found), found.scales)

    def row_orbits(self, kind: int) -> NDArray[np.int64]:
        """Equal numbers for rows of a kind that exchanges take to one another, (rows,)."""
        return self._rows(kind).orbit

    def exact(self, found: ResidualBasis) -> Any:
        """The basis in layers of real numbers."""
        layers = tuple(map(inverted_layer, self._layers(found)))
        return Layered(1.0, self._factors(NestedMaps(layers, self._order)))

    def rounded(self, found: ResidualBasis, exponent: int, slack: float) -> Any:
        """The basis in layers of integers, ``2**exponent`` times as long."""
        basis = nested_basis(_integer_layers(self._layers(found), exponent, slack), self._order, "optimal")
        return Layered(float(basis.pcost), self._factors(basis.maps), basis)

    def in_integers(self, near: Any, exponent: int, family: str, gap: float) -> Basis:
        """The basis of integers of one that is rounded."""
        del exponent
        basis: Basis = replace(near.basis, family=family, gap=gap)
        return basis

    def loss(self, weights: FloatArray, near: Any) -> float:
        """The objective of `tangent` at a basis."""
        means = np.array([factors.mean(axis=1) for factors in near.factors])
        present, absent = np.split(weights, 2)
        return float(near.pcost * (present @ means[:, 1]) + absent @ means[:, 0])

    def pcost(self, near: Any) -> float:
        """The largest squared length of a column."""
        return float(near.pcost)

    def row_factors(self, near: Any, kinds: Sequence[int]) -> list[FloatArray]:
        """As of `AttributeGrams`."""
        return [near.factors[self.kinds.index(kind)] for kind in kinds]

    def _layers(self, found: ResidualBasis) -> list[NestedLayer]:
        """From coarse to fine, down to the values, which stand group after group."""
        sums = NestedLayer(np.array([len(self.width)], dtype=np.int64), found.S.ravel())
        return [sums, *layers_of_contrasts(self.width.astype(np.int64), found.scales)]

    @property
    def _order(self) -> IntArray:
        """The value that each member of the last layer is, (n,)."""
        return np.argsort(self.group, kind="stable")

    def _rows(self, kind: int) -> MergedRows:
        return self.merged[self.kinds.index(kind)]

    def _factors(self, maps: NestedMaps) -> tuple[FloatArray, ...]:
        """The variance factors s and t of every row of each kind, (2, rows)."""
        found = []
        for kind in self.own:
            rows, constant = kind.centered(maps.size)
            present, absent = row_factors(maps, rows.sparse_rows(maps.size))
            found.append(np.stack([(constant + absent) ** 2, present]))
        return tuple(found)


def merged_grams(own: Sequence[Kind], codes: tuple[int, ...], group: IntArray) -> MergedGrams:
    """The Gram matrices of kinds, with their numbers in a workload, for groups (n,) of values that can be exchanged."""
    rows = tuple(merged_rows(kind, group) for kind in own)
    grams = np.array([each.gram(np.full(each.count, 1 / each.count)) for each in rows])
    width = np.bincount(group).astype(np.float64)
    parts = [_reach(kind, each, len(group)) for kind, each in zip(own, rows, strict=True)]
    reach: NDArray[np.float64] = np.sum(parts, axis=0)
    return MergedGrams(len(group), codes, tuple(own), group, width, grams, reach, rows)


def _reach(kind: Kind, rows: MergedRows, size: int) -> NDArray[np.float64]:
    """As of `AttributeGrams`, for one kind."""
    entries = kind.centered(size).rows.sparse_rows(size)
    squares = squared_lengths(entries)
    lengths = squares - np.asarray(entries.sum(axis=1)) ** 2 / size
    weights = np.divide(1.0, lengths, where=lengths > CONSTANT * squares, out=np.zeros(len(lengths)))
    return rows.gram(weights / rows.count)[1:, 1:]


def layers_of_contrasts(width: IntArray, scales: FloatArray) -> list[NestedLayer]:
    """The layers from groups (g,) of so many values down to these, with contrasts of these squared scales.

    Any orthonormal contrasts would do.  These are of halves, halves of halves and so on, so each of a group's m values
    is in no more than ``1 + log2 m`` of them.
    """
    layers, sizes, scale = [], np.where(scales > 0, width, 1), scales
    while (sizes > 1).any():
        left, right = -(-sizes // 2), sizes // 2
        split = sizes > 1
        lengths = np.sqrt(scale[split] / sizes[split])
        entries = np.stack([lengths * np.sqrt(right / left)[split], -lengths * np.sqrt(left[split] / right[split])])
        layers.append(NestedLayer(np.where(split, 2, 1), entries.T.ravel()))
        both = np.stack([left, right], axis=1).ravel()
        kept = np.stack([np.ones_like(split), split], axis=1).ravel()
        sizes, scale = both[kept], np.repeat(scale, 2)[kept]
    leftover = np.where(scales > 0, 1, width)
    if (leftover > 1).any():
        counts = np.where(scales > 0, width, 1)
        layers.append(NestedLayer(np.repeat(leftover, counts), np.empty(0)))
    return layers


def _integer_layers(layers: Sequence[NestedLayer], exponent: int, slack: float) -> list[NestedLayer]:
    """The layers times ``2**exponent``, rounded; lengths of columns are kept where there is one group, up to slack."""
    rounded = []
    for children, entries in layers:
        if len(children) == 1 and children[0] <= _KEPT and entries.size:
            c = int(children[0])
            integers = rounded_matrix(entries.reshape(c - 1, c), exponent, slack).ravel()
        else:
            integers = np.rint(np.ldexp(entries, exponent)).astype(np.int64)
        rounded.append(NestedLayer(children, integers))
    return rounded
