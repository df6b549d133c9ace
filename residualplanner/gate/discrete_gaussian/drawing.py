"""Discrete Gaussian noise, exact in distribution, and a test of the machine before the first draw."""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.gate.discrete_gaussian.batches import Batch, LargeScale
from residualplanner.gate.discrete_gaussian.bits import (
    ByteSource,
    CheckedBits,
    InsecureTestBits,
    NoiseError,
    OperatingSystemBits,
)
from residualplanner.gate.discrete_gaussian.exact import exp_bounds
from residualplanner.gate.discrete_gaussian.scales import Scales
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import BudgetError

EXP_ERROR = Fraction(1, 2**44)
_POINTS = 64
_GOLDEN = "985784930c907646431d2dca23cf793ace2cf3683c885e8d3930b1673acd0ef7"


@cache
def require_sound_platform() -> None:
    """Check ``np.exp`` at 64 points and one vector of draws; once in a process.

    Raises:
        NoiseError: this machine's NumPy does not compute as the proof assumes.

    Cost: about 20 milliseconds, once, half of them for tables.
    Source: docs/exact-noise.md section 5.
    """
    if not largest_exp_error() <= EXP_ERROR:
        raise NoiseError("numpy.exp errs by more than 2**-44 on this machine; exact noise cannot be drawn with it")
    if golden_digest() != _GOLDEN:
        raise NoiseError("known random bytes do not give the known draws on this machine; no noise can be drawn")


def largest_exp_error() -> Fraction:
    """Return the largest relative error of ``np.exp`` seen at 64 points from 0 down to -64."""
    points = -np.arange(_POINTS) * (64 / _POINTS) - np.arange(_POINTS) ** 2 / 8191
    errors = []
    for point, value in zip(points.tolist(), np.exp(points).tolist(), strict=True):
        low, high = exp_bounds(*Fraction(-point).as_integer_ratio(), 25)
        errors.append(max(abs(Fraction(value) - low), abs(Fraction(value) - high)) / low)
    return max(errors)


def golden_digest() -> str:
    """Return the SHA-256 of draws of two scales from known bytes."""
    batch = Batch(Scales.of_ratios([1, 3 * 10**18 + 1], [1, 3]), np.array([64, 64]))
    batch.fill(CheckedBits(InsecureTestBits(0)))
    return hashlib.sha256(batch.values.astype("<i8").tobytes()).hexdigest()


def discrete_gaussian(gamma2: Sequence[Fraction], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Draw integers i with probability in proportion to ``exp(-i**2 / (2 gamma2))``, exactly: N_Z(0, gamma2).

    Args:
        gamma2: positive fractions of any size, at least ``2**-60``.
        sizes: the number of draws of each.

    Returns:
        One array (size,) for each scale: int64 where ``64 * gamma < 2**61``, Python integers above.

    Raises:
        BudgetError: a scale is not an exact positive fraction, or too small.
        ValueError: the sizes do not fit.
        NoiseError: the random bytes or the machine's arithmetic failed a check.

    Guarantees: draws are independent and exactly distributed as long as the operating system's bits are uniform: no
        rounding decides an outcome.  The time depends on the number of failed attempts, not on the draws, except that
        one attempt in a million takes 50 microseconds more.
    Cost: 30 to 60 nanoseconds a draw, two thirds of it for random bytes; 1 microsecond for Python integers.
    Source: Canonne, Kamath & Steinke 2020 (the distribution); docs/exact-noise.md (the method and its proof).

    Example:
        >>> large, small = discrete_gaussian([Fraction(10**18 + 1, 3), Fraction(1, 100)], [3, 2])
        >>> large.dtype, small
        (dtype('int64'), array([0, 0]))
    """
    return draw_arrays(Scales.of_fractions(gamma2), sizes, OperatingSystemBits())


def discrete_gaussian_flat(scales: Scales | Sequence[Fraction], sizes: ArrayLike) -> IntArray:
    """Draw from N_Z(0, gamma**2) for many scales in one pass, all int64.

    Args:
        scales: with ``64 * gamma < 2**61``, as `Scales.fits_int64` tells.
        sizes (m,): the number of draws of each scale.

    Returns:
        The draws (sum of sizes,), scale after scale.  Should one not fit int64 (probability below exp(-30000)), all are
        Python integers: nothing wraps.

    Raises:
        BudgetError: a scale is too large, too small, or no exact fraction.
        ValueError: the sizes do not fit.
        NoiseError: the random bytes or the machine's arithmetic failed a check.

    Guarantees: as ``discrete_gaussian``.
    Cost: 40 to 70 nanoseconds a draw and a microsecond a scale.
    Source: docs/exact-noise.md.

    Example:
        >>> discrete_gaussian_flat(Scales.of_ratios([1, 2, 10**30], [100, 300, 7]), [2, 3, 4]).shape
        (9,)
    """
    read = scales if isinstance(scales, Scales) else Scales.of_fractions(scales)
    return draw_flat(read, sizes, OperatingSystemBits())


def draw_flat(scales: Scales, sizes: ArrayLike, source: ByteSource) -> IntArray:
    """As `discrete_gaussian_flat`, from any source of bytes; the caller keeps its ``mark`` with the draws."""
    if not scales.fits_int64.all():
        message = "a scale has 64 * gamma of 2**61 or more and is not drawn as int64; use discrete_gaussian"
        raise BudgetError(message)
    counts = _require_sizes(sizes, len(scales))
    require_sound_platform()
    return _fill(scales, counts, CheckedBits(source))


def draw_arrays(scales: Scales, sizes: ArrayLike, source: ByteSource) -> list[NDArray[Any]]:
    """As `discrete_gaussian`, from any source of bytes; the caller keeps its ``mark`` with the draws."""
    counts = _require_sizes(sizes, len(scales))
    require_sound_platform()
    bits = CheckedBits(source)
    fits = scales.fits_int64
    flat = _fill(scales, np.where(fits, counts, 0), bits)
    arrays: list[NDArray[Any]] = np.split(flat, np.cumsum(np.where(fits, counts, 0))[:-1]) if len(scales) else []
    for number in np.flatnonzero(~fits).tolist():
        scale = LargeScale(scales.numerators[number], scales.denominators[number])
        arrays[number] = scale.draw(int(counts[number]), bits)
    return arrays


def _fill(scales: Scales, counts: IntArray, bits: CheckedBits) -> IntArray:
    if not counts.any():
        return np.empty(0, dtype=np.int64)
    batch = Batch(scales, counts)
    batch.fill(bits)
    if not batch.beyond:
        return batch.values
    values: NDArray[Any] = batch.values.astype(object)
    for position, value in batch.beyond.items():
        values[position] = value
    return values


def _require_sizes(sizes: ArrayLike, scales: int) -> IntArray:
    counts = np.asarray(sizes)
    if counts.size == 0:
        counts = counts.astype(np.int64)
    if counts.shape != (scales,) or counts.dtype.kind not in "iu" or not (counts >= 0).all():
        raise ValueError(f"sizes must be {scales} integers of at least 0, one for each scale")
    return counts.astype(np.int64)
