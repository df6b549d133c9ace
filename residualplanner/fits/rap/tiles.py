"""Tables in tiles: consecutive cells, so few at a time that all that is computed of them has room.

Reads: tables, a number of bytes.  Gives: Tile.
Source: docs/adaptive-projection.md eq. (h).
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures import balanced_split
from residualplanner.fits.rap.threshold_table import ThresholdTable
from residualplanner.gate.sources.source import MergedValues
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import ResourceError
from residualplanner.method.kron import SameArray

#: Bytes for what is computed of one tile, unless more or less is allowed.
ROOM = 2**29
#: How many tiles there may be, as the records are read for each.
MOST_TILES = 100_000
#: Bytes for each cell: its count, its answer, its score and the steps between them; for thresholds besides for each of
#: their attributes.
_CELL_BYTES, _ATTRIBUTE_BYTES = 64, 16
#: Bytes for each row and relaxed record of the factors of eq. (67); of thresholds for each of their attributes.
_FACTOR_BYTES = 12


@dataclass(frozen=True, slots=True)
class Tile:
    """Consecutive cells of one table.

    Attributes:
        table: the number of the table among those that were divided.
        threshold: the table.
        values: of each attribute those of these cells: one value of each of the first attributes, some of the next, and
            all of the others.

    Example:
        >>> tile = Tile(0, ThresholdTable((0, 1), (3, 4), 2), (range(1, 3), range(4)))
        >>> tile.shape, tile.numbers
        ((2, 4), range(4, 12))
    """

    table: int
    threshold: ThresholdTable
    values: tuple[range, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values of each attribute these cells have."""
        return tuple(map(len, self.values))

    @property
    def numbers(self) -> range:
        """The numbers of these cells among those of the flattened table."""
        first = 0
        for size, values in zip(self.threshold.shape, self.values, strict=True):
            first = first * size + values.start
        return range(first, first + math.prod(self.shape))

    @property
    def merged(self) -> MergedValues:
        """What is merged where this tile is counted: the values that it has no cells of."""
        parts = zip(self.threshold.positions, self.threshold.shape, self.values, strict=True)
        return MergedValues(tuple((position, values) for position, size, values in parts if len(values) < size))

    def answers(self, marginal: SameArray) -> SameArray:
        """The answers in these cells, from the marginal with merged values, which come last; its shape is the tile's.

        Source: eq. (58), which holds for the attributes with merged values as for any others.
        """
        found: SameArray = self.threshold.answers(marginal)[tuple(map(slice, self.shape))]  # type: ignore[index]
        return found

    def holds(self, cells: IntArray) -> NDArray[np.bool_]:
        """Which of some cells (c,) of the flattened table are among these."""
        return np.asarray((cells >= self.numbers.start) & (cells < self.numbers.stop))


def tiles_of(thresholds: Sequence[ThresholdTable], *, relaxed_records: int, room: int = ROOM) -> tuple[Tile, ...]:
    """Divide tables into tiles, each as large as has room, in the order of the tables and of their cells.

    Args:
        thresholds: the tables.
        relaxed_records: how many there are.
        room: the most bytes for what is computed of one tile.

    Raises:
        ResourceError: a tile of one cell needs more, or there are more than `MOST_TILES`.

    Example:
        >>> tiles = tiles_of([ThresholdTable((0, 1), (100, 50), 2)], relaxed_records=10, room=130_000)
        >>> [tile.values[0] for tile in tiles]
        [range(0, 36), range(36, 72), range(72, 100)]
    """
    tiles = (
        Tile(table, threshold, values)
        for table, threshold in enumerate(thresholds)
        for values in _values_of_tiles(threshold, relaxed_records, room)
    )
    found = tuple(islice(tiles, MOST_TILES + 1))
    if len(found) > MOST_TILES:
        raise ResourceError(
            f"memory= divides the tables into more than {MOST_TILES:,} tiles, for each of which the records are read; "
            "allow more, or ask for fewer or smaller tables.  Nothing was charged or read"
        )
    return found


def _values_of_tiles(threshold: ThresholdTable, relaxed_records: int, room: int) -> Iterator[tuple[range, ...]]:
    sizes = threshold.shape
    if _bytes(threshold, sizes, relaxed_records) <= room:
        yield tuple(map(range, sizes))
        return
    axis, width = _largest(threshold, relaxed_records, room)
    single = [[range(value, value + 1) for value in range(size)] for size in sizes[:axis]]
    some = [range(first, min(first + width, sizes[axis])) for first in range(0, sizes[axis], width)]
    for leading in product(*single, some):
        yield (*leading, *map(range, sizes[axis + 1 :]))


def _largest(threshold: ThresholdTable, relaxed_records: int, room: int) -> tuple[int, int]:
    """The first axis of which a tile may have several values, or the last, and how many of them."""
    for axis in range(len(threshold.shape)):
        width = _width(threshold, axis, relaxed_records, room)
        if width:
            return axis, width
    raise ResourceError(
        "memory= is less than one cell of a table needs; allow more, or fewer relaxed records.  Nothing was charged or "
        "read"
    )


def _width(threshold: ThresholdTable, axis: int, relaxed_records: int, room: int) -> int:
    """How many values along this axis have room, with one of each axis before it and all of those after it."""
    sizes = threshold.shape

    def needed(width: int) -> int:
        return _bytes(threshold, (*(1,) * axis, width, *sizes[axis + 1 :]), relaxed_records)

    return bisect_right(range(1, sizes[axis] + 1), room, key=needed)


def _bytes(threshold: ThresholdTable, shape: Sequence[int], relaxed_records: int) -> int:
    """How many bytes all that is computed of a tile takes together.

    Args:
        threshold: the table.
        shape (k,): of the tile; where it has fewer values than the table, one more stands for the others.
        relaxed_records: how many there are.
    """
    counted = [width + (width < size) for width, size in zip(shape, threshold.shape, strict=True)]
    split = balanced_split(counted)
    rows = math.prod(counted[:split]) + math.prod(counted[split:])
    order = len(counted) if threshold.at_least < len(counted) else 0
    of_cell, of_row = _CELL_BYTES + _ATTRIBUTE_BYTES * order, _FACTOR_BYTES * max(1, order)
    return of_cell * math.prod(counted) + of_row * rows * relaxed_records
