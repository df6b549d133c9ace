"""Noisy residual answers as they are stored, for reconstruction to read a few at a time.

Reads: arrays.  Gives: FloatResiduals (floating point) and IntegerResiduals (integers, exact).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.errors import FileFormatError
from residualplanner.strategy import BasisGroups


@dataclass(frozen=True, eq=False)
class FloatResiduals:
    """The noisy residual answers of every set of a closure, in one flat array.

    Attributes:
        groups: the sets by the bases of their attributes.
        values (r,): the answers in counts, read-only: group after group, in a group set after set, each in C order.

    Raises:
        FileFormatError: there are more or fewer values than the groups need, or one is not finite.
    """

    groups: BasisGroups
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
        """The answers of one group, (g, m_1, .., m_k)."""
        part = self.values[self.starts[group] : self.starts[group + 1]]
        return part.reshape(len(self.groups.members[group]), *self.groups.answer_shapes[group])

    def stored(self, group: int) -> FloatArray:
        """The same as `block`: what is stored are the answers."""
        return self.block(group)

    def divisor(self, group: int) -> int:
        """What the stored numbers of a group are to be divided by: 1."""
        del group
        return 1


@dataclass(frozen=True, eq=False)
class IntegerResiduals:
    """The noisy residual answers of every set of a closure as integers.

    Those of a set are its answers times a divisor: a power of two, which makes the noise fine, times the sizes of its
    attributes that have the subtraction basis.

    Attributes:
        groups: the sets by the bases of their attributes.
        divisors: of each group.
        integers (r,): int64, read-only: group after group, in a group set after set, each in C order; 0 where ``wide``
            has the numbers.
        wide: for each group with a number that int64 cannot hold all its numbers, (g, m_1, .., m_k), as Python
            integers.

    Raises:
        FileFormatError: there are more or fewer numbers than the groups need, or one is stored in the wrong place.

    Source: spec eqs. (35), (36) and (44).
    """

    groups: BasisGroups
    divisors: tuple[int, ...]
    integers: IntArray = field(repr=False)
    wide: Mapping[int, NDArray[Any]] = field(repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.integers.dtype != np.int64 or self.integers.shape != (residual_count(self.groups),):
            raise FileFormatError(f"the plan needs {residual_count(self.groups):,} answers, one axis of int64")
        for group, numbers in self.wide.items():
            place = self._int64_block(group)
            if numbers.shape != place.shape or place.any() or not (abs(numbers) >= 2**63).any():
                raise FileFormatError("answers are stored as wide integers exactly where int64 cannot hold them")

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the answers of each group start, and where the last ones end."""
        return np.cumsum([0, *_counts(self.groups)])

    @property
    def values(self) -> FloatArray:
        """All residual answers in counts, rounded to floats, (r,), computed anew each time; order as ``integers``."""
        values = np.empty(self.integers.shape)
        for group in range(len(self.groups.shapes)):
            values[self.starts[group] : self.starts[group + 1]] = self.block(group).ravel()
        return frozen(values)

    def block(self, group: int) -> FloatArray:
        """The residual answers of one group in counts, rounded to floats, (g, m_1, .., m_k)."""
        return frozen(np.true_divide(self.stored(group), self.divisor(group)).astype(np.float64, copy=False))

    def stored(self, group: int) -> NDArray[Any]:
        """The integers of one group, (g, m_1, .., m_k), int64 or Python integers."""
        return self.wide[group] if group in self.wide else self._int64_block(group)

    def divisor(self, group: int) -> int:
        """What the integers of a group are to be divided by."""
        return self.divisors[group]

    def _int64_block(self, group: int) -> IntArray:
        part = self.integers[self.starts[group] : self.starts[group + 1]]
        return part.reshape(len(self.groups.members[group]), *self.groups.answer_shapes[group])


def residual_count(groups: BasisGroups) -> int:
    """How many residual answers the sets of ``groups`` have in all."""
    return sum(_counts(groups))


def _counts(groups: BasisGroups) -> list[int]:
    return [
        math.prod(shape) * len(members) for shape, members in zip(groups.answer_shapes, groups.members, strict=True)
    ]
