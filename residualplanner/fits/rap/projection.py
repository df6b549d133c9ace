"""Relaxed projection: relaxed records whose answers are nearest to all noisy ones of a run so far.

Noisy answers are met as listed cells, or as whole tables.  No record is involved.
Source: docs/adaptive-projection.md eq. (e), and "Limits" on cells that are off the model; eq. (58), with probabilities
in place of the matrices.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from residualplanner.fits.mixtures.mixture import OneHot, product_sums
from residualplanner.fits.optimizers import Adam, cosine_rate
from residualplanner.fits.rap.relaxed_records import (
    RELAXATIONS,
    Relaxation,
    Relaxed,
    RelaxedRecords,
    equal_weights,
    slopes_of_product_sums,
)
from residualplanner.fits.rap.tiles import ROOM, ThresholdTable, Tile, tiles_of
from residualplanner.ground.checks import FloatArray, IntArray, entry_named, float_of, require_integer, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.more.queries.thresholds import threshold_probability

#: Tables of more cells are fitted by some of them: the noise of many empty cells would hide those that matter.
WHOLE_CELLS = 2_000
#: A cell of a large table is fitted once its answer is so many standard deviations of the noise away.
SURPRISING = 3.5
#: So many cells are added before the next fit, and so many fits are made in a round, at most.
ADDED, FITS = 64, 4
#: A round of so many cells is fitted as well as its own noise allows: earlier ones, which fit, would hide misfits.
OF_ITS_OWN = 50
#: Answers to some cells of a table: their numbers (c,), noisy fractions (c,), their precision, and importance.
CellAnswers = tuple[ThresholdTable, IntArray, FloatArray, float, float]


def is_uncut(targets: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which noisy fractions are between 0 and 1 where those beyond have been put at the ends."""
    return np.asarray((targets > 0) & (targets < 1))


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
        """About the loss of the truth: cells by their importance, but those whose answers were cut to 0 or 1."""
        return float(self.importance @ is_uncut(self.targets))

    def mentioned(self) -> IntArray:
        """The rows of the relaxed records that the answers depend on."""
        return np.unique(self.rows)

    def moved(self, where: IntArray) -> "ListedCells":
        """The same answers of relaxed records whose row i (d',) has become row ``where[i]``."""
        return replace(self, rows=where[self.rows])

    def add_slopes(self, values: Relaxed, slopes: Relaxed) -> float:
        """The loss; its gradient by the values (rows, records) is added to ``slopes`` (rows, records)."""
        columns, shape = [values[rows] for rows in self.rows.T], (len(self.rows), values.shape[1])
        answers = threshold_probability(columns, self.at_least).mean(axis=1).astype(np.float64)  # of eq. (58)
        errors = answers - self.targets
        weighted = self.importance * self.precision * errors
        scaled = (2 * weighted / values.shape[1]).astype(np.float32)
        for rows, slope in zip(self.rows.T, _slopes(columns, self.at_least), strict=True):
            scatter = csc_array((scaled, rows, np.arange(len(rows) + 1)), shape=(len(slopes), len(rows)))
            slopes += scatter @ np.broadcast_to(slope, shape)
        return float(weighted @ errors)


@dataclass(frozen=True, slots=True, eq=False)
class TableTargets:
    """Answers to all cells of one table, or to some queries of a class of one's own."""

    table: ThresholdTable  # the table
    rows: tuple[IntArray, ...]  # of each of its attributes the rows (t_i,)
    numbers: IntArray | slice  # (q,): of the cells
    targets: Relaxed  # (q,): their noisy answers as fractions of all records
    precision: float  # the inverse variance of their noise
    importance: float  # by which the squared errors are multiplied besides

    @classmethod
    def of(cls, blocks: OneHot, answers: CellAnswers, *, is_cut: bool = False) -> Self:
        """Answers, as fractions of relaxed records in these blocks; put between 0 and 1 if they are to be."""
        table, numbers, targets, precision, importance = answers
        rows = tuple(np.arange(blocks.count)[blocks.rows(position)] for position in table.positions)
        kept = (np.clip(targets, 0, 1) if is_cut else targets).astype(np.float32)
        measured = numbers if len(numbers) < table.cells else slice(None)
        return cls(table, rows, measured, kept, precision, importance)

    @property
    def enough(self) -> float:
        """As of listed cells for a class; else below any loss, as empty cells' noise hides large ones that are off."""
        return -math.inf if self.table.own is None else self.importance * float(is_uncut(self.targets).sum())

    def mentioned(self) -> IntArray:
        """The rows of its attributes."""
        return np.concatenate([*self.rows, np.empty(0, dtype=np.int64)])

    def moved(self, where: IntArray) -> "TableTargets":
        """The same table of moved rows, ``where`` (d',)."""
        return replace(self, rows=tuple(where[rows] for rows in self.rows))

    def add_slopes(self, values: Relaxed, slopes: Relaxed) -> float:
        """The loss; its gradient by the values (rows, records) is added to ``slopes`` (rows, records)."""
        columns, each, own = [values[rows] for rows in self.rows], equal_weights(values), self.table.own
        found = self.table.answers(product_sums(columns, each)) if own is None else own.means(columns)
        errors, weight = found.ravel()[self.numbers] - self.targets, self.importance * self.precision
        if columns:
            weights = np.zeros_like(found)
            weights.reshape(-1)[self.numbers] = errors * found.dtype.type(2 * weight)
            gradients = (
                slopes_of_product_sums(self.table.answers(weights), columns, each)
                if own is None
                else own.slopes(columns, weights)
            )
            for rows, slope in zip(self.rows, gradients, strict=True):
                slopes[rows] += slope
        return weight * float(np.einsum("i,i", errors, errors, dtype=np.float64))


#: Noisy answers to be met: a weighted sum of squared errors.
NoisyTargets = ListedCells | TableTargets


def listed_cells(answers: Iterable[CellAnswers], blocks: OneHot) -> list[ListedCells]:
    """Noisy answers to listed cells, those of tables with equally many attributes and the same r together."""
    by_kind: dict[tuple[int, int], list[tuple[NDArray[Any], ...]]] = {}
    for threshold, cells, targets, *of_all in answers:
        rows = np.stack(np.unravel_index(cells, threshold.shape), axis=1) + blocks.offsets[list(threshold.positions)]
        each = rows, np.asarray(targets), *(np.full(len(cells), number) for number in of_all)
        by_kind.setdefault((len(threshold.positions), threshold.at_least), []).append(each)
    return [ListedCells(r, *map(np.concatenate, zip(*found, strict=True))) for (_, r), found in by_kind.items()]


@dataclass(frozen=True, slots=True, eq=False)
class FittedRows:
    """Rows of the parameters that are fitted; of each block the others are fitted as one, their logarithmic sum.

    Values that no measured cell mentions have no influence on the loss but through their sum, so the optimum is the
    same, and the work does not depend on how many values an attribute has.
    """

    order: IntArray  # the rows of all blocks that are fitted; those that are fitted as one stand side by side
    starts: IntArray  # (f,): where in this order the rows of each number that is fitted begin
    blocks: OneHot  # of these numbers

    @classmethod
    def of(cls, mentioned: NDArray[np.bool_], blocks: OneHot, *, merges: bool) -> Self:
        """The rows to fit, from those mentioned (d',); all rows of their blocks where ``merges`` is False."""
        order, starts, sizes, here = [np.empty(0, dtype=np.int64)], [], [], 0
        for own in np.split(np.arange(blocks.count), blocks.offsets[1:-1]):
            if mentioned[own].any():
                wanted = own[mentioned[own]] if merges else own
                others = np.setdiff1d(own, wanted)
                starts.append(here + np.arange(len(wanted) + bool(len(others))))
                order += [wanted, others]
                sizes.append(len(starts[-1]))
                here += len(own)
        return cls(np.concatenate(order), np.concatenate(starts), OneHot(tuple(sizes)))

    @property
    def numbers(self) -> IntArray:
        """The number as which each row in this order is fitted."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.order)))

    def fitted(self, parameters: Relaxed) -> Relaxed:
        """The parameters to fit (f, records), from all parameters (d', records)."""
        return np.logaddexp.reduceat(parameters[self.order], self.starts, axis=0)

    def put_back(self, fitted: Relaxed, parameters: Relaxed) -> Relaxed:
        """All parameters (d', records), with the fitted ones in place and the others in their old proportions."""
        found, own = parameters.copy(), parameters[self.order]
        own -= self.fitted(parameters)[self.numbers]
        own += fitted[self.numbers]
        found[self.order] = own
        return found


@dataclass(frozen=True, slots=True)
class ProjectionSettings:
    """How relaxed records are fitted to noisy answers.

    Attributes:
        relaxed_records: how many there are; fewer are faster and coarser.
        relaxation: "softmax"; "sparsemax", as published; or "interval", the numbers between -1 and 1 of the first
            version of RAP, for marginals alone: they are no probabilities that records could be drawn from.
        steps: of the optimizer in each fit, at most.
        learning_rate: of its first step; None for that of the relaxation, of "softmax" by what a plan measures.
        spread: the standard deviation of the first logits; None for that by what a plan measures.
        stops_at_noise: whether a fit ends once listed cells fit as well as noise allows, in all and in large rounds.
        as_published: rates do not fall along a cosine, to a hundredth, but are constant, times the root of how many
            cells are fitted, up to 25,000; a step ends the fit that lowers the loss by less than a billionth; and large
            tables are fitted by all cells, not by those that surprise.

    Raises:
        WorkloadError: one of these is invalid.
    """

    relaxed_records: int = 1000
    relaxation: str = "softmax"
    steps: int = 300
    learning_rate: float | None = None
    stops_at_noise: bool = True
    as_published: bool = False
    spread: float | None = None

    def __post_init__(self) -> None:
        for name in ("relaxed_records", "steps"):
            object.__setattr__(self, name, require_integer(name, getattr(self, name)))
        entry_named("relaxation", self.relaxation, RELAXATIONS)
        for name in ("learning_rate", "spread"):
            value = getattr(self, name)
            if value is not None and not 0 < float_of(value) < math.inf:
                raise WorkloadError(f"{name} must be positive and finite, got {value_text(value)}")
        for name in ("stops_at_noise", "as_published"):
            if not isinstance(getattr(self, name), bool):
                raise WorkloadError(f"{name} must be True or False, got {value_text(getattr(self, name))}")

    @classmethod
    def published(cls, relaxation: str = "sparsemax", *, relaxed_records: int = 1000) -> Self:
        """The published optimizer: up to 5,000 steps of Adam at a constant rate, which nothing but stalling ends."""
        return cls(relaxed_records, relaxation, 5000, 1e-4, stops_at_noise=False, as_published=True)

    def of(self, first: tuple[float, float]) -> Self:
        """The same with this size of the first step, and this spread, where they are None."""
        rate = first[0] if self.kind.is_softmax else self.kind.learning_rate
        return replace(self, learning_rate=self.learning_rate or rate, spread=self.spread or first[1])

    @property
    def kind(self) -> Relaxation:
        """The relaxation itself."""
        return RELAXATIONS[self.relaxation]

    def rate_at(self, step: int, cells: int = 1) -> float:
        """The learning rate of a step, from 0 on, of a fit to so many cells."""
        first = self.kind.learning_rate if self.learning_rate is None else self.learning_rate
        return first * math.sqrt(min(cells, 25_000)) if self.as_published else cosine_rate(first, step, self.steps)

    def is_last(self, losses: Sequence[float], fits: bool) -> bool:
        """Whether a fit ends with these losses, one before each step so far; noise explains the last if it ``fits``."""
        has_stalled = self.as_published and len(losses) > 1 and losses[-1] > losses[-2] * (1 - 1e-9)
        return (self.stops_at_noise and fits) or len(losses) > self.steps or has_stalled


#: What a fit gives: the parameters (d', n') of relaxed records; the weighted sum of squared errors before each step,
#: and after the last; and how many steps there were.
Projection = tuple[Relaxed, tuple[float, ...], int]


def relaxed_projection(
    parameters: Relaxed, blocks: OneHot, targets: Sequence[NoisyTargets], settings: ProjectionSettings
) -> Projection:
    """Fit relaxed records (d', n') until the last step, or until answers fit as well as settings ask for.

    Source: docs/adaptive-projection.md eq. (e); Adam is Kingma and Ba 2015.
    """
    kind = settings.kind
    mentioned = np.zeros(len(parameters), dtype=np.bool_)
    for each in targets:
        mentioned[each.mentioned()] = True
    if not mentioned.any():  # the number of records alone, which fractions say nothing about
        values = kind.values(parameters, blocks)
        return parameters, (sum(each.add_slopes(values, np.zeros_like(values)) for each in targets),), 0
    part = FittedRows.of(mentioned, blocks, merges=kind.is_softmax)
    where = np.zeros(len(parameters), dtype=np.int64)
    where[part.order] = part.numbers
    local = [each.moved(where) for each in targets]
    enough, sizes = np.array([each.enough for each in targets]), np.array([each.targets.size for each in targets])
    fitted, losses = part.fitted(parameters), list[float]()
    adam, values = Adam(fitted), kind.values(fitted, part.blocks)
    for step in range(settings.steps + 1):
        slopes = np.zeros_like(values)
        own = [each.add_slopes(values, slopes) for each in local]
        losses.append(sum(own))
        fits = losses[-1] <= enough.sum() and bool(((own <= enough) | (sizes < OF_ITS_OWN)).all())
        if settings.is_last(losses, fits):
            break
        adam.add(kind.slopes(values, slopes, part.blocks))
        fitted -= adam.step(settings.rate_at(step, int(sizes.sum())))
        fitted = kind.kept(fitted, part.blocks)
        values = kind.values(fitted, part.blocks)
    return part.put_back(fitted, parameters), tuple(losses), step


@dataclass(slots=True, eq=False)
class Answered:
    """Noisy answers, as targets of relaxed records."""

    blocks: OneHot  # of the relaxed records
    settings: ProjectionSettings  # of the fits
    importance: Sequence[float]  # of each table of the plan, by which its squared errors are multiplied
    room: int = ROOM  # the most bytes for what is computed of one tile of them
    targets: list[NoisyTargets] = field(default_factory=list)  # listed cells and small tables, which are always fitted
    large: list[TableTargets] = field(default_factory=list)  # large tables, all of whose answers are known
    active: list[IntArray] = field(default_factory=list)  # of each large table, which cells (its own shape) are fitted

    def add(
        self,
        thresholds: Sequence[ThresholdTable],
        cells: Mapping[int, IntArray],
        fractions: Mapping[int, FloatArray],
        precision: float,
    ) -> None:
        """Add the answers of a round: of each measured table the numbers (c,) of cells, and noisy fractions (c,)."""
        answers = {
            number: (thresholds[number], numbers, fractions[number], precision, self.importance[number])
            for number, numbers in cells.items()
        }
        listed = [each for each, (table, own, *_) in answers.items() if table.own is None and len(own) < table.cells]
        self.targets += self._listed([answers[number] for number in listed])
        for number in cells.keys() - set(listed):
            table, is_cut = thresholds[number], self.settings.as_published or thresholds[number].own is not None
            whole = TableTargets.of(self.blocks, answers[number], is_cut=is_cut)
            if table.cells <= WHOLE_CELLS or is_cut:
                self.targets.append(whole)
            else:
                self.large.append(whole)
                self.active.append(np.empty(0, dtype=np.int64))

    def fit(self, parameters: Relaxed) -> Projection:
        """Fit relaxed records (d', n'); large tables by the cells that surprise, which are looked for anew."""
        losses, steps = tuple[float, ...](), 0
        for number in range(FITS):
            is_surprised = self._activate(parameters)
            targets = [*self.targets, *self._active()]
            if not targets or (number and not is_surprised):
                break
            parameters, own, count = relaxed_projection(parameters, self.blocks, targets, self.settings)
            losses, steps = losses + own, steps + count
        return parameters, losses, steps

    def _activate(self, parameters: Relaxed) -> bool:
        """Add the most surprising cells of large tables to those that are fitted; whether there are any."""
        if not self.large:
            return False
        records = RelaxedRecords(self.blocks, self.settings.kind.values(parameters, self.blocks))
        tiles = tiles_of([each.table for each in self.large], relaxed_records=records.values.shape[1], room=self.room)
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
        wrong = np.abs(records.of_tile(tile) - each.targets[first : tile.numbers.stop])
        wrong *= np.sqrt(each.precision)
        active = self.active[tile.table]
        wrong[active[tile.holds(active)] - first] = 0
        cells = np.flatnonzero(wrong > SURPRISING)
        if len(cells) > ADDED:
            cells = cells[wrong[cells] >= np.partition(wrong[cells], -ADDED)[-ADDED]]
        return cells + first, wrong[cells]

    def _active(self) -> list[ListedCells]:
        found = [(each, active) for each, active in zip(self.large, self.active, strict=True) if active.size]
        fractions = [each.targets[active].astype(np.float64) for each, active in found]
        parts = zip(found, fractions, strict=True)
        return self._listed([(one.table, cells, own, one.precision, one.importance) for (one, cells), own in parts])

    def _listed(self, answers: Sequence[CellAnswers]) -> list[ListedCells]:
        """Listed cells, their answers put between 0 and 1, as published."""
        return listed_cells(
            [(table, cells, np.clip(own, 0, 1), p, w) for table, cells, own, p, w in answers], self.blocks
        )
