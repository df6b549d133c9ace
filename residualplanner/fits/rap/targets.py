"""Noisy answers that relaxed records are to meet, as listed cells or as whole tables.

Reads: noisy answers, which are public.  Gives: Targets with one protocol.
Source: docs/adaptive-projection.md eq. (e).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures import Blocks, product_sums, slopes_of_product_sums
from residualplanner.fits.rap.cells import CellBlock, cell_blocks
from residualplanner.fits.rap.relaxation import Relaxed, equal_weights
from residualplanner.fits.rap.threshold_table import ThresholdTable
from residualplanner.ground.checks import FloatArray, IntArray


class Targets(Protocol):
    """Noisy answers to be met: a weighted sum of squared errors."""

    @property
    def enough(self) -> float:
        """The loss at which the answers fit as well as their noise allows."""

    @property
    def rows(self) -> IntArray:
        """The rows of the relaxed records that the answers depend on."""

    def moved(self, where: IntArray) -> Self:
        """The same answers of relaxed records whose row i (d',) has become row ``where[i]``."""

    def add_slopes(self, values: Relaxed, slopes: Relaxed) -> float:
        """The loss; its gradient by the values (rows, records) is added to ``slopes`` (rows, records)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ListedCells:
    """Answers to some cells with equally many attributes and the same r.

    Attributes:
        block: the cells.
        targets (q,): their noisy answers as fractions of all records.
        precision (q,): the inverse variances of their noise.
        importance (q,): by which their squared errors are multiplied besides.
    """

    block: CellBlock
    targets: FloatArray
    precision: FloatArray
    importance: FloatArray

    @property
    def enough(self) -> float:
        """The mean loss at the truth: the number of cells, each by its importance."""
        return float(self.importance.sum())

    @property
    def rows(self) -> IntArray:
        """Those of the cells' values."""
        return np.unique(self.block.rows)

    def moved(self, where: IntArray) -> "ListedCells":
        """The same cells of moved rows, ``where`` (d',)."""
        return replace(self, block=replace(self.block, rows=where[self.block.rows]))

    def add_slopes(self, values: Relaxed, slopes: Relaxed) -> float:
        """The loss; its gradient by the values (rows, records) is added to ``slopes`` (rows, records)."""
        columns = self.block.columns(values)
        errors = self.block.answers(columns) - self.targets
        weighted = self.importance * self.precision * errors
        self.block.add_slopes(columns, 2 * weighted, slopes)
        return float(weighted @ errors)


@final
@dataclass(frozen=True, slots=True, eq=False)
class WholeTable:
    """Answers to all cells of one table.

    Attributes:
        threshold: the table.
        of_attribute: of each of its attributes the rows (t_i,).
        targets (t_1, .., t_k): its noisy answers as fractions of all records.
        precision: the inverse variance of their noise.
        importance: by which the squared errors are multiplied besides.
    """

    threshold: ThresholdTable
    of_attribute: tuple[IntArray, ...]
    targets: Relaxed
    precision: float
    importance: float

    @classmethod
    def of(
        cls,
        threshold: ThresholdTable,
        blocks: Blocks,
        targets: NDArray[np.float64],
        precision: float,
        importance: float = 1.0,
    ) -> Self:
        """The targets (t_1, .., t_k) of relaxed records in these blocks."""
        rows = tuple(np.arange(blocks.count)[blocks.rows(position)] for position in threshold.positions)
        return cls(threshold, rows, targets.astype(np.float32), precision, importance)

    @property
    def enough(self) -> float:
        """Less than any loss: in a large table the noise of empty cells hides a few large ones that do not fit yet."""
        return -math.inf

    @property
    def rows(self) -> IntArray:
        """Those of its attributes."""
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


def listed_cells(
    thresholds: Sequence[ThresholdTable],
    cells: Sequence[IntArray],
    blocks: Blocks,
    targets: FloatArray,
    precision: FloatArray,
    importance: FloatArray | None = None,
) -> list[ListedCells]:
    """Noisy answers to listed cells of some tables.

    Args:
        thresholds: the tables.
        cells: of each table the numbers (c,) of its cells.
        blocks: which rows belong to which attribute.
        targets (q,): their noisy answers, table by table.
        precision (q,): the inverse variances of their noise, table by table.
        importance (q,): by which squared errors are multiplied besides, table by table; 1 unless given.
    """
    found = cell_blocks(thresholds, cells, blocks)
    importance = np.ones(len(targets)) if importance is None else importance
    return [
        ListedCells(block, targets[block.order], precision[block.order], importance[block.order]) for block in found
    ]
