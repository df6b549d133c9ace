"""Exact counts of the prespecified tables, kept where memory allows and counted anew where it does not.

Reads: confidential counts, through a source.  Gives: Counts, for this room alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.rap.tiles import Tile
from residualplanner.gate.sources.source import Source
from residualplanner.ground.checks import IntArray

Answers = NDArray[np.int64]


class Counts(Protocol):
    """The exact answers of all tables."""

    @property
    def tiles(self) -> Sequence[Tile]:
        """The parts in which they come, table by table."""

    def answers(self, tiles: Sequence[Tile]) -> Iterator[Answers]:
        """The exact answers (cells,) in each of some tiles, in their order, which must not leave this room."""


class KeptCounts:
    """All tables at once; each of their tiles is counted once."""

    def __init__(self, source: Source, tiles: Sequence[Tile]) -> None:
        self.tiles = tiles
        self._answers = dict(zip(tiles, _all_counted(source, tiles), strict=True))

    def answers(self, tiles: Sequence[Tile]) -> Iterator[Answers]:
        """Those of each tile in turn."""
        yield from (self._answers[tile] for tile in tiles)


class RecountedCounts:
    """Some tables at a time; the records are read again for each request.

    Args:
        source: the records.
        tiles: of all tables.
        cells: how many whole tables may have together that are counted in one pass.
    """

    def __init__(self, source: Source, tiles: Sequence[Tile], cells: int) -> None:
        self.tiles = tiles
        self._source, self._cells = source, cells

    def answers(self, tiles: Sequence[Tile]) -> Iterator[Answers]:
        """Those of each tile in turn."""
        for batch in batches(tiles, self._cells):
            yield from _counted(self._source, batch)


def batches(tiles: Iterable[Tile], most: int) -> Iterator[list[Tile]]:
    """Consecutive tiles for which the same values are merged, as many as have ``most`` cells together, or one.

    Example:
        >>> from residualplanner.fits.rap.threshold_table import ThresholdTable
        >>> of_size = [Tile(0, ThresholdTable((0,), (size,), 1), (range(size),)) for size in (3, 1, 5, 9)]
        >>> [[len(tile.numbers) for tile in batch] for batch in batches(of_size, 4)]
        [[3, 1], [5], [9]]
    """
    batch: list[Tile] = []
    cells = 0
    for tile in tiles:
        if batch and (cells + len(tile.numbers) > most or tile.merged != batch[0].merged):
            yield batch
            batch, cells = [], 0
        batch.append(tile)
        cells += len(tile.numbers)
    if batch:
        yield batch


def count_records(source: Source, tiles: Sequence[Tile]) -> int:
    """The number of records, which is confidential unless neighbors have equally many; all columns are checked.

    Args:
        source: the records.
        tiles: what will be counted.
    """
    total: IntArray = source.count([np.empty((1, 0), dtype=np.int64)], later=_groups(tiles))[0]
    return int(total[0])


def _all_counted(source: Source, tiles: Sequence[Tile]) -> Iterator[Answers]:
    """The answers in all tiles, counted in as few passes as can be."""
    return RecountedCounts(source, tiles, cells=sum(len(tile.numbers) for tile in tiles)).answers(tiles)


def _counted(source: Source, tiles: Sequence[Tile]) -> Iterator[Answers]:
    """The answers in some tiles, counted in one pass over the records."""
    counted = source.count(_groups(tiles), merged=tiles[0].merged)
    for number, tile in enumerate(tiles):
        yield tile.answers(counted[number][0]).ravel()
        counted[number] = _NOTHING


def _groups(tiles: Sequence[Tile]) -> list[IntArray]:
    return [np.array([each.threshold.positions], dtype=np.int64).reshape(1, -1) for each in tiles]


_NOTHING: IntArray = np.empty(0, dtype=np.int64)
