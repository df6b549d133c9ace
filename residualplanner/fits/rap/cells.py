"""The answers of relaxed records to listed cells, and their gradients.

Reads: values of relaxed records, cells of tables.  Gives: CellBlock.
Source: eq. (58), with probabilities in place of the matrices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from residualplanner.fits.mixtures import Blocks
from residualplanner.fits.rap.relaxation import Relaxed
from residualplanner.fits.rap.threshold_table import ThresholdTable
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.more.queries.thresholds import threshold_probability


@dataclass(frozen=True, slots=True, eq=False)
class CellBlock:
    """Cells of tables with equally many attributes and the same r.

    Attributes:
        rows (q, k): the rows of the relaxed records that each cell is made of.
        at_least: r.
        order (q,): where each cell stands among all that are fitted.
    """

    rows: IntArray
    at_least: int
    order: IntArray

    def columns(self, values: Relaxed) -> list[Relaxed]:
        """Of each attribute the values (q, records) that its cells are made of.

        Args:
            values (rows, records): of the relaxed records.
        """
        return [values[rows] for rows in self.rows.T]

    def answers(self, columns: Sequence[Relaxed]) -> FloatArray:
        """The fraction of records in each cell (q,): the mean over relaxed records of eq. (58).

        Args:
            columns (k,): from `columns`.
        """
        found: FloatArray = threshold_probability(columns, self.at_least).mean(axis=1)
        return found.astype(np.float64)

    def add_slopes(self, columns: Sequence[Relaxed], weights: FloatArray, slopes: Relaxed) -> None:
        """Add the gradient of a weighted sum of the answers by the values.

        Args:
            columns (k,): from `columns`.
            weights (q,): of the cells.
            slopes (rows, records): to which the gradient is added.
        """
        count, records = columns[0].shape
        scaled = (weights / records).astype(np.float32)
        for axis, slope in enumerate(_slopes(columns, self.at_least)):
            scatter = csr_array((scaled, (self.rows[:, axis], np.arange(count))), shape=(len(slopes), count))
            slopes += scatter @ np.broadcast_to(slope, (count, records))


def cell_blocks(thresholds: Sequence[ThresholdTable], cells: Sequence[ArrayLike], blocks: Blocks) -> list[CellBlock]:
    """Listed cells of some tables, those with equally many attributes and the same r together.

    Args:
        thresholds: the tables.
        cells: of each table the numbers (c,) of its cells, in the order of a flattened table.
        blocks: which rows belong to which attribute.

    Returns:
        Blocks whose ``order`` counts cells table by table.

    Example:
        >>> [block] = cell_blocks([ThresholdTable((0, 2), (2, 3), 2)], [[0, 5]], Blocks((2, 2, 3)))
        >>> block.rows.tolist()
        [[0, 4], [1, 6]]
    """
    ends = np.cumsum([len(np.asarray(numbers)) for numbers in cells])
    by_kind: dict[tuple[int, int], list[tuple[IntArray, IntArray]]] = {}
    for threshold, numbers, end in zip(thresholds, cells, ends.tolist(), strict=True):
        flat = np.asarray(numbers)
        digits = np.stack(np.unravel_index(flat, threshold.shape), axis=1)
        kind = len(threshold.positions), threshold.at_least
        order = np.arange(end - len(flat), end)
        by_kind.setdefault(kind, []).append((digits + blocks.offsets[list(threshold.positions)], order))
    return [
        CellBlock(np.concatenate([rows for rows, _ in found]), r, np.concatenate([order for _, order in found]))
        for (_, r), found in by_kind.items()
    ]


#: By how many attributes match, the probability of exactly that; only what is needed.
_States = dict[int, Relaxed | float]


def _slopes(columns: Sequence[Relaxed], at_least: int) -> Iterator[Relaxed | float]:
    """For each attribute the probability that exactly r - 1 of the others match: the derivative of eq. (58)."""
    others = at_least - 1
    before = _exactly(columns[:-1], others)
    after = _exactly(columns[:0:-1], others)[::-1]
    for one, other in zip(before, after, strict=True):
        yield _sum([_product(one[s], other[others - s]) for s in one if others - s in other])


def _exactly(columns: Sequence[Relaxed], matches: int) -> list[_States]:
    """The probabilities of exactly s matches among the first 0, 1, .. columns, from which the rest can still do it."""
    states: list[_States] = [{0: 1.0}]
    for number, column in enumerate(columns, start=1):
        last = states[-1]
        needed = range(max(0, matches - len(columns) + number), min(matches, number) + 1)
        found: _States = {}
        for s in needed:
            terms = [_product(last[s], 1 - column)] if s in last else []
            found[s] = _sum(terms + ([_product(last[s - 1], column)] if s - 1 in last else []))
        states.append(found)
    return states


def _product(one: Relaxed | float, other: Relaxed | float) -> Relaxed | float:
    """Their product; a factor that is the number 1 costs nothing."""
    if isinstance(one, float):
        return other
    return one if isinstance(other, float) else one * other


def _sum(terms: Sequence[Relaxed | float]) -> Relaxed | float:
    first, *others = terms
    for term in others:
        first = first + term
    return first
