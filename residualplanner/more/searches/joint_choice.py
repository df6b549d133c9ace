"""Residual bases for the least maximum of cell variances, chosen together with the noise.

Source: eqs. (14), (16), (17), (23), (27) and (31); docs/bases.md.

Weights on all cells of all queries, with sum 1, make the maximum a weighted sum, whose least value over noise and bases
is below the least maximum.  The weights are found as for given bases: a cell whose variance is above the present level
gains weight, one below loses it, and in turn noise and bases follow the weights.

A query's attributes are of two sorts.  Those with a basis of their own have rows with different variance factors: each
is an axis of the query's array of weights.  For the others all rows have the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, Steps, untold
from residualplanner.ground.process import one_thread
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.queries.kind import joint_factors
from residualplanner.method.strategy.variances import ResidualNumbers, subtraction_numbers
from residualplanner.method.workload.attribute_sets import row_numbers
from residualplanner.method.workload.closure import Closure, subset_products
from residualplanner.method.workload.symmetry import workload_orbits
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.attribute_grams import AttributeGrams, attribute_grams, kind_classes
from residualplanner.more.searches.basis_choice import basis_in_integers, choose_bases, orthogonal_start
from residualplanner.more.searches.basis_problem import ResidualBasis
from residualplanner.more.searches.extrapolation import Extrapolation
from residualplanner.more.searches.optimal import Tangent
from residualplanner.more.searches.tree_grams import grams_for_maximum

#: How many weights there are at most: above it similar rows of a kind have one in common.
_WEIGHTS = 300_000
#: The search ends when the largest variance is within this fraction of the level of the weights.
_ENOUGH = 5e-5
#: The power of the update, and below what part of all no weight falls.
_EXPONENT, _LEAST_WEIGHT = 1.5, 1e-30
#: How much the variance factors of any row may rise because the basis is rounded, relative to the kind's largest;
#: and how much of that may be due to the lengths of columns.  Exact lengths would take entries further from their own.
_ROUNDING_LOSS, _SLACK = 1e-4, 1e-5
#: Rounds, and steps for the basis of one attribute in each, up to a number of values; beyond the last the bases for the
#: sum of variances serve.
_EFFORT = ((400, 150, 12), (2048, 20, 3))


class _Axis(NamedTuple):
    """The rows of one kind on the attributes that have one basis, each with variance factors of its own."""

    basis: int  # which one, numbered
    kind: int  # which of the workload's kinds
    block: NDArray[np.int64]  # (rows,): of each row; the rows of a block have one weight
    width: FloatArray  # (blocks,): how many rows each block has


@dataclass(frozen=True, eq=False, slots=True)
class CellGroup:
    """Queries whose arrays of weights have the same shape."""

    queries: NDArray[np.int64]  # (m,): their numbers
    axes: NDArray[np.int64]  # (m, own): for each axis which row factors it has
    widths: tuple[int, ...]  # how many rows each axis has
    #: (m, 2, .., 2, plain): for each choice of absent or present on the axes, then for each subset of the other
    #: attributes, which noise it is.
    positions: NDArray[np.int64]
    #: (m, 1, .., 1, plain): the product of the others' factors for each of those subsets, and the importance.
    plain: FloatArray

    def variances(self, factors: FloatArray, noise: FloatArray) -> FloatArray:
        """The variance of every cell times the importance of its query, (m, rows, .., rows).

        The factors (axes, 2, rows) are s and t of the rows of each axis, the noise variances (orbits,).
        """
        result = self._coefficients(noise)
        for column, width in enumerate(self.widths):
            result = _contracted(result, factors[self.axes[:, column], :, :width])
        return result

    def noise_weights(self, factors: FloatArray, weights: FloatArray, orbits: int) -> FloatArray:
        """The weight of each noise variance in the sum of variances with ``weights`` (m, rows, .., rows), (orbits,)."""
        summed = weights
        for column, width in enumerate(self.widths):
            summed = _contracted(summed, factors[self.axes[:, column], :, :width].swapaxes(1, 2))
        each = (summed[..., None] * self.plain).ravel()
        return np.bincount(self.positions.ravel(), weights=each, minlength=orbits).astype(np.float64, copy=False)

    def add_slopes(self, sums: FloatArray, factors: FloatArray, weights: FloatArray, noise: FloatArray) -> None:
        """Add to ``sums`` (axes, 2, rows) the slopes of the weighted sum of variances in each row's factors."""
        coefficients, starts = self._coefficients(noise), np.arange(len(weights) + 1)
        for column, width in enumerate(self.widths):
            others = np.moveaxis(coefficients, 1 + column, -1)
            for other, length in enumerate(self.widths):
                if other != column:  # the new axis goes last; the attribute's own is kept behind it
                    others = _contracted(others, factors[self.axes[:, other], :, :length]).swapaxes(-1, -2)
            own = np.moveaxis(weights, 1 + column, -1).reshape(len(weights), -1, width)
            slopes = np.matmul(others.reshape(len(weights), -1, 2).swapaxes(1, 2), own)
            entries = np.ones(len(weights)), self.axes[:, column], starts
            by_axis = sparse.csr_array(entries, (len(weights), len(sums)))
            sums[:, :, :width] += (by_axis.T @ slopes.reshape(len(slopes), -1)).reshape(len(sums), 2, width)

    def _coefficients(self, noise: FloatArray) -> FloatArray:
        """What multiplies the factors of a query's axes, (m, 2, .., 2)."""
        return np.asarray((noise[self.positions] * self.plain).sum(axis=-1))


def cell_groups(
    workload: Workload,
    chosen: NDArray[np.int64],
    axis_of: NDArray[np.int64],
    widths: NDArray[np.int64],
    numbers: ResidualNumbers,
    member: NDArray[np.int64],
    importance: FloatArray,
) -> Iterator[CellGroup]:
    """The ``chosen`` queries (m,) of a workload by the shape of their weights, but for those of ``importance`` (q,) 0.

    Each attribute has an axis in each kind, ``axis_of`` (d, kinds), or -1 where all its rows have the same factors: in
    the first kind its ``numbers``.  ``widths`` (axes,) are how many rows each axis has; ``member`` (c,) is the number
    of the noise of every set of the closure.
    """
    for queries, block in workload.runs():
        inside = chosen[(chosen >= queries.start) & (chosen < queries.stop) & (importance[chosen] > 0)]
        attributes, kinds = (array[inside - queries.start] for array in (block.attributes, block.kinds))
        if not len(inside):
            continue
        axes = axis_of[attributes, kinds]
        shape = np.where(axes < 0, 0, 1 + widths[axes] if len(widths) else 0)
        number = row_numbers(shape)
        for rows in (np.flatnonzero(number == group) for group in range(int(number.max()) + 1)):
            own = axes[rows[0]] >= 0
            others = attributes[rows][:, ~own]
            plain = subset_products(numbers.absent[others, 0], numbers.present[others, 0])
            sizes = numbers.sizes[others].astype(np.int64)
            plain = plain * joint_factors(workload.kinds, kinds[rows][:, ~own], sizes) ** 2
            yield CellGroup(
                inside[rows],
                axes[rows][:, own],
                tuple(widths[axes[rows[0]][own]].tolist()) if own.any() else (),
                _positions(workload.closure, attributes[rows], own, member),
                (plain * importance[inside[rows], None]).reshape(len(rows), *(1,) * int(own.sum()), -1),
            )


def _similar_rows(factors: FloatArray, limit: int) -> NDArray[np.int64]:
    """Blocks of rows with similar ``factors`` (2, rows), at most ``limit``: halved by one factor, then the other."""
    count = factors.shape[1]
    if count <= limit:
        return np.arange(count)
    block = np.zeros(count, dtype=np.int64)
    factors = np.round(factors / factors.max(axis=1, keepdims=True), 7)  # rounding is not to part rows that are equal
    for depth in range(limit.bit_length() - 1):
        order = np.lexsort((factors[1 - depth % 2], block))
        start = np.searchsorted(block[order], block[order])
        size = np.bincount(block)[block[order]]
        block[order] = 2 * block[order] + (2 * (np.arange(count) - start) >= size)
    return np.unique(block, return_inverse=True)[1]


def _positions(
    closure: Closure, attributes: NDArray[np.int32], own: NDArray[np.bool_], member: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each query the noise of its subsets: an axis of length 2 for each own axis, one axis for the others."""
    count, order = attributes.shape
    subsets = member[closure.subset_positions(attributes)]
    by_column = subsets.reshape(count, *(2,) * order).transpose(0, *range(order, 0, -1))
    ordered = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)[::-1]])  # as `subset_products` has them
    moved = by_column.transpose(0, *(1 + ordered).tolist())
    return moved.reshape(count, *(2,) * int(own.sum()), -1)


def _contracted(array: FloatArray, factors: FloatArray) -> FloatArray:
    """Sum the second axis of (m, a, ..) against (m, a, b), query by query; the new axis goes last, (m, .., b)."""
    rest = array.shape[2:]
    flat = array.reshape(len(array), array.shape[1], -1)
    result: FloatArray = np.matmul(flat.swapaxes(1, 2), factors)
    return result.reshape(len(array), *rest, factors.shape[2])


def choose_bases_for_maximum(workload: Workload, importance: FloatArray, progress: Steps = untold) -> tuple[Basis, ...]:
    """The residual basis of every attribute, (d,), for the largest cell variance times ``importance`` (q,).

    Cost: 2**k passes over one weight for each cell of a query of each orbit, at most `_WEIGHTS` in all, for each of up
        to 150 rounds.
    Source: docs/mathematics.md section 5, the least maximum of cell variances; eqs. (17) and (31).
    """
    grams = attribute_grams(workload, grams_for_maximum)
    bases = [subtraction_basis(size) for size in workload.domain.sizes]
    if any(len(forms.width) > _EFFORT[-1][0] for forms in grams.values()):
        return choose_bases(workload, importance, progress=progress)
    if grams:
        with one_thread():
            search = _JointSearch(workload, importance, grams)
            search.run(progress)
        for code in range(len(search.forms)):
            basis = search.basis(code)
            for attribute in np.flatnonzero(search.basis_class == code).tolist():
                bases[attribute] = basis
    return tuple(bases)


class _JointSearch:
    """The search for bases and noise; weights are kept as one array for each group of queries."""

    def __init__(self, workload: Workload, importance: FloatArray, grams: dict[int, AttributeGrams]) -> None:
        self.workload = workload
        orbits = workload_orbits(workload, kind_classes(workload), importance)
        count = np.bincount(orbits.representative, orbits.query_size)
        self.member = orbits.member
        self.basis_class = _basis_classes(workload, grams, orbits.member)
        firsts = [int(np.flatnonzero(self.basis_class == code)[0]) for code in range(self.basis_class.max() + 1)]
        self.forms = [grams[first] for first in firsts]
        self.found = [orthogonal_start(forms) for forms in self.forms]
        numbers = subtraction_numbers(workload.domain.sizes)
        pcost = workload.closure.products(np.where(self.basis_class < 0, numbers.pcost, 1.0))
        self.pcost = np.bincount(self.member, weights=pcost)
        chosen = orbits.representative
        self.axes, axis_of = self._axes(chosen)
        widths = np.array([axis.width.size for axis in self.axes])
        self.groups = list(cell_groups(workload, chosen, axis_of, widths, numbers, self.member, importance))
        self.factors = self._factors()
        self.weights = [
            count[group.queries].reshape(-1, *(1,) * len(group.widths)) * self._even(group) for group in self.groups
        ]

    def run(self, progress: Steps = untold) -> None:
        """Search; keep the bases of the least maximum seen.

        Bases follow weights with a delay, so the level of early rounds is too high to be a measure of progress.
        """
        best, least, steady = self.found, np.inf, Extrapolation()
        ends = np.cumsum([weights.size for weights in self.weights])[:-1]
        values = max(len(forms.width) for forms in self.forms)
        rounds = next(rounds for limit, rounds, _ in _EFFORT if values <= limit)
        for done in range(rounds):
            progress(done, rounds)
            total = sum(float(weights.sum()) for weights in self.weights)
            self.weights = [weights / total for weights in self.weights]
            used = np.full(len(self.pcost), 1e-300)
            for group, weights in zip(self.groups, self.weights, strict=True):
                used += group.noise_weights(self.factors, weights, len(used))
            root = float(np.sqrt(self.pcost * used).sum())
            noise = np.sqrt(self.pcost / used) * root
            variances = [group.variances(self.factors, noise) for group in self.groups]
            level, largest = root * root, max(float(each.max()) for each in variances)
            if largest < least:
                best, least = list(self.found), largest
            if largest <= level * (1 + _ENOUGH):
                break
            every, ratios = (np.concatenate([np.ravel(part) for part in parts]) for parts in (self.weights, variances))
            logs = steady.updated(np.maximum(every, _LEAST_WEIGHT), ratios / level, _EXPONENT, np.sqrt(every))
            parts = zip(np.split(np.exp(logs), ends), self.weights, strict=True)
            self.weights = [part.reshape(weights.shape) for part, weights in parts]
            self.found = self._improved(self._tangents(noise))
            self.factors = self._factors()
        self.found = best

    def basis(self, code: int) -> Basis:
        """A basis in integers: no row's variance factors rise by much, as a mean, flat at the optimum, would allow."""
        forms, found = self.forms[code], self.found[code]
        weighted = {axis for group in self.groups for axis in np.unique(group.axes).tolist()}
        kinds = [axis.kind for number, axis in enumerate(self.axes) if axis.basis == code and number in weighted]
        exact = forms.scaled_factors(forms.exact(found), kinds)

        def excess(near: Any) -> float:
            pairs = zip(forms.scaled_factors(near, kinds), exact, strict=True)
            rises = [((each - before) / before.max(axis=1, keepdims=True)).max() for each, before in pairs]
            return float(max(rises, default=0.0)) / _ROUNDING_LOSS

        return basis_in_integers(forms, found, excess, "optimal", _SLACK)

    def _improved(self, tangents: list[Tangent]) -> list[ResidualBasis]:
        """A few steps for each basis; once for those with the same problem and the same start."""
        made: dict[bytes, ResidualBasis] = {}
        found = []
        for tangent, before, forms in zip(tangents, self.found, self.forms, strict=True):
            parts = (tangent.present, tangent.absent, tangent.linear, before.u, *(tangent.contrasts or ()))
            key = b"".join(np.round(part, 9).tobytes() for part in parts)
            if key not in made:
                steps = next(steps for limit, _, steps in _EFFORT if len(before.u) <= limit)
                made[key] = tangent.best(forms.directions, start=before, steps=steps)
            found.append(made[key])
        return found

    def _axes(self, chosen: NDArray[np.int64]) -> tuple[list[_Axis], NDArray[np.int64]]:
        """The axes, rows in blocks of similar variance where there would be too many weights; and whose they are."""
        workload = self.workload
        rows = np.ones(workload.uses.shape)
        orbits: dict[tuple[int, int], NDArray[np.int64]] = {}
        for code, forms in enumerate(self.forms):
            for kind in forms.kinds:
                orbits[code, kind] = forms.row_orbits(kind)
                rows[self.basis_class == code, kind] = orbits[code, kind].max() + 1
        queries, limit = workload.take(chosen), int(rows.max())
        blocks = [rows[block.attributes, block.kinds] for block in queries.blocks]
        while limit > 2 and sum(float(np.minimum(each, limit).prod(axis=1).sum()) for each in blocks) > _WEIGHTS:
            limit = int(limit / 1.2)
        axes: list[_Axis] = []
        axis_of = np.full(rows.shape, -1, dtype=np.int64)
        for code, forms in enumerate(self.forms):
            for kind in forms.kinds:
                axis_of[self.basis_class == code, kind] = len(axes)
                block = orbits[code, kind]
                if block.max() >= limit:
                    block = _similar_rows(forms.real_factors(kind, self.found[code]), limit)
                axes.append(_Axis(code, kind, block, np.bincount(block).astype(np.float64)))
        return axes, axis_of

    def _factors(self) -> FloatArray:
        """The mean variance factors of each block of rows, (axes, 2, blocks)."""
        factors = np.zeros((len(self.axes), 2, max(axis.width.size for axis in self.axes)))
        for means, axis in zip(factors, self.axes, strict=True):
            rows = self.forms[axis.basis].real_factors(axis.kind, self.found[axis.basis])
            for row, factor in zip(means, rows, strict=True):
                row[: axis.width.size] = np.bincount(axis.block, weights=factor) / axis.width
        return factors

    def _even(self, group: CellGroup) -> FloatArray:
        """Weights with sum 1 for each query, the same for every cell, (m, blocks, .., blocks)."""
        weights = np.ones((len(group.queries), *group.widths))
        for column, width in enumerate(group.widths):
            code = np.array([self.axes[axis].width / self.axes[axis].width.sum() for axis in group.axes[:, column]])
            weights *= code.reshape(-1, *(1,) * column, width, *(1,) * (len(group.widths) - 1 - column))
        return weights

    def _tangents(self, noise: FloatArray) -> list[Tangent]:
        """For each basis the weighted sum of variances as a problem of its basis, eq. (31)."""
        sums = np.zeros_like(self.factors)
        for group, weights in zip(self.groups, self.weights, strict=True):
            group.add_slopes(sums, self.factors, weights, noise)
        tangents = []
        for code, forms in enumerate(self.forms):
            rows = []
            for axis, slopes in zip(self.axes, sums, strict=True):
                if axis.basis == code:
                    absent, present = (slopes[:, : axis.width.size] / axis.width)[:, axis.block]
                    rows.append((axis.kind, absent, present))
            tangents.append(forms.tangent_of_rows(rows))
        return tangents


def _basis_classes(
    workload: Workload, grams: dict[int, AttributeGrams], member: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The basis of each attribute, numbered; -1 for the subtraction basis, (d,)."""
    code = np.full(len(workload.domain), -1, dtype=np.int64)
    own = np.array(sorted(grams))
    singles = workload.closure.positions_of(own[:, None].astype(np.int32))
    code[own] = np.unique(member[singles], return_inverse=True)[1]
    return code
