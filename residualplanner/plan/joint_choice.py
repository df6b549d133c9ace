"""Residual bases for the least maximum of cell variances, chosen together with the noise.

Reads: a workload, the importance of its queries.  Gives: Basis for each attribute.
Source: spec sections 3 and 5, eqs. (16), (17) and (31); docs/bases.md.

Weights on all cells of all queries, with sum 1, make the maximum a weighted sum, whose least value over noise and bases
is below the least maximum.  The weights are found as for given bases: a cell whose variance is above the present level
gains weight, one below loses it, and in turn noise and bases follow the weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner.bases import (
    Basis,
    ResidualBasis,
    optimal_residuals,
    subtraction_basis,
    subtraction_numbers,
)
from residualplanner.plan.basis_choice import AskedForms, asked_forms, inverse_forms, whole_basis
from residualplanner.workload import Workload, row_numbers, workload_orbits

#: How many weights there are at most: above it rows of a kind that are alike share one.
_WEIGHTS = 3_000_000
_ROUNDS = 100
#: The search ends when the largest variance is within this fraction of the level of the weights.
_ENOUGH = 1e-3
_INNER_STEPS = 12


class _Axis(NamedTuple):
    """What is asked of the attributes of one class in one kind: rows with variance factors of their own."""

    share: int
    kind: int


class _Rows(NamedTuple):
    """The rows of a basic matrix, those that are alike in blocks that share a weight.

    Attributes:
        block (rows,): the block of each row.
        width (blocks,): how many rows each block has.
        factors (2, blocks): the mean variance factors of each block's rows: s (absent), t (present).
    """

    block: NDArray[np.int64]
    width: FloatArray
    factors: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class _Queries:
    """Queries with the same sequence of axes that have rows of their own.

    Attributes:
        axes: these axes.
        numbers (m,): the queries' numbers.
        positions (m, 2, .., 2, plain): for each choice of absent or present on these axes, then for each subset of the
            others, the orbit of closure sets.
        plain (m, plain): the product of the other attributes' factors for each of those subsets.
        importance (m,): of each query.
    """

    axes: tuple[_Axis, ...]
    numbers: NDArray[np.int64]
    positions: NDArray[np.int64]
    plain: FloatArray
    importance: FloatArray


def choose_bases_for_maximum(workload: Workload, importance: FloatArray) -> tuple[Basis, ...]:
    """The residual basis of every attribute, (d,), for the largest cell variance times ``importance`` (q,).

    Args:
        workload: the queries.
        importance (q,): how much the cell variances of each query count, at least 0.

    Cost: 2**k passes over one weight for each cell of a query of each orbit, at most `_WEIGHTS` in all, for each of up
        to 100 rounds.
    Source: spec section 10, warning 1; eqs. (17) and (31).
    """
    asked = asked_forms(workload)
    bases = [subtraction_basis(size) for size in workload.domain.sizes]
    if asked:
        search = _Search(workload, importance, asked)
        for share, basis in enumerate(search.run()):
            for attribute in np.flatnonzero(search.share == share).tolist():
                bases[attribute] = basis
    return tuple(bases)


class _Search:
    """The search for bases and noise; weights are kept as one array for each group of queries."""

    def __init__(self, workload: Workload, importance: FloatArray, asked: dict[int, AskedForms]) -> None:
        self.workload, self.asked = workload, asked
        orbits = workload_orbits(workload, _alike(workload), importance)
        everything = np.arange(len(workload))
        self.chosen = everything if orbits is None else orbits.representative
        multiplicity = np.ones(len(workload)) if orbits is None else orbits.query_size.astype(np.float64)
        self.member = np.arange(len(workload.closure)) if orbits is None else orbits.member
        self.share = _shares(workload, asked, self.member if orbits is not None else None)
        self.forms = [asked[int(np.flatnonzero(self.share == share)[0])] for share in range(self.share.max() + 1)]
        numbers = subtraction_numbers(workload.domain.sizes)
        pcost = np.where(self.share < 0, numbers.pcost, 1.0)
        self.pcost = np.bincount(self.member, weights=workload.closure.products(pcost))
        self.found = [_orthogonal(forms) for forms in self.forms]
        self.groups = list(self._groups(importance, numbers.present[:, 0], numbers.absent[:, 0]))
        self.rows = self._blocks()
        self.weights = [
            np.broadcast_to(
                (multiplicity[group.numbers] / self._cells(group)).reshape(-1, *(1,) * len(group.axes)),
                (len(group.numbers), *(self.rows[axis].width.size for axis in group.axes)),
            )
            * self._counts(group)
            for group in self.groups
        ]

    def run(self) -> list[Basis]:
        """Search, and return the basis of each share in whole numbers."""
        best, least, highest, exponent = self.found, np.inf, 0.0, 1.0
        tangents = self._tangents(np.ones(len(self.pcost)))
        for _ in range(_ROUNDS):
            total = sum(float(weights.sum()) for weights in self.weights)
            self.weights = [weights / total for weights in self.weights]
            taken = np.maximum(self._taken(), 1e-300)
            root = float(np.sqrt(self.pcost * taken).sum())
            noise = np.sqrt(self.pcost / taken) * root
            variances = [self._variances(group, noise) for group in self.groups]
            level, largest = root * root, max(float(each.max()) for each in variances)
            if largest < least:
                best, least = list(self.found), largest
            if largest <= level * (1 + _ENOUGH):
                break
            exponent = max(exponent / 2, 0.25) if level < highest * (1 - 1e-9) else exponent
            highest = max(highest, level)
            self.weights = [
                weights * (each / level) ** exponent for weights, each in zip(self.weights, variances, strict=True)
            ]
            tangents = self._tangents(noise)
            self.found = [
                optimal_residuals(*tangent, start=before, steps=_INNER_STEPS)
                for tangent, before in zip(tangents, self.found, strict=True)
            ]
            self.rows = {axis: rows._replace(factors=self._factors(axis, rows)) for axis, rows in self.rows.items()}
        return [
            whole_basis(forms, found, *tangent, "optimal")
            for forms, found, tangent in zip(self.forms, best, tangents, strict=True)
        ]

    def _groups(self, importance: FloatArray, present: FloatArray, absent: FloatArray) -> Iterator[_Queries]:
        """The chosen queries of positive importance by their axes."""
        start = 0
        for order, block in enumerate(self.workload.blocks):
            inside = self.chosen[(self.chosen >= start) & (self.chosen < start + len(block))]
            inside = inside[importance[inside] > 0]
            attributes, kinds = block.attributes[inside - start], block.kinds[inside - start]
            start += len(block)
            if not len(inside):
                continue
            codes = np.where(
                self.share[attributes] < 0, 0, 1 + self.share[attributes] * len(self.workload.kinds) + kinds
            )
            number = row_numbers(codes)
            for group in range(int(number.max()) + 1):
                rows = np.flatnonzero(number == group)
                own = codes[rows[0]] > 0
                yield _Queries(
                    tuple(
                        _Axis(int(self.share[i]), int(kind))
                        for i, kind in zip(attributes[rows[0]][own], kinds[rows[0]][own], strict=True)
                    ),
                    np.searchsorted(self.chosen, inside[rows]),
                    self._positions(attributes[rows], own, order),
                    _products(absent[attributes[rows]][:, ~own], present[attributes[rows]][:, ~own])
                    * importance[inside[rows], None],
                    importance[inside[rows]],
                )

    def _positions(self, attributes: NDArray[np.int32], own: NDArray[np.bool_], order: int) -> NDArray[np.int64]:
        """For each query the orbits of its subsets: an axis of length 2 for each own axis, one axis for the others."""
        subsets = self.member[self.workload.closure.subset_positions(attributes)]
        by_column = subsets.reshape(len(attributes), *(2,) * order).transpose(0, *range(order, 0, -1))
        ordered = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)])
        moved = by_column.transpose(0, *(1 + ordered).tolist())
        return moved.reshape(len(attributes), *(2,) * int(own.sum()), -1)

    def _blocks(self) -> dict[_Axis, _Rows]:
        """Rows in blocks of similar variance where there would be too many weights."""
        axes = dict.fromkeys(axis for group in self.groups for axis in group.axes)
        count = {axis: self.workload.kinds[axis.kind].rows(self.forms[axis.share].size) for axis in axes}
        limit = max(count.values())
        while limit > 2 and self._weight_count(count, limit) > _WEIGHTS:
            limit = int(limit / 1.2)
        made = {}
        for axis in axes:
            size = count[axis]
            every = _Rows(np.arange(size), np.ones(size), np.empty((2, size)))
            factors = self._factors(axis, every)
            block = np.empty(size, dtype=np.int64)
            block[np.argsort(factors[1], kind="stable")] = np.arange(size) * min(size, limit) // size
            rows = _Rows(block, np.bincount(block).astype(np.float64), factors)
            made[axis] = rows._replace(factors=self._factors(axis, rows))
        return made

    def _weight_count(self, count: dict[_Axis, int], limit: int) -> float:
        return sum(
            len(group.numbers) * float(np.prod([min(count[axis], limit) for axis in group.axes]))
            for group in self.groups
        )

    def _factors(self, axis: _Axis, rows: _Rows) -> FloatArray:
        """The mean variance factors of each block of rows, (2, blocks), for the present basis."""
        forms, kind = self.forms[axis.share], self.workload.kinds[axis.kind]
        u, form = inverse_forms(self.found[axis.share].S)
        shares, whole = np.zeros(forms.size), np.zeros((forms.size, forms.size))
        shares[forms.first], whole[np.ix_(forms.first, forms.first)] = u, form
        each = kind.apply(shares, 0) ** 2, kind.row_forms(whole)
        return np.array([np.bincount(rows.block, weights=factor) / rows.width for factor in each])

    def _cells(self, group: _Queries) -> FloatArray:
        counts = [float(self.rows[axis].width.sum()) for axis in group.axes]
        return np.full(len(group.numbers), float(np.prod(counts)))

    def _counts(self, group: _Queries) -> FloatArray:
        """How many cells each weight of a query stands for, (1, blocks, .., blocks)."""
        counts = np.ones(1)
        for axis in group.axes:
            counts = np.multiply.outer(counts, self.rows[axis].width)
        return counts

    def _coefficients(self, group: _Queries, noise: FloatArray) -> FloatArray:
        """What multiplies the factors of a query's own axes, (m, 2, .., 2)."""
        plain = group.plain.reshape(len(group.numbers), *(1,) * len(group.axes), -1)
        coefficients: FloatArray = (noise[group.positions] * plain).sum(axis=-1)
        return coefficients

    def _variances(self, group: _Queries, noise: FloatArray) -> FloatArray:
        """The weighted variance of every cell, or mean of every block of cells, (m, blocks, .., blocks)."""
        result = self._coefficients(group, noise)
        for axis in group.axes:
            result = np.tensordot(result, self.rows[axis].factors, axes=(1, 0))
        return result

    def _taken(self) -> FloatArray:
        """The weight of each orbit's noise in the sum of variances, spec eq. (14)."""
        total = np.zeros(len(self.pcost))
        for group, weights in zip(self.groups, self.weights, strict=True):
            taken = weights
            for axis in group.axes:
                taken = np.tensordot(taken, self.rows[axis].factors, axes=(1, 1))
            plain = group.plain.reshape(len(group.numbers), *(1,) * len(group.axes), -1)
            shared = taken[..., None] * plain
            total += np.bincount(group.positions.ravel(), weights=shared.ravel(), minlength=len(total))
        return total

    def _tangents(self, noise: FloatArray) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """For each share the matrices V_t and V_s of the weighted sum of variances, spec eq. (31)."""
        sums = {axis: np.zeros_like(rows.factors) for axis, rows in self.rows.items()}
        for group, weights in zip(self.groups, self.weights, strict=True):
            coefficients = self._coefficients(group, noise)
            for place, axis in enumerate(group.axes):
                others = np.moveaxis(coefficients, 1 + place, -1)
                for other in group.axes[:place] + group.axes[place + 1 :]:
                    # The new axis goes last; the attribute's own is kept behind it.
                    others = np.swapaxes(np.tensordot(others, self.rows[other].factors, axes=(1, 0)), -1, -2)
                own = np.moveaxis(weights, 1 + place, -1)
                sums[axis] += others.reshape(-1, 2).T @ own.reshape(-1, own.shape[-1])
        return [self._tangent(share, sums) for share in range(len(self.forms))]

    def _tangent(self, share: int, sums: dict[_Axis, FloatArray]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        forms = self.forms[share]
        total = sum(float(found.sum()) for axis, found in sums.items() if axis.share == share)
        both = np.zeros((2, len(forms.first), len(forms.first)))
        for axis, found in sums.items():
            if axis.share == share:
                rows, kind = self.rows[axis], self.workload.kinds[axis.kind]
                for number, each in enumerate(found / rows.width / total):
                    both[number] += kind.weighted_gram(each[rows.block], forms.size)[np.ix_(forms.first, forms.first)]
        return both[1], both[0]


def _orthogonal(forms: AskedForms) -> ResidualBasis:
    even = 1 / np.trace(forms.grams, axis1=1, axis2=2)
    return optimal_residuals(forms.weighted(even), u=forms.width / forms.size)


def _alike(workload: Workload) -> NDArray[np.int64]:
    """Equal numbers for attributes of one size of which the same kinds are asked, (d,)."""
    occurs = np.zeros((len(workload.domain), len(workload.kinds)), dtype=np.int64)
    for block in workload.blocks:
        occurs[block.attributes, block.kinds] = 1
    return np.unique(np.column_stack([workload.domain.sizes, occurs]), axis=0, return_inverse=True)[1].ravel()


def _shares(workload: Workload, asked: dict[int, AskedForms], member: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Which attributes share a basis, numbered, and -1 for those without one of their own, (d,)."""
    share = np.full(len(workload.domain), -1, dtype=np.int64)
    own = np.array(sorted(asked))
    if member is None:
        share[own] = np.arange(len(own))
    else:
        singles = workload.closure.positions_of(own[:, None].astype(np.int32))
        share[own] = np.unique(member[singles], return_inverse=True)[1]
    return share


def _products(absent: FloatArray, present: FloatArray) -> FloatArray:
    """For every subset of k attributes, first attribute slowest, the product of their factors, (m, 2**k)."""
    products = np.ones((len(absent), 1))
    for column in range(absent.shape[1]):
        pair = np.stack([absent[:, column], present[:, column]], axis=1)
        products = (products[:, :, None] * pair[:, None, :]).reshape(len(absent), -1)
    return products
