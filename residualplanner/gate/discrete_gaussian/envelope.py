"""Scales of noise, and 65 tables that serve all: integer weights above each discrete Gaussian, drawn by alias tables.

A scale gamma is rounded up to ``radius * 2**m``: a quarter, or eight steps to each doubling.  From 32 on the integers
are cut into blocks of ``L = 2**m``, and the tables depend on the radius alone.  docs/exact-noise.md has the proof.
"""

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import BudgetError


def alias_table(weights: Sequence[int], *, columns: int, capacity: int) -> tuple[list[int], list[int]]:
    """Split cells (n,) of integer weights over columns of equal capacity, at most two to a column.

    The weights are at least 0, and their sum is ``columns * capacity``.  Column k gives cell k where a uniform digit is
    below the first list's entry k, the threshold, else the cell in the second list's, the alias.

    Guarantees: the columns give every cell its weight, which is verified on the finished table; ValueError if not.
    Source: Vose 1991.
    """
    left = [*weights, *[0] * (columns - len(weights))]
    if len(left) != columns or min(left) < 0 or sum(left) != columns * capacity:
        raise ValueError(f"weights must be at least 0 and sum to {columns} x {capacity}")
    threshold, alias = [capacity] * columns, list(range(columns))
    small = [cell for cell in range(columns) if left[cell] < capacity]
    large = [cell for cell in range(columns) if left[cell] >= capacity]
    while small:
        column, donor = small.pop(), large[-1]
        threshold[column], alias[column] = left[column], donor
        left[donor] -= capacity - left[column]
        if left[donor] < capacity:
            small.append(large.pop())
    given = list(threshold)  # counted again, column by column
    for below, cell in zip(threshold, alias, strict=True):
        given[cell] += capacity - below
    if given[: len(weights)] != list(weights):
        raise ValueError("the alias table does not give every cell its weight")
    return threshold, alias


COLUMN_BITS = 11
FRACTION_BITS = 15
UNIFORM_BITS = 21
COLUMNS = 1 << COLUMN_BITS
CAPACITY = 1 << FRACTION_BITS
TOTAL = COLUMNS * CAPACITY

RADII = tuple(range(36, 68, 4))
LEAST_POWER = -7
SMALL_TABLES = 1 - len(RADII) * LEAST_POWER
TABLES = SMALL_TABLES + len(RADII)
_DIGITS = 25
TAIL_CHUNK_BITS = 6  # tails are cut into chunks of 64 blocks
_WIDTHS = 9  # a table reaches at least this many radii to either side


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Weights for the blocks and the two tails, and the arrays that draw one of them from the bits of a word."""

    reach: int  # the blocks are numbered ``-reach .. reach - 1``.
    scale: int  # c, an integer; block q weighs at least ``c * sup f`` over the block
    weights: tuple[int, ...]  # by cell: the blocks in order, right tail, left tail, and the remainder ("try again")
    bounds: IntArray  # (2048,): the column's number and threshold, in the form of the top 26 bits of a word
    blocks: IntArray  # (4096,): block number of the column's own cell, then of its alias; 0 for tails and "try again"
    ratios: FloatArray  # (4096,): ``2**21 * c / weight`` of the same cell; NaN for tails and -1 for "try again"
    cells: IntArray  # (4096,): number of the same cell

    @property
    def right_tail(self) -> int:
        """Number of the right tail's cell; the left tail's is the next, "try again" the one after."""
        return 2 * self.reach


def radius_of_table(table: int) -> Fraction:
    """Return the radius of table 0 .. 64, in blocks.

    Example:
        >>> radius_of_table(0), radius_of_table(56), radius_of_table(57), radius_of_table(64)
        (Fraction(1, 4), Fraction(32, 1), Fraction(36, 1), Fraction(64, 1))
    """
    if table == 0:
        return Fraction(1, 4)
    power, step = divmod(table - 1, len(RADII))
    return RADII[step] * Fraction(2) ** min(power + LEAST_POWER, 0)


@lru_cache(maxsize=TABLES)
def envelope(table: int) -> Envelope:
    """Table 0 .. 64, made in about 4 ms, once.  Source: docs/exact-noise.md sections 2 and 3."""
    radius = radius_of_table(table)
    power = (table - 1) // len(RADII) + LEAST_POWER
    reach = max(int(_WIDTHS * 64 * Fraction(2) ** min(power, 0)), _WIDTHS)
    # at least exp(-near**2 / (2 * radius**2)), equal to it at 0, the same on every platform
    squares = ((near * radius.denominator) ** 2 for near in range(reach + 1))
    heights = [exp_bounds(square, 2 * radius.numerator**2, _DIGITS)[1] for square in squares]
    # The distance of each block from 0, in blocks, or a lower bound; the blocks of small tables are single integers.
    near = [abs(q) if table < SMALL_TABLES else max(q, -q - 1) for q in range(-reach, reach)]
    tail = heights[reach] * (2 << TAIL_CHUNK_BITS)
    height_of_all = sum((heights[n] for n in near), start=2 * tail)
    # Rounding up adds less than 1 to each of the 2 reach + 2 weights, for which so much of the total is kept.
    scale = math.floor((TOTAL - 2 * reach - 2) / height_of_all)
    whole = [math.ceil(scale * height) for height in (*heights, tail)]
    weights = [*(whole[n] for n in near), whole[-1], whole[-1]]
    weights.append(TOTAL - sum(weights))
    threshold, alias = alias_table(weights, columns=COLUMNS, capacity=CAPACITY)
    again = len(weights) - 1
    own = np.minimum(np.arange(COLUMNS), again)
    cells = np.stack([own, np.array(alias)], axis=1).ravel()
    block_of_cell = np.array([*range(-reach, reach), 0, 0, 0])
    # Python divides integers correctly rounded.
    ratio_of_cell = np.array(
        [(scale << UNIFORM_BITS) / weight for weight in weights[: 2 * reach]] + [np.nan, np.nan, -1]
    )
    return Envelope(
        reach=reach,
        scale=scale,
        weights=tuple(weights),
        bounds=frozen((np.arange(COLUMNS) << FRACTION_BITS) + np.array(threshold)),
        blocks=frozen(block_of_cell[cells]),
        ratios=frozen(ratio_of_cell[cells]),
        cells=frozen(cells),
    )


def exp_bounds(numerator: int, denominator: int, digits: int) -> tuple[Fraction, Fraction]:
    """Return numbers at most and at least ``exp(-numerator / denominator)``, both exact where the exponent is zero.

    Python's ``decimal`` rounds quotients in the given direction and its ``exp`` correctly to the nearest, so one
    step down and one step up from there bound the truth; with d digits they differ by less than 10**(3 - d) relative
    as long as the exponent is below 100.
    Source: Python library reference, decimal.Context.exp; docs/exact-noise.md section 5.
    """
    least = _context(digits, decimal.ROUND_FLOOR).divide(Decimal(numerator), Decimal(denominator))
    most = _context(digits, decimal.ROUND_CEILING).divide(Decimal(numerator), Decimal(denominator))
    context = _context(digits, decimal.ROUND_HALF_EVEN)
    # copy_negate, since a minus sign would round to the precision of the thread's own context
    low = context.exp(most.copy_negate())
    low = context.next_minus(low) if context.flags[decimal.Inexact] else low
    context.clear_flags()
    high = context.exp(least.copy_negate())
    high = context.next_plus(high) if context.flags[decimal.Inexact] else high
    return Fraction(low), Fraction(high)


def _context(digits: int, rounding: str) -> decimal.Context:
    # every field is given, so that nothing depends on contexts that a caller may have changed
    traps = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
    return decimal.Context(
        prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[], traps=traps
    )


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """Several envelopes in one set of arrays, so that one vector pass serves many scales."""

    envelopes: tuple[Envelope, ...]  # in order of their tables
    index: IntArray  # (65,): the index of each table among the envelopes, 0 where it is absent
    bounds: IntArray  # like the next two, the envelopes' arrays one after the other
    blocks: IntArray
    ratios: FloatArray


@lru_cache(maxsize=8)
def shelf(tables: tuple[int, ...]) -> Shelf:
    """Return the envelopes of ascending tables side by side."""
    envelopes = tuple(envelope(table) for table in tables)
    index = np.zeros(TABLES, dtype=np.int64)
    index[list(tables)] = np.arange(len(tables))

    def joined(name: str) -> NDArray[Any]:
        return frozen(np.concatenate([getattr(one, name) for one in envelopes]))

    return Shelf(envelopes, frozen(index), *map(joined, ("bounds", "blocks", "ratios")))


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
