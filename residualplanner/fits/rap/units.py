"""What a round chooses: cells, as in the papers, or whole tables.

Reads: how far the relaxed records are from the exact counts, which is confidential.  Gives: scores, as integers.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol, final

import numpy as np

from residualplanner.fits.rap.threshold_table import ThresholdTable
from residualplanner.fits.rap.tiles import Tile
from residualplanner.ground.checks import IntArray

#: Tiles of one table whose candidates get their scores together.
Tiles = tuple[Tile, ...]


class Unit(Protocol):
    """Something that can be chosen, and how much it needs to be measured."""

    @property
    def name(self) -> str:
        """The word for it in a plan."""

    def candidates(self, thresholds: Sequence[ThresholdTable]) -> int:
        """How many there are in some tables."""

    def together(self, tiles: Sequence[Tile]) -> list[Tiles]:
        """Tiles of all tables, in their order, those together whose candidates get their scores together."""

    def numbers(self, tiles: Tiles) -> range:
        """The numbers of the candidates of some tiles that get their scores together."""

    def scores(self, errors: Iterable[IntArray]) -> IntArray:
        """The scores (c,) of the candidates of such tiles.

        Args:
            errors: of each tile (cells,) how far each cell is from the exact count, integers of at least 0; all are
                taken, one after another.

        Guarantees: if every count changes by at most 1, so does every score.
        """

    def largest(self, thresholds: Sequence[ThresholdTable], choices: int) -> list[int]:
        """How many cells each of the largest candidates has."""

    def cells(self, number: int, threshold: ThresholdTable) -> IntArray:
        """The cells (m,) that are measured where a candidate of this table was chosen."""


@final
class CellUnit:
    """Cells: the score is how far the cell is from the exact count."""

    name = "cell"

    def candidates(self, thresholds: Sequence[ThresholdTable]) -> int:
        """All cells of all tables."""
        return sum(each.cells for each in thresholds)

    def together(self, tiles: Sequence[Tile]) -> list[Tiles]:
        """Each tile alone."""
        return [(tile,) for tile in tiles]

    def numbers(self, tiles: Tiles) -> range:
        """Those of its cells."""
        [tile] = tiles
        return tile.numbers

    def scores(self, errors: Iterable[IntArray]) -> IntArray:
        """The errors (cells,) themselves."""
        [found] = errors
        return found

    def largest(self, thresholds: Sequence[ThresholdTable], choices: int) -> list[int]:
        """1 for each."""
        del thresholds
        return [1] * choices

    def cells(self, number: int, threshold: ThresholdTable) -> IntArray:
        """The cell itself."""
        del threshold
        return np.array([number])


@final
class TableUnit:
    """Tables: the score is the largest distance of one of its cells; each table has the number 0."""

    name = "table"

    def candidates(self, thresholds: Sequence[ThresholdTable]) -> int:
        """All tables."""
        return len(thresholds)

    def together(self, tiles: Sequence[Tile]) -> list[Tiles]:
        """All tiles of a table."""
        return [tuple(of_table) for _, of_table in groupby(tiles, key=lambda tile: tile.table)]

    def numbers(self, tiles: Tiles) -> range:
        """The number 0."""
        del tiles
        return range(1)

    def scores(self, errors: Iterable[IntArray]) -> IntArray:
        """The largest of all errors (1,)."""
        return np.array([max(int(each.max()) for each in errors)])

    def largest(self, thresholds: Sequence[ThresholdTable], choices: int) -> list[int]:
        """The numbers of cells of the largest tables."""
        return sorted(each.cells for each in thresholds)[-choices:]

    def cells(self, number: int, threshold: ThresholdTable) -> IntArray:
        """All cells of the table."""
        del number
        return np.arange(threshold.cells)


UNITS: dict[str, Unit] = {each.name: each for each in (CellUnit(), TableUnit())}
