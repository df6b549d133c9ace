"""Noisy residual answers as they are stored, to be read a few at a time by reconstruction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.noisy_answers import wide_to_words
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.words import count_text
from residualplanner.method.strategy.basis_groups import BasisGroups


@dataclass(frozen=True, eq=False, repr=False)
class AnswerLayout:
    """Where the residual answers of every set stand in one flat array (r,): group by group, set by set, in C order."""

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
        return f"<{type(self).__name__}: {count_text(self.count, 'answer')}>"

    def part(self, answers: NDArray[Any], group: int) -> NDArray[Any]:
        """The answers of one group among all ``answers`` (r,), as a view (g, m_1, .., m_k)."""
        part = answers[self.starts[group] : self.starts[group + 1]]
        return part.reshape(len(self.groups.members[group]), *self.groups.answer_shapes[group])


@dataclass(frozen=True, eq=False, repr=False)
class Residuals(AnswerLayout):
    """The noisy residual answers of every set of a closure: as floats, or as integers where their noise is discrete.

    The integers of a set are its answers times a divisor: a power of two, which makes the noise fine, times the sizes
    of its attributes that have the subtraction basis.  FileFormatError where there are more or fewer numbers than the
    groups need, one is not finite, or one that int64 can hold is in ``wide``.
    Source: eqs. (35), (36) and (44).
    """

    numbers: NDArray[Any] = field(repr=False)  # (r,), read-only: float64 in counts, or int64, 0 where ``wide`` has them
    divisors: tuple[int, ...] | None = None  # of each group's integers; None where the numbers are the answers
    #: all numbers, (g, m_1, .., m_k), of each group with one that int64 cannot hold, as Python integers
    wide: Mapping[int, NDArray[Any]] = field(repr=False, default_factory=dict)
    #: the SHA-256 of arrays of `to_arrays`, by name, where it is known
    hashes: Mapping[str, str] = field(repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        dtype = np.dtype(np.float64 if self.divisors is None else np.int64)
        if self.numbers.dtype != dtype or self.numbers.shape != (self.count,):
            raise FileFormatError(f"the plan needs {self.count:,} residual answers, one axis of {dtype}")
        pieces = np.split(self.numbers, range(2**20, len(self.numbers), 2**20)) if self.divisors is None else []
        if not all(np.isfinite(piece).all() for piece in pieces):
            raise FileFormatError("residual answers must be finite in every entry")
        for group, numbers in self.wide.items():
            zeros = self.part(self.numbers, group)
            if numbers.shape != zeros.shape or zeros.any() or not (abs(numbers) >= 2**63).any():
                raise FileFormatError("answers are stored as wide integers exactly where int64 cannot hold them")

    @property
    def values(self) -> FloatArray:
        """All residual answers in counts, (r,), integers rounded to floats, anew each time; order as ``numbers``."""
        if self.divisors is None:
            return self.numbers
        values = np.empty(self.count)
        for group in range(len(self.groups.shapes)):
            self.part(values, group)[...] = self.block(group)
        return frozen(values)

    def block(self, group: int) -> FloatArray:
        """The residual answers of one group in counts, rounded to floats, (g, m_1, .., m_k)."""
        stored = self.stored(group)
        if self.divisors is None:  # a view, as answers on disk are not to be copied
            return stored
        return frozen(np.true_divide(stored, self.divisor(group)).astype(np.float64, copy=False))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a file holds, by name."""
        if self.divisors is None:
            return {"residuals": self.numbers}
        wide_groups, wide_integers = wide_to_words(self.wide)
        return {"integers": self.numbers, "wide_groups": wide_groups, "wide_integers": wide_integers}

    def stored(self, group: int) -> NDArray[Any]:
        """The numbers of one group, (g, m_1, .., m_k): floats, int64 or Python integers."""
        return self.wide[group] if group in self.wide else self.part(self.numbers, group)

    def divisor(self, group: int) -> int:
        """What a group's numbers are to be divided by."""
        return 1 if self.divisors is None else self.divisors[group]
