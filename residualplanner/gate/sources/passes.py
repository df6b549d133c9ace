"""Whether the records are those of the first pass whenever they are read again: a file may be appended to meanwhile.

Reads: coded blocks, tables of counts.  Gives: nothing, or DataError.

What is compared does not depend on the order of the records, which readers need not keep, and leaves this room only as
that the records changed: for records that stay it says nothing, and its text is the same for all others.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.amounts import denominator_of_set
from residualplanner.gate.sources.rules import Block
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.domain import Domain


@final
class Passes:
    """What the first pass over some records has met, with which each later one is compared."""

    def __init__(self) -> None:
        self._first: tuple[int, ...] | None = None

    def compare(self, met: tuple[int, ...]) -> DataError | None:
        """An error if a pass has met other records than the first did.

        Args:
            met: what every pass over the same records meets.
        """
        if self._first is None:
            self._first = met
        if met == self._first:
            return None
        return DataError(
            "the records changed while they were read; measure a copy of them that stays as it is.  What was begun in "
            "a store is completed with the records as they were, or given up with abort_measuring"
        )


def sums_of_block(block: Block) -> NDArray[np.uint64]:
    """Of the records of a block: how often they count, how many there are, and the sums of each column's codes.

    Sums are modulo 2**64, and add up over blocks.  Which records changed in codes whose sum stayed is not found out.
    """
    records = block.codes.shape[1]
    parts = [int(numerators.sum()) for numerators in block.numerators.values()]
    counts = [block.multiplicities.total, records, *parts]
    return np.concatenate([np.array(counts, dtype=np.uint64), block.codes.sum(axis=1, dtype=np.uint64)])


def records_of_tables(domain: Domain, groups: Sequence[IntArray], tables: Sequence[IntArray]) -> tuple[int, ...]:
    """How often all records count together, as the first table says; nothing where there is no table."""
    if not groups:
        return ()
    return (int(tables[0][0].sum()) // denominator_of_set(domain, groups[0][0].tolist()),)
