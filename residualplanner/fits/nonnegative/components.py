"""The components of all sets in one flat array, as noise acts on them.

Reads: a measurement.  Gives: ComponentLayout; flat arrays of components, and residual answers again.

The component of a set is what independent noise of one variance would have been: where its attributes have the
subtraction basis a table whose sum along every axis is 0, else the residual answers themselves.
Source: eq. (48).
"""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.cells import answers_of_components
from residualplanner.gate.measurement.answers import FloatResiduals
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron import ProductMap
from residualplanner.method.strategy.basis_groups import BasisGroups
from residualplanner.release.rebuilding import components_of_answers


@dataclass(frozen=True, eq=False)
class ComponentLayout:
    """Where the components of every set stand in a flat array (c,): group after group, in a group set after set.

    Attributes:
        groups: the sets by the bases of their attributes.
        starts (g + 1,): where the components of each group start, and where the last ones end.
    """

    groups: BasisGroups
    starts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        counts = [len(members) for members in self.groups.members]
        object.__setattr__(self, "starts", frozen(np.cumsum([0, *(self.sizes * counts)])))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many components each set of a group has, (g,)."""
        shapes = map(self.groups.noise_shape, range(len(self.groups.members)))
        return frozen(np.array([math.prod(shape) for shape in shapes], dtype=np.int64))

    @cached_property
    def squared_units(self) -> FloatArray:
        """By what the mean square of each set's components is multiplied where counts are independent, (m,)."""
        of_groups = [math.prod(map(_squared_unit, bases)) for bases in self.groups.bases]
        return frozen(np.array(of_groups, dtype=np.float64)[self.groups.group])

    @property
    def count(self) -> int:
        """How many components there are in all."""
        return int(self.starts[-1])

    @property
    def firsts(self) -> NDArray[np.int64]:
        """Where the first component of each set stands, (m,)."""
        found: NDArray[np.int64] = self.starts[self.groups.group] + self.groups.row * self.sizes[self.groups.group]
        return found

    def block(self, components: NDArray[np.float64], group: int) -> NDArray[np.float64]:
        """Those of one group, as a view (sets, e_1, .., e_k)."""
        part = components[self.starts[group] : self.starts[group + 1]]
        return part.reshape(len(self.groups.members[group]), *self.groups.noise_shape(group))

    def blocks(self, components: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Those of all groups."""
        return [self.block(components, group) for group in range(len(self.groups.members))]

    def of_set(self, components: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        """Those of one set, by its number in the closure, as a view (e_1, .., e_k)."""
        found: NDArray[np.float64] = self.block(components, int(self.groups.group[number]))[self.groups.row[number]]
        return found

    def put(self, components: NDArray[np.float64], number: int, values: NDArray[np.float64]) -> None:
        """Write those of one set, by its number in the closure."""
        self.block(components, int(self.groups.group[number]))[self.groups.row[number]] = values

    def spread(self, numbers: FloatArray) -> FloatArray:
        """A number for each set (m,) as one for each component, (c,)."""
        parts = zip(self.groups.members, self.sizes.tolist(), strict=True)
        return np.concatenate([np.repeat(numbers[members], size) for members, size in parts])


def _squared_unit(basis: Basis) -> float:
    """That of one attribute: 1 for differences; bases of integers measure large multiples, with noise to match."""
    if basis.takes_differences:
        return 1.0
    rows = basis.after_noise.matrix @ basis.before_noise.matrix
    return float((rows**2).sum()) / basis.answers


def measured_components(layout: ComponentLayout, measurement: NoisyAnswers) -> FloatArray:
    """The components of the noisy answers, (c,)."""
    found = np.empty(layout.count)
    for group, bases in enumerate(layout.groups.bases):
        maps, block = components_of_answers(bases), layout.block(found, group)
        block[...] = _mapped(maps, measurement.residuals.block(group))
    return found


def noise_like(layout: ComponentLayout, variances: FloatArray, generator: np.random.Generator) -> FloatArray:
    """The components of the noise of a measurement, (c,), drawn in floating point: for simulations only.

    Args:
        layout: of the components.
        variances (m,): of the noise of each set, in counts squared.
        generator: of normal variates.

    Source: eqs. (6) and (48).
    """
    drawn = generator.standard_normal(layout.count) * np.sqrt(layout.spread(variances))
    for group, bases in enumerate(layout.groups.bases):
        block = layout.block(drawn, group)
        block[...] = _mapped(components_of_answers(bases), _mapped(answers_of_components(bases), block))
    return drawn


def answers_of(layout: ComponentLayout, components: NDArray[np.float64]) -> FloatResiduals:
    """The residual answers of components."""
    parts = [
        _mapped(answers_of_components(bases), layout.block(components, group)).ravel()
        for group, bases in enumerate(layout.groups.bases)
    ]
    return FloatResiduals(layout.groups, frozen(np.concatenate(parts)))


def _mapped(maps: ProductMap, block: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = block if maps.is_identity else maps.apply(np.ascontiguousarray(block))
    return found
