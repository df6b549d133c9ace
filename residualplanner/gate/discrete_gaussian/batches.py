"""Many draws of many scales: vectors of attempts until every draw has a value.

The random bytes are used in this order: every draw has one attempt, in order; then every draw without a value has
another; and so on.  A request is for at most 2**17 attempts: their words, then their 32-bit extensions if any of them
has blocks longer than 2**17.  Exact decisions read the bytes they need as they arise.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.discrete_gaussian.attempts import (
    EXTRA_BITS,
    OFFSET_BITS,
    Extras,
    Proposals,
    Words,
    compare,
    decide,
    offsets,
    pick,
    propose,
    read_words,
    settle,
)
from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import COLUMNS, Shelf, shelf
from residualplanner.gate.discrete_gaussian.scales import Scales, level_of_ratio
from residualplanner.ground.checks import FloatArray, IntArray

REQUEST = 1 << 17
VECTOR = 1 << 14  # a vector's temporaries stay in the cache
_INT64 = range(-(2**63), 2**63)


class Slots(NamedTuple):
    """Draws without a value yet: their positions in the result, and their scale, one for all or one for each."""

    where: IntArray | slice
    scale: IntArray | np.int64
    amount: int

    def position(self, number: int) -> int:
        """Return the position of the draw of that number in the result."""
        return int(self.where.start + number if isinstance(self.where, slice) else self.where[number])

    def only(self, numbers: IntArray) -> Self:
        """Return the draws of these numbers."""
        where = numbers + self.where.start if isinstance(self.where, slice) else self.where[numbers]
        scale = self.scale[numbers] if isinstance(self.scale, np.ndarray) else self.scale
        return type(self)(where, scale, numbers.size)


class Batch:
    """Draws of some scales, in one flat array.

    Attributes:
        values (sum of sizes,): the draws; complete after ``fill``.
        beyond: the draws that do not fit int64, by position.  With these scales one has probability below exp(-30000).
    """

    def __init__(self, scales: Scales, sizes: IntArray) -> None:
        tables = np.unique(scales.tables[sizes > 0])
        self._scales = scales
        self._ends = np.cumsum(sizes)
        self._shelf = shelf(tuple(tables.tolist()))
        self._base = self._shelf.index[scales.tables] * COLUMNS
        self.values: IntArray = np.empty(int(self._ends[-1]), dtype=np.int64)
        self.beyond: dict[int, int] = {}

    def fill(self, bits: CheckedBits) -> None:
        """Draw every value."""
        with np.errstate(all="ignore"):  # exp(-1000) is 0, however the caller has set warnings of underflow
            left = self._pass(self._first_slots(), bits)
            while left:
                left = self._pass(_vectors_of(left), bits)

    def _first_slots(self) -> Iterator[Slots]:
        """Cut all draws into vectors; a vector within one scale has a single number for it."""
        total = self.values.size
        for start in range(0, total, VECTOR):
            stop = min(start + VECTOR, total)
            first, last = np.searchsorted(self._ends, [start, stop - 1], side="right")
            if first == last:
                yield Slots(slice(start, stop), np.int64(first), stop - start)
            else:
                bounds = np.minimum(self._ends[first : last + 1], stop)
                counts = np.diff(bounds, prepend=start)
                yield Slots(slice(start, stop), np.repeat(np.arange(first, last + 1), counts), stop - start)

    def _pass(self, vectors: Iterable[Slots], bits: CheckedBits) -> list[Slots]:
        """Make one attempt at each draw, several vectors to a request; return the draws still without a value."""
        left: list[Slots] = []
        request: list[Slots] = []
        for slots in vectors:
            request.append(slots)
            if len(request) * VECTOR >= REQUEST:
                left += self._serve(request, bits)
                request = []
        return left + self._serve(request, bits) if request else left

    def _serve(self, request: list[Slots], bits: CheckedBits) -> list[Slots]:
        """Read the bytes of some vectors' attempts and make the attempts."""
        count = sum(slots.amount for slots in request)
        # One scale with long blocks makes the request wide: how much is read depends on the scales, never on draws.
        wide = any(np.max(self._scales.block_bits[slots.scale]) > OFFSET_BITS for slots in request)
        words, extras = read_words(bits.read((12 if wide else 8) * count), count)
        left, start = [], 0
        for slots in request:
            stop = start + slots.amount
            rest = self._attempt(slots, words[start:stop], None if extras is None else extras[start:stop], bits)
            left += [rest] if rest.amount else []
            start = stop
        return left

    def _attempt(self, slots: Slots, words: Words, extras: Extras | None, bits: CheckedBits) -> Slots:
        """Make one attempt at each draw and write the value of each; return the draws that may not keep theirs."""
        scale = slots.scale
        proposals = propose(
            words,
            extras,
            self._shelf,
            base=self._base[scale],
            block_bits=self._scales.block_bits[scale],
            exponent=self._scales.exponents[scale],
        )
        if proposals.open.size:
            self._settle(slots, words, proposals, bits)
        self.values[slots.where] = proposals.values
        return slots.only(np.flatnonzero(~proposals.kept))

    def _settle(self, slots: Slots, words: Words, proposals: Proposals, bits: CheckedBits) -> None:
        scale_of = np.broadcast_to(slots.scale, slots.amount)

        def decided(number: int, uniform: int) -> int | None:
            at = int(scale_of[number])
            scale = self._scales.numerators[at], self._scales.denominators[at], int(self._scales.block_bits[at])
            envelope, pick = divmod(int(proposals.picks[number]), 2 * COLUMNS)
            proposed = pick, int(proposals.values[number])
            return decide(self._shelf.envelopes[envelope], scale, proposed, uniform, bits)

        for number, value in settle(proposals, words, decided).items():
            if value in _INT64:
                proposals.values[number] = value
            else:
                self.beyond[slots.position(number)] = value


def _vectors_of(left: list[Slots]) -> Iterator[Slots]:
    """Join draws and cut them into vectors again."""
    where = np.concatenate([slots.where for slots in left])
    scale = np.concatenate([np.broadcast_to(slots.scale, slots.amount) for slots in left])
    for start in range(0, where.size, VECTOR):
        part = slice(start, start + VECTOR)
        yield Slots(where[part], scale[part], where[part].size)


_FLOAT_BITS = 53


class LargeScale:
    """One scale of at least 32, of any size.

    Attributes:
        numerator, denominator: gamma**2 as a ratio.
        block_bits: m of the block length.
    """

    def __init__(self, numerator: int, denominator: int) -> None:
        table, self.block_bits = level_of_ratio(numerator, denominator)
        self.numerator, self.denominator = numerator, denominator
        self._shelf: Shelf = shelf((table,))
        self._exponent = -(denominator << 2 * self.block_bits) / (2 * numerator)  # per squared block, rounded once

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

        def decided(at: int, uniform: int) -> int | None:
            scale = self.numerator, self.denominator, self.block_bits
            return decide(self._shelf.envelopes[0], scale, (int(picks[at]), exact[at]), uniform, bits)

        for at, value in settle(proposals, words, decided).items():
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
