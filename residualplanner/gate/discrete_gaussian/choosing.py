"""Choices with probability in proportion to exp(rate * score), exact in distribution: the exponential mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.gate.discrete_gaussian.bits import ByteSource, CheckedBits
from residualplanner.gate.discrete_gaussian.drawing import require_sound_platform
from residualplanner.gate.discrete_gaussian.exact import MORE_BITS, is_below
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import BudgetError

#: All bounds together are below ``2**BOUND_BITS``, so that their sums fit int64.
BOUND_BITS = 62
#: How many candidates there may be: a bound of one candidate still has 20 bits.
CANDIDATE_LIMIT = 2**40
#: A float weight errs by less than this factor: see the proof of docs/adaptive-projection.md.
_MARGIN = 1 + 2.0**-30


class Choice(NamedTuple):
    """One candidate that was drawn.

    Attributes:
        group: the number of its score among the scores.
        rank: which of the candidates with this score it is, 0 .. members - 1.
    """

    group: int
    rank: int


def exponential_choices(
    scores: ArrayLike, members: ArrayLike, rate: Fraction, draws: int, source: ByteSource
) -> list[Choice]:
    """Draw candidates without replacement, each with probability in proportion to ``exp(rate * score)``, exactly.

    Candidates with the same score form a group.  Each draw has the law of the exponential mechanism over all
    candidates that were not drawn before; this is also the law of the largest sums of score and Gumbel noise.

    Args:
        scores (g,): distinct integers.
        members (g,): how many candidates have each score, at least 1.
        rate: a fraction, at least 0.
        draws: how many candidates to draw, at most as many as there are.
        source: of random bytes.

    Returns:
        The candidates in the order in which they were drawn, all different.

    Raises:
        BudgetError: the rate is not an exact fraction of at least 0.
        ValueError: the scores, their members or the number of draws do not fit.
        NoiseError: the random bytes or the machine's arithmetic failed a check.

    Guarantees: no rounding decides an outcome.  If neighboring records change every score by at most 1, a draw is
        2 * rate bounded-range, hence ``rate**2 / 2``-zCDP: its pcost is ``rate**2``.
    Cost: O(g) and about 30 microseconds a draw.
    Source: docs/adaptive-projection.md eqs. (c) and (d), with the proof.

    Example:
        >>> from residualplanner.gate.discrete_gaussian.bits import OperatingSystemBits
        >>> exponential_choices([1000, 0], [1, 10**6], Fraction(1), 1, OperatingSystemBits())
        [Choice(group=0, rank=0)]
    """
    if not isinstance(rate, Fraction | int) or isinstance(rate, bool) or rate < 0:
        raise BudgetError("the rate of the exponential mechanism must be an exact fraction, at least 0")
    groups = _Groups.of(np.asarray(scores), np.asarray(members), Fraction(rate))
    if not 0 <= draws <= groups.left.sum():
        raise ValueError("draws must be at least 0 and at most the number of candidates")
    require_sound_platform()
    bits = CheckedBits(source)
    taken: set[Choice] = set()
    choices = []
    for _ in range(draws):
        group = groups.draw(bits)
        choices.append(_new_member(group, int(groups.members[group]), taken, bits))
        taken.add(choices[-1])
        groups.remove_one(group)
    return choices


def uniform_below(limit: int, bits: CheckedBits) -> int:
    """A uniform integer from 0 up to ``limit - 1``."""
    length = (limit - 1).bit_length()
    while (value := bits.integer(length) if length else 0) >= limit:
        pass
    return value


def _new_member(group: int, members: int, taken: set[Choice], bits: CheckedBits) -> Choice:
    """A uniform one of the group's candidates that were not taken before."""
    while (choice := Choice(group, uniform_below(members, bits))) in taken:
        pass
    return choice


@dataclass(slots=True, eq=False)
class _Groups:
    """Groups of candidates with the same score, and integers that bound their weights from above.

    The weight of a group is ``left * exp(-rate * distance)``, and its bound at least ``2**shift`` times that.

    Attributes:
        scores, members (g,): of the groups.
        left (g,): how many members were not drawn yet.
        rate: of the exponential mechanism.
        shift: of the bounds.
        top: the score from which distances count: the highest that has members left.
        bounds (g,): integers, 0 where no member is left.
    """

    scores: IntArray
    members: IntArray
    left: IntArray
    rate: Fraction
    shift: int
    top: int
    bounds: IntArray

    @classmethod
    def of(cls, scores: NDArray[Any], members: NDArray[Any], rate: Fraction) -> "_Groups":
        if scores.ndim != 1 or scores.shape != members.shape or not scores.size:
            raise ValueError("there must be one number of members for each score, and at least one score")
        if scores.dtype.kind not in "iu" or members.dtype.kind not in "iu" or not (members >= 1).all():
            raise ValueError("scores and members must be integers, members at least 1")
        if len(np.unique(scores)) < scores.size:
            raise ValueError("scores must be distinct")
        counts = members.astype(np.int64)
        total = int(counts.sum())
        if not max(total, scores.size) <= CANDIDATE_LIMIT:
            raise ValueError(f"there may be at most {CANDIDATE_LIMIT:,} candidates")
        shift = BOUND_BITS - 1 - total.bit_length()
        groups = cls(scores.astype(np.int64), counts, counts.copy(), rate, shift, 0, np.zeros_like(counts))
        groups._bound_all()
        return groups

    def draw(self, bits: CheckedBits) -> int:
        """A group with probability in proportion to its weight: proposed by its bound, and kept by what is exact."""
        ends = np.cumsum(self.bounds)
        while True:
            group = int(np.searchsorted(ends, uniform_below(int(ends[-1]), bits), side="right"))
            exponent = self.rate * (self.top - int(self.scores[group]))
            factor = Fraction(int(self.left[group]) << self.shift, int(self.bounds[group]))
            if is_below(bits.integer(MORE_BITS), MORE_BITS, exponent, factor, bits):
                return group

    def remove_one(self, group: int) -> None:
        self.left[group] -= 1
        if not self.left[group] and self.scores[group] == self.top and self.left.any():
            self._bound_all()
        else:
            one = slice(group, group + 1)
            self.bounds[one] = self._bounds(self.scores[one], self.left[one])

    def _bound_all(self) -> None:
        self.top = int(self.scores[self.left > 0].max())
        self.bounds = self._bounds(self.scores, self.left)

    def _bounds(self, scores: IntArray, left: IntArray) -> IntArray:
        """Integers at least ``2**shift`` times the weights, which exceed them by less than ``2**-30`` and 1."""
        distance = np.maximum(self.top - scores, 0).astype(np.float64)
        least_rate = np.nextafter(float(self.rate), 0.0)
        with np.errstate(under="ignore"):
            weights: FloatArray = left * np.exp(-least_rate * distance)
            found = np.ldexp(weights, self.shift) * _MARGIN
        return np.where(left > 0, found.astype(np.int64) + 1, 0)
