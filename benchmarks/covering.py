"""How often an interval covers the truth, exactly: sums of discrete Gaussian noise, from their probabilities alone.

Nothing here is computed as the library computes margins.  An error is ``X = sum a_j z_j`` with fractions a_j and
independent z_j, ``P(z_j = i)`` proportional to ``exp(-i**2 / (2 gamma_j**2))``; it lives on the multiples of the
largest fraction that divides all a_j.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.precision import lattice_divisors, precision_of
from residualplanner.method.plan.plan import Plan
from residualplanner.method.strategy.basis_groups import basis_groups

#: Up to this standard deviation, in steps of the lattice, probabilities are convolved; beyond it sums are integrals.
_CONVOLVED = 2**13
#: Peaks of a characteristic function below exp(-60) are nothing in double precision; they are this many deviations off.
_NOTHING, _AWAY = -60.0, 11.0
_CHUNK = 2**20


@dataclass(frozen=True)
class Error:
    """What an estimate is off by.

    Attributes:
        coefficients: a_j.
        gamma2: gamma_j**2, one for each coefficient.
    """

    coefficients: tuple[Fraction, ...]
    gamma2: tuple[Fraction, ...]

    @property
    def variance(self) -> Fraction:
        """What is claimed: that of continuous noise with these scales."""
        return sum((a * a * g for a, g in zip(self.coefficients, self.gamma2, strict=True)), Fraction(0))

    def beyond(self, margin: Fraction) -> float:
        """The probability that the error is larger in size than ``margin``; off by less than 1e-13."""
        kept = [(a, g) for a, g in zip(self.coefficients, self.gamma2, strict=True) if a]
        step = Fraction(math.gcd(*(a.numerator * (_common(kept) // a.denominator) for a, _ in kept)), _common(kept))
        steps = [int(a / step) for a, _ in kept]
        gamma2 = [g for _, g in kept]
        deviation = math.sqrt(self.variance / step**2)
        inside = math.floor(margin / step)
        if deviation <= _CONVOLVED:
            return _convolved_beyond(steps, gamma2, deviation, inside)
        _require_one_peak(steps, gamma2)
        return math.erfc((inside + 0.5) / (deviation * math.sqrt(2)))


def total_error(plan: Plan, *, step: int | None = None) -> Error:
    """The error of a plan's total as the library draws it, or with noise on multiples of one over ``step``."""
    precision = precision_of(plan.noise_variances)
    divisor = step or lattice_divisors(basis_groups(plan.strategy), precision, plan.neighbors)[0]
    return Error((Fraction(1, divisor),), (divisor**2 / Fraction(float(precision[0])),))


def _common(kept: Sequence[tuple[Fraction, Fraction]]) -> int:
    return math.lcm(*(a.denominator for a, _ in kept))


def _convolved_beyond(steps: list[int], gamma2: list[Fraction], deviation: float, inside: int) -> float:
    """By the probabilities of all multiples of the step: those of each z_j, convolved.  Beyond 12 deviations is 0."""
    size = 2 ** math.ceil(math.log2(26 * deviation + 2 * max(map(abs, steps)) + 2))
    spectrum: NDArray[np.complex128] = np.ones(size, dtype=np.complex128)
    for count, g in zip(steps, gamma2, strict=True):
        reach = math.ceil(13 * math.sqrt(g)) + 2
        numbers = np.arange(-reach, reach + 1)
        weights = np.exp(-(numbers.astype(np.float64) ** 2) / (2 * float(g)))
        places = np.zeros(size)
        np.add.at(places, numbers * count % size, weights / weights.sum())
        spectrum *= np.fft.fft(places)
    probability = np.fft.ifft(spectrum).real
    offsets = np.arange(size)
    offsets = np.minimum(offsets, size - offsets)
    return float(probability[offsets > inside].sum())


def _require_one_peak(steps: list[int], gamma2: list[Fraction]) -> None:
    """Check that the characteristic function is nothing but its peak at 0, and those a whole period away.

    Then the probabilities are those of the normal density at the multiples of the step, and by Euler and Maclaurin's
    formula, at half steps, their sums are its integrals up to ``1 / (24 deviation**2)``: below 1e-9 of them from
    _CONVOLVED on, and below 1e-14 from 2**20 on.
    """
    most = int(np.argmax([abs(count) for count in steps]))
    period, others = abs(steps[most]), [j for j in range(len(steps)) if j != most]
    away = 2 * _AWAY
    for first in range(1, period // 2 + 1, _CHUNK):
        places = np.arange(first, min(first + _CHUNK, period // 2 + 1), dtype=np.int64)
        for j in others:
            turn = places * (steps[j] % period) % period / period
            distance = 2 * math.pi * np.minimum(turn, 1 - turn) * math.sqrt(gamma2[j])
            places = places[distance < away]
        if len(places):
            raise ValueError("the error has probabilities that are far from any normal density; convolve them")
