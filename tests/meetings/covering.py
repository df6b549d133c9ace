"""Covering arrays: rows in which every pair, or every triple, of values of different factors meets.

allpairspy stops before all triples are covered, and covertable needs half a minute for the pairs of twenty factors with
forty rules; this greedy method (AETG, Cohen and others 1997) needs a second, and looks ahead at what rules leave.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

Row = dict[str, str]
#: Rows that are tried for each row that is kept.
_TRIES = 8


class Covering:
    """Factors and the pairs of their values that may meet, by number."""

    def __init__(self, factors: Mapping[str, Sequence[str]], refused: Callable[[Row], object]) -> None:
        self.values = [(factor, value) for factor, values in factors.items() for value in values]
        names = list(factors)
        self.factor = np.array([names.index(factor) for factor, _ in self.values])
        self._starts = np.flatnonzero(np.diff(self.factor, prepend=-1))
        self.may_meet = self.factor[:, None] != self.factor
        for first, second in itertools.combinations(range(len(self.values)), 2):
            if self.may_meet[first, second] and refused(dict([self.values[first], self.values[second]])):
                self.may_meet[first, second] = self.may_meet[second, first] = False

    def tuples(self, strength: int) -> Iterator[tuple[int, ...]]:
        """All that can be in a row, by the numbers of their values."""
        for chosen in itertools.combinations(range(len(self.values)), strength):
            if all(self.may_meet[pair] for pair in itertools.combinations(chosen, 2)) and self._is_open(chosen):
                yield chosen

    def rows(self, strength: int, seed: int = 0) -> Iterator[Row]:
        """Rows that cover all tuples that some row can have."""
        chance = np.random.default_rng(seed)
        missing = np.zeros((len(self.values),) * strength, dtype=np.bool_)
        order = [tuple(found) for found in chance.permutation(list(self.tuples(strength)))]
        for found in order:
            for turned in itertools.permutations(found):
                missing[turned] = True
        for found in order:
            if missing[found]:
                tries = [self.completed(found, missing, chance) for _ in range(_TRIES if strength == 2 else 2)]
                known = [(missing[np.ix_(*[row] * strength)].sum(), row) for row in tries if row is not None]
                if not known:
                    continue  # no row has it: more than two rules together exclude it
                best = max(known)[1]
                for covered in itertools.combinations(best, strength):
                    for turned in itertools.permutations(covered):
                        missing[turned] = False
                yield self.named(best)

    def named(self, row: Sequence[int]) -> Row:
        """A row of numbers in words."""
        return dict(self.values[number] for number in row)

    def completed(
        self, start: Sequence[int], missing: np.ndarray | None, chance: np.random.Generator
    ) -> tuple[int, ...] | None:
        """A row with these values, in which much meets that has not met yet; None where a dead end was reached.

        A factor by which nothing new meets has its first value that may stand there: the plain one, which is quick.
        """
        row = list(start)
        beside = self.may_meet[row].all(axis=0)
        gained = np.zeros(len(self.values), dtype=np.int64)  # what each value would bring that has not met
        if missing is not None:
            gained += missing[(slice(None), *np.ix_(*[row] * (missing.ndim - 1)))].reshape(len(gained), -1).sum(axis=1)
        for factor in chance.permutation(self.factor.max() + 1):
            if factor in self.factor[row]:
                continue
            candidates = np.flatnonzero(beside & (self.factor == factor))
            candidates = candidates[self._are_open(beside & self.may_meet[candidates], [*self.factor[row], factor])]
            if not len(candidates):
                return None
            gains = chance.random(len(candidates))
            if missing is not None:
                met = gained[candidates]
                gains = gains + met if met.any() else -np.arange(len(candidates))
            chosen = int(candidates[int(np.argmax(gains))])
            if missing is not None:
                others = np.ix_(*[row] * (missing.ndim - 2))
                brought = missing[chosen][(slice(None), *others)].reshape(len(gained), -1).sum(axis=1)
                gained += (missing.ndim - 1) * brought
            beside = beside & self.may_meet[chosen]
            row.append(chosen)
        return tuple(sorted(row))

    def _is_open(self, row: Sequence[int]) -> bool:
        """Whether every other factor has a value that may stand beside these."""
        left = self.may_meet[list(row)].all(axis=0)
        return bool(self._are_open(left[None], self.factor[list(row)])[0])

    def _are_open(self, left: np.ndarray, chosen: Sequence[int] | np.ndarray) -> np.ndarray:
        """Of each row of values that are left, whether each factor that is not chosen yet has one."""
        found = np.logical_or.reduceat(left, self._starts, axis=1)
        found[:, chosen] = True
        return found.all(axis=1)
