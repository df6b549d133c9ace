"""RAP as a mechanism: the loop that chooses, answers and fits, between the charge and the result, and what it gives.

`rap` opens the records, after everything that can be decided without them.  All of the result may be published.
Source: docs/adaptive-projection.md eqs. (a) to (e).
"""

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np

from residualplanner.fits.mixtures.drawing import rounding_named
from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap import tiles as tiling
from residualplanner.fits.rap.own_queries import QueryClass
from residualplanner.fits.rap.plan import Account, RapPlan, root_down, rounded_down
from residualplanner.fits.rap.projection import Answered
from residualplanner.fits.rap.relaxed_records import OF_CELLS, RelaxedRecords
from residualplanner.gate import discrete_gaussian as discrete
from residualplanner.gate import spend as spending
from residualplanner.gate.discrete_gaussian.envelope import Scales
from residualplanner.gate.ledger import Ledger
from residualplanner.gate.measurement.blocks import require_room
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.sources.limited_records import require_public_number
from residualplanner.gate.sources.opening import open_source, require_several_readings
from residualplanner.gate.sources.source import Source
from residualplanner.ground import checks
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import BudgetError, DataError, ResourceError
from residualplanner.ground.notebooks import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.words import ChargeTime, count_text, decimal_text_up
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.scale.engines.engines import require_ready_engine

#: Bytes for counts and what is computed of them, unless memory= says otherwise.
MEMORY = 2**30
#: Bytes of a count; and of a noisy answer, with its number, its noise, its fraction and its target.
_COUNT_BYTES, _ANSWER_BYTES = 8, 40
#: How many times as much as a count takes together with what is computed of it.
_WORK = 9


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

    chosen: tuple[tiling.Candidate, ...]
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

    def answers(self, query: QueryClass) -> FloatArray:
        """The estimated answers (m,) to a query class of one's own; WorkloadError if it is none."""
        return self.records.fractions(tiling.own_table(query, self.plan.workload.domain)) * self.total

    def codes(self, records: int | None = None, *, seed: int = 0) -> IntArray:
        """Records (n, d), as codes in the order of the domain, spread evenly over the model.

        Args:
            records: how many; as many as there are unless given.
            seed: it is no secret, as nothing private depends on it.

        Raises:
            WorkloadError: ``records`` or ``seed`` is no integer, at least 0.
            ResourceError: so many records take more memory than there is.

        Source: eq. (76).
        """
        count = checks.require_integer("records", self.total if records is None else records, least=0)
        even, mixture = rounding_named("sobol"), self.records.mixture
        even.require_room(count, len(self.plan.workload.domain))
        return even.codes(mixture, count, np.random.default_rng(checks.require_integer("seed", seed, least=0)))


@dataclass(slots=True, eq=False)
class Run:
    """One run of a plan: what has been drawn so far."""

    plan: RapPlan  # what to do
    counts: tiling.ExactCounts  # the exact answers of the plan's tables, which never leave
    source: discrete.ByteSource  # of random bytes
    generator: np.random.Generator  # of the first relaxed records, which need no secrecy
    room: int = tiling.ROOM  # the most bytes for what is computed of one tile
    account: Account = field(init=False)  # what the draws have cost
    selection: tiling.CandidateSelection = field(init=False)  # what can still be chosen

    def __post_init__(self) -> None:
        self.account = Account(self.plan.cost)
        self.selection = tiling.CandidateSelection(
            self.counts, self.plan.is_by_table, [set() for _ in self.plan.thresholds]
        )

    def result(self, records: int) -> RapResult:
        """Make all draws; the exact number of records is confidential unless the plan's neighbors make it public."""
        plan, settings, kind = self.plan, self.plan.projection, self.plan.projection.kind
        blocks = OneHot(plan.workload.domain.sizes)
        parameters = kind.start(blocks, settings.relaxed_records, self.generator, settings.spread or OF_CELLS[1])
        total, rounds = self._total(records), list[RapRound]()
        answered = Answered(blocks, settings, plan.importance, self.room)
        for number in range(plan.rounds):
            fitted = RelaxedRecords(blocks, kind.values(parameters, blocks))
            drawn = self.drawn(fitted.integers(total), number)
            fractions = {table: found.astype(np.float64) / total for table, found in drawn.answers.items()}
            answered.add(plan.thresholds, drawn.cells, fractions, float(total**2 / drawn.noise_variance))
            parameters, losses, steps = answered.fit(parameters)
            rounds.append(replace(drawn, losses=losses, steps=steps))
        fitted = RelaxedRecords(blocks, kind.values(parameters, blocks))
        noise = NoiseRecord("discrete", None, self.source.mark, plan.cost, plan.protected.words)
        return RapResult(plan, fitted, total, tuple(rounds), tuple(self.account.entries), noise)

    def drawn(self, model: tiling.Model, number: int) -> RapRound:
        """Make the draws of a round, counted from 0; whatever follows from them, as its fit, is post-processing.

        Guarantees: costs at most the plan's `round_cost`, whatever the model and the earlier rounds are.
        """
        chosen = self._choose(model, number)
        cells = self._cells(chosen)
        return RapRound(tuple(chosen), cells, *self._answers(cells, number))

    def _total(self, records: int) -> int:
        plan = self.plan
        if plan.total is not None:
            return plan.total
        if plan.protected.has_public_total:
            return records
        precision = rounded_down(plan.total_cost / plan.protected.cost_factor)
        self.account.charge("the number of records", precision * plan.protected.cost_factor)
        return max(1, records + int(self._noise(1 / precision, [1])[0][0]))

    def _choose(self, model: tiling.Model, number: int) -> list[tiling.Candidate]:
        """What to measure in a round; nothing is chosen where everything is measured."""
        plan = self.plan
        if plan.choices is None:
            return []
        factor = plan.protected.cost_factor
        rate = root_down(plan.choice_cost / (plan.choices * factor))
        self.account.charge(f"choices of round {number + 1}", plan.choices * factor * rate**2)
        return self.selection.choose(model, rate, plan.choices, self.source)

    def _cells(self, chosen: Sequence[tiling.Candidate]) -> dict[int, IntArray]:
        plan, cells = self.plan, dict[int, list[int]]()
        if plan.choices is None or plan.is_by_table:
            tables = range(len(plan.thresholds)) if plan.choices is None else [table for table, _ in chosen]
            return {table: np.arange(plan.thresholds[table].cells) for table in tables}
        for table, number in chosen:
            cells.setdefault(table, []).append(number)
        return {table: np.array(found) for table, found in cells.items()}

    def _answers(self, cells: dict[int, IntArray], number: int) -> tuple[dict[int, IntArray], Fraction]:
        """Noisy counts of some cells, and the variance of their noise; charged before it is drawn."""
        plan = self.plan
        measured = {plan.thresholds[table]: len(found) for table, found in cells.items()}
        sensitivity = max(1, plan.bound(measured, plan.protected)) * plan.protected.cost_factor
        precision = rounded_down(plan.answer_cost / sensitivity)
        self.account.charge(f"answers of round {number + 1}", sensitivity * precision)
        tables = sorted(cells)
        noise = self._noise(1 / precision, [len(cells[table]) for table in tables])
        exact = {table: np.empty(len(found), dtype=np.int64) for table, found in cells.items()}  # must not leave
        tiles = [tile for tile in self.counts.tiles if tile.table in cells and tile.holds(cells[tile.table]).any()]
        for tile, answers in zip(tiles, self.counts.answers(tiles), strict=True):
            held = tile.holds(cells[tile.table])
            exact[tile.table][held] = answers[cells[tile.table][held] - tile.numbers.start]
        return {table: exact[table] + drawn for table, drawn in zip(tables, noise, strict=True)}, 1 / precision

    def _noise(self, variance: Fraction, sizes: Sequence[int]) -> list[IntArray]:
        scale = Scales.of_ratios([variance.numerator], [variance.denominator])
        return np.split(discrete.draw_flat(scale, [sum(sizes)], self.source), np.cumsum(sizes))[:-1]


@spending.entrance
def rap(
    plan: RapPlan,
    data: object,
    *,
    ledger: Ledger | None = None,
    charge: ChargeTime = "counted",
    again: bool = False,
    memory: int = MEMORY,
    seed: int | None = None,
) -> RapResult:
    """Choose, measure and fit, round after round: every call spends the plan's privacy budget once more.

    Args:
        plan: what to do.
        data: the records, in any form that `measure` accepts.
        ledger: it is charged the plan's whole cost when the records have been counted, or, where they are read again in
            every round, checked; before the first draw.
        charge: as for `measure`.
        again: carry out a plan that the ledger holds already once more, and charge it again.
        memory: how many bytes counts and what is computed of them may take, besides the records that are being read,
            the relaxed records with the optimizer's state, and noisy answers.  Half of it is for counts: if the plan's
            tables are larger together, the records are read again in every round.  The other half is for one tile of a
            table: if a table is larger, the records are read once for each of its tiles.
        seed: for research: all draws are then made from bits that anyone can foresee, and the result carries no
            guarantee.

    Returns:
        Relaxed records, which answer every query, and a record of all draws.

    Raises:
        ArgumentError: ``plan`` is not a RapPlan.
        BudgetError: ``seed`` or ``charge`` is invalid, or the ledger has less left than the plan costs, is for other
            neighbors, or holds the plan already.
        FileFormatError, OSError: the ledger's file is damaged, or cannot be locked or written.
        ResourceError: ``memory`` is less than one cell needs, or more than there is; it divides the tables into more
            than 100,000 tiles; or the records can be read only once.  All of this is said before anything is read.
        DataError: the records do not fit the schema; or there are none, where their number is public.
        NoiseError: the random bytes or the machine's arithmetic failed a check; nothing may be released.
        UnexpectedError: a defect.

    Whatever is raised once records are read has a note that says what was charged, and leads to no record.

    Guarantees: zCDP at half the plan's cost, for neighbors as the plan says: choices have exactly the law of the
        exponential mechanism, and answers exactly discrete Gaussian noise.
    Source: docs/adaptive-projection.md eqs. (a) to (e), with the proofs.

    Example:
        >>> import residualplanner as rp
        >>> records = np.array([[0, 0], [0, 1], [1, 1]] * 200)
        >>> pairs = rp.marginals(rp.Domain({"a": 2, "b": 3}), order=2)
        >>> plan = RapPlan(pairs, budget=rp.zcdp(50), neighbors="replace", rounds=2, choices=3)
        >>> result = rap(plan, records)
        >>> np.abs(result.table(("a", "b")) - [[200, 200, 0], [0, 200, 0]]).max() < 20
        np.True_
    """
    checks.require_type("rap", "plan", plan, RapPlan, "write rap(RapPlan(workload, ...), records)")
    require_guarded_main("rap")
    spending.require_charge_time(charge)
    if seed is not None and not checks.is_integer(seed):
        raise BudgetError(f"seed must be an integer, at least 0, or None for a release; got {checks.value_text(seed)}")
    bits = discrete.OperatingSystemBits() if seed is None else discrete.InsecureTestBits(int(seed))
    generator = np.random.default_rng(secrets.randbits(128) if seed is None else int(seed))
    require_public_number(data, plan.protected)
    keeps, half = _require_room(plan, data, memory)
    tiles = tiling.tiles_of(plan.thresholds, relaxed_records=plan.projection.relaxed_records, room=half)
    what = f"RAP of {count_text(len(plan.thresholds), 'table')}"
    bill = spending.Bill(plan.cost, plan.sha256, what, plan.budget, plan.protected, again)
    if ledger is not None:
        checks.require_type("rap", "ledger", ledger, Ledger, "write ledger=Ledger.open(path)")
        bill.require_room(ledger)
    elif seed is None:
        spending.warn_without_ledger()

    def opened() -> Source:
        source = open_source(data, plan.workload.domain, records_per_person=plan.records_per_person)
        require_ready_engine(data)
        return source

    def counted(source: Source) -> tuple[tiling.ExactCounts, int]:
        records = tiling.count_records(source, tiles)
        if records < 1 and plan.total is None and plan.protected.has_public_total:
            raise DataError("there are no records")  # to make fractions of
        return tiling.ExactCounts(source, tiles, None if keeps else half // _COUNT_BYTES), records

    def drawn(found: tuple[tiling.ExactCounts, int]) -> RapResult:
        result = Run(plan, found[0], bits, generator, half).result(found[1])
        noise = result.noise.of_run(ledger, data, plan.protected)
        return replace(result, noise=noise.told(plan.workload.domain))

    return spending.spend(
        spending.Steps(opened, counted, partial(bill.charge, ledger), drawn),
        ledger=ledger,
        charge=charge,
        progress=spending.WatchedProgress(None),
    )


def _require_room(plan: RapPlan, data: object, memory: object) -> tuple[bool, int]:
    """Whether all counts may be kept, and half of the memory; ResourceError where the run cannot be made in it."""
    most = checks.float_of(memory) / 2
    if not 0 <= most < math.inf:
        raise ResourceError(f"memory must be a number of bytes, such as 2**30, got {checks.value_text(memory)}")
    cells, half = sorted(each.cells for each in plan.thresholds), int(most)
    counts, chosen = _COUNT_BYTES * sum(cells), plan.rounds * (plan.choices or len(cells))
    measured = sum(cells[-chosen:]) if plan.is_by_table or plan.choices is None else chosen  # at most, in all rounds
    require_room(
        min(2 * half, _WORK * counts) + _ANSWER_BYTES * measured,
        "RAP holds {needed} of counts and noisy answers at once",
        "nothing was charged or read.  Allow less with memory=, or ask for fewer or smaller tables",
    )
    require_several_readings(data, "for RAP")
    return counts <= half, half
