"""What a round chooses: cells, as in the papers, or whole tables.

Reads: how far the relaxed records are from the exact counts, which is confidential.  Gives: scores, as integers.
"""

from collections.abc import Collection, Sequence
from typing import Protocol, final

import numpy as np

from residualplanner._checks import IntArray
from residualplanner.relaxed_projection.threshold_table import ThresholdTable


class Unit(Protocol):
    """Something that can be chosen, and how much it needs to be measured."""

    @property
    def name(self) -> str:
        """The word for it in a plan."""

    @property
    def plural(self) -> str:
        """The word for several in messages."""

    def candidates(self, thresholds: Sequence[ThresholdTable]) -> int:
        """How many there are in some tables."""

    def scores(self, errors: IntArray, earlier: Collection[int]) -> IntArray:
        """The scores of a table's candidates that were not chosen before, (c,).

        Args:
            errors (cells,): how far each cell is from the exact count, integers of at least 0.
            earlier: the candidates of this table that were chosen before.

        Guarantees: if every count changes by at most 1, so does every score.
        """

    def numbers(self, cells: int, earlier: Collection[int]) -> IntArray:
        """The numbers of these candidates (c,), in the order of `scores`."""

    def cells(self, number: int, threshold: ThresholdTable) -> IntArray:
        """The cells (m,) that are measured where a candidate of this table was chosen."""


@final
class CellUnit:
    """Cells: the score is how far the cell is from the exact count."""

    name, plural = "cell", "cells"

    def candidates(self, thresholds: Sequence[ThresholdTable]) -> int:
        """All cells of all tables."""
        return sum(each.cells for each in thresholds)

    def scores(self, errors: IntArray, earlier: Collection[int]) -> IntArray:
        """The errors (cells,) themselves, without those of cells that were chosen before."""
        return np.delete(errors, sorted(earlier)) if earlier else errors

    def numbers(self, cells: int, earlier: Collection[int]) -> IntArray:
        """Those of all cells that were not chosen before."""
        return np.delete(np.arange(cells), sorted(earlier))

    def cells(self, number: int, threshold: ThresholdTable) -> IntArray:
        """The cell itself."""
        del threshold
        return np.array([number])


@final
class TableUnit:
    """Tables: the score is the largest distance of one of its cells; each table has the number 0."""

    name, plural = "table", "tables"

    def candidates(self, thresholds: Sequence[ThresholdTable]) -> int:
        """All tables."""
        return len(thresholds)

    def scores(self, errors: IntArray, earlier: Collection[int]) -> IntArray:
        """The largest of the errors (cells,), unless the table was chosen before."""
        return errors[:0] if earlier else errors.max(keepdims=True)

    def numbers(self, cells: int, earlier: Collection[int]) -> IntArray:
        """The number 0, unless the table was chosen before."""
        del cells
        return np.arange(0 if earlier else 1)

    def cells(self, number: int, threshold: ThresholdTable) -> IntArray:
        """All cells of the table."""
        del number
        return np.arange(threshold.cells)


UNITS: dict[str, Unit] = {each.name: each for each in (CellUnit(), TableUnit())}
