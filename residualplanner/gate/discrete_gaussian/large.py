"""Draws of one scale as Python integers, for scales whose draws may not fit int64.

Reads: gamma**2 as a ratio of integers, random bits.  Gives: an array of Python integers.

The same attempts as for int64, with more 32-bit words for the offset in a block.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.discrete_gaussian.attempts import (
    EXTRA_BITS,
    OFFSET_BITS,
    Attempt,
    Proposals,
    Words,
    compare,
    offsets,
    pick,
    read_words,
    settle,
)
from residualplanner.gate.discrete_gaussian.batches import VECTOR
from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import Shelf, shelf
from residualplanner.gate.discrete_gaussian.scales import level_of_ratio
from residualplanner.ground.checks import FloatArray

_FLOAT_BITS = 53


class LargeScale:
    """One scale of at least 32, of any size.

    Attributes:
        numerator, denominator: gamma**2 as a ratio.
        block_bits: m of the block length.
    """

    def __init__(self, numerator: int, denominator: int) -> None:
        level = level_of_ratio(numerator, denominator)
        self.numerator, self.denominator, self.block_bits = numerator, denominator, level.block_bits
        self._shelf: Shelf = shelf((level.table,))
        self._exponent = -(denominator << 2 * level.block_bits) / (2 * numerator)  # per squared block, rounded once

    def draw(self, size: int, bits: CheckedBits) -> NDArray[Any]:
        """Return ``size`` draws as an array of Python integers (size,)."""
        values = np.empty(size, dtype=object)
        left = np.arange(size)
        with np.errstate(all="ignore"):
            while left.size:
                vectors = [left[start : start + VECTOR] for start in range(0, left.size, VECTOR)]
                left = np.concatenate([self._attempt(where, values, bits) for where in vectors])
        return values

    def _attempt(self, where: NDArray[np.int64], values: NDArray[Any], bits: CheckedBits) -> NDArray[np.int64]:
        """Make one attempt at each draw and write the value of each; return the draws that may not keep theirs."""
        words, offset = self._words_and_offsets(where.size, bits)
        picks = pick(words, self._shelf, np.int64(0))
        block = self._shelf.blocks[picks]
        exact = (block.astype(object) << self.block_bits) + offset
        kept, undecided = compare(self._exponents(block, offset), self._shelf.ratios[picks], words)
        proposals = Proposals(block, kept, undecided, picks)

        def attempt_of(at: int, uniform: int) -> Attempt:
            return Attempt(
                self._shelf.envelopes[0],
                self.numerator,
                self.denominator,
                self.block_bits,
                int(picks[at]),
                exact[at],
                uniform,
            )

        for at, value in settle(proposals, words, attempt_of, bits).items():
            exact[at] = value
        values[where] = exact
        return where[~kept]

    def _words_and_offsets(self, count: int, bits: CheckedBits) -> tuple[Words, NDArray[Any]]:
        """Return words and, as Python integers, the offsets in their blocks."""
        extra_bytes = max(-(-(self.block_bits - OFFSET_BITS) // EXTRA_BITS), 0) * EXTRA_BITS // 8
        data = bits.read((8 + extra_bytes) * count)
        words, _ = read_words(data[: 8 * count], count)
        rest = data[8 * count :]
        offset = offsets(words, None, np.int64(OFFSET_BITS)).astype(object) << 8 * extra_bytes
        for at in range(count):
            offset[at] += int.from_bytes(rest[at * extra_bytes : (at + 1) * extra_bytes], "little")
        return words, offset >> OFFSET_BITS + 8 * extra_bytes - self.block_bits

    def _exponents(self, block: NDArray[np.int64], offset: NDArray[Any]) -> FloatArray:
        """Return ``-i**2 / (2 gamma**2)`` in floating point, counted in blocks."""
        surplus = max(self.block_bits - _FLOAT_BITS, 0)
        result: FloatArray = (offset >> surplus).astype(np.float64)
        result *= 2.0 ** (surplus - self.block_bits)
        result += block
        result *= result
        result *= self._exponent
        return result
