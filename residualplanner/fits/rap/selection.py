"""The choice of what to measure next: exact draws of the exponential mechanism over all cells or tables.

Reads: exact counts and the answers of relaxed records, as integers.  Gives: Chosen candidates, and nothing else.
Source: docs/adaptive-projection.md eqs. (c) and (d).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from residualplanner.fits.rap.counts import Counts
from residualplanner.fits.rap.tiles import Tile
from residualplanner.fits.rap.units import Tiles, Unit
from residualplanner.gate.discrete_gaussian import ByteSource, NoiseError, exponential_choices
from residualplanner.ground.checks import IntArray

#: Scores that differ by more than this many times their number are sorted instead of counted.
_SPARSE = 64
#: The answers of relaxed records in a tile: integers (cells,), the same at each call.
Model = Callable[[Tile], IntArray]


class Candidate(NamedTuple):
    """One cell or table that was chosen.

    Attributes:
        table: the number of its table.
        number: of the cell in its table; 0 for a table.
    """

    table: int
    number: int


class _Scores(NamedTuple):
    """How often each score occurs among the candidates of some tiles, (s,) each."""

    scores: IntArray
    members: IntArray


class _Place(NamedTuple):
    """Where a drawn candidate is: in some tiles, among those with its score there, at a rank from 0."""

    tiles: Tiles
    score: int
    rank: int


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What can be chosen, and what was chosen before.

    Attributes:
        counts: the exact answers.
        unit: what is chosen.
        earlier: of each table the candidates that were chosen before.
    """

    counts: Counts
    unit: Unit
    earlier: list[set[int]]

    def choose(self, model: Model, rate: Fraction, draws: int, source: ByteSource) -> list[Candidate]:
        """Draw some candidates without replacement, and remember them.

        Args:
            model: gives the answers of relaxed records.
            rate: of the exponential mechanism; each draw costs ``rate**2``.
            draws: how many candidates.
            source: of random bytes.

        Guarantees: each draw has exactly the law of the exponential mechanism over all that were not chosen before,
            however tables are divided into tiles.
        Cost: one pass over all tables, and another over the tiles that candidates come from.  Scores are never held
            for more than one tile.
        """
        found = {
            tiles: _counted(scores) for tiles, scores in self._scores(model, self.unit.together(self.counts.tiles))
        }
        scores, places = np.unique(np.concatenate([each.scores for each in found.values()]), return_inverse=True)
        members = np.bincount(places, np.concatenate([each.members for each in found.values()])).astype(np.int64)
        drawn = exponential_choices(scores, members, rate, draws, source)
        chosen = self._located(model, found, [_place_of(found, int(scores[one.group]), one.rank) for one in drawn])
        for table, number in chosen:
            self.earlier[table].add(number)
        return chosen

    def _scores(self, model: Model, together: Sequence[Tiles]) -> Iterator[tuple[Tiles, IntArray]]:
        """The scores (c,) of the candidates of some tiles that were not chosen before."""
        answers = self.counts.answers([tile for tiles in together for tile in tiles])
        for tiles in together:
            errors = (_errors(next(answers), model(tile)) for tile in tiles)
            yield tiles, self._left(self.unit.scores(errors), tiles)

    def _left(self, of_candidates: IntArray, tiles: Tiles) -> IntArray:
        """Of integers for all candidates of some tiles, those of candidates that were not chosen before."""
        numbers = self.unit.numbers(tiles)
        chosen = [number - numbers.start for number in self.earlier[tiles[0].table] if number in numbers]
        return np.delete(of_candidates, chosen) if chosen else of_candidates

    def _located(self, model: Model, found: dict[Tiles, _Scores], places: Sequence[_Place]) -> list[Candidate]:
        """Each drawn candidate, from where it is."""
        candidates: dict[_Place, Candidate] = {}
        drawn = {place.tiles for place in places}
        for tiles, scores in self._scores(model, [tiles for tiles in found if tiles in drawn]):
            if not all(map(np.array_equal, _counted(scores), found[tiles])):
                raise NoiseError("the same sums came out otherwise the second time; nothing may be released")
            every = self.unit.numbers(tiles)
            numbers = self._left(np.arange(every.start, every.stop), tiles)
            for place in places:
                if place.tiles == tiles:
                    number = numbers[np.flatnonzero(scores == place.score)[place.rank]]
                    candidates[place] = Candidate(tiles[0].table, int(number))
        return [candidates[place] for place in places]


def _errors(exact: IntArray, fitted: IntArray) -> IntArray:
    """How far answers (cells,) are from the exact ones."""
    errors: IntArray = exact - fitted
    return np.abs(errors, out=errors)


def _counted(scores: IntArray) -> _Scores:
    """How often each score occurs."""
    if not scores.size:
        return _Scores(scores, scores)
    if scores.max() > _SPARSE * scores.size:
        return _Scores(*np.unique(scores, return_counts=True))
    members = np.bincount(scores)
    present = np.flatnonzero(members)
    return _Scores(present, members[present])


def _place_of(found: dict[Tiles, _Scores], score: int, rank: int) -> _Place:
    """Where the candidate with this rank is among all with its score."""
    for tiles, (scores, members) in found.items():
        place = int(np.searchsorted(scores, score))
        if place < len(scores) and scores[place] == score:
            if rank < members[place]:
                return _Place(tiles, score, rank)
            rank -= int(members[place])
    raise AssertionError("a rank is below the number of candidates with its score")
