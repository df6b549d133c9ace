"""The smallest counts that a plan determines, and the components that noise acts on.

Non-negative have to be the counts of all values, where these follow from what was measured; else of the smallest groups
of values that do; and where even these do not, all answers to queries without negative entries.  The component of a set
is what independent noise of one variance would have been: where its attributes have the subtraction basis a table whose
sum along every axis is 0, else the residual answers themselves.
Source: eqs. (25) and (48).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.kron.axis_maps import AxisMap, ProductMap, matrix_map
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.custom import Custom
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.basis_groups import BasisGroups
from residualplanner.release.stacks import components_of_answers

#: Up to this many entries the matrix of an axis is formed, and its norm is exact.
_FORMED = 2**18
#: To what accuracy Lanczos' method finds the norm of larger ones, and the reserve that covers it.
_LANCZOS, _RESERVE = 1e-3, 0.01
Number = TypeVar("Number", np.float64, np.int64)


def cell_kinds(plan: Plan) -> tuple[Kind, ...]:
    """The cells of each attribute, (d,), as a kind of query whose rows have no negative entry.

    Attributes of one basis have equal cells, so that their tables can be worked on together.
    """
    workload, bases = plan.workload, plan.strategy.of_attributes
    codes = basis_codes(bases)
    found = {}
    for code in np.unique(codes).tolist():
        used = workload.uses[codes == code].any(axis=0)
        kinds = [kind for kind, is_used in zip(workload.kinds, used.tolist(), strict=True) if is_used]
        found[code] = _cell_kind(bases[int(np.argmax(codes == code))], kinds)
    return tuple(found[code] for code in codes.tolist())


def _cell_kind(basis: Basis, kinds: Sequence[Kind]) -> Kind:
    if basis.answers == basis.size - 1 or not kinds:
        return Identity()
    groups = basis.value_groups
    if groups.max() == basis.answers:
        return Custom(np.eye(basis.answers + 1)[groups].T)
    rows = np.vstack([np.ones((1, basis.size)), *(kind.matrix(basis.size) for kind in kinds)])
    return Custom(np.unique(rows[(rows >= 0).all(axis=1)], axis=0))


class CellAxis(NamedTuple):
    """How the cells of one attribute follow from its total and its components.  Source: eqs. (25) and (48)."""

    # the map ``C [u | G N]``: C gives the cells, and N turns noise into noise of answers, so that components are what
    # independent noise would have been.  For subtraction bases ``G N`` is ``I - 1 1^T / n``
    spread: AxisMap
    gather: AxisMap  # the transposed map
    absent: float  # the squared norm of ``C u``
    present: float  # that of ``C G N``
    is_orthogonal: bool  # whether the columns of the two are orthogonal


def cell_axis(basis: Basis, kind: Kind) -> CellAxis:
    """The axis of an attribute with this basis and these cells."""
    n = basis.size
    if basis.is_symmetric and kind == Identity():
        spread = AxisMap(n + 1, n, lambda: _centered_matrix(n), _spread)
        gather = AxisMap(n, n + 1, lambda: _centered_matrix(n).T, _gather)
        return CellAxis(spread, gather, 1 / n, 1.0, True)
    if kind == Identity() and not basis.takes_differences and n * (1 + basis.answers) > _FORMED:
        spread, gather = basis.reconstruction, basis.reconstruction_transposed
        return CellAxis(spread, gather, float(basis.u @ basis.u), _squared_norm(spread, gather), False)
    matrix = kind.apply(np.column_stack([basis.u, basis.G @ basis.after_noise.matrix]), 0)
    absent, present = (float(np.linalg.norm(part, 2)) ** 2 for part in (matrix[:, :1], matrix[:, 1:]))
    return CellAxis(matrix_map(matrix), matrix_map(np.ascontiguousarray(matrix.T)), absent, present, False)


def _squared_norm(spread: AxisMap, gather: AxisMap) -> float:
    """The squared norm of a map without its first column, with a reserve for what Lanczos' method lacks."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    forward, back, size = ProductMap([spread]), ProductMap([gather]), spread.columns

    def squared(values: FloatArray) -> FloatArray:
        without_total = np.concatenate([[0.0], values.ravel()[1:]])
        found: FloatArray = back.apply(forward.apply(without_total[None]))[0]
        found[0] = 0
        return found

    operator = LinearOperator((size, size), matvec=squared, dtype=np.float64)
    first = np.random.default_rng(0).normal(size=size)
    largest = eigsh(operator, k=1, v0=first, tol=_LANCZOS, return_eigenvectors=False)
    return float(largest[0]) * (1 + _RESERVE)


def answers_of_components(bases: Sequence[Basis]) -> ProductMap:
    """The map from the components of a set to its residual answers."""
    return ProductMap([basis.after_noise for basis in bases])


def components_of_counts(bases: Sequence[Basis]) -> ProductMap:
    """The map from a table of counts to the components of its residual.  Source: eq. (7)."""
    return ProductMap([_centering(basis.size) if basis.takes_differences else basis.before_noise for basis in bases])


def _centering(n: int) -> AxisMap:
    return AxisMap(n, n, lambda: np.eye(n) - 1 / n, _deviations)


def centered(table: FloatArray, axes: Iterable[int]) -> FloatArray:
    """A table less its means along each of some axes."""
    for axis in axes:
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _centered_matrix(n: int) -> FloatArray:
    return np.hstack([np.full((n, 1), 1 / n), np.eye(n) - 1 / n])


def _spread(stack: FloatArray, out: FloatArray) -> None:
    """A total (first entry of the middle axis) and components whose sum is 0 as values."""
    turned = stack.transpose(0, 2, 1)
    np.add(turned[:, :, 1:], turned[:, :, :1] / out.shape[2], out=out)


def _deviations(stack: FloatArray, out: FloatArray) -> None:
    np.subtract(stack.transpose(0, 2, 1), np.mean(stack, axis=1)[:, :, None], out=out)


def _gather(stack: FloatArray, out: FloatArray) -> None:
    """The transposed map: the mean, and deviations from it."""
    means = np.add.reduce(stack, axis=1)
    means /= stack.shape[1]
    out[:, :, 0] = means
    np.subtract(stack.transpose(0, 2, 1), means[:, :, None], out=out[:, :, 1:])


@dataclass(frozen=True, eq=False)
class ComponentLayout:
    """Where the components of every set stand in a flat array (c,): group after group, in a group set after set."""

    groups: BasisGroups  # the sets by the bases of their attributes

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the components of each group start, and the end, (g + 1,)."""
        counts = [len(members) for members in self.groups.members]
        return frozen(np.cumsum([0, *(self.sizes * counts)]))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many components each set of a group has, (g,)."""
        shapes = map(self.groups.noise_shape, range(len(self.groups.members)))
        return frozen(np.array([math.prod(shape) for shape in shapes], dtype=np.int64))

    @cached_property
    def squared_units(self) -> FloatArray:
        """By what the mean square of each set's components is multiplied where counts are independent, (m,)."""
        # 1 for differences; bases of integers measure large multiples, with noise to match.
        units = {
            basis.key: 1.0
            if basis.takes_differences
            else float(((basis.after_noise.matrix @ basis.before_noise.matrix) ** 2).sum()) / basis.answers
            for bases in self.groups.bases
            for basis in bases
        }
        of_groups = [math.prod(units[basis.key] for basis in bases) for bases in self.groups.bases]
        return frozen(np.array(of_groups, dtype=np.float64)[self.groups.group])

    @property
    def count(self) -> int:
        """How many components there are in all."""
        return int(self.starts[-1])

    @property
    def firsts(self) -> NDArray[np.int64]:
        """Where the first component of each set stands, (m,)."""
        return self.starts[self.groups.group] + self.groups.row * self.sizes[self.groups.group]

    def block(self, components: NDArray[Number], group: int) -> NDArray[Number]:
        """Those of one group, as a view (sets, e_1, .., e_k)."""
        part = components[self.starts[group] : self.starts[group + 1]]
        return part.reshape(len(self.groups.members[group]), *self.groups.noise_shape(group))

    def blocks(self, components: NDArray[Number]) -> list[NDArray[Number]]:
        """Those of all groups."""
        return [self.block(components, group) for group in range(len(self.groups.members))]

    def of_set(self, components: FloatArray, number: int) -> FloatArray:
        """Those of one set, by its number in the closure, as a view (e_1, .., e_k)."""
        found: FloatArray = self.block(components, int(self.groups.group[number]))[self.groups.row[number]]
        return found

    def spread(self, numbers: FloatArray) -> FloatArray:
        """A number for each set (m,) as one for each component, (c,)."""
        parts = zip(self.groups.members, self.sizes.tolist(), strict=True)
        return np.concatenate([np.repeat(numbers[members], size) for members, size in parts])


def measured_components(layout: ComponentLayout, measurement: NoisyAnswers) -> FloatArray:
    """The components of the noisy answers, (c,)."""
    found = np.empty(layout.count)
    for group, bases in enumerate(layout.groups.bases):
        maps, block = components_of_answers(bases), layout.block(found, group)
        block[...] = mapped(maps, measurement.residuals.block(group))
    return found


def noise_like(layout: ComponentLayout, variances: FloatArray, generator: np.random.Generator) -> FloatArray:
    """The components (c,) of noise of these variances (m,), in floating point, for simulations.  Source: eq. (48)."""
    drawn = generator.standard_normal(layout.count) * np.sqrt(layout.spread(variances))
    for group, bases in enumerate(layout.groups.bases):
        block = layout.block(drawn, group)
        block[...] = mapped(components_of_answers(bases), mapped(answers_of_components(bases), block))
    return drawn


def answers_of(layout: ComponentLayout, components: FloatArray) -> Residuals:
    """The residual answers of components."""
    parts = [
        mapped(answers_of_components(bases), layout.block(components, group)).ravel()
        for group, bases in enumerate(layout.groups.bases)
    ]
    return Residuals(layout.groups, frozen(np.concatenate(parts)))


def mapped(maps: ProductMap, block: FloatArray) -> FloatArray:
    """A map of a stack of tables; itself where that is the identity."""
    return block if maps.is_identity else maps.apply(np.ascontiguousarray(block))
