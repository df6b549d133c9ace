"""Noisy residual answers as they are stored, to be read a few at a time by reconstruction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.noisy_answers import wide_to_words
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.words import count_text
from residualplanner.method.strategy.basis_groups import BasisGroups


@dataclass(frozen=True, eq=False, repr=False)
class AnswerLayout:
    """Where the residual answers of every set stand in one flat array (r,).

    Group follows group, in a group set follows set, and the answers of a set are in C order.
    """

    groups: BasisGroups  # the sets by the bases of their attributes

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the answers of each group start, and where the last ones end."""
        pairs = zip(self.groups.answer_shapes, self.groups.members, strict=True)
        return np.cumsum([0, *(math.prod(shape) * len(members) for shape, members in pairs)])

    @property
    def count(self) -> int:
        """How many residual answers there are in all."""
        return int(self.starts[-1])

    def __repr__(self) -> str:
        sets = count_text(sum(map(len, self.groups.members)), "attribute set")
        return f"<{type(self).__name__} of {sets}: {count_text(self.count, 'answer')}>"

    def part(self, answers: NDArray[Any], group: int) -> NDArray[Any]:
        """The answers of one group among all ``answers`` (r,), as a view (g, m_1, .., m_k)."""
        part = answers[self.starts[group] : self.starts[group + 1]]
        return part.reshape(len(self.groups.members[group]), *self.groups.answer_shapes[group])


@dataclass(frozen=True, eq=False, repr=False)
class FloatResiduals(AnswerLayout):
    """The noisy residual answers of every set of a closure, in one flat array.

    FileFormatError where there are more or fewer than the groups need, or one is not finite.
    """

    values: FloatArray = field(repr=False)  # (r,): in counts, read-only
    #: the SHA-256 of arrays of `to_arrays`, by name, where it is known
    hashes: Mapping[str, str] = field(repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.values.dtype != np.float64 or self.values.shape != (self.count,):
            raise FileFormatError(f"the plan needs {self.count:,} residual answers, one axis of float64")
        if not all(np.isfinite(piece).all() for piece in np.split(self.values, range(2**20, len(self.values), 2**20))):
            raise FileFormatError("residual answers must be finite in every entry")

    def block(self, group: int) -> FloatArray:
        """The answers of one group, (g, m_1, .., m_k)."""
        return self.part(self.values, group)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a file holds, by name."""
        return {"residuals": self.values}

    def stored(self, group: int) -> FloatArray:
        """The same as `block`: the answers themselves are stored."""
        return self.block(group)

    def divisor(self, group: int) -> int:
        """The divisor of a group's stored numbers: 1."""
        del group
        return 1


@dataclass(frozen=True, eq=False, repr=False)
class IntegerResiduals(AnswerLayout):
    """The noisy residual answers of every set of a closure as integers.

    The integers of a set are its answers times a divisor: a power of two, which makes the noise fine, times the sizes
    of its attributes that have the subtraction basis.  FileFormatError where there are more or fewer numbers than the
    groups need, or one that int64 can hold is in ``wide``.
    Source: eqs. (35), (36) and (44).
    """

    divisors: tuple[int, ...]  # of each group
    integers: IntArray = field(repr=False)  # (r,): int64, read-only; 0 where ``wide`` has the numbers
    #: all numbers, (g, m_1, .., m_k), of each group with one that int64 cannot hold, as Python integers
    wide: Mapping[int, NDArray[Any]] = field(repr=False, default_factory=dict)
    hashes: Mapping[str, str] = field(repr=False, default_factory=dict)  # as of `FloatResiduals`

    def __post_init__(self) -> None:
        if self.integers.dtype != np.int64 or self.integers.shape != (self.count,):
            raise FileFormatError(f"the plan needs {self.count:,} answers, one axis of int64")
        for group, numbers in self.wide.items():
            zeros = self.part(self.integers, group)
            if numbers.shape != zeros.shape or zeros.any() or not (abs(numbers) >= 2**63).any():
                raise FileFormatError("answers are stored as wide integers exactly where int64 cannot hold them")

    @property
    def values(self) -> FloatArray:
        """All residual answers in counts, rounded to floats, (r,), computed anew each time; order as ``integers``."""
        values = np.empty(self.integers.shape)
        for group in range(len(self.groups.shapes)):
            self.part(values, group)[...] = self.block(group)
        return frozen(values)

    def block(self, group: int) -> FloatArray:
        """The residual answers of one group in counts, rounded to floats, (g, m_1, .., m_k)."""
        return frozen(np.true_divide(self.stored(group), self.divisor(group)).astype(np.float64, copy=False))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a file holds, by name."""
        wide_groups, wide_integers = wide_to_words(self.wide)
        return {"integers": self.integers, "wide_groups": wide_groups, "wide_integers": wide_integers}

    def stored(self, group: int) -> NDArray[Any]:
        """The integers of one group, (g, m_1, .., m_k), int64 or Python integers."""
        return self.wide[group] if group in self.wide else self.part(self.integers, group)

    def divisor(self, group: int) -> int:
        """The divisor of a group's integers."""
        return self.divisors[group]
