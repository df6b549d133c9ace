"""RAP as a mechanism: the loop that chooses, answers and fits, between the charge and the result, and what it gives.

All of the result may be published.
Source: docs/adaptive-projection.md eqs. (a) to (e).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap.plan import Account, RapPlan, root_down, rounded_down
from residualplanner.fits.rap.projection import Answered
from residualplanner.fits.rap.relaxed_records import RelaxedRecords
from residualplanner.fits.rap.selection import Candidate, CandidateSelection, ExactCounts, Model
from residualplanner.fits.rap.tiles import ROOM
from residualplanner.fits.synthesis import rounding_named
from residualplanner.gate.discrete_gaussian import ByteSource, Scales, draw_arrays
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.checks import FloatArray, IntArray, is_integer, require_type, value_text
from residualplanner.ground.errors import DataError, WorkloadError
from residualplanner.ground.notebooks import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import decimal_text_up
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.method.workload.workload import Workload


@dataclass(frozen=True, slots=True, eq=False)
class RapRound:
    """One round: what was chosen, the noisy answers, and how they were fitted.

    Attributes:
        chosen: the cells or tables, in the order in which they were drawn; none where everything is measured.
        cells: of each table that was measured, by its number, the numbers (c,) of its cells.
        answers: of each table that was measured the noisy counts (c,) of these cells, integers.
        noise_variance: of the noise, in counts squared.
        losses: before each step of the fits, and after the last of each fit.
        steps: how many steps the fits made.
    """

    chosen: tuple[Candidate, ...]
    cells: dict[int, IntArray]
    answers: dict[int, IntArray]
    noise_variance: Fraction
    losses: tuple[float, ...] = ()
    steps: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RapResult:
    """What a run of RAP gives, all of which may be published.

    Attributes:
        plan: what was to be done.
        records: the relaxed records after the last round.
        total: the number of records, as it is public or was measured with noise.
        rounds: what was chosen and answered in each.
        costs: the exact pcost of every draw; together at most ``plan.cost``, which was charged.
        noise: how the noise was drawn, and what may be claimed for it.
    """

    plan: RapPlan
    records: RelaxedRecords
    total: int
    rounds: tuple[RapRound, ...]
    costs: tuple[tuple[str, Fraction], ...]
    noise: NoiseRecord

    def __repr__(self) -> str:
        return f"<RapResult of {self.plan!r}: {self.noise.guarantee}>"

    def _repr_html_(self) -> str:
        rows = [[label, decimal_text_up(cost / 2)] for label, cost in self.costs]
        return html_table(
            caption_of(self), ["draw", "rho"], rows[:ROWS], note=rest_note(len(rows) - ROWS, ".costs has all")
        )

    @property
    def spent(self) -> Fraction:
        """The sum of the costs of all draws."""
        return sum((cost for _, cost in self.costs), Fraction(0))

    def table(self, query: QueryLike) -> FloatArray:
        """The estimated answers to a query, (q_1, .., q_k), with its axes as it is written, prespecified or not.

        Args:
            query: as in a workload: names, a mapping from name to kind of query, a `Threshold`, or one `Among` others.

        Raises:
            DomainError: an attribute is not in the domain, or is named twice.
            WorkloadError: a kind of query does not fit its attribute.
        """
        domain = self.plan.workload.domain
        found = self.records.answers(written_query(domain, query), domain)
        found *= self.total
        return found

    def tables(self, workload: Workload | None = None) -> Iterator[FloatArray]:
        """The same for every query of a workload in its order, one at a time; by default of the plan's own.

        Raises:
            ArgumentError: ``workload`` is something else.
            WorkloadError: it is of another domain, or as by `table`.
        """
        if workload is not None:
            require_type("tables", "workload", workload, Workload, "make one with marginals(domain, order=2)")
            if workload.domain != self.plan.workload.domain:
                raise WorkloadError("the workload is of another domain than the plan")
        yield from map(self.table, self.plan.workload if workload is None else workload)

    def codes(self, records: int | None = None, *, seed: int = 0) -> IntArray:
        """Records (n, d), as codes in the order of the domain, spread evenly over the model.

        Args:
            records: how many; as many as there are unless given.
            seed: it is no secret, as nothing private depends on it.

        Raises:
            WorkloadError: ``records`` or ``seed`` is no integer from 0.
            ResourceError: so many records take more memory than there is.

        Source: eq. (76).
        """
        count = self.total if records is None else records
        for name, value in (("records", count), ("seed", seed)):
            if not is_integer(value):
                raise WorkloadError(f"{name} must be an integer from 0, got {value_text(value)}")
        even, mixture = rounding_named("sobol"), self.records.mixture
        even.require_room(count, len(self.plan.workload.domain))
        codes, _ = even.draw(mixture, int(count), np.random.default_rng(int(seed)))
        return codes


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
            drawn = self.drawn(selection, fitted.integers(total), number)
            fractions = {table: found.astype(np.float64) / total for table, found in drawn.answers.items()}
            answered.add(plan.thresholds, drawn.cells, fractions, float(total**2 / drawn.noise_variance))
            parameters, losses, steps = answered.fit(parameters)
            rounds.append(replace(drawn, losses=losses, steps=steps))
        fitted = RelaxedRecords(blocks, kind.values(parameters, blocks))
        noise = NoiseRecord("discrete", None, self.source.mark, plan.cost, plan.protected.words)
        return RapResult(plan, fitted, total, tuple(rounds), tuple(self.account.entries), noise)

    def selection(self) -> CandidateSelection:
        """What the first round can choose from."""
        return CandidateSelection(self.counts, self.plan.chosen, [set() for _ in self.plan.thresholds])

    def drawn(self, selection: CandidateSelection, model: Model, number: int) -> RapRound:
        """Make the draws of a round, counted from 0; whatever follows from them, as its fit, is post-processing.

        Guarantees: costs at most the plan's `round_cost`, whatever the model and the earlier rounds are.
        """
        chosen = self._choose(selection, model, number)
        cells = self._cells(chosen)
        return RapRound(tuple(chosen), cells, *self._answers(cells, number))

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
