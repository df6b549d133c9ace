"""The choice of what to measure next: exact draws of the exponential mechanism over all cells or tables.

Exact counts are kept where memory allows, counted anew where it does not, and never leave this room.
Source: docs/adaptive-projection.md eqs. (c) and (d).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.rap.tiles import Tile
from residualplanner.gate.discrete_gaussian import ByteSource, NoiseError, exponential_choices
from residualplanner.gate.sources.source import Source
from residualplanner.ground.checks import IntArray

Answers = NDArray[np.int64]
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

    def answers(self, tiles: Sequence[Tile]) -> Iterator[Answers]:
        """The exact answers (cells,) in each of some tiles, in their order."""
        kept = self._kept
        yield from self._counted(tiles) if kept is None else (kept[tile] for tile in tiles)

    def _counted(self, tiles: Sequence[Tile]) -> Iterator[Answers]:
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
_Place = tuple[Tiles, int, int]


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
        scores, places = np.unique(np.concatenate([each for each, _ in found.values()]), return_inverse=True)
        members = np.bincount(places, np.concatenate([each for _, each in found.values()])).astype(np.int64)
        drawn = exponential_choices(scores, members, rate, draws, source)
        chosen = self._located(model, found, [_place_of(found, int(scores[one.group]), one.rank) for one in drawn])
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

    def _located(self, model: Model, found: dict[Tiles, _Scores], places: Sequence[_Place]) -> list[Candidate]:
        """Each drawn candidate, from where it is."""
        candidates: dict[_Place, Candidate] = {}
        drawn = {tiles for tiles, _, _ in places}
        for tiles, scores in self._scores(model, [tiles for tiles in found if tiles in drawn]):
            if not all(map(np.array_equal, _score_counts(scores), found[tiles])):
                raise NoiseError("the same sums came out otherwise the second time; nothing may be released")
            every = self._numbers(tiles)
            numbers = self._left(np.arange(every.start, every.stop), tiles)
            for place in places:
                own, score, rank = place
                if own == tiles:
                    number = numbers[np.flatnonzero(scores == score)[rank]]
                    candidates[place] = Candidate(tiles[0].table, int(number))
        return [candidates[place] for place in places]


def _score_counts(scores: IntArray) -> _Scores:
    if not scores.size:
        return scores, scores
    if scores.max() > _SPARSE * scores.size:
        found, members = np.unique(scores, return_counts=True)
        return found, members
    members = np.bincount(scores)
    present = np.flatnonzero(members)
    return present, members[present]


def _place_of(found: dict[Tiles, _Scores], score: int, rank: int) -> _Place:
    """Where the candidate with this rank is among all with its score."""
    for tiles, (scores, members) in found.items():
        place = int(np.searchsorted(scores, score))
        if place < len(scores) and scores[place] == score:
            if rank < members[place]:
                return tiles, score, rank
            rank -= int(members[place])
    raise AssertionError("a rank is below the number of candidates with its score")
