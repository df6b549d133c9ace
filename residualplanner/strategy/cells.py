"""The cells of all queries of a workload at once: the largest variance of each query, means over its cells.

Reads: a workload, bases, noise variances.  Gives: arrays, one entry per query.
Source: spec eqs. (23) and (26).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.bases import Basis, cell_shares
from residualplanner.strategy.hulls import hull_rows
from residualplanner.workload import Closure, QueryBlock, Workload, row_numbers

#: How many cells are worked on at a time.
_CHUNK = 2**21


@dataclass(frozen=True, eq=False, slots=True)
class AnswerShares:
    """What the answers on single attributes take of the noise, for every attribute and kind that is asked of it.

    Attributes:
        pair (d, kinds): which of the distinct pairs of a basis and a kind it is; -1 where not asked.
        start (pairs,), count (pairs,): where the answers of each pair stand.
        present (all,), absent (all,): the share of each answer where the attribute is present, and where it is absent.
    """

    pair: IntArray
    start: IntArray
    count: IntArray
    present: FloatArray
    absent: FloatArray

    def counts(self, block: QueryBlock) -> IntArray:
        """How many answers each attribute of each query has, (m, k)."""
        counts: IntArray = self.count[self.pair[block.attributes, block.kinds]]
        return counts

    def cells(self, workload: Workload) -> float:
        """How many cells all queries have together, counting those that are alike once."""
        return float(sum(self.counts(block).astype(np.float64).prod(axis=1).sum() for block in workload.blocks))

    def all_of(self, pair: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
        """The shares of all answers of some pairs (m,) that have equally many, (m, count) each."""
        places = self.start[pair][:, None] + np.arange(count)
        return self.present[places], self.absent[places]

    def at(self, block: QueryBlock, answer: IntArray) -> tuple[FloatArray, FloatArray]:
        """The shares of one answer on each attribute of each query: ``answer`` (m, k) counts within its attribute's."""
        place = self.start[self.pair[block.attributes, block.kinds]] + answer
        return self.present[place], self.absent[place]


def every_answer(workload: Workload, bases: Sequence[Basis], code: IntArray) -> AnswerShares:
    """The shares of every answer; where all of an attribute's are alike, one stands for them."""
    return _shares(workload, bases, code, on_hull=False)


def hull_answers(workload: Workload, bases: Sequence[Basis], code: IntArray) -> AnswerShares:
    """The shares of those answers that can have the largest variance in some table.

    Args:
        workload: the queries.
        bases: one for each attribute.
        code (d,): equal for equal bases.
    """
    return _shares(workload, bases, code, on_hull=True)


def largest_cells(
    workload: Workload, closure: Closure, shares: AnswerShares, noise_variance: FloatArray
) -> tuple[FloatArray, IntArray]:
    """The largest cell variance of every query, (q,), and which of the cells made of ``shares`` has it, (q,).

    Args:
        workload: the queries.
        closure: the sets that are measured, among them all subsets of the queries' attributes.
        shares: of the answers to try.
        noise_variance (m,): of every set of the closure.

    Cost: one pass over all combinations of the answers to try.
    Source: spec eqs. (23) and (26).
    """
    largest, place = np.empty(len(workload)), np.empty(len(workload), dtype=np.int64)
    for numbers, factors, noise in _alike(workload, closure, shares, noise_variance):
        largest[numbers], place[numbers] = _largest(factors, noise)
    return largest, place


def mean_std_errs(count: int, cells: Iterable[tuple[IntArray, NDArray[np.float64]]]) -> FloatArray:
    """The mean over the cells of every query of the root of their variance, (q,).

    Args:
        count: how many queries there are.
        cells: runs of queries, their numbers (m,), and the variances of their cells that differ (m, cells).
    """
    means = np.empty(count)
    for numbers, variances in cells:
        means[numbers] = np.sqrt(variances).mean(axis=1)
    return means


def variances_of_cells(
    workload: Workload, closure: Closure, shares: AnswerShares, noise_variance: FloatArray
) -> Iterator[tuple[IntArray, NDArray[np.float64]]]:
    """Runs of queries with equally many cells: their numbers (m,), and the variances of their cells (m, cells).

    ``shares`` are of every answer; where all of an attribute's are alike, one cell stands for as many.
    """
    for numbers, factors, noise in _alike(workload, closure, shares, noise_variance):
        yield numbers, _cells(factors, noise)


#: The shares of the answers to try on one attribute, (m, h) each: where it is present, and where it is absent.
_Factor = tuple[NDArray[np.float64], NDArray[np.float64]]


def _alike(
    workload: Workload, closure: Closure, shares: AnswerShares, noise_variance: FloatArray
) -> Iterator[tuple[IntArray, list[_Factor], NDArray[np.float64]]]:
    """Runs of queries with equally many answers to try on their attributes.

    Yields: their numbers, the shares of those answers, and the noise of all subsets (m, 2**k, 1).
    """
    start = 0
    for block in workload.blocks:
        counts = shares.counts(block)
        group = row_numbers(counts)
        order = np.argsort(group, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(block) else []:
            tried = counts[members[0]].tolist()
            step = max(1, int(_CHUNK // max(np.prod(tried, dtype=np.float64), 1 << len(tried))))
            for first in range(0, len(members), step):
                part = members[first : first + step]
                noise = noise_variance[closure.subset_positions(block.attributes[part])][..., None]
                pairs = shares.pair[block.attributes[part], block.kinds[part]]
                yield start + part, [shares.all_of(pairs[:, i], count) for i, count in enumerate(tried)], noise
        start += len(block)


def _largest(factors: list[_Factor], noise: NDArray[np.float64]) -> tuple[NDArray[np.float64], IntArray]:
    """The largest cell of each query and its place in C order, (m,) each.

    Where the cells of a single query are too many to hold, one answer on the first attribute is tried after another.
    """
    later = int(np.prod([present.shape[1] for present, _ in factors[1:]], dtype=np.float64))
    if len(factors) > 1 and factors[0][0].size * later > 4 * _CHUNK:
        (present, absent), others = factors[0], factors[1:]
        found = [_largest(others, _extended(noise, present[:, [i]], absent[:, [i]])) for i in range(present.shape[1])]
        values, places = np.stack([value for value, _ in found]), np.stack([place for _, place in found])
        best = values.argmax(axis=0)
        return values.max(axis=0), best * later + places[best, np.arange(len(best))]
    cells = _cells(factors, noise)
    place = cells.argmax(axis=1)
    return cells[np.arange(len(cells)), place], place


def _cells(factors: list[_Factor], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variances of all cells made of the answers to try, in C order, (m, cells)."""
    cells = noise
    for present, absent in factors:
        cells = _extended(cells, present, absent)
    return cells.reshape(len(cells), -1)


def _extended(
    cells: NDArray[np.float64], present: NDArray[np.float64], absent: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bring in the next attribute's answers: from (m, 2**r, c) to (m, 2**(r-1), c * h)."""
    pairs = cells.reshape(len(cells), cells.shape[1] // 2, 2, cells.shape[2], 1)
    extended = pairs[:, :, 0] * absent[:, None, None, :] + pairs[:, :, 1] * present[:, None, None, :]
    return extended.reshape(len(cells), cells.shape[1] // 2, -1)


def _shares(workload: Workload, bases: Sequence[Basis], code: IntArray, *, on_hull: bool) -> AnswerShares:
    asked = workload.asked
    pair = np.full(asked.shape, -1, dtype=np.int64)
    known: dict[tuple[int, int], int] = {}
    parts: list[_Factor] = []
    for attribute, kind in np.argwhere(asked).tolist():
        key = (int(code[attribute]), kind)
        if key not in known:
            known[key] = len(parts)
            present, absent = cell_shares(bases[attribute], workload.kinds[kind])
            parts.append(hull_rows(present, absent) if on_hull else (present, absent))
        pair[attribute, kind] = known[key]
    count = np.array([len(present) for present, _ in parts], dtype=np.int64)
    present = np.concatenate([np.empty(0), *(part for part, _ in parts)])
    absent = np.concatenate([np.empty(0), *(part for _, part in parts)])
    return AnswerShares(*map(frozen, (pair, np.cumsum(count) - count, count, present, absent)))
