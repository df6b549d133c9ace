"""The prespecified tables, r-of-k thresholds of which marginals are the case r = k, and their division into tiles.

A tile is consecutive cells, so few that all that is computed of them has room.
Source: docs/adaptive-projection.md eq. (g).
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import balanced_split
from residualplanner.gate.sources.source import MergedValues
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import ResourceError, WorkloadError
from residualplanner.method.kron import SameArray
from residualplanner.method.privacy import Neighbors
from residualplanner.method.workload.workload import Workload
from residualplanner.more.queries.thresholds import threshold_count, threshold_distance, threshold_map

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
class ThresholdTable:
    """One table: for each combination of values, how many records match it in at least r of k attributes."""

    positions: tuple[int, ...]  # of the attributes in the domain, ascending
    shape: tuple[int, ...]  # how many values each has
    at_least: int  # r, from 1 to k; k for a marginal

    @property
    def cells(self) -> int:
        """How many answers it has."""
        return math.prod(self.shape)

    def answers(self, marginal: SameArray) -> SameArray:
        """Its table, from that of the marginal over its attributes.  Source: eq. (58)."""
        return threshold_map(marginal, self.at_least) if self.at_least < len(self.positions) else marginal

    def most_changed(self, neighbors: Neighbors) -> int:
        """In how many cells at most the tables of two data sets differ if one record does.

        Source: eq. (59) of no attribute; docs/adaptive-projection.md eq. (b).
        """
        if not neighbors.has_public_total:
            return threshold_count(self.shape, self.at_least) if self.positions else 1
        axes, free = range(len(self.shape)), [axis for axis, size in enumerate(self.shape) if size > 1]
        differing = (each for count in range(1, len(free) + 1) for each in combinations(free, count))
        agreeing = (tuple(axis for axis in axes if axis not in each) for each in differing)
        return max((threshold_distance(self.shape, self.at_least, agreeing=same) for same in agreeing), default=0)


def thresholds_of(workload: Workload) -> tuple[ThresholdTable, ...]:
    """The tables of a workload, in its order, with their attributes in the order of the domain.

    WorkloadError where a query is neither a marginal nor a threshold of all its attributes.
    """
    sizes, found = workload.domain.sizes, []
    for block in workload.blocks:
        for positions, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True):
            shape = tuple(sizes[position] for position in positions)
            kinds = [workload.kinds[code] for code in codes]
            if any(kind != kinds[0] or not kind.is_identity for kind in kinds):
                message = "RAP measures marginals and thresholds; plan ranges and other kinds of query with select"
                raise WorkloadError(message)
            at_least = (kinds[0].at_least if kinds else 0) or len(kinds)
            found.append(ThresholdTable(tuple(positions), shape, at_least))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Tile:
    """Consecutive cells of one table."""

    table: int  # the number of the table among those that were divided
    threshold: ThresholdTable  # the table
    # of each attribute those of these cells: one value of each of the first attributes, some of the next, and all of
    # the others
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
        """The answers in these cells, from the marginal with merged values, which come last.  Source: eq. (58)."""
        found: SameArray = self.threshold.answers(marginal)[tuple(map(slice, self.shape))]  # type: ignore[index]
        return found

    def holds(self, cells: IntArray) -> NDArray[np.bool_]:
        """Which of some cells (c,) of the flattened table are among these."""
        return np.asarray((cells >= self.numbers.start) & (cells < self.numbers.stop))


def tiles_of(thresholds: Sequence[ThresholdTable], *, relaxed_records: int, room: int = ROOM) -> tuple[Tile, ...]:
    """Divide tables into tiles, each as large as has room, in the order of the tables and of their cells.

    ResourceError where a tile of one cell needs more, or there are more than `MOST_TILES`.
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
    """The values of each attribute of each tile: of the first attributes one, of the next some, of the others all."""
    sizes = threshold.shape
    if _bytes(threshold, sizes, relaxed_records) <= room:
        yield tuple(map(range, sizes))
        return
    for axis, size in enumerate(sizes):

        def needed(width: int, axis: int = axis) -> int:
            return _bytes(threshold, (*(1,) * axis, width, *sizes[axis + 1 :]), relaxed_records)

        width = bisect_right(range(1, size + 1), room, key=needed)
        if width:
            break
    else:
        raise ResourceError(
            "memory= is less than one cell of a table needs; allow more, or fewer relaxed records.  Nothing was "
            "charged or read"
        )
    single = [[range(value, value + 1) for value in range(before)] for before in sizes[:axis]]
    some = [range(first, min(first + width, size)) for first in range(0, size, width)]
    for leading in product(*single, some):
        yield (*leading, *map(range, sizes[axis + 1 :]))


def _bytes(threshold: ThresholdTable, shape: Sequence[int], relaxed_records: int) -> int:
    """How many bytes what is computed of a tile takes together; one more value stands for those it lacks."""
    counted = [width + (width < size) for width, size in zip(shape, threshold.shape, strict=True)]
    split = balanced_split(counted)
    rows = math.prod(counted[:split]) + math.prod(counted[split:])
    order = len(counted) if threshold.at_least < len(counted) else 0
    of_cell, of_row = _CELL_BYTES + _ATTRIBUTE_BYTES * order, _FACTOR_BYTES * max(1, order)
    return of_cell * math.prod(counted) + of_row * rows * relaxed_records
