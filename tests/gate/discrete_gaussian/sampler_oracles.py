"""What the sampler's tests compare it with, written from the definitions and sharing no code with its decisions.

Exponentials by integer Taylor series with the rounding on the outside, probabilities by summation at 50 digits, and one
attempt decoded bit by bit.
"""

import os
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from inner_parts import InsecureTestBits, OperatingSystemBits, Scales, attempts, bits, draw_flat

P_VALUE, SCORE = 1e-6, 4.9
IS_RELEASE = os.environ.get("RESIDUALPLANNER_TEST_SIZE") == "release"


def sized(commit, release):
    """Return the size of a test: for every commit, or before a release."""
    return release if IS_RELEASE else commit


def name_of(gamma2):
    a, b = Fraction(gamma2).as_integer_ratio()
    return f"gamma=2**{(a.bit_length() - b.bit_length()) / 2}" if max(a, b) > 10**12 else f"gamma2={gamma2}"


@contextmanager
def floats_decide_nothing():
    """Leave every decision to exact arithmetic."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts, "SLACK", 2.0**23)  # in units of 2**-21: further than any two probabilities differ
        yield


def checked(seed):
    """Known bits, as draws read them."""
    return bits.CheckedBits(InsecureTestBits(seed))


def scales_of(gamma2):
    """Scales of fractions."""
    return Scales.of_ratios([value.numerator for value in gamma2], [value.denominator for value in gamma2])


def drawn(gamma2, size, seed):
    """Draws of one scale of any size from known bits."""
    return draw_flat(scales_of([gamma2]), [size], InsecureTestBits(seed))


def drawn_by_the_system(gamma2, sizes):
    """Draws of several scales from the operating system's bits."""
    return np.split(draw_flat(scales_of(gamma2), sizes, OperatingSystemBits()), np.cumsum(sizes))[:-1]


def assert_follows(law, values, *, mean=True):
    """A chi-square test, and the mean square; false alarms: one in a million."""
    result = Tally(Law(law), values.size)
    result.add(values)
    assert result.p_value > P_VALUE
    assert abs(result.variance_score) < SCORE
    assert not mean or abs(result.mean_score) < SCORE


# --- exponentials ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def exp_interval(x: Fraction, bits: int = 120) -> tuple[Fraction, Fraction]:
    """Rational bounds of exp(-x), x >= 0: Taylor series of exp(x / 2**k), reciprocal, k squarings, rounded outwards."""
    if x == 0:
        return Fraction(1), Fraction(1)
    halvings = max(int(x).bit_length() + 8, 8)
    one = 1 << bits + 2 * halvings
    low = x.numerator * one // (x.denominator << halvings)
    high = low + 1

    def series(argument: int, up: int) -> int:
        total, term, k = one, one, 1
        while term > 1:
            term = (term * argument) // (one * k) + up
            total += term
            k += 1
        return total + (2 * term + 2 if up else 0)

    lower, upper = one * one // series(high, 1), one * one // series(low, 0) + 1
    for _ in range(halvings):
        lower, upper = lower * lower // one, upper * upper // one + 1
    return Fraction(max(lower, 0), one), Fraction(upper, one)


# --- one attempt ----------------------------------------------------------------------------------------------------


def probability_interval(envelope, numerator, denominator, block_bits, cell, value, chunk=0):
    """Bounds of the probability with which an attempt that proposes ``value`` from ``cell`` is to be kept."""
    exponent = Fraction(value * value * denominator, 2 * numerator)
    factor = Fraction(envelope.scale, envelope.weights[cell])
    if cell >= 2 * envelope.reach:
        factor *= 64 * 2 ** (chunk + 1)
    if exponent > 600:  # and so below any digit that is looked at
        return Fraction(0), Fraction(1, 2**400)
    low, high = exp_interval(exponent, 400 + 3 * block_bits)
    return low * factor, high * factor


def decode(word: int, envelope) -> tuple[int, int, int]:
    """Return the cell, the 17 bits of the place and the 21 bits of U in a word."""
    column, fraction = word >> 53, (word >> 38) & 0x7FFF
    threshold = int(envelope.bounds[column]) - (column << 15)
    cell = int(envelope.cells[2 * column + (0 if fraction < threshold else 1)])
    return cell, (word >> 21) & 0x1FFFF, word & 0x1FFFFF


def slow_attempt(word, extra, extra_bits, envelope, scale, more_bits):
    """One attempt by integers and intervals; ``scale`` is (numerator, denominator, block_bits).

    ``more_bits(k)`` gives k further random bits.  Returns the value, or None.
    """
    numerator, denominator, m = scale
    cell, field, uniform = decode(word, envelope)
    reach, chunk = envelope.reach, 0
    if cell == 2 * reach + 2:
        return None
    if cell < 2 * reach:
        place = (field << extra_bits | extra) >> (17 + extra_bits - m)
        value = (cell - reach) * 2**m + place
    else:
        while (coins := more_bits(64)) == 0:
            chunk += 64
        while coins % 2 == 0:
            coins, chunk = coins // 2, chunk + 1
        distance = reach * 2**m + chunk * 2 ** (m + 6) + more_bits(m + 6)
        value = distance if cell == 2 * reach else -1 - distance
    low, high = probability_interval(envelope, numerator, denominator, m, cell, value, chunk)
    length = 21
    while True:
        if high * 2**length <= uniform:
            return None
        if low * 2**length >= uniform + 1:
            return value
        assert low * 2**length > uniform or low == 0
        assert high * 2**length < uniform + 1
        uniform, length = uniform << 64 | more_bits(64), length + 64


class Script:
    """Stands in for CheckedBits: gives prepared bytes first, then words that are always kept and give the value 0.

    ``later`` are the answers to requests for single bits, in order; after them come zeros, which decide.
    """

    def __init__(self, first: bytes, later, filler: int, extra_bytes: int = 0) -> None:
        self.first, self.later, self.filler, self.extra_bytes = first, list(later), filler, extra_bytes
        self.requests, self.sizes = [], []

    def read(self, count):
        self.sizes.append(count)
        assert len(self.sizes) < 50, "words that must be kept are not"
        if self.first is not None:
            data, self.first = self.first, None
            assert len(data) == count
            return memoryview(data)
        attempts = count // (8 + self.extra_bytes)
        return memoryview(np.full(attempts, self.filler, dtype="<u8").tobytes() + bytes(self.extra_bytes * attempts))

    def integer(self, bits):
        self.requests.append(bits)
        return self.later.pop(0) & ((1 << bits) - 1)


# --- distributions --------------------------------------------------------------------------------------------------


class Law:
    """The discrete Gaussian of one scale: probabilities of bins, variance and fourth moment."""

    def __init__(self, gamma2: Fraction) -> None:
        self.gamma = float(mpmath.sqrt(mpmath.mpf(gamma2.numerator) / gamma2.denominator))
        self.is_summed = self.gamma < 500
        if self.is_summed:
            reach = int(14 * self.gamma) + 4
            with mpmath.workdps(50):
                rate = mpmath.mpf(gamma2.denominator) / (2 * gamma2.numerator)
                half = [mpmath.exp(-rate * i * i) for i in range(reach + 1)]
                total = half[0] + 2 * mpmath.fsum(half[1:])
                right = np.array([float(h / total) for h in half])
            self.support = np.arange(-reach, reach + 1)
            self.probability = np.concatenate([right[:0:-1], right])
            self.variance = float(self.probability @ self.support.astype(float) ** 2)
            self.fourth = float(self.probability @ self.support.astype(float) ** 4)
        else:  # Poisson summation: these are the normal's up to exp(-2 pi**2 gamma**2)
            self.variance, self.fourth = self.gamma**2, 3 * self.gamma**4

    def bins(self, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Upper ends of the bins (the last is open) and the probabilities, each bin expecting at least 20 draws."""
        if self.is_summed and self.gamma < 6:
            ends, below = self.support + 0.5, np.cumsum(self.probability)
        elif self.is_summed:
            targets = ndtr(np.linspace(-4, 4, 33))
            places = np.searchsorted(np.cumsum(self.probability), targets)
            ends, below = self.support[places] + 0.5, np.cumsum(self.probability)[places]
        else:
            ends = np.floor(np.linspace(-4, 4, 33) * self.gamma) + 0.5
            below = ndtr(ends / self.gamma)
        return _merge(ends, below, draws)


def _merge(ends, below, draws):
    kept_ends, kept_below = [], [0.0]
    for end, mass in zip(ends, below, strict=True):
        if (mass - kept_below[-1]) * draws >= 20 and (1 - mass) * draws >= 20:
            kept_ends.append(end)
            kept_below.append(mass)
    return np.array(kept_ends), np.diff(np.array([*kept_below, 1.0]))


class Tally:
    """Counts of draws in bins and sums of their squares, chunk by chunk."""

    def __init__(self, law: Law, draws: int) -> None:
        self.law, self.draws = law, draws
        self.ends, self.expected = law.bins(draws)
        self.counts = np.zeros(self.expected.size, dtype=np.int64)
        self.squares, self.sum = 0.0, 0.0

    def add(self, values: np.ndarray) -> None:
        numbers = values.astype(np.float64)
        self.counts += np.bincount(np.searchsorted(self.ends, numbers), minlength=self.counts.size)
        numbers /= self.law.gamma
        self.sum += float(numbers.sum())
        self.squares += float((numbers * numbers).sum())

    @property
    def p_value(self) -> float:
        """The chance of a chi-square at least this large, if the draws are right."""
        assert self.counts.sum() == self.draws
        if self.counts.size == 1:
            return 1.0
        expected = self.expected * self.draws
        return float(chi2.sf(((self.counts - expected) ** 2 / expected).sum(), self.counts.size - 1))

    @property
    def variance_score(self) -> float:
        """How many standard errors the mean square lies from the variance."""
        law, g = self.law, self.law.gamma
        spread = np.sqrt((law.fourth - law.variance**2) / self.draws) / g**2
        return float((self.squares / self.draws - law.variance / g**2) / spread)

    @property
    def mean_score(self) -> float:
        return float(self.sum / self.draws / (np.sqrt(self.law.variance / self.draws) / self.law.gamma))
