"""The prespecified tables, their division into tiles, and the choice of what to measure next among all their cells.

Tables are r-of-k thresholds, of which marginals are the case r = k; a tile is consecutive cells, so few that all that
is computed of them has room.  Choices are exact draws of the exponential mechanism; exact counts are kept where memory
allows, counted anew where it does not, and never leave this room.
Source: docs/adaptive-projection.md eqs. (c), (d) and (g).
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby, islice, product
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import balanced_split
from residualplanner.fits.rap.own_queries import OwnAnswers, QueryClass
from residualplanner.gate.discrete_gaussian import ByteSource, exponential_choices
from residualplanner.gate.sources.source import MergedValues, Source
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import NoiseError, ResourceError, WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.kron.arrays import SameArray
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
    """One table: for each combination of values, how many records match it in at least r of k attributes.

    Or the answers to a query class of one's own, which follow from the counts of all combinations of values.
    """

    positions: tuple[int, ...]  # of the attributes in the domain, ascending
    shape: tuple[int, ...]  # how many values each has
    at_least: int  # r, from 1 to k; k for a marginal
    own: OwnAnswers | None = None

    @property
    def cells(self) -> int:
        """How many answers it has."""
        return math.prod(self.shape) if self.own is None else self.own.count

    def answers(self, marginal: SameArray) -> SameArray:
        """Its table, from that of the marginal over its attributes.  Source: eq. (58)."""
        if self.own is not None:
            return cast("SameArray", self.own.matrix @ cast("IntArray", marginal).ravel())
        return threshold_map(marginal, self.at_least) if self.at_least < len(self.positions) else marginal

    def most_changed(self, neighbors: Neighbors) -> int:
        """In how many cells at most the tables of two data sets differ if one record does.

        Source: eq. (59) of no attribute; docs/adaptive-projection.md eq. (b).
        """
        if self.own is not None:
            return self.own.query.sensitivity
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


def own_table(query: QueryClass, domain: Domain) -> ThresholdTable:
    """A query class of one's own as a table over its attributes; WorkloadError where an answer is neither 0 nor 1."""
    positions = tuple(domain.positions(query.names))
    shape = tuple(domain.sizes[position] for position in positions)
    return ThresholdTable(positions, shape, len(positions), OwnAnswers.of(query, domain))


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
        if self.is_whole:
            return range(self.threshold.cells)
        first = 0
        for size, values in zip(self.threshold.shape, self.values, strict=True):
            first = first * size + values.start
        return range(first, first + math.prod(self.shape))

    @property
    def merged(self) -> MergedValues:
        """What is merged where this tile is counted: the values that it has no cells of."""
        parts = zip(self.threshold.positions, self.threshold.shape, self.values, strict=True)
        return MergedValues(tuple((position, values) for position, size, values in parts if len(values) < size))

    @property
    def is_whole(self) -> bool:
        """Whether these are all cells, as of a query class of one's own, which is not divided."""
        return self.shape == self.threshold.shape

    def answers(self, marginal: SameArray) -> SameArray:
        """The answers in these cells, from the marginal with merged values, which come last.  Source: eq. (58)."""
        found = self.threshold.answers(marginal)
        return found if self.is_whole else found[tuple(map(slice, self.shape))]  # type: ignore[index]

    def holds(self, cells: IntArray) -> NDArray[np.bool_]:
        """Which of some cells (c,) of the flattened table are among these."""
        return np.asarray((cells >= self.numbers.start) & (cells < self.numbers.stop))


def tiles_of(thresholds: Sequence[ThresholdTable], *, relaxed_records: int, room: int = ROOM) -> tuple[Tile, ...]:
    """Divide tables into tiles, each as large as has room, in their order; ResourceError where these are too many."""
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
            "memory= is less than one cell of a table, or a query class of one's own, needs; allow more, or fewer "
            "relaxed records.  Nothing was charged or read"
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
    own = 0 if threshold.own is None else _FACTOR_BYTES * threshold.cells * relaxed_records
    return of_cell * math.prod(counted) + of_row * rows * relaxed_records + own


#: Tiles of one table whose candidates get their scores together.
Tiles = tuple[Tile, ...]
#: Scores that differ by more than this many times their number are sorted instead of counted.
_SPARSE = 64
#: The answers of relaxed records in a tile: integers (cells,), the same at each call.
Model = Callable[[Tile], IntArray]


class ExactCounts:
    """The exact answers of all tables, which must not leave this room.

    Each tile is counted once and kept; where ``cells`` are given, so many are counted at a time, and records are read
    again for each request.
    """

    def __init__(self, source: Source, tiles: Sequence[Tile], cells: int | None = None) -> None:
        self.tiles, self._source = tiles, source
        self._cells = sum(len(tile.numbers) for tile in tiles) if cells is None else cells  # as few passes as can be
        self._kept = None if cells is not None else dict(zip(tiles, self._counted(tiles), strict=True))

    def answers(self, tiles: Sequence[Tile]) -> Iterator[IntArray]:
        """The exact answers (cells,) in each of some tiles, in their order."""
        kept = self._kept
        yield from self._counted(tiles) if kept is None else (kept[tile] for tile in tiles)

    def _counted(self, tiles: Sequence[Tile]) -> Iterator[IntArray]:
        for batch in batches(tiles, self._cells):
            counted = self._source.count(_groups(batch), merged=batch[0].merged)
            for number, tile in enumerate(batch):
                yield tile.answers(counted[number][0]).ravel()
                counted[number] = np.empty(0, dtype=np.int64)  # so that the memory of what has been taken is free


def batches(tiles: Iterable[Tile], most: int) -> Iterator[list[Tile]]:
    """Consecutive tiles for which the same values are merged, as many as have ``most`` cells together, or one."""
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
    """The number of records, which is confidential unless neighbors have equally many; all columns are checked."""
    total: IntArray = source.count([np.empty((1, 0), dtype=np.int64)], later=_groups(tiles))[0]
    return int(total[0])


def _groups(tiles: Sequence[Tile]) -> list[IntArray]:
    return [np.array([each.threshold.positions], dtype=np.int64).reshape(1, -1) for each in tiles]


class Candidate(NamedTuple):
    """One cell or table that was chosen."""

    table: int  # the number of its table
    number: int  # of the cell in its table; 0 for a table


#: Scores among the candidates of some tiles, ascending, and how often each occurs, (s,) each.
_Scores = tuple[IntArray, IntArray]
#: Where a drawn candidate is: in some tiles, among those with its score there, at a rank from 0.
_Position = tuple[Tiles, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSelection:
    """What can be chosen, and what was chosen before: cells, or tables, of which each has the number 0.

    The score is how far a cell is from the exact count, or a table's farthest cell.  If every count changes by at most
    1, so does every score.
    """

    counts: ExactCounts  # the exact answers
    is_by_table: bool  # whether tables are chosen
    earlier: list[set[int]]  # of each table the candidates that were chosen before

    def choose(self, model: Model, rate: Fraction, draws: int, source: ByteSource) -> list[Candidate]:
        """Draw some candidates without replacement, each at a cost of ``rate**2``, and remember them.

        Guarantees: each draw has exactly the law of the exponential mechanism over all that were not chosen before,
        however tables are divided into tiles.  Scores are never held for more than one tile.
        """
        by_table = groupby(self.counts.tiles, key=lambda tile: tile.table if self.is_by_table else tile)
        together = [tuple(tiles) for _, tiles in by_table]
        found = {tiles: _score_counts(scores) for tiles, scores in self._scores(model, together)}
        scores, positions = np.unique(np.concatenate([each for each, _ in found.values()]), return_inverse=True)
        members = np.bincount(positions, np.concatenate([each for _, each in found.values()])).astype(np.int64)
        drawn = exponential_choices(scores, members, rate, draws, source)
        chosen = self._located(model, found, [_position_of(found, int(scores[group]), rank) for group, rank in drawn])
        for table, number in chosen:
            self.earlier[table].add(number)
        return chosen

    def _scores(self, model: Model, together: Sequence[Tiles]) -> Iterator[tuple[Tiles, IntArray]]:
        """The scores (c,) of the candidates of some tiles that were not chosen before."""
        answers = self.counts.answers([tile for tiles in together for tile in tiles])
        for tiles in together:
            errors = (np.abs(off := next(answers) - model(tile), out=off) for tile in tiles)
            scores = np.array([max(int(each.max()) for each in errors)]) if self.is_by_table else next(errors)
            yield tiles, self._left(scores, tiles)

    def _left(self, of_candidates: IntArray, tiles: Tiles) -> IntArray:
        """Of integers for all candidates of some tiles, those of candidates that were not chosen before."""
        numbers = self._numbers(tiles)
        chosen = [number - numbers.start for number in self.earlier[tiles[0].table] if number in numbers]
        return np.delete(of_candidates, chosen) if chosen else of_candidates

    def _numbers(self, tiles: Tiles) -> range:
        return range(1) if self.is_by_table else tiles[0].numbers

    def _located(self, model: Model, found: dict[Tiles, _Scores], positions: Sequence[_Position]) -> list[Candidate]:
        candidates: dict[_Position, Candidate] = {}
        drawn = {tiles for tiles, _, _ in positions}
        for tiles, scores in self._scores(model, [tiles for tiles in found if tiles in drawn]):
            if not all(map(np.array_equal, _score_counts(scores), found[tiles])):
                raise NoiseError("the same sums came out otherwise the second time; nothing may be released")
            every = self._numbers(tiles)
            numbers = self._left(np.arange(every.start, every.stop), tiles)
            for position in positions:
                own, score, rank = position
                if own == tiles:
                    number = numbers[np.flatnonzero(scores == score)[rank]]
                    candidates[position] = Candidate(tiles[0].table, int(number))
        return [candidates[position] for position in positions]


def _score_counts(scores: IntArray) -> _Scores:
    if not scores.size:
        return scores, scores
    if scores.max() > _SPARSE * scores.size:
        found, members = np.unique(scores, return_counts=True)
        return found, members
    members = np.bincount(scores)
    present = np.flatnonzero(members)
    return present, members[present]


def _position_of(found: dict[Tiles, _Scores], score: int, rank: int) -> _Position:
    for tiles, (scores, members) in found.items():
        position = int(np.searchsorted(scores, score))
        if position < len(scores) and scores[position] == score:
            if rank < members[position]:
                return tiles, score, rank
            rank -= int(members[position])
    raise AssertionError("a rank is below the number of candidates with its score")
