"""One attempt at each of many draws, in one vector pass.

A word of 64 bits is, from the top: 11 bits for a column of the table, 15 for the choice between its two cells, 17 for
the offset in the block, 21 for the uniform number U.  Where blocks are longer than ``2**17``, 32 more bits extend it.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.discrete_gaussian import envelope as tables
from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import FRACTION_BITS, TAIL_CHUNK_BITS, UNIFORM_BITS
from residualplanner.ground.checks import FloatArray, IntArray

HEAD_BITS = tables.COLUMN_BITS + FRACTION_BITS
OFFSET_BITS = 64 - HEAD_BITS - UNIFORM_BITS
EXTRA_BITS = 32
#: How many more bits of U, and digits of its bounds, exact arithmetic looks at in each further step.
MORE_BITS, MORE_DIGITS = 64, 25
#: Floats decide only where ``2**21 p`` is further than this from the ends of U's interval: 2**-36 of the probability 1,
#: 64 times what all their roundings can add up to.
SLACK = 2.0**-15

_OFFSET_MASK = np.uint64((1 << OFFSET_BITS) - 1)
UNIFORM_MASK = np.uint64((1 << UNIFORM_BITS) - 1)

Words = NDArray[np.uint64]
Extras = NDArray[np.uint32]
Rows = NDArray[np.uint8]


class Proposals(NamedTuple):
    """The outcome of a vector of attempts, in which the rare ones that floats may not decide are open."""

    values: IntArray  # (n,): the integers proposed; meaningless where a tail was hit
    kept: NDArray[np.bool_]  # (n,): whether floats decided to keep them
    open: IntArray  # (k,): the attempts that exact arithmetic has to decide, ascending
    picks: IntArray  # (n,): the index of the cell in the shelf's ``blocks``


def propose(
    words: Words,
    extras: Extras | None,
    shelf: tables.Shelf,
    *,
    base: IntArray | np.int64,
    block_bits: IntArray | np.int64,
    exponent: FloatArray | np.float64,
) -> Proposals:
    """Draw a cell, an offset in it and the first digits of U for every word; decide what floats can decide.

    One each for all attempts, or one for each: ``base``, where the table starts in the shelf's ``bounds``;
    ``block_bits``, m of the block length ``2**m``; and ``exponent``, which is ``-1 / (2 gamma**2)``.

    Guarantees: an attempt that is not open is kept exactly where U is below the true probability.
    Source: docs/exact-noise.md sections 3 and 5.
    """
    head: IntArray = (words >> np.uint64(64 - HEAD_BITS)).view(np.int64)
    picks = head >> FRACTION_BITS
    picks += base
    is_alias = head >= shelf.bounds[picks]
    picks += picks
    picks += is_alias
    offset, width = words >> np.uint64(UNIFORM_BITS), OFFSET_BITS
    offset &= _OFFSET_MASK
    if extras is not None:
        offset <<= np.uint64(EXTRA_BITS)
        offset |= extras
        width += EXTRA_BITS
    place: IntArray = offset.view(np.int64)
    place >>= width - block_bits
    values = shelf.blocks[picks]
    values <<= block_bits
    values += place
    gap = values.astype(np.float64)
    gap *= gap
    gap *= exponent
    np.exp(gap, out=gap)
    gap *= shelf.ratios[picks]  # NaN for tails, which is always in doubt
    gap -= (words & UNIFORM_MASK).view(np.int64)
    kept = gap > 1 + SLACK
    return Proposals(values, kept, np.flatnonzero(~(kept | (gap < -SLACK))), picks)


def decide(
    envelope: tables.Envelope, scale: tuple[int, int, int], proposed: tuple[int, int], uniform: int, bits: CheckedBits
) -> int | None:
    """Return the integer that an attempt gives, or None if it fails.

    The scale is the numerator and the denominator of ``gamma**2``, and m of the block length ``2**m``; what was
    proposed is the index of the cell in the envelope's ``cells``, and an integer, which has no meaning for a tail.
    Source: docs/exact-noise.md sections 4 and 5.
    """
    (numerator, denominator, block_bits), (pick, value) = scale, proposed
    cell, factor = int(envelope.cells[pick]), 1
    if cell == envelope.right_tail + 2:
        return None
    if cell >= envelope.right_tail:
        distance, chunk = tail_distance(block_bits, bits)
        value = (envelope.reach << block_bits) + distance
        value = value if cell == envelope.right_tail else -value - 1
        factor = 2 << TAIL_CHUNK_BITS + chunk
    exponent = Fraction(value * value * denominator, 2 * numerator)
    ratio = Fraction(envelope.scale * factor, envelope.weights[cell])
    return value if is_below(uniform, UNIFORM_BITS, exponent, ratio, bits) else None


def is_below(uniform: int, length: int, exponent: Fraction, factor: Fraction, bits: CheckedBits) -> bool:
    """Whether a uniform number U is below ``factor * exp(-exponent)``, which must be at most 1.

    U is known by its first ``length`` binary digits, as an integer: it lies in ``[uniform, uniform + 1) / 2**length``.
    More digits are drawn exactly when the probability lies strictly between these ends, so the number of bits used does
    not depend on rounding.  Each precision tried takes about 20 microseconds, one with probability 1 - 1e-15.
    Source: docs/exact-noise.md section 5; after Karney 2016 and Ducas & Nguyen 2012.
    """
    largest = factor.numerator.bit_length() - factor.denominator.bit_length() + 1  # factor < 2**largest
    digits = MORE_DIGITS
    while True:
        if exponent > length + max(largest, 0):  # then the probability is below 2**-length
            low, high = Fraction(1, 1 << length + 1), Fraction(1, 1 << length + 1)
        else:
            low, high = (factor * bound for bound in tables.exp_bounds(*exponent.as_integer_ratio(), digits))
        left, right = Fraction(uniform, 1 << length), Fraction(uniform + 1, 1 << length)
        if high <= left:
            return False
        if low >= right:
            return True
        if low > left and high < right:
            uniform = uniform << MORE_BITS | bits.integer(MORE_BITS)
            length += MORE_BITS
        digits += MORE_DIGITS


def tail_distance(block_bits: int, bits: CheckedBits) -> tuple[int, int]:
    """Return the position of an attempt in a tail, counted from the tail's start, and the number of its chunk.

    Chunk j = 0, 1, .. has probability ``2**-(j + 1)``; the offset in a chunk of ``2**(block_bits + 6)`` is uniform.
    Source: docs/exact-noise.md section 4.
    """
    chunk = 0
    while (word := bits.integer(MORE_BITS)) == 0:
        chunk += MORE_BITS
    chunk += (word & -word).bit_length() - 1
    width = block_bits + TAIL_CHUNK_BITS
    return (chunk << width) + bits.integer(width), chunk


def read_words(data: memoryview, count: int) -> tuple[Words, Extras | None, Rows]:
    """Split bytes into ``count`` words; 32-bit extensions, if there are bytes left; and what is left for each."""
    words: NDArray[Any] = np.frombuffer(data, dtype="<u8", count=count)
    rows = np.frombuffer(data, dtype=np.uint8, offset=8 * count).reshape(count, -1)
    extras: Extras | None = None
    width = EXTRA_BITS // 8
    if rows.size:
        highest: NDArray[Any] = np.ascontiguousarray(rows[:, -width:]).view("<u4")[:, 0]
        extras = highest.astype(np.uint32, copy=False)
    return words.astype(np.uint64, copy=False), extras, rows[:, :-width]
