"""Tables of which only some cells are wanted: the values of the others are merged before records are counted.

Reads: a domain, coded blocks, tables.  Gives: the domain with merged values, and the same records or counts in it.
"""

from dataclasses import dataclass, replace

import numpy as np

from residualplanner.gate.sources.rules import Block
from residualplanner.ground.checks import IntArray
from residualplanner.method.domain.domain import Domain


@dataclass(frozen=True, slots=True)
class MergedValues:
    """Of some attributes the values that keep their cells; all other values share one cell, which comes last.

    Every record still counts in one cell of each table, so that sums along an axis are those of the whole table.

    Attributes:
        kept: positions of attributes that hold no amounts, each with the values that keep their cells: not all.

    Example:
        >>> merged = MergedValues(((0, range(1, 3)),))
        >>> merged.of_domain(Domain({"a": 5, "b": 2})).sizes
        (3, 2)
    """

    kept: tuple[tuple[int, range], ...] = ()

    def of_domain(self, domain: Domain) -> Domain:
        """The domain whose sizes tables have."""
        if not self.kept:
            return domain
        sizes = {domain.names[position]: len(values) + 1 for position, values in self.kept}
        return Domain({each.name: sizes.get(each.name, each) for each in domain.attributes})

    def of_block(self, block: Block) -> Block:
        """The same records, with the codes of that domain."""
        if not self.kept:
            return block
        codes = block.codes.copy()
        for position, values in self.kept:
            keeps = (codes[position] >= values.start) & (codes[position] < values.stop)
            codes[position] = np.where(keeps, codes[position] - values.start, len(values))
        return replace(block, codes=codes)

    def of_table(self, counts: IntArray, positions: tuple[int, ...]) -> IntArray:
        """The counts (n_1, .., n_k) of a table over these positions, in the cells of that domain."""
        for position, values in self.kept:
            if position in positions:
                axis = positions.index(position)
                own = counts.take(values, axis=axis)
                others = counts.sum(axis=axis, keepdims=True) - own.sum(axis=axis, keepdims=True)
                counts = np.concatenate([own, others], axis=axis)
        return counts


#: Every value has its own cell.
NOTHING_MERGED = MergedValues()
