"""Expected tables of three attributes, laid out for one attribute after the other.

Reads: a mixture.  Gives: Beside, by attribute.
Source: docs/mathematics.md section 13.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.blocks import Blocks
from residualplanner.fits.mixtures.mixture import Mixture
from residualplanner.ground.checks import IntArray

Floats = NDArray[np.float32]

#: The most cells of a table, and of all together: 24 MB in single precision, three times.
_CELLS, _ALL_CELLS = 100_000, 6_000_000
#: The most records times tables of an attribute; where there are more records, rounding hardly matters.
_LOOKED_UP = 1 << 24


@dataclass(frozen=True, eq=False, slots=True)
class Beside:
    """Pairs of other attributes, and the tables of an attribute with each, one beside the other.

    Attributes:
        pairs (k, 2): the others.
        sizes (k,): of the second of each pair.
        starts (k,): the first column of each pair's combinations, less what the offsets of their rows add to it.
        expected (n, m): counts by the mixture.
    """

    pairs: IntArray
    sizes: IntArray
    starts: IntArray
    expected: Floats

    def columns(self, rows: IntArray) -> NDArray[np.int32]:
        """The column of each record's combination of each pair, (r, k), for the rows of all their values, (r, d)."""
        found = np.empty((len(rows), len(self.pairs)), dtype=np.int32)
        for place, (one, other) in enumerate(self.pairs.tolist()):  # pair by pair, which takes little memory
            found[:, place] = rows[:, one] * self.sizes[place] + rows[:, other] + self.starts[place]
        return found


def tables_beside(mixture: Mixture, records: int) -> dict[int, Beside]:
    """The expected tables of three attributes that are not too large, by each of their attributes.

    Args:
        mixture: the distribution.
        records: how many.
    """
    blocks, sizes = mixture.blocks, mixture.blocks.sizes
    parts: dict[int, list[tuple[tuple[int, int], Floats]]] = {}
    for members in _small(sizes):
        table = (mixture.table(members) * records).astype(np.float32)
        for axis, attribute in enumerate(members):
            one, other = (each for each in members if each != attribute)
            own = np.moveaxis(table, axis, 0).reshape(sizes[attribute], -1)
            parts.setdefault(attribute, []).append(((one, other), own))
    few = {attribute: own for attribute, own in parts.items() if records * len(own) <= _LOOKED_UP}
    return {attribute: _beside(own, blocks) for attribute, own in few.items()}


def _small(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The triples of attributes with more than one value with the fewest cells, as long as all are not too large."""
    several = [attribute for attribute, size in enumerate(sizes) if size > 1]
    cells = {members: math.prod(sizes[each] for each in members) for members in combinations(several, 3)}
    together = 0
    for members in sorted(cells, key=lambda members: (cells[members], members)):
        together += cells[members]
        if cells[members] > _CELLS or together > _ALL_CELLS:
            return
        yield members


def _beside(parts: Sequence[tuple[tuple[int, int], Floats]], blocks: Blocks) -> Beside:
    pairs = np.array([pair for pair, _ in parts], dtype=np.int64)
    sizes = np.array(blocks.sizes)[pairs[:, 1]]
    starts = np.cumsum([0, *(table.shape[1] for _, table in parts[:-1])])
    starts -= blocks.offsets[pairs[:, 0]] * sizes + blocks.offsets[pairs[:, 1]]
    return Beside(pairs, sizes, starts, np.concatenate([table for _, table in parts], axis=1))
