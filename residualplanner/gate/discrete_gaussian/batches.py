"""Many draws of many scales: vectors of attempts until every draw has a value.

Reads: scales whose draws are int64, the number of draws of each, random bits.  Gives: the draws, scale after scale.

The random bytes are used in this order: every draw has one attempt, in order; then every draw without a value has
another; and so on.  A request is for at most 2**17 attempts: their words, then their 32-bit extensions if any of them
has blocks longer than 2**17.  Exact decisions read the bytes they need as they arise.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

import numpy as np

from residualplanner.gate.discrete_gaussian.attempts import (
    OFFSET_BITS,
    Attempt,
    Extras,
    Parameters,
    Proposals,
    Words,
    propose,
    read_words,
    settle,
)
from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import COLUMNS, shelf
from residualplanner.gate.discrete_gaussian.scales import Scales
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
        parameters = Parameters(self._base[scale], self._scales.block_bits[scale], self._scales.exponents[scale])
        proposals = propose(words, extras, self._shelf, parameters)
        if proposals.open.size:
            self._settle(slots, words, proposals, bits)
        self.values[slots.where] = proposals.values
        return slots.only(np.flatnonzero(~proposals.kept))

    def _settle(self, slots: Slots, words: Words, proposals: Proposals, bits: CheckedBits) -> None:
        """Decide exactly the attempts that floats may not decide."""
        scale_of = np.broadcast_to(slots.scale, slots.amount)

        def attempt_of(number: int, uniform: int) -> Attempt:
            scale = int(scale_of[number])
            envelope, pick = divmod(int(proposals.picks[number]), 2 * COLUMNS)
            return Attempt(
                self._shelf.envelopes[envelope],
                self._scales.numerators[scale],
                self._scales.denominators[scale],
                int(self._scales.block_bits[scale]),
                pick,
                int(proposals.values[number]),
                uniform,
            )

        for number, value in settle(proposals, words, attempt_of, bits).items():
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
