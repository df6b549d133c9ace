"""The choice of what to measure next: exact draws of the exponential mechanism over all cells or tables.

Reads: exact counts and the answers of relaxed records, as integers.  Gives: Chosen candidates, and nothing else.
Source: rap-and-microdata (A13), (A14).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from residualplanner._checks import IntArray
from residualplanner.discrete_gaussian import ByteSource, NoiseError, exponential_choices
from residualplanner.relaxed_projection.counts import Counts
from residualplanner.relaxed_projection.threshold_table import ThresholdTable
from residualplanner.relaxed_projection.units import Unit

#: Scores that differ by more than this many times their number are sorted instead of counted.
_SPARSE = 64
#: The answers of relaxed records to a table, by its number: integers (cells,), the same at each call.
Model = Callable[[int], IntArray]


class Candidate(NamedTuple):
    """One cell or table that was chosen.

    Attributes:
        table: the number of its table.
        number: of the cell in its table; 0 for a table.
    """

    table: int
    number: int


class _Scores(NamedTuple):
    """How often each score occurs in one table, (s,) each."""

    scores: IntArray
    members: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What can be chosen, and what was chosen before.

    Attributes:
        thresholds: the tables.
        counts: their exact answers.
        unit: what is chosen.
        earlier: of each table the candidates that were chosen before.
    """

    thresholds: Sequence[ThresholdTable]
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

        Guarantees: each draw has exactly the law of the exponential mechanism over all that were not chosen before.
        Cost: one pass over all tables, and another over those that candidates come from.  Scores are never held for
            more than one table.
        """
        found = dict(self._scores(model, range(len(self.thresholds))))
        scores, places = np.unique(np.concatenate([each.scores for each in found.values()]), return_inverse=True)
        members = np.bincount(places, np.concatenate([each.members for each in found.values()])).astype(np.int64)
        drawn = exponential_choices(scores, members, rate, draws, source)
        located = [_table_of(found, int(scores[choice.group]), choice.rank) for choice in drawn]
        chosen = self._located(model, found, located)
        for table, number in chosen:
            self.earlier[table].add(number)
        return chosen

    def _scores(self, model: Model, numbers: Sequence[int]) -> Iterator[tuple[int, _Scores]]:
        for number, answers in self.counts.tables(numbers):
            yield number, _counted(self.unit.scores(self._errors(number, answers, model), self.earlier[number]))

    def _errors(self, number: int, answers: IntArray, model: Model) -> IntArray:
        errors: IntArray = answers.ravel() - model(number)
        return np.abs(errors, out=errors)

    def _located(
        self, model: Model, found: dict[int, _Scores], located: Sequence[tuple[int, int, int]]
    ) -> list[Candidate]:
        """Each drawn candidate, from its table, its score, and which it is of those that have this score there."""
        candidates: dict[tuple[int, int, int], Candidate] = {}
        tables = sorted({table for table, _, _ in located})
        for table, answers in self.counts.tables(tables):
            scores = self.unit.scores(self._errors(table, answers, model), self.earlier[table])
            if not all(map(np.array_equal, _counted(scores), found[table])):
                raise NoiseError("the same sums came out otherwise the second time; nothing may be released")
            numbers = self.unit.numbers(answers.size, self.earlier[table])
            for drawn in located:
                if drawn[0] == table:
                    candidates[drawn] = Candidate(table, int(numbers[np.flatnonzero(scores == drawn[1])[drawn[2]]]))
        return [candidates[drawn] for drawn in located]


def _counted(scores: IntArray) -> _Scores:
    """How often each score occurs."""
    if not scores.size:
        return _Scores(scores, scores)
    if scores.max() > _SPARSE * scores.size:
        return _Scores(*np.unique(scores, return_counts=True))
    members = np.bincount(scores)
    present = np.flatnonzero(members)
    return _Scores(present, members[present])


def _table_of(found: dict[int, _Scores], score: int, rank: int) -> tuple[int, int, int]:
    """The table, the score and the rank within the table, of the candidate with this rank among all with its score."""
    for table, (scores, members) in found.items():
        place = int(np.searchsorted(scores, score))
        if place < len(scores) and scores[place] == score:
            if rank < members[place]:
                return table, score, rank
            rank -= int(members[place])
    raise AssertionError("a rank is below the number of candidates with its score")
