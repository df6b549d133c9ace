"""Many draws of many scales: vectors of attempts until every draw has a value.

The random bytes are used in this order: every draw has one attempt, in order; then every draw without a value has
another; and so on.  A request is for at most 2**17 attempts: their words, then for each as many further words of 32
bits as the longest blocks need that any of them has.  Exact decisions read the bytes they need as they arise.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.discrete_gaussian import attempts
from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import COLUMNS, LONGEST_BLOCK, Scales, shelf
from residualplanner.ground.checks import IntArray

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

    Where blocks are longer than ``2**49``, floats decide by the first 49 bits of an offset, and the others follow.

    Attributes:
        values (sum of sizes,): the draws, in units of ``2**(m - 49)`` where blocks are longer; complete after ``fill``.
        beyond: the draws that were decided exactly and are longer than that, or do not fit int64, by position; without
            long blocks one has probability below exp(-30000).
    """

    def __init__(self, scales: Scales, sizes: IntArray) -> None:
        self._scales = scales
        self._ends = np.cumsum(sizes)
        self._shelf = shelf(tuple(np.unique(scales.tables[sizes > 0]).tolist()))
        self._base = self._shelf.index[scales.tables] * COLUMNS
        self._surplus = np.maximum(scales.block_bits - LONGEST_BLOCK, 0)
        self._block_bits = scales.block_bits - self._surplus
        self.values: IntArray = np.empty(int(self._ends[-1]), dtype=np.int64)
        longest = int(scales.block_bits[sizes > 0].max(initial=0))
        self._low: attempts.Rows = np.zeros(
            (self.values.size, max(_extra_bytes(longest) - attempts.EXTRA_BITS // 8, 0)), dtype=np.uint8
        )
        self.beyond: dict[int, int] = {}

    @property
    def draws(self) -> NDArray[Any]:
        """All draws: int64, or Python integers where some may not fit."""
        if not self.beyond and not self._low.size:
            return self.values
        values = self.values.astype(object)
        ends = [0, *self._ends.tolist()]
        for number in np.flatnonzero(self._surplus).tolist():
            for position in range(ends[number], ends[number + 1]):
                values[position] = self._with_low_bits(number, values[position], self._low[position])
        for position, value in self.beyond.items():
            values[position] = value
        return values

    def _with_low_bits(self, scale: int, value: int, low: attempts.Rows) -> int:
        """The integer that these are the first and the last bits of."""
        surplus = int(self._surplus[scale])
        return (value << surplus) + (int.from_bytes(low.tobytes(), "little") >> 8 * low.size - surplus)

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
        waiting = iter(vectors)
        while request := [*islice(waiting, -(-REQUEST // VECTOR))]:
            left += self._serve(request, bits)
        return left

    def _serve(self, request: list[Slots], bits: CheckedBits) -> list[Slots]:
        count = sum(slots.amount for slots in request)
        # One scale with long blocks makes the request wide: how much is read depends on the scales, never on draws.
        longest = max(int(np.max(self._scales.block_bits[slots.scale])) for slots in request)
        words, extras, low = attempts.read_words(bits.read((8 + _extra_bytes(longest)) * count), count)
        left, start = [], 0
        for slots in request:
            part = slice(start, start + slots.amount)
            rest = self._attempt(slots, words[part], None if extras is None else extras[part], low[part], bits)
            left += [rest] if rest.amount else []
            start = part.stop
        return left

    def _attempt(
        self, slots: Slots, words: attempts.Words, extras: attempts.Extras | None, low: attempts.Rows, bits: CheckedBits
    ) -> Slots:
        """Make one attempt at each draw and write the value of each; return the draws that may not keep theirs."""
        scale = slots.scale
        if low.size:
            self._low[slots.where, -low.shape[1] :] = low
        proposals = attempts.propose(
            words,
            extras,
            self._shelf,
            base=self._base[scale],
            block_bits=self._block_bits[scale],
            exponent=self._scales.exponents[scale],
        )
        if proposals.open.size:
            self._settle(slots, words, proposals, bits)
        self.values[slots.where] = proposals.values
        return slots.only(np.flatnonzero(~proposals.kept))

    def _settle(self, slots: Slots, words: attempts.Words, proposals: attempts.Proposals, bits: CheckedBits) -> None:
        scale_of = np.broadcast_to(slots.scale, slots.amount)
        for number in proposals.open.tolist():
            at = int(scale_of[number])
            scale = self._scales.numerators[at], self._scales.denominators[at], int(self._scales.block_bits[at])
            envelope, pick = divmod(int(proposals.picks[number]), 2 * COLUMNS)
            value = int(proposals.values[number])
            value = self._with_low_bits(at, value, self._low[slots.position(number)]) if self._surplus[at] else value
            uniform = int(words[number] & attempts.UNIFORM_MASK)
            found = attempts.decide(self._shelf.envelopes[envelope], scale, (pick, value), uniform, bits)
            if found is None:
                continue
            proposals.kept[number] = True
            if found in _INT64 and not self._surplus[at]:
                proposals.values[number] = found
            else:
                self.beyond[slots.position(number)] = found


def _vectors_of(left: list[Slots]) -> Iterator[Slots]:
    where = np.concatenate([slots.where for slots in left])
    scale = np.concatenate([np.broadcast_to(slots.scale, slots.amount) for slots in left])
    for start in range(0, where.size, VECTOR):
        part = slice(start, start + VECTOR)
        yield Slots(where[part], scale[part], where[part].size)


def _extra_bytes(block_bits: int) -> int:
    return max(-(-(block_bits - attempts.OFFSET_BITS) // attempts.EXTRA_BITS), 0) * attempts.EXTRA_BITS // 8
