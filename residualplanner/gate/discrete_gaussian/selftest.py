"""A test of the machine before the first draw: ``exp`` is as accurate as assumed, and known bytes give known draws.

Reads: nothing.  Gives: nothing, or NoiseError.
"""

import hashlib
from fractions import Fraction
from functools import cache

import numpy as np

from residualplanner.gate.discrete_gaussian.batches import Batch
from residualplanner.gate.discrete_gaussian.bits import CheckedBits, InsecureTestBits, NoiseError
from residualplanner.gate.discrete_gaussian.exact import exp_bounds
from residualplanner.gate.discrete_gaussian.scales import Scales

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
