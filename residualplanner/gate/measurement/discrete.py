"""Base mechanisms with discrete Gaussian noise, exact in distribution: integers from the counts to the answers.

Source: eqs. (34) to (36) and (44); paper Algorithm 3.
"""

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.discrete_gaussian import ByteSource, OperatingSystemBits, draw_flat
from residualplanner.gate.discrete_gaussian.envelope import Scales
from residualplanner.gate.measurement import counting
from residualplanner.gate.measurement import precision as exact
from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.blocks import SetBlock
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.measurement.noisy_answers import RECORDS, Width, noisy_answers, widths
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray, frozen, untold
from residualplanner.method.kron.arrays import Scratch
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import require_discrete
from residualplanner.method.strategy.basis_groups import BasisGroups, basis_groups

#: How many cells are worked on at a time, so that they stay in the processor's cache, and for how many noise is drawn.
BATCH_CELLS = 2**15
NOISE_CELLS = 2**18
#: How many threads draw noise, ahead of the one that adds it.
THREADS = 2


#: Some consecutive tables of one group: its number, that of the first of them, and of the first after them.
Piece = tuple[int, int, int]


def integer_answers(
    tables: list[IntArray],
    groups: BasisGroups,
    precision: FloatArray,
    divisors: tuple[int, ...],
    source: ByteSource,
    *,
    denominator: int = 1,
    usual: int = RECORDS,
    progress: Progress | None = None,
) -> Residuals:
    """The answers of the base mechanisms for all sets, from the counts of each group, which are released on the way.

    Tables have been multiplied by ``denominator`` already; ``divisors`` are those of `lattice_divisors`.  Below
    ``usual`` records the width of all numbers depends on the plan alone.

    Guarantees: the answers are exactly those of eqs. (35), (36) and (44), in integers; nothing overflows.
    Cost: 35 nanoseconds a cell, most of it for random bytes; 1.5 microseconds where int64 is too narrow for the noise;
        for each attribute that has a matrix of m rows about ``m / 5`` nanoseconds more.
    """
    records = int(tables[0][0].sum()) // counting.denominator_of_group(groups, 0)
    most = max(-(-records // denominator), usual)
    width = widths(groups, precision, divisors, records=most)
    layout, scratch, wide, done = AnswerLayout(groups), Scratch(), dict[int, NDArray[Any]](), 0
    flat: IntArray = np.zeros(layout.count, dtype=np.int64)
    block: NDArray[Any] = counting.NOTHING
    for batch, drawn in _drawn_ahead(groups, precision, divisors, source):
        for (number, first, last), noise in zip(batch, drawn, strict=True):
            if first == 0:  # pieces come in order
                block = layout.part(flat, number)
                block = np.zeros(block.shape, dtype=object) if width[number] is Width.PYTHON else block
            answers = noisy_answers(
                tables[number][first:last],
                noise.astype(object) if width[number] is Width.PYTHON else noise,
                bases=groups.bases[number],
                divisor=divisors[number] // denominator,
                records=most * denominator,
                width=width[number],
                scratch=scratch,
                out=block[first:last],
            )
            block = block if answers.dtype == block.dtype else block.astype(object)
            block[first:last] = answers
            if last == len(block):
                tables[number] = counting.NOTHING
                if block.dtype == object:  # stored as int64 if all fit, so that the type depends on the answers only
                    stored = layout.part(flat, number)
                    try:
                        stored[...] = block
                    except OverflowError:
                        stored[...], wide[number] = 0, frozen(block)
            done += last - first
            (progress or untold)(done, sum(map(len, groups.members)))
    return Residuals(groups, frozen(flat), divisors, wide)


def _batches(groups: BasisGroups) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    cells = 0
    for group, (shape, members) in enumerate(zip(groups.shapes, groups.members, strict=True)):
        size = math.prod(shape)
        step = max(1, BATCH_CELLS // size)
        for first in range(0, len(members), step):
            last = min(first + step, len(members))
            batch.append((group, first, last))
            cells += size * (last - first)
            if cells >= NOISE_CELLS:
                yield batch
                batch, cells = [], 0
    if batch:
        yield batch


def _drawn_ahead(
    groups: BasisGroups, precision: FloatArray, divisors: tuple[int, ...], source: ByteSource
) -> Iterator[tuple[list[Piece], list[NDArray[Any]]]]:
    """All batches in order with their noise, which threads draw ahead, as it does not depend on the counts.

    Test bits are a sequence, so only one thread may read them.
    """

    def draw(batch: list[Piece]) -> list[NDArray[Any]]:
        shapes = [(last - first, *groups.noise_shape(group)) for group, first, last in batch]
        cells = np.array([math.prod(shape[1:]) for shape in shapes])
        ratios: list[tuple[int, int]] = []
        sizes: list[int] = []
        for (group, first, last), size in zip(batch, cells.tolist(), strict=True):
            wanted = precision[groups.members[group][first:last]]
            starts = np.flatnonzero(np.diff(wanted, prepend=0))  # equal ones in succession are drawn together
            ratios += [exact.gamma2_ratio(divisors[group], w) for w in wanted[starts].tolist()]
            sizes += (size * np.diff(starts, append=last - first)).tolist()
        draws = draw_flat(Scales.of_ratios(*zip(*ratios, strict=True)), sizes, source)
        ends = np.cumsum(cells * [shape[0] for shape in shapes])
        return [part.reshape(shape) for shape, part in zip(shapes, np.split(draws, ends[:-1]), strict=True)]

    batches = _batches(groups)
    ahead = list(islice(batches, THREADS))
    if len(ahead) < THREADS or not source.is_secure:
        yield from ((batch, draw(batch)) for batch in chain(ahead, batches))
        return
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = deque((batch, pool.submit(draw, batch)) for batch in ahead)
        while waiting:
            batch, noise = waiting.popleft()
            drawn = noise.result()
            waiting.extend((another, pool.submit(draw, another)) for another in islice(batches, 1))
            yield batch, drawn


@dataclass(frozen=True, eq=False, slots=True)
class ExactNoise:
    """The noise with which a plan's sets are measured, and what it costs."""

    plan: Plan  # the sets
    groups: BasisGroups  # the sets by the bases of their attributes
    family: counting.Parents  # which larger set each is summed down from
    precision: FloatArray  # (m,): of every set's noise
    divisors: tuple[int, ...]  # of each group's integers
    cost: Fraction  # the exact pcost of measuring all sets
    source: ByteSource  # of the random bytes

    @property
    def record(self) -> NoiseRecord:
        """How the noise is drawn."""
        return NoiseRecord("discrete", None, self.source.mark, self.cost, self.plan.neighbors.words)

    def answers(self, block: SetBlock, tables: list[IntArray], *, progress: Progress | None = None) -> Residuals:
        """The noisy answers for the sets of a block, from their counts, which are released on the way."""
        divisors = tuple(self.divisors[number] for number in block.numbers)
        domain = self.plan.domain
        return integer_answers(
            tables,
            block.groups,
            self.precision,
            divisors,
            self.source,
            denominator=domain.denominator,
            usual=RECORDS * math.ceil(domain.weight.maximum),
            progress=progress,
        )


def exact_noise(plan: Plan, source: ByteSource | None = None) -> ExactNoise:
    """The exact noise of a plan, from a source of random bytes: the operating system's, if none is given.

    BudgetError where the budget does not hold for discrete noise, the noise is too small to be drawn, or its exact cost
    exceeds the budget; WorkloadError where the tables are too large to hold.
    Source: eqs. (34) to (36) and (44).
    """
    require_discrete(plan.budget)
    groups = basis_groups(plan.strategy)
    counting.require_size(groups)
    precision, cost = exact.exact_price(plan)
    divisors = exact.lattice_divisors(groups, precision, plan.neighbors, plan.domain.denominator)
    family = counting.parents(plan.closure)
    return ExactNoise(plan, groups, family, precision, divisors, cost, source or OperatingSystemBits())
