"""All noisy answers of a run so far, and how relaxed records are fitted to them.

No record is involved.
Source: docs/adaptive-projection.md eq. (e), and "Limits" on cells that are off the model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap.projection import Projection, ProjectionSettings, relaxed_projection
from residualplanner.fits.rap.relaxation import Relaxed
from residualplanner.fits.rap.relaxed_records import RelaxedRecords
from residualplanner.fits.rap.targets import ListedCells, NoisyTargets, WholeTable, listed_cells
from residualplanner.fits.rap.tiles import ROOM, ThresholdTable, Tile, tiles_of
from residualplanner.ground.checks import FloatArray, IntArray

#: Tables of more cells are fitted by some of them: the noise of many empty cells would hide those that matter.
WHOLE_CELLS = 2_000
#: A cell of a large table is fitted once its answer is so many standard deviations of the noise away.
SURPRISING = 3.5
#: So many cells are added before the next fit, and so many fits are made in a round, at most.
ADDED, FITS = 64, 4


@dataclass(slots=True, eq=False)
class Answered:
    """Noisy answers, as targets of relaxed records."""

    blocks: OneHot  # of the relaxed records
    settings: ProjectionSettings  # of the fits
    importance: Sequence[float]  # of each table of the plan, by which its squared errors are multiplied
    room: int = ROOM  # the most bytes for what is computed of one tile of them
    # answers to listed cells and to small tables, all of which are always fitted
    targets: list[NoisyTargets] = field(default_factory=list)
    large: list[WholeTable] = field(default_factory=list)  # large tables, all of whose answers are known
    active: list[IntArray] = field(default_factory=list)  # of each large table, which cells (its own shape) are fitted

    def add(
        self,
        thresholds: Sequence[ThresholdTable],
        cells: Mapping[int, IntArray],
        fractions: Mapping[int, FloatArray],
        precision: float,
    ) -> None:
        """Add the answers of a round: of each measured table the numbers (c,) of cells, and noisy fractions (c,)."""
        listed = [table for table, found in cells.items() if self._is_listed(thresholds[table], len(found))]
        if listed:
            self.targets += self._listed(
                [thresholds[table] for table in listed],
                [cells[table] for table in listed],
                [fractions[table] for table in listed],
                [precision] * len(listed),
                [self.importance[table] for table in listed],
            )
        for table in cells.keys() - set(listed):
            threshold = thresholds[table]
            shaped, importance = fractions[table].reshape(threshold.shape), self.importance[table]
            whole = WholeTable.of(threshold, self.blocks, shaped, precision, importance)
            if threshold.cells <= WHOLE_CELLS:
                self.targets.append(whole)
            else:
                self.large.append(whole)
                self.active.append(np.empty(0, dtype=np.int64))

    def _is_listed(self, threshold: ThresholdTable, measured: int) -> bool:
        """Whether a table is fitted cell by cell: in part, or where eq. (58) does not hold and it is small enough."""
        is_marginal = threshold.at_least == len(threshold.positions)
        is_mapped = is_marginal or self.settings.kind.sums_to_one or threshold.cells > WHOLE_CELLS
        return measured < threshold.cells or not is_mapped

    def fit(self, parameters: Relaxed) -> Projection:
        """Fit relaxed records (d', n'); large tables by the cells that surprise, which are looked for anew."""
        losses: tuple[float, ...] = ()
        steps = 0
        for number in range(FITS):
            is_surprised = self._activate(parameters)
            targets = [*self.targets, *self._active()]
            if not targets or (number and not is_surprised):
                break
            fit = relaxed_projection(parameters, self.blocks, targets, self.settings)
            parameters, losses, steps = fit.parameters, losses + fit.losses, steps + fit.steps
        return Projection(parameters, losses, steps)

    def _activate(self, parameters: Relaxed) -> bool:
        """Add the most surprising cells of large tables to those that are fitted; whether there are any."""
        if not self.large:
            return False
        records = RelaxedRecords(self.blocks, self.settings.kind.values(parameters, self.blocks))
        tiles = tiles_of(
            [each.threshold for each in self.large], relaxed_records=records.values.shape[1], room=self.room
        )
        surprises = [(tile.table, *self._surprises(records, tile)) for tile in tiles]
        least = np.sort(np.concatenate([wrong for *_, wrong in surprises]))[-ADDED:]
        if not least.size:
            return False
        for table, cells, wrong in surprises:
            self.active[table] = np.concatenate([self.active[table], cells[wrong >= least[0]]])
        return True

    def _surprises(self, records: RelaxedRecords, tile: Tile) -> tuple[IntArray, FloatArray]:
        """The most surprising cells (c,) of a tile, and by how many standard deviations they are off."""
        each, first = self.large[tile.table], tile.numbers.start
        wrong = np.abs(records.of_tile(tile) - each.targets.ravel()[first : tile.numbers.stop])
        wrong *= np.sqrt(each.precision)
        active = self.active[tile.table]
        wrong[active[tile.holds(active)] - first] = 0
        cells = np.flatnonzero(wrong > SURPRISING)
        if len(cells) > ADDED:
            cells = cells[wrong[cells] >= np.partition(wrong[cells], -ADDED)[-ADDED]]
        return cells + first, wrong[cells]

    def _active(self) -> list[ListedCells]:
        found = [(each, active) for each, active in zip(self.large, self.active, strict=True) if active.size]
        if not found:
            return []
        return self._listed(
            [each.threshold for each, _ in found],
            [active for _, active in found],
            [each.targets.ravel()[active].astype(np.float64) for each, active in found],
            [each.precision for each, _ in found],
            [each.importance for each, _ in found],
        )

    def _listed(
        self,
        thresholds: Sequence[ThresholdTable],
        cells: Sequence[IntArray],
        fractions: Sequence[FloatArray],
        precision: Sequence[float],
        importance: Sequence[float],
    ) -> list[ListedCells]:
        """Listed cells, their answers put between 0 and 1, as published."""
        sizes, targets = [len(each) for each in cells], np.clip(np.concatenate(fractions), 0, 1)
        of_cells = (np.repeat(each, sizes) for each in (precision, importance))
        return listed_cells(thresholds, cells, self.blocks, targets, *of_cells)
