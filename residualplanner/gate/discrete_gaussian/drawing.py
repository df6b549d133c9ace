"""Discrete Gaussian noise and the exponential mechanism, exact in distribution; before them a test of the machine."""

import hashlib
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.gate.discrete_gaussian.attempts import MORE_BITS, is_below
from residualplanner.gate.discrete_gaussian.batches import Batch
from residualplanner.gate.discrete_gaussian.bits import ByteSource, CheckedBits, InsecureTestBits
from residualplanner.gate.discrete_gaussian.envelope import Scales, exp_bounds
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import BudgetError, NoiseError

EXP_ERROR = Fraction(1, 2**44)
_POINTS = 64
_GOLDEN = "985784930c907646431d2dca23cf793ace2cf3683c885e8d3930b1673acd0ef7"


@cache
def require_sound_platform() -> None:
    """Check ``np.exp`` at 64 points and one vector of draws; once in a process.

    NoiseError where this machine's NumPy does not compute as the proof assumes.
    Cost: about 20 milliseconds, once, half of them for tables.
    Source: docs/exact-noise.md section 5.
    """
    if not largest_exp_error() <= EXP_ERROR:
        raise NoiseError("numpy.exp errs by more than 2**-44 on this machine; exact noise cannot be drawn with it")
    if golden_digest() != _GOLDEN:
        raise NoiseError("known random bytes do not give the known draws on this machine; no noise can be drawn")


def largest_exp_error() -> Fraction:
    """Return the largest relative error of ``np.exp`` seen at 64 points from 0 down to -64."""
    # Squares over a prime give the points fractions of many digits; without them all would be integers.
    points = -np.arange(_POINTS) * (64 / _POINTS) - np.arange(_POINTS) ** 2 / 8191
    errors = []
    for point, value in zip(points.tolist(), np.exp(points).tolist(), strict=True):
        low, high = exp_bounds(*Fraction(-point).as_integer_ratio(), 25)  # to 25 digits: 2**-44 is above 1e-14
        errors.append(max(abs(Fraction(value) - low), abs(Fraction(value) - high)) / low)
    return max(errors)


def golden_digest() -> str:
    """Return the SHA-256 of draws of two scales from known bytes."""
    # One scale is below 32, where integers are not cut into blocks, the other far above.
    batch = Batch(Scales.of_ratios([1, 3 * 10**18 + 1], [1, 3]), np.array([64, 64]))
    batch.fill(CheckedBits(InsecureTestBits(0)))
    return hashlib.sha256(batch.values.astype("<i8").tobytes()).hexdigest()


def draw_flat(scales: Scales, sizes: ArrayLike, source: ByteSource) -> NDArray[Any]:
    """Draw integers i with probability in proportion to ``exp(-i**2 / (2 gamma**2))``, exactly: N_Z(0, gamma**2).

    The draws of one scale follow those of another, (sum of sizes,): all int64, or all Python integers where a scale has
    ``gamma > 2**55`` or, with probability below exp(-30000), a draw does not fit int64.  The caller keeps the ``mark``
    of the source with the draws.
    NoiseError where the random bytes or the machine's arithmetic failed a check.

    Guarantees: draws are independent and exactly distributed as long as the source's bits are uniform: no rounding
        decides an outcome.  The time depends on the number of failed attempts, not on the draws, except that one
        attempt in a million takes 50 microseconds more.
    Cost: 30 to 60 nanoseconds a draw, two thirds of it for random bytes, and a microsecond a scale; 1 microsecond for
        Python integers.
    Source: Canonne, Kamath & Steinke 2020 (the distribution); docs/exact-noise.md (the method and its proof).
    """
    counts = np.asarray(sizes)
    if counts.size == 0:  # an empty list becomes floats
        counts = counts.astype(np.int64)
    if counts.shape != (len(scales),) or counts.dtype.kind not in "iu" or not (counts >= 0).all():
        raise ValueError(f"sizes must be {len(scales)} integers of at least 0, one for each scale")
    require_sound_platform()
    if not counts.any():
        return np.empty(0, dtype=np.int64)
    batch = Batch(scales, counts)
    batch.fill(CheckedBits(source))
    return batch.draws


#: All bounds together are below ``2**BOUND_BITS``, so that their sums fit int64.
BOUND_BITS = 62
#: How many candidates there may be: a bound of one candidate still has 20 bits.
CANDIDATE_LIMIT = 2**40
#: A float weight errs by less than this factor: see the proof of docs/adaptive-projection.md.
_MARGIN = 1 + 2.0**-30


def exponential_choices(
    scores: ArrayLike, members: ArrayLike, rate: Fraction, draws: int, source: ByteSource
) -> list[tuple[int, int]]:
    """Draw candidates without replacement, each with probability in proportion to ``exp(rate * score)``, exactly.

    Scores (g,) are distinct integers; ``members`` (g,) candidates, at least 1, have each of them.  A draw is the number
    of a score, and which of its members it is.  Each has the law of the exponential mechanism over all that were not
    drawn before; no rounding decides an outcome.  If neighbors change every score by at most 1, it is 2 * rate
    bounded-range, hence ``rate**2 / 2``-zCDP: its pcost is ``rate**2``.
    Source: docs/adaptive-projection.md eqs. (c) and (d), with the proof.
    """
    if not isinstance(rate, Fraction | int) or isinstance(rate, bool) or rate < 0:
        raise BudgetError("the rate of the exponential mechanism must be an exact fraction, at least 0")
    values, counts = np.asarray(scores), np.asarray(members)
    are_integers = values.dtype.kind in "iu" and counts.dtype.kind in "iu"
    if values.ndim != 1 or values.shape != counts.shape or not values.size or not are_integers:
        raise ValueError("there must be scores, integers, and as many numbers of members")
    if not (counts >= 1).all() or len(np.unique(values)) < values.size:
        raise ValueError("scores must be distinct, with one member or more each")
    values, left = values.astype(np.int64), counts.astype(np.int64)
    total = int(left.sum())
    if not max(total, values.size) <= CANDIDATE_LIMIT:
        raise ValueError(f"there may be at most {CANDIDATE_LIMIT:,} candidates")
    if not 0 <= draws <= total:
        raise ValueError("draws must be at least 0 and at most the number of candidates")
    require_sound_platform()
    bits = CheckedBits(source)
    shift = BOUND_BITS - 1 - total.bit_length()  # weights use one bit less: bounds exceed them
    choices: dict[tuple[int, int], None] = {}
    for _ in range(draws):
        group = _drawn_group(values, left, Fraction(rate), shift, bits)
        while (choice := (group, uniform_below(int(counts[group]), bits))) in choices:
            pass
        choices[choice] = None
        left[group] -= 1
    return list(choices)


def _drawn_group(scores: IntArray, left: IntArray, rate: Fraction, shift: int, bits: CheckedBits) -> int:
    """A group with probability in proportion to its weight: proposed by its bound, and kept by what is exact."""
    top, bounds = weight_bounds(scores, left, rate, shift)
    ends = np.cumsum(bounds)
    while True:
        group = int(np.searchsorted(ends, uniform_below(int(ends[-1]), bits), side="right"))
        factor = Fraction(int(left[group]) << shift, int(bounds[group]))
        if is_below(bits.integer(MORE_BITS), MORE_BITS, rate * (top - int(scores[group])), factor, bits):
            return group


def uniform_below(limit: int, bits: CheckedBits) -> int:
    """A uniform integer from 0 up to ``limit - 1``."""
    length = (limit - 1).bit_length()
    while (value := bits.integer(length) if length else 0) >= limit:
        pass
    return value


def weight_bounds(scores: IntArray, left: IntArray, rate: Fraction, shift: int) -> tuple[int, IntArray]:
    """The highest score of which candidates are ``left`` (g,), and integers that bound the weights of the groups, (g,).

    The weight of a group is ``left * exp(-rate * distance)`` from there; its bound is at least ``2**shift`` times that,
    and larger by about ``2**-30`` of it, and by 1 at most; 0 where none is left.
    """
    top = int(scores[left > 0].max())
    distance = np.maximum(top - scores, 0).astype(np.float64)  # above the top none is left
    least_rate = np.nextafter(float(rate), 0.0)  # at most the rate, so that weights come out no smaller
    with np.errstate(under="ignore"):
        weights: FloatArray = left * np.exp(-least_rate * distance)
        found = np.ldexp(weights, shift) * _MARGIN
    return top, np.where(left > 0, found.astype(np.int64) + 1, 0)
