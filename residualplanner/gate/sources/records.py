"""Records that are read once and counted block by block.

Reads: a stream of coded blocks.  Gives: Source.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from residualplanner.gate.sources.amounts import RecordCounts, largest_denominator
from residualplanner.gate.sources.counting import batch_records
from residualplanner.gate.sources.merging import MergedValues
from residualplanner.gate.sources.multiplicities import MOST, too_many
from residualplanner.gate.sources.passes import Passes, sums_of_block
from residualplanner.gate.sources.rules import Block, Breach, code_type, data_error_of_breaches, joined, no_records
from residualplanner.gate.sources.source import Progress, Source, guarded
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.domain import Domain


def source_of_blocks(domain: Domain, blocks: Callable[[], Iterator[Block]]) -> Source:
    """Counts of records that come as a stream of coded blocks, in one pass; ``blocks`` starts the stream."""
    return Source(partial(_count, domain, blocks, Passes()))


def _count(
    domain: Domain,
    blocks: Callable[[], Iterator[Block]],
    passes: Passes,
    groups: Sequence[IntArray],
    merged: MergedValues,
    progress: Progress | None,
    later: Sequence[IntArray],
) -> list[IntArray] | DataError:
    """The tables, or the error that says which columns break which rules: all of them, whatever the records' order."""
    counts = RecordCounts(merged.of_domain(domain), groups)
    most = MOST // largest_denominator(domain, [*groups, *later])
    total = sum(map(len, groups))
    counted, breaches, met = 0, set[Breach](), np.zeros(1, dtype=np.uint64)
    stream = regrouped(domain, blocks)
    block = guarded(next, stream, None)
    while isinstance(block, Block):
        following = guarded(next, stream, None)
        breaches |= block.breaches
        if not breaches:
            counted += block.multiplicities.total
            if counted > most:
                return too_many()
            met = met + sums_of_block(block)
            is_last = progress is not None and following is None
            report = (lambda done: progress(done, total)) if progress is not None and is_last else None
            counts.add(merged.of_block(block), report=report)
        block = following
    if isinstance(block, DataError):
        return block
    if breaches:
        return data_error_of_breaches(domain, breaches)
    return passes.compare(tuple(met.tolist())) or counts.tables


def regrouped(domain: Domain, blocks: Callable[[], Iterator[Block]]) -> Iterator[Block]:
    """The same records in blocks of at least so many, but for the last, so that tables are passed over less often.

    There is at least one block, so that no records take the same steps as some.
    """
    waiting: list[Block] = []
    records, is_first, most = 0, True, batch_records(domain.sizes, code_type(domain).itemsize)
    for block in blocks():
        waiting.append(block)
        records += block.codes.shape[1]
        if records >= most:
            yield joined(waiting)
            waiting, records, is_first = [], 0, False
    if waiting or is_first:
        yield joined(waiting or [no_records(domain)])
