"""Records that come as a stream of coded blocks, and are counted block by block."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import final

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources import counting, rules
from residualplanner.gate.sources.counting import Codes
from residualplanner.gate.sources.source import MergedValues, Source, WantedTables, guarded
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.domain import Domain

#: Positions of attributes of amounts, ascending.
Amounts = tuple[int, ...]


class RecordCounts:
    """Tables of a domain, for groups of sets (g, k) of one shape, to which records are added, some at a time."""

    def __init__(self, domain: Domain, groups: Sequence[IntArray]) -> None:
        self._domain, self._groups = domain, groups
        self._chosen = _sets_by_amounts(domain, groups)
        self._counts = {
            amounts: counting.CountedTables(domain.sizes, [groups[number][rows] for number, rows in chosen.items()])
            for amounts, chosen in self._chosen.items()
        }

    @property
    def tables(self) -> list[IntArray]:
        """One int64 array (g, n1, .., nk) per group, in each of whose tables a record counts D."""
        if list(self._counts) == [()]:
            return self._counts[()].tables
        tables = counting.zero_tables(self._domain.sizes, self._groups)
        for amounts, chosen in self._chosen.items():
            for (number, rows), found in zip(chosen.items(), self._counts[amounts].tables, strict=True):
                tables[number][rows] = found
        return tables

    def add(self, block: rules.CodedBlock, *, report: Callable[[int], None] | None = None) -> None:
        """Add records without breaches; int64 holds what they and those before count, times `largest_denominator`.

        ``report`` is called now and then with the number of tables done so far.
        """
        done = 0
        for amounts, counts in self._counts.items():
            *first, last = _divided(self._domain, block, amounts)
            for codes, often in first:
                counts.add(codes, often)
            counts.add(*last, report=report, done=done)
            done += sum(len(rows) for rows in self._chosen[amounts].values())


def denominator_of_set(domain: Domain, members: Sequence[int]) -> int:
    """D: how often a record counts in all in the table of these attributes, by position.  Source: eq. (104)."""
    return math.prod(domain.attributes[position].denominator for position in members)


def largest_denominator(domain: Domain, groups: Sequence[IntArray]) -> int:
    """The largest D of the sets of all groups; 1 where there are none."""
    return max((denominator_of_set(domain, amounts) for amounts in _sets_by_amounts(domain, groups)), default=1)


def _sets_by_amounts(domain: Domain, groups: Sequence[IntArray]) -> dict[Amounts, dict[int, IntArray]]:
    """The sets that contain the same amounts: by the number of a group, the indices of its rows."""
    amounts = [position for position, each in enumerate(domain.attributes) if each.numeric is not None]
    found: dict[Amounts, dict[int, IntArray]] = {}
    for number, rows in enumerate(groups):
        contains = (rows[:, :, None] == np.array(amounts, dtype=np.int64)).any(axis=1)
        for own in np.unique(contains, axis=0):
            key = tuple(position for position, is_own in zip(amounts, own.tolist(), strict=True) if is_own)
            found.setdefault(key, {})[number] = np.flatnonzero((contains == own).all(axis=1))
    return found


def _divided(domain: Domain, block: rules.CodedBlock, amounts: Amounts) -> Iterator[tuple[Codes, IntArray | None]]:
    """The records in each combination of the cells of their bins, with how much of each is there, in 1/D."""
    numerics = ((position, domain.attributes[position].numeric) for position in amounts)
    parts = [numeric.parts_of_steps(block.above[position]) for position, numeric in numerics if numeric is not None]
    for places in product(*(range(len(of_bin)) for of_bin in parts)):
        codes, often = block.codes.copy() if any(places) else block.codes, block.often
        for position, place, of_bin in zip(amounts, places, parts, strict=True):
            if place:
                has_amount = block.above[position] > 0  # a cell without an amount has no others
                codes[position] += has_amount.astype(codes.dtype) * codes.dtype.type(place)
            often = counting.products(often, of_bin[place])
        yield codes, often


@final
class Passes:
    """What the first pass over some records has met, with which each later one is compared."""

    def __init__(self) -> None:
        self._first: tuple[int, ...] | None = None

    def compare(self, met: tuple[int, ...]) -> DataError | None:
        """An error if a pass has met other records than the first did."""
        if self._first is None:
            self._first = met
        if met == self._first:
            return None
        return DataError(
            "the records changed while they were read; measure a copy of them that stays as it is.  What was begun in "
            "a store is completed with the records as they were, or given up with abort_measuring"
        )


def sums_of_block(block: rules.CodedBlock) -> NDArray[np.uint64]:
    """Of the records of a block: how often they count, how many there are, and the sums of each column's codes.

    Sums are modulo 2**64, and add up over blocks.  Which records changed in codes whose sum stayed is not found out.
    """
    records = block.codes.shape[1]
    parts = [int(steps.sum()) for steps in block.above.values()]
    counts = [block.total, records, *parts]
    return np.concatenate([np.array(counts, dtype=np.uint64), block.codes.sum(axis=1, dtype=np.uint64)])


def source_of_blocks(domain: Domain, blocks: Callable[[], Iterator[rules.CodedBlock]]) -> Source:
    """Counts of records that come as a stream of coded blocks, in one pass; ``blocks`` starts the stream."""
    return Source(partial(_count, domain, blocks, Passes()), blocks)


def _count(
    domain: Domain, blocks: Callable[[], Iterator[rules.CodedBlock]], passes: Passes, wanted: WantedTables
) -> list[IntArray] | DataError:
    """The tables, or the error that says which columns break which rules: all of them, whatever the records' order."""
    groups, merged, progress, later = wanted
    counts = RecordCounts(merged.of_domain(domain), groups)
    most = counting.MOST // largest_denominator(domain, [*groups, *later])
    total = sum(map(len, groups))
    counted, breaches, met = 0, set[rules.Breach](), np.zeros(1, dtype=np.uint64)
    stream = regrouped(domain, blocks)
    block = guarded(next, stream, None)
    while isinstance(block, rules.CodedBlock):
        following = guarded(next, stream, None)
        breaches |= block.breaches
        if not breaches:
            counted += block.total
            if counted > most:
                return counting.too_many()
            met = met + sums_of_block(block)
            is_last = progress is not None and following is None
            report = (lambda done: progress(done, total)) if progress is not None and is_last else None
            counts.add(merged_block(block, merged), report=report)
        block = following
    if isinstance(block, DataError):
        return block
    if breaches:
        return rules.data_error_of_breaches(domain, breaches)
    return passes.compare(tuple(met.tolist())) or counts.tables


def merged_block(block: rules.CodedBlock, merged: MergedValues) -> rules.CodedBlock:
    """The same records, with the codes of the domain with merged values."""
    if not merged.kept:
        return block
    codes = block.codes.copy()
    for position, values in merged.kept:
        keeps = (codes[position] >= values.start) & (codes[position] < values.stop)
        codes[position] = np.where(keeps, codes[position] - values.start, len(values))
    return replace(block, codes=codes)


def regrouped(domain: Domain, blocks: Callable[[], Iterator[rules.CodedBlock]]) -> Iterator[rules.CodedBlock]:
    """The same records in blocks of at least so many, but for the last, so that tables are passed over less often.

    There is at least one block, so that no records take the same steps as some.
    """
    waiting: list[rules.CodedBlock] = []
    records, is_first = 0, True
    # many records at a time, so that larger tables are counted, but at most 64 MiB of codes
    most = max(counting.BLOCK, min(2**20, 2**26 // (max(1, len(domain)) * rules.code_type(domain).itemsize)))
    for block in blocks():
        waiting.append(block)
        records += block.codes.shape[1]
        if records >= most:
            yield rules.joined(waiting)
            waiting, records, is_first = [], 0, False
    if waiting or is_first:
        nothing = [np.empty(0, dtype=np.int64)] * len(domain.columns)
        yield rules.joined(waiting or [rules.block_of_columns(domain, nothing, 0)])
