"""What leaves the gate: noisy answers, the plan they were made by, and how the noise was drawn.

Nothing here knows how many records there were, where they came from, or when.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner._whole import PathLike
from residualplanner.errors import FileFormatError
from residualplanner.plan import Plan
from residualplanner.workload import ShapeGroups, shape_groups


@dataclass(frozen=True, slots=True)
class NoiseRecord:
    """How the noise was drawn, and what that is worth.

    Attributes:
        kind: "gaussian": continuous noise in floating point.
        seed: of the generator, where the user gave one; None for the operating system's randomness.
    """

    kind: Literal["gaussian"] = "gaussian"
    seed: int | None = None

    @property
    def randomness(self) -> str:
        """Where the noise came from, in words."""
        return "operating system" if self.seed is None else "seeded, not private"

    @property
    def guarantee(self) -> str:
        """What may be claimed for it, in words."""
        if self.seed is not None:
            return "none: whoever knows the seed can take the noise away"
        return "the plan's zCDP, idealized: continuous Gaussian noise in floating point, as if real numbers were exact"


@dataclass(frozen=True, eq=False)
class ResidualAnswers:
    """The noisy residual answers of every set of a closure, in one flat array.

    Attributes:
        groups: the sets by the shape of their tables.
        values (r,): the answers in counts, read-only: group after group, in a group set after set, each in C order.

    Raises:
        FileFormatError: there are more or fewer values than the groups need, or one is not finite.
    """

    groups: ShapeGroups
    values: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        if self.values.dtype != np.float64 or self.values.shape != (residual_count(self.groups),):
            raise FileFormatError(
                f"the plan needs {residual_count(self.groups):,} residual answers, one axis of float64"
            )
        if not all(np.isfinite(piece).all() for piece in np.split(self.values, range(2**20, len(self.values), 2**20))):
            raise FileFormatError("residual answers must be finite in every entry")

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the answers of each group start, and where the last ones end."""
        return np.cumsum([0, *_counts(self.groups)])

    def block(self, group: int) -> FloatArray:
        """The answers of one group, (g, n_1 - 1, .., n_k - 1)."""
        part = self.values[self.starts[group] : self.starts[group + 1]]
        return part.reshape(len(self.groups.members[group]), *(size - 1 for size in self.groups.shapes[group]))


@dataclass(frozen=True, eq=False)
class Measurement:
    """The noisy answers of all base mechanisms of a plan.  Everything computed from it is free of cost.

    Attributes:
        plan: what was measured, with how much noise.
        residuals: the answers.
        noise: how the noise was drawn.
    """

    plan: Plan
    residuals: ResidualAnswers
    noise: NoiseRecord

    def __repr__(self) -> str:
        return f"<Measurement of {len(self.plan.closure):,} attribute sets: {self.noise.kind}, {self.noise.randomness}>"

    def save(self, path: PathLike) -> None:
        """Write the measurement and its plan to one file, whole or not at all; `load_measurement` reads it.

        Raises:
            OSError: the file cannot be written.
        """
        from residualplanner.measurement.files import save_measurement

        save_measurement(self, path)


def groups_of_plan(plan: Plan) -> ShapeGroups:
    """The sets of a plan's closure by the shape of their tables."""
    return shape_groups(plan.closure, plan.domain.sizes)


def residual_count(groups: ShapeGroups) -> int:
    """How many residual answers the sets of ``groups`` have in all."""
    return sum(_counts(groups))


def _counts(groups: ShapeGroups) -> list[int]:
    return [
        math.prod(size - 1 for size in shape) * len(members)
        for shape, members in zip(groups.shapes, groups.members, strict=True)
    ]
