"""Residual bases for the least maximum of cell variances, chosen together with the noise.

Source: eqs. (16), (17) and (31); docs/bases.md.

Weights on all cells of all queries, with sum 1, make the maximum a weighted sum, whose least value over noise and bases
is below the least maximum.  The weights are found as for given bases: a cell whose variance is above the present level
gains weight, one below loses it, and in turn noise and bases follow the weights.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.process import one_thread
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.strategy.variances import subtraction_numbers
from residualplanner.method.workload.symmetry import workload_orbits
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.attribute_grams import AttributeGrams
from residualplanner.more.searches.basis_choice import choose_bases
from residualplanner.more.searches.basis_problem import ResidualBasis
from residualplanner.more.searches.cell_weights import CellGroup, cell_groups, similar_rows
from residualplanner.more.searches.grams_of_attributes import grams_for_maximum
from residualplanner.more.searches.one_attribute import basis_in_integers, orthogonal_start
from residualplanner.more.searches.tangent import Tangent
from residualplanner.more.searches.workload_grams import attribute_grams, kind_classes

#: How many weights there are at most: above it similar rows of a kind have one in common.
_WEIGHTS = 300_000
#: The search ends when the largest variance is within this fraction of the level of the weights.
_ENOUGH = 5e-5
#: The power of the update: at first, and its limits; what it is multiplied by after a round that lowered the level, as
#: where cells take turns, and after one that did not.
_EXPONENT, _LEAST_EXPONENT, _MOST_EXPONENT = 1.0, 0.25, 4.0
_DAMPING, _RECOVERY = 0.7, 1.1
#: How much the variance factors of any row may rise because the basis is rounded, relative to the kind's largest;
#: and how much of that may be due to the lengths of columns.  Exact lengths would take entries further from their own.
_ROUNDING_LOSS, _SLACK = 1e-4, 1e-5
#: Rounds, and steps for the basis of one attribute in each, up to a number of values; beyond the last the bases for the
#: sum of variances serve.
_EFFORT = ((400, 150, 12), (2048, 14, 4))


class _Axis(NamedTuple):
    """The rows of one kind on the attributes that have one basis, each with variance factors of its own.

    Attributes:
        basis: which one, numbered.
        kind: which of the workload's kinds.
        block (rows,): the block of each row; the rows of a block have one weight.
        width (blocks,): how many rows each block has.
    """

    basis: int
    kind: int
    block: NDArray[np.int64]
    width: FloatArray


def choose_bases_for_maximum(workload: Workload, importance: FloatArray) -> tuple[Basis, ...]:
    """The residual basis of every attribute, (d,), for the largest cell variance times ``importance`` (q,).

    Args:
        workload: the queries.
        importance (q,): how much the cell variances of each query count, at least 0.

    Cost: 2**k passes over one weight for each cell of a query of each orbit, at most `_WEIGHTS` in all, for each of up
        to 150 rounds.
    Source: docs/mathematics.md section 5, the least maximum of cell variances; eqs. (17) and (31).
    """
    grams = attribute_grams(workload, grams_for_maximum)
    bases = [subtraction_basis(size) for size in workload.domain.sizes]
    if any(len(forms.width) > _EFFORT[-1][0] for forms in grams.values()):
        return choose_bases(workload, importance)
    if grams:
        with one_thread():
            search = _JointSearch(workload, importance, grams)
            search.run()
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
        self.forms = [
            grams[int(np.flatnonzero(self.basis_class == code)[0])] for code in range(self.basis_class.max() + 1)
        ]
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

    def run(self) -> None:
        """Search; keep the bases of the least maximum seen."""
        best, least, before, exponent = self.found, np.inf, 0.0, _EXPONENT
        values = max(len(forms.width) for forms in self.forms)
        for _ in range(next(rounds for limit, rounds, _ in _EFFORT if values <= limit)):
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
            # The first levels are too high, as bases do not follow at once: only the last one is a measure.
            exponent *= _DAMPING if level < before * (1 - 1e-9) else _RECOVERY
            exponent, before = min(max(exponent, _LEAST_EXPONENT), _MOST_EXPONENT), level
            self.weights = [
                weights * (each / level) ** exponent for weights, each in zip(self.weights, variances, strict=True)
            ]
            self.found = self._improved(self._tangents(noise))
            self.factors = self._factors()
        self.found = best

    def basis(self, code: int) -> Basis:
        """A basis in integers: no row's variance factors rise by much, as a mean, flat at the optimum, would allow."""
        forms, found = self.forms[code], self.found[code]
        weighted = {axis for group in self.groups for axis in np.unique(group.axes).tolist()}
        kinds = [axis.kind for number, axis in enumerate(self.axes) if axis.basis == code and number in weighted]
        exact = forms.scaled_factors(self.workload, kinds, forms.exact(found))
        limits = [factors + _ROUNDING_LOSS * factors.max(axis=1, keepdims=True) for factors in exact]

        def is_close(near: Any) -> bool:
            factors = forms.scaled_factors(self.workload, kinds, near)
            return all(bool((each <= limit).all()) for each, limit in zip(factors, limits, strict=True))

        return basis_in_integers(forms, found, is_close, "optimal", _SLACK)

    def _improved(self, tangents: list[Tangent]) -> list[ResidualBasis]:
        """A few steps for each basis; once for those with the same problem and the same start."""
        made: dict[bytes, ResidualBasis] = {}
        keys = [
            b"".join(
                np.round(part, 9).tobytes()
                for part in (tangent.present, tangent.absent, tangent.linear, before.u, *(tangent.contrasts or ()))
            )
            for tangent, before in zip(tangents, self.found, strict=True)
        ]
        for key, tangent, before, forms in zip(keys, tangents, self.found, self.forms, strict=True):
            if key not in made:
                steps = next(steps for limit, _, steps in _EFFORT if len(before.u) <= limit)
                made[key] = tangent.best(forms.directions, start=before, steps=steps, finish=False)
        return [made[key] for key in keys]

    def _axes(self, chosen: NDArray[np.int64]) -> tuple[list[_Axis], NDArray[np.int64]]:
        """The axes, rows in blocks of similar variance where there would be too many weights; and whose they are."""
        workload = self.workload
        rows = np.ones(workload.uses.shape)
        orbits: dict[tuple[int, int], NDArray[np.int64]] = {}
        for attribute in np.flatnonzero(self.basis_class >= 0).tolist():
            forms = self.forms[int(self.basis_class[attribute])]
            for kind in forms.kinds:
                known = orbits.setdefault(
                    (int(self.basis_class[attribute]), kind),
                    forms.row_orbits(kind, workload.kinds[kind].rows(forms.size)),
                )
                rows[attribute, kind] = known.max() + 1
        queries, limit = workload.take(chosen), int(rows.max())
        while limit > 2 and _weight_count(queries, np.minimum(rows, limit)) > _WEIGHTS:
            limit = int(limit / 1.2)
        axes: list[_Axis] = []
        axis_of = np.full(rows.shape, -1, dtype=np.int64)
        for code, forms in enumerate(self.forms):
            for kind in forms.kinds:
                axis_of[self.basis_class == code, kind] = len(axes)
                block = orbits[code, kind]
                if block.max() >= limit:
                    block = similar_rows(forms.real_factors(workload, kind, self.found[code]), limit)
                axes.append(_Axis(code, kind, block, np.bincount(block).astype(np.float64)))
        return axes, axis_of

    def _factors(self) -> FloatArray:
        """The mean variance factors of each block of rows, (axes, 2, blocks)."""
        factors = np.zeros((len(self.axes), 2, max(axis.width.size for axis in self.axes)))
        for means, axis in zip(factors, self.axes, strict=True):
            rows = self.forms[axis.basis].real_factors(self.workload, axis.kind, self.found[axis.basis])
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
            own = [(axis, slopes) for axis, slopes in zip(self.axes, sums, strict=True) if axis.basis == code]
            rows = []
            for axis, slopes in own:
                absent, present = (slopes[:, : axis.width.size] / axis.width)[:, axis.block]
                rows.append((axis.kind, absent, present))
            tangents.append(forms.tangent_of_rows(self.workload, rows))
        return tangents


def _weight_count(workload: Workload, rows: FloatArray) -> float:
    return sum(float(rows[block.attributes, block.kinds].prod(axis=1).sum()) for block in workload.blocks)


def _basis_classes(
    workload: Workload, grams: dict[int, AttributeGrams], member: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The basis of each attribute, numbered; -1 for the subtraction basis, (d,)."""
    code = np.full(len(workload.domain), -1, dtype=np.int64)
    own = np.array(sorted(grams))
    singles = workload.closure.positions_of(own[:, None].astype(np.int32))
    code[own] = np.unique(member[singles], return_inverse=True)[1]
    return code
