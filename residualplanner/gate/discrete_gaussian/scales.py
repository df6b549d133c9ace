"""Scales of noise as exact fractions, and the table and block length of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from residualplanner.gate.discrete_gaussian.envelope import LEAST_POWER, RADII, SMALL_TABLES
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import BudgetError

SMALLEST_EXPONENT = -60
#: m of the longest blocks ``2**m`` that the bits of a word and its extension can tell the numbers of.
LONGEST_BLOCK = 49
_POWERS = range(LEAST_POWER, LONGEST_BLOCK + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """Scales gamma of discrete Gaussian noise, with the table and the numbers needed to draw them."""

    numerators: tuple[int, ...]  # of gamma**2 as ratios of integers, not necessarily in lowest terms
    denominators: tuple[int, ...]
    tables: IntArray  # (m,): the table each one uses, 0 .. 64
    block_bits: IntArray  # (m,): m of the block length ``2**m``
    #: (m,): ``-1 / (2 gamma**2)``, within ``2**-52`` relative, in units of ``2**(m - 49)`` where blocks are longer
    exponents: FloatArray

    @classmethod
    def of_ratios(cls, numerators: Sequence[int], denominators: Sequence[int]) -> Self:
        """Scales of gamma**2 as ratios of Python integers, not necessarily reduced; BudgetError below ``2**-60``.

        It takes about 0.4 microseconds a scale.  Source: docs/exact-noise.md section 2.
        """
        numerators, denominators = tuple(numerators), tuple(denominators)
        ratios = _ratios(numerators, denominators)
        steps = _steps(numerators, denominators, ratios)
        powers = (steps - 1) // len(RADII) + LEAST_POWER
        tables = np.where(powers < 0, steps, SMALL_TABLES + (steps - 1) % len(RADII))
        block_bits, exponents = np.maximum(powers, 0), -0.5 / ratios
        for number in np.flatnonzero(steps == _SQUARES.size).tolist():
            a, b = numerators[number], denominators[number]
            tables[number], m = level_of_ratio(a, b)
            block_bits[number], exponents[number] = m, -(b << 2 * (m - LONGEST_BLOCK)) / (2 * a)
        return cls(numerators, denominators, *map(frozen, (tables, block_bits, exponents)))

    def __len__(self) -> int:
        return len(self.numerators)


def level_of_ratio(numerator: int, denominator: int) -> tuple[int, int]:
    """Return the table and m of the block length ``2**m`` of a scale of at least 32, by integers alone.

    The block length is the ``2**m`` with gamma above 32 of them and at most 64; the radius is the smallest of
    36, 40, .., 64 with ``gamma <= radius * 2**m``.
    """
    m = math.isqrt(numerator // denominator).bit_length() - 6
    if numerator <= denominator << 2 * (m + 5):
        m -= 1
    step = next(step for step, radius in enumerate(RADII) if numerator <= (denominator * radius**2) << 2 * m)
    return SMALL_TABLES + step, m


#: The squares of ``radius * 2**m`` in ascending order, all of them floats without rounding; the first is (1/4)**2.
_SQUARES = frozen(np.array([2.0**-4, *(radius**2 * 4.0**power for power in _POWERS for radius in RADII)]))


def _ratios(numerators: Sequence[int], denominators: Sequence[int]) -> FloatArray:
    """Return the ratios correctly rounded, as Python divides integers; inf and 0 where out of range."""
    if not all(denominator > 0 for denominator in denominators):
        raise BudgetError("gamma2 must be positive and finite")
    try:
        return np.array([a / b for a, b in zip(numerators, denominators, strict=True)])
    except OverflowError:  # one is above all floats, and far above the scales that are drawn as int64
        pairs = zip(numerators, denominators, strict=True)
        return np.array([a / b if a < b << 1000 else math.inf for a, b in pairs])


def _steps(numerators: Sequence[int], denominators: Sequence[int], ratios: FloatArray) -> IntArray:
    """Return for each ratio the index of the smallest square not below it, or how many there are.

    Rounding keeps order, so the rounded ratio decides unless it equals the square; then integers do.
    """
    steps = np.searchsorted(_SQUARES, ratios, side="left")
    for number in np.flatnonzero(_SQUARES.take(steps, mode="clip") == ratios).tolist():
        over, under = float(ratios[number]).as_integer_ratio()
        steps[number] += numerators[number] * under > denominators[number] * over
    for number in np.flatnonzero(~(ratios > 2.0**SMALLEST_EXPONENT)).tolist():
        if not numerators[number] << -SMALLEST_EXPONENT >= denominators[number]:
            message = f"gamma2 must be positive and at least 2**{SMALLEST_EXPONENT}; at index {number} it is not"
            raise BudgetError(message)
    return steps
