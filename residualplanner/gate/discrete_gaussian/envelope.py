"""The 65 tables that serve every scale: integer weights above the discrete Gaussian of each, drawn by alias tables.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen


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
