"""Noisy answers that relaxed records are to meet, as listed cells or as whole tables.

Source: docs/adaptive-projection.md eq. (e); eq. (58), with probabilities in place of the matrices.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from residualplanner.fits.mixtures.mixture import OneHot, product_sums, slopes_of_product_sums
from residualplanner.fits.rap.relaxed_records import Relaxed, equal_weights
from residualplanner.fits.rap.tiles import ThresholdTable
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.more.queries.thresholds import threshold_probability


def _slopes(columns: Sequence[Relaxed], at_least: int) -> Iterator[Relaxed | float]:
    """For each attribute the probability that exactly r - 1 of the others match: the derivative of eq. (58)."""
    for axis in range(len(columns)):
        others = [*columns[:axis], *columns[axis + 1 :]]
        # At least r - 1 of them, less at least r: of 0 that is certain, and of more than there are impossible.
        enough, more = (
            threshold_probability(others, r) if 0 < r <= len(others) else float(r <= 0)
            for r in (at_least - 1, at_least)
        )
        yield enough - more


@dataclass(frozen=True, slots=True, eq=False)
class ListedCells:
    """Answers to some cells of tables with equally many attributes and the same r."""

    at_least: int  # r
    rows: IntArray  # (q, k): the rows of the relaxed records that each cell is made of
    targets: FloatArray  # (q,): their noisy answers as fractions of all records
    precision: FloatArray  # (q,): the inverse variances of their noise
    importance: FloatArray  # (q,): by which their squared errors are multiplied besides

    @property
    def enough(self) -> float:
        """The loss at which answers fit as well as noise allows, that of the truth: the cells, by their importance."""
        return float(self.importance.sum())

    def mentioned(self) -> IntArray:
        """The rows of the relaxed records that the answers depend on."""
        return np.unique(self.rows)

    def moved(self, where: IntArray) -> "ListedCells":
        """The same answers of relaxed records whose row i (d',) has become row ``where[i]``."""
        return replace(self, rows=where[self.rows])

    def add_slopes(self, values: Relaxed, slopes: Relaxed) -> float:
        """The loss; its gradient by the values (rows, records) is added to ``slopes`` (rows, records)."""
        columns = self.columns(values)
        errors = self.answers(columns) - self.targets
        weighted = self.importance * self.precision * errors
        self.add_weighted(columns, 2 * weighted, slopes)
        return float(weighted @ errors)

    def columns(self, values: Relaxed) -> list[Relaxed]:
        """Of each attribute the values (q, records) that its cells are made of."""
        return [values[rows] for rows in self.rows.T]

    def answers(self, columns: Sequence[Relaxed]) -> FloatArray:
        """The fraction of records in each cell (q,): the mean over relaxed records of eq. (58)."""
        found: FloatArray = threshold_probability(columns, self.at_least).mean(axis=1)
        return found.astype(np.float64)

    def add_weighted(self, columns: Sequence[Relaxed], weights: FloatArray, slopes: Relaxed) -> None:
        """Add to slopes (rows, records) the gradient by the values of a weighted sum of the answers (q,)."""
        count, records = columns[0].shape
        scaled = (weights / records).astype(np.float32)
        for axis, slope in enumerate(_slopes(columns, self.at_least)):
            scatter = csr_array((scaled, (self.rows[:, axis], np.arange(count))), shape=(len(slopes), count))
            slopes += scatter @ np.broadcast_to(slope, (count, records))


@dataclass(frozen=True, slots=True, eq=False)
class WholeTable:
    """Answers to all cells of one table."""

    threshold: ThresholdTable  # the table
    of_attribute: tuple[IntArray, ...]  # of each of its attributes the rows (t_i,)
    targets: Relaxed  # (t_1, .., t_k): its noisy answers as fractions of all records
    precision: float  # the inverse variance of their noise
    importance: float  # by which the squared errors are multiplied besides

    @classmethod
    def of(
        cls, threshold: ThresholdTable, blocks: OneHot, targets: FloatArray, precision: float, importance: float = 1.0
    ) -> Self:
        """The targets (t_1, .., t_k) of relaxed records in these blocks."""
        rows = tuple(np.arange(blocks.count)[blocks.rows(position)] for position in threshold.positions)
        return cls(threshold, rows, targets.astype(np.float32), precision, importance)

    @property
    def enough(self) -> float:
        """Less than any loss: in a large table the noise of empty cells hides a few large ones that do not fit yet."""
        return -math.inf

    def mentioned(self) -> IntArray:
        """The rows of its attributes."""
        return np.concatenate([*self.of_attribute, np.empty(0, dtype=np.int64)])

    def moved(self, where: IntArray) -> "WholeTable":
        """The same table of moved rows, ``where`` (d',)."""
        return replace(self, of_attribute=tuple(where[rows] for rows in self.of_attribute))

    def add_slopes(self, values: Relaxed, slopes: Relaxed) -> float:
        """The loss; its gradient by the values (rows, records) is added to ``slopes`` (rows, records)."""
        columns = [values[rows] for rows in self.of_attribute]
        each = equal_weights(values)
        errors = self.threshold.answers(product_sums(columns, each)) - self.targets
        weight = self.importance * self.precision
        loss = weight * float(np.vdot(errors, errors))
        if columns:
            errors = self.threshold.answers(errors * np.float32(2 * weight))
            for rows, slope in zip(self.of_attribute, slopes_of_product_sums(errors, columns, each)[0], strict=True):
                slopes[rows] += slope
        return loss


#: Noisy answers to be met: a weighted sum of squared errors.
NoisyTargets = ListedCells | WholeTable
#: Answers to some cells of a table: their numbers (c,), noisy fractions (c,), their precision, and importance.
CellAnswers = tuple[ThresholdTable, IntArray, FloatArray, float, float]


def listed_cells(answers: Iterable[CellAnswers], blocks: OneHot) -> list[ListedCells]:
    """Noisy answers to listed cells, those of tables with equally many attributes and the same r together."""
    by_kind: dict[tuple[int, int], list[tuple[NDArray[Any], ...]]] = {}
    for threshold, cells, targets, *of_all in answers:
        rows = np.stack(np.unravel_index(cells, threshold.shape), axis=1) + blocks.offsets[list(threshold.positions)]
        each = rows, np.asarray(targets), *(np.full(len(cells), number) for number in of_all)
        by_kind.setdefault((len(threshold.positions), threshold.at_least), []).append(each)
    kinds = by_kind.items()
    return [ListedCells(at_least, *map(np.concatenate, zip(*found, strict=True))) for (_, at_least), found in kinds]
