"""RAP as a mechanism: the loop that chooses, answers and fits, between the charge and the result.

Source: docs/adaptive-projection.md eqs. (a) to (e).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap.plan import Account, RapPlan, root_down, rounded_down
from residualplanner.fits.rap.projection import Answered
from residualplanner.fits.rap.relaxed_records import RelaxedRecords
from residualplanner.fits.rap.result import RapResult, RapRound
from residualplanner.fits.rap.selection import Candidate, CandidateSelection, ExactCounts, Model
from residualplanner.fits.rap.tiles import ROOM
from residualplanner.gate.discrete_gaussian import ByteSource, Scales, draw_arrays
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError


class Drawn(NamedTuple):
    """What the draws of one round give, all of it noisy."""

    chosen: list[Candidate]  # the candidates, in the order of their draws
    cells: dict[int, IntArray]  # of each measured table the numbers (c,) of its cells
    answers: dict[int, IntArray]  # of each, the noisy counts (c,)
    variance: Fraction  # the variance parameter of their noise


@dataclass(slots=True, eq=False)
class Run:
    """One run of a plan: what has been drawn so far."""

    plan: RapPlan  # what to do
    counts: ExactCounts  # the exact answers of the plan's tables, which never leave
    source: ByteSource  # of random bytes
    generator: np.random.Generator  # of the first relaxed records, which need no secrecy
    room: int = ROOM  # the most bytes for what is computed of one tile
    account: Account = field(init=False)  # what the draws have cost

    def __post_init__(self) -> None:
        self.account = Account(self.plan.cost)

    def result(self, records: int) -> RapResult:
        """Make all draws.

        ``records`` is their exact number, from `require_records`, confidential unless the plan's neighbors make it
        public.  NoiseError where the random bytes or the machine's arithmetic failed a check.
        """
        plan, kind = self.plan, self.plan.projection.kind
        blocks = OneHot(plan.workload.domain.sizes)
        parameters = kind.start(blocks, plan.projection.relaxed_records, self.generator)
        total, selection = self._total(records), self.selection()
        rounds: list[RapRound] = []
        answered = Answered(blocks, plan.projection, plan.importance, self.room)
        for number in range(plan.rounds):
            fitted = RelaxedRecords(blocks, kind.values(parameters, blocks))
            chosen, cells, answers, variance = self.drawn(selection, fitted.integers(total), number)
            fractions = {table: found.astype(np.float64) / total for table, found in answers.items()}
            answered.add(plan.thresholds, cells, fractions, float(total**2 / variance))
            fit = answered.fit(parameters)
            parameters = fit.parameters
            rounds.append(RapRound(tuple(chosen), cells, answers, variance, fit.losses, fit.steps))
        fitted = RelaxedRecords(blocks, kind.values(parameters, blocks))
        noise = NoiseRecord("discrete", None, self.source.mark, plan.cost, plan.protected.words)
        return RapResult(plan, fitted, total, tuple(rounds), tuple(self.account.entries), noise)

    def selection(self) -> CandidateSelection:
        """What the first round can choose from."""
        return CandidateSelection(self.counts, self.plan.chosen, [set() for _ in self.plan.thresholds])

    def drawn(self, selection: CandidateSelection, model: Model, number: int) -> Drawn:
        """Make the draws of a round, counted from 0; whatever follows from them is post-processing.

        Guarantees: costs at most the plan's `round_cost`, whatever the model and the earlier rounds are.
        """
        chosen = self._choose(selection, model, number)
        cells = self._cells(chosen)
        return Drawn(chosen, cells, *self._answers(cells, number))

    def _total(self, records: int) -> int:
        """The number of records to scale fractions by: public, or noisy and at least 1."""
        plan = self.plan
        if plan.total is not None:
            return plan.total
        if plan.protected.has_public_total:
            return records
        precision = rounded_down(plan.total_cost / plan.protected.cost_factor)
        self.account.charge("the number of records", precision * plan.protected.cost_factor)
        return max(1, records + int(self._noise(1 / precision, [1])[0][0]))

    def _choose(self, selection: CandidateSelection, model: Model, number: int) -> list[Candidate]:
        """What to measure in a round; nothing is chosen where everything is measured."""
        plan = self.plan
        if plan.choices is None:
            return []
        factor = plan.protected.cost_factor
        rate = root_down(plan.choice_cost / (plan.choices * factor))
        self.account.charge(f"choices of round {number + 1}", plan.choices * factor * rate**2)
        return selection.choose(model, rate, plan.choices, self.source)

    def _cells(self, chosen: Sequence[Candidate]) -> dict[int, IntArray]:
        plan = self.plan
        if plan.choices is None:
            return {number: np.arange(each.cells) for number, each in enumerate(plan.thresholds)}
        cells: dict[int, list[IntArray]] = {}
        for table, number in chosen:
            cells.setdefault(table, []).append(plan.chosen.cells(number, plan.thresholds[table]))
        return {table: np.concatenate(found) for table, found in cells.items()}

    def _answers(self, cells: dict[int, IntArray], number: int) -> tuple[dict[int, IntArray], Fraction]:
        """Noisy counts of some cells, and the variance of their noise; charged before it is drawn."""
        plan = self.plan
        measured = {plan.thresholds[table]: len(found) for table, found in cells.items()}
        sensitivity = max(1, plan.bound(measured, plan.protected)) * plan.protected.cost_factor
        precision = rounded_down(plan.answer_cost / sensitivity)
        self.account.charge(f"answers of round {number + 1}", sensitivity * precision)
        tables = sorted(cells)
        noise = self._noise(1 / precision, [len(cells[table]) for table in tables])
        exact = self._exact(cells)
        return {table: exact[table] + drawn for table, drawn in zip(tables, noise, strict=True)}, 1 / precision

    def _exact(self, cells: Mapping[int, IntArray]) -> dict[int, IntArray]:
        """The exact counts (c,) of some cells of each table, which must not leave this room."""
        exact = {table: np.empty(len(found), dtype=np.int64) for table, found in cells.items()}
        tiles = [tile for tile in self.counts.tiles if tile.table in cells and tile.holds(cells[tile.table]).any()]
        for tile, answers in zip(tiles, self.counts.answers(tiles), strict=True):
            held = tile.holds(cells[tile.table])
            exact[tile.table][held] = answers[cells[tile.table][held] - tile.numbers.start]
        return exact

    def _noise(self, variance: Fraction, sizes: Sequence[int]) -> list[IntArray]:
        """Discrete Gaussian noise of this variance parameter, one array (size,) for each size."""
        ratio = variance.numerator, variance.denominator
        return draw_arrays(Scales.of_ratios([ratio[0]] * len(sizes), [ratio[1]] * len(sizes)), sizes, self.source)


def require_records(plan: RapPlan, records: int) -> int:
    """Raise DataError where there is no record to make fractions of, if their number is public."""
    if records < 1 and plan.total is None and plan.protected.has_public_total:
        raise DataError("there are no records")
    return records
