"""One attempt at each of many draws, in one vector pass.

A word of 64 bits is, from the top: 11 bits for a column of the table, 15 for the choice between its two cells, 17 for
the offset in the block, 21 for the uniform number U.  Where blocks are longer than ``2**17``, 32 more bits extend the
offset.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import COLUMN_BITS, FRACTION_BITS, UNIFORM_BITS, Envelope, Shelf
from residualplanner.gate.discrete_gaussian.exact import TAIL_CHUNK_BITS, is_below, tail_distance
from residualplanner.ground.checks import FloatArray, IntArray

HEAD_BITS = COLUMN_BITS + FRACTION_BITS
OFFSET_BITS = 64 - HEAD_BITS - UNIFORM_BITS
EXTRA_BITS = 32
#: Floats decide only where ``2**21 p`` is further than this from the ends of U's interval: 2**-36 of the probability 1,
#: 64 times what all their roundings can add up to.
SLACK = 2.0**-15

_OFFSET_MASK = np.uint64((1 << OFFSET_BITS) - 1)
_UNIFORM_MASK = np.uint64((1 << UNIFORM_BITS) - 1)

Words = NDArray[np.uint64]
Extras = NDArray[np.uint32]
BoolArray = NDArray[np.bool_]


class Parameters(NamedTuple):
    """The numbers of a scale that an attempt needs: one each for all attempts, or one for each attempt."""

    base: IntArray | np.int64  # the start of the table in the shelf's ``bounds``
    block_bits: IntArray | np.int64  # m of the block length ``2**m``
    exponent: FloatArray | np.float64  # ``-1 / (2 gamma**2)``


class Proposals(NamedTuple):
    """The outcome of a vector of attempts, in which the rare ones that floats may not decide are open."""

    values: IntArray  # (n,): the integers proposed; meaningless where a tail was hit
    kept: BoolArray  # (n,): whether floats decided to keep them
    open: IntArray  # (k,): the attempts that exact arithmetic has to decide, ascending
    picks: IntArray  # (n,): the index of the cell in the shelf's ``blocks``


def propose(words: Words, extras: Extras | None, shelf: Shelf, parameters: Parameters) -> Proposals:
    """Draw a cell, an offset in it and the first digits of U for every word; decide what floats can decide.

    Guarantees: an attempt that is not open is kept exactly where U is below the true probability.
    Source: docs/exact-noise.md sections 3 and 5.
    """
    picks = pick(words, shelf, parameters.base)
    values = shelf.blocks[picks]
    values <<= parameters.block_bits
    values += offsets(words, extras, parameters.block_bits)
    probability = values.astype(np.float64)
    probability *= probability
    probability *= parameters.exponent
    kept, undecided = compare(probability, shelf.ratios[picks], words)
    return Proposals(values, kept, undecided, picks)


def pick(words: Words, shelf: Shelf, base: IntArray | np.int64) -> IntArray:
    """Return the index in the shelf's arrays of the cell that each word draws."""
    head: IntArray = (words >> np.uint64(64 - HEAD_BITS)).view(np.int64)
    column = head >> FRACTION_BITS
    column += base
    is_alias = head >= shelf.bounds[column]
    column += column
    column += is_alias
    return column


def offsets(words: Words, extras: Extras | None, block_bits: IntArray | np.int64) -> IntArray:
    """Return the offset in its block that each word draws, uniform on ``0 .. 2**block_bits - 1``."""
    offset = words >> np.uint64(UNIFORM_BITS)
    offset &= _OFFSET_MASK
    width = OFFSET_BITS
    if extras is not None:
        offset <<= np.uint64(EXTRA_BITS)
        offset |= extras
        width += EXTRA_BITS
    result: IntArray = offset.view(np.int64)
    result >>= width - block_bits
    return result


def compare(exponents: FloatArray, ratios: FloatArray, words: Words) -> tuple[BoolArray, IntArray]:
    """Compare U with ``exp(exponent) * ratio``: return where U is certainly below, and the attempts in doubt.

    Overwrites ``exponents``.  A ratio of NaN, as tails have it, is always in doubt.
    """
    gap = np.exp(exponents, out=exponents)
    gap *= ratios
    gap -= (words & _UNIFORM_MASK).view(np.int64)
    kept = gap > 1 + SLACK
    undecided = ~(kept | (gap < -SLACK))
    return kept, np.flatnonzero(undecided)


class Attempt(NamedTuple):
    """One attempt for exact arithmetic to decide."""

    envelope: Envelope
    numerator: int
    denominator: int
    block_bits: int
    pick: int
    value: int
    uniform: int


def decide(attempt: Attempt, bits: CheckedBits) -> int | None:
    """Return the integer that the attempt gives, or None if it fails.

    Source: docs/exact-noise.md sections 4 and 5.
    """
    envelope = attempt.envelope
    cell = int(envelope.cells[attempt.pick])
    value, factor = attempt.value, 1
    if cell == envelope.right_tail + 2:
        return None
    if cell >= envelope.right_tail:
        distance, chunk = tail_distance(attempt.block_bits, bits)
        value = (envelope.reach << attempt.block_bits) + distance
        value = value if cell == envelope.right_tail else -value - 1
        factor = 2 << TAIL_CHUNK_BITS + chunk
    exponent = Fraction(value * value * attempt.denominator, 2 * attempt.numerator)
    ratio = Fraction(envelope.scale * factor, envelope.weights[cell])
    return value if is_below(attempt.uniform, UNIFORM_BITS, exponent, ratio, bits) else None


def settle(
    proposals: Proposals, words: Words, attempt_of: Callable[[int, int], Attempt], bits: CheckedBits
) -> dict[int, int]:
    """Decide the open attempts exactly: mark those kept and return their integers by index in the vector."""
    found: dict[int, int] = {}
    for index in proposals.open.tolist():
        uniform = int(words[index] & _UNIFORM_MASK)
        value = decide(attempt_of(index, uniform), bits)
        if value is not None:
            proposals.kept[index] = True
            found[index] = value
    return found


def read_words(data: memoryview, count: int) -> tuple[Words, Extras | None]:
    """Split bytes into ``count`` words and, if there are bytes left, as many 32-bit extensions."""
    words: NDArray[Any] = np.frombuffer(data, dtype="<u8", count=count)
    if len(data) == 8 * count:
        return words.astype(np.uint64, copy=False), None
    extras: NDArray[Any] = np.frombuffer(data, dtype="<u4", offset=8 * count)
    return words.astype(np.uint64, copy=False), extras.astype(np.uint32, copy=False)
