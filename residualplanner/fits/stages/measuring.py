"""The gate of records in stages: it counts all pairs, charges once for all stages, and draws one after another.

Nothing is chosen by a count, but by noisy answers, which are in a folder before the next stage is chosen.  A run that
was killed goes on with what is left; the ledger knows every attempt, so that of all copies of a folder one goes on.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from residualplanner.fits.stages.folder import KeptStages, opened_folder, stated_run
from residualplanner.fits.stages.staged_plan import StageChoice, StagedPlan, choose
from residualplanner.fits.synthesis.coarsening import Coarsening
from residualplanner.fits.synthesis.measured_tables import Stage
from residualplanner.fits.synthesis.staged_release import StagedRelease
from residualplanner.gate import discrete_gaussian as discrete
from residualplanner.gate import spend as spending
from residualplanner.gate.ledger import Ledger, LedgerEntry
from residualplanner.gate.measurement.blocks import blocks_held, require_memory
from residualplanner.gate.measurement.counting import count_tables, parents, rows_to_count
from residualplanner.gate.measurement.discrete import exact_noise
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.sources.limited_records import require_public_number
from residualplanner.gate.sources.opening import engines, open_source, require_several_readings
from residualplanner.gate.sources.ready_counts import source_of_counts
from residualplanner.gate.sources.source import Progress, Source
from residualplanner.ground.checks import IntArray, require_type, untold, within
from residualplanner.ground.errors import DomainError, FileFormatError
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.stores import open_store
from residualplanner.ground.words import ChargeTime
from residualplanner.method.domain.domain import Domain
from residualplanner.method.privacy import Budget
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.release.reconstruct import reconstruct

#: The exact counts of all tables, which never leave, by the positions of their attributes.
_Counts = dict[tuple[int, ...], IntArray]
#: The records, and these.
_Counted = tuple[Source, _Counts]
#: How many cells of larger tables are held at once.
_HELD = 1 << 26
#: The most stages there are.
_MOST_STAGES = 5


@spending.entrance
def measure_in_stages(
    plan: StagedPlan,
    data: object,
    *,
    ledger: Ledger | None = None,
    folder: object | None = None,
    charge: ChargeTime = "counted",
    progress: Progress | None = None,
) -> StagedRelease:
    """Measure what synthetic records are made from, each stage by what those before it have shown.

    First the number of records and all attributes by themselves; then, unless the noise would hide them, all pairs of
    attributes in groups of values; and these again, those that depend on each other most exactly.

    Args:
        plan: the schema, and what may be spent.
        data: the records, as for `measure`; all pairs of attributes are counted once.
        ledger: it is charged once for all stages, before the first noise; without one nothing adds up what is spent.
        folder: where the answers of each stage are kept, a path or ``s3://bucket/prefix``.  A run that was killed goes
            on from there with the same arguments, at no further cost; one that is complete is read from it.
        charge: as for `measure`.
        progress: called with how much is done, and how much there is to do.

    Returns:
        What was measured, from which `synthesize` makes records, and tables with standard errors follow.

    Raises:
        ArgumentError: ``plan`` is not a staged plan.
        BudgetError: as by `measure`; or the folder is a copy of one that has gone on.
        FileFormatError: the folder holds another run, or a file in it was altered.
        StoreError: another run is at work in the folder, or it cannot be written.
        WorkloadError, ResourceError, OSError, DataError, NoiseError, UnexpectedError: as by `measure`.

    Whatever is raised once records are read has a note that says what was charged, and leads to no record.

    Guarantees: zCDP at half the plan's cost, for neighbors as it says: each stage depends on noisy answers alone, and
        the costs of the stages add up to no more than that in every course of events.
    Source: docs/mathematics.md section 13, on stages.

    Example:
        >>> import numpy as np
        >>> from residualplanner import Domain, zcdp
        >>> records = np.array([[0, 0], [1, 2], [1, 1]] * 200)
        >>> staged = measure_in_stages(StagedPlan(Domain({"a": 2, "b": 3}), budget=zcdp(1)), records)
        >>> bool(abs(staged.singles[()].estimate - 600) < 60), len(staged.tables)
        (True, 1)
    """
    require_type("measure_in_stages", "plan", plan, StagedPlan, "write StagedPlan(domain, budget=zcdp(0.1))")
    require_guarded_main("measure_in_stages")
    spending.require_charge_time(charge)
    watched, kept = spending.WatchedProgress(progress), opened_folder(folder, plan)
    run = _Run(plan, kept, ledger, discrete.OperatingSystemBits(), watched.report or untold, kept.drawn(plan))
    if kept.is_complete:
        return _release_of(plan, run.stages)
    bill = spending.Bill(plan.cost, kept.sha256, "synthetic records in stages", plan.budget, plan.protected, False)
    is_paid = ledger is not None and any(entry.plan_sha256 == kept.sha256 for entry in ledger.entries)
    if ledger is None:
        spending.warn_without_ledger()
    if not is_paid:
        bill.require_room(ledger)
    require_public_number(data, plan.protected)
    require_several_readings(data, "again for the triples that the stages choose")
    steps = run.steps(data, lambda: None if is_paid else bill.charge(ledger))
    return spending.spend(steps, ledger=ledger, charge=charge, progress=watched)


@spending.entrance
def measure_with_bits(plan: StagedPlan, data: object, source: discrete.ByteSource) -> StagedRelease:
    """`measure_in_stages` from any source of bytes, whose mark the result keeps; for tests and comparisons."""
    run = _Run(plan, opened_folder(None, plan), None, source, untold, [])
    unwatched = spending.WatchedProgress(None)
    return spending.spend(run.steps(data, lambda: None), ledger=None, charge="counted", progress=unwatched)


@dataclass(eq=False, slots=True)
class _Run:
    """One run: what has been measured so far."""

    staged: StagedPlan
    kept: KeptStages
    ledger: Ledger | None
    bits: discrete.ByteSource
    report: Progress
    stages: list[Stage]

    def steps(
        self, data: object, charge: Callable[[], LedgerEntry | None]
    ) -> spending.Steps[Source, _Counted, StagedRelease]:
        """What is done with the records, in this order."""
        plan = self.staged

        def opened() -> Source:
            source = open_source(data, plan.domain, records_per_person=plan.records_per_person)
            engines().require_ready_engine(data)
            return source

        return spending.Steps(opened, self.count, charge, partial(self.draw, data))

    def count(self, source: Source) -> _Counted:
        """The tables of pairs, which must not leave, and the records, to count larger sets that noisy answers name."""
        plan = self.staged.everything
        groups, family = basis_groups(plan.strategy), parents(plan.closure)
        require_memory(groups)
        rows = rows_to_count(plan.closure, groups, family)
        return source, _of_sets(rows, source.count(rows, progress=within(self.report, 0, 40)))

    def draw(self, data: object, counted: _Counted) -> StagedRelease:
        """Draw the noise of all stages that are left, each chosen by those before it."""
        for choice in iter(lambda: choose(self.staged, self.stages), None):
            tables = _coarsened(choice, counted, self.staged.domain.sizes)
            self.kept.claim(self.ledger)
            measurement = self._measured(choice, data, tables)
            self.kept.keep(len(self.stages), choice, measurement)  # before anything is chosen by it
            self.stages.append(Stage(measurement, choice.coarsenings, choice.order))
            within(self.report, 40, 100)(len(self.stages), _MOST_STAGES)
        self.kept.complete(len(self.stages), self.ledger)
        self.report(100, 100)
        return _release_of(self.staged, self.stages)

    def _measured(self, choice: StageChoice, data: object, tables: dict[tuple[str, ...], IntArray]) -> Measurement:
        plan = choice.plan
        noise = exact_noise(plan, self.bits)
        counts = count_tables(source_of_counts(tables, plan.domain), plan.closure, noise.groups, noise.family)
        block = next(iter(blocks_held(noise.groups, noise.family)))
        record = noise.record.of_run(self.ledger, data, plan.neighbors)
        return Measurement(plan, noise.answers(block, counts), record)


def _release_of(plan: StagedPlan, stages: Sequence[Stage]) -> StagedRelease:
    singles = reconstruct([own for stage in stages[:2] for own in stage.measurement.measurements])
    return StagedRelease(singles, tuple(stages[2:]), plan.everything)


def _of_sets(rows: Sequence[IntArray], tables: Sequence[IntArray]) -> _Counts:
    return {
        tuple(members): table
        for own, stack in zip(rows, tables, strict=True)
        for members, table in zip(own.tolist(), stack, strict=True)
    }


def _coarsened(choice: StageChoice, counted: _Counted, sizes: Sequence[int]) -> dict[tuple[str, ...], IntArray]:
    """The counts of the sets of a stage by the names of their attributes, which must not leave."""
    source, counts = counted
    names = choice.plan.domain.names
    axes = {
        tuple(names[position] for position in members): [choice.coarsenings[position] for position in members]
        for members in choice.plan.closure
        if len(members) == choice.order
    }
    found: dict[tuple[str, ...], IntArray] = {}
    wanted = {named: tuple(each.attribute for each in own) for named, own in axes.items()}
    for rows in _batches(sorted({own for own in wanted.values() if len(own) > 2}), sizes):
        larger = _of_sets(rows, source.count(rows))
        found |= {named: _summed(larger[own], axes[named]) for named, own in wanted.items() if own in larger}
    for named, own in wanted.items():
        if named not in found:
            holder = next(key for key in counts if set(own) <= set(key))
            away = tuple(axis for axis, each in enumerate(holder) if each not in own)
            found[named] = _summed(np.asarray(counts[holder].sum(axis=away)), axes[named])
    return found


def _summed(table: IntArray, coarsenings: Sequence[Coarsening]) -> IntArray:
    for axis, each in enumerate(coarsenings):
        table = each.summed(table, axis)
    return table


def _batches(sets: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> Iterator[list[IntArray]]:
    """Sets of attributes as `Source.count` takes them, as many at a time as have so many cells."""
    by_shape: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    held = 0
    for members in sets:
        shape = tuple(sizes[attribute] for attribute in members)
        held += math.prod(shape)
        if held > _HELD and by_shape:
            yield [np.array(own) for own in by_shape.values()]
            by_shape, held = {}, math.prod(shape)
        by_shape.setdefault(shape, []).append(members)
    if by_shape:
        yield [np.array(own) for own in by_shape.values()]


def load_stages(folder: object) -> StagedRelease:
    """What `measure_in_stages` measured and kept in a folder.

    Raises:
        FileFormatError: it holds no run, or one that is not complete; or a file in it was altered.
        BudgetError: the noise of a stage costs more than it may.
        OSError, StoreError: it cannot be read.
    """
    store = open_store(folder)
    try:
        about = stated_run(store)
        terms = {name: about[name] for name in ("neighbors", "records_per_person")}
        plan = StagedPlan(Domain.from_json(about["domain"]), budget=Budget.from_json(about["budget"]), **terms)
    except (FileNotFoundError, KeyError, TypeError, DomainError) as error:
        raise FileFormatError(f"{store} holds no stages, as measure_in_stages keeps them: {error}") from None
    kept = opened_folder(folder, plan)
    stages = kept.drawn(plan)
    if not kept.is_complete:
        raise FileFormatError(f"the stages in {store} are not complete; complete them with measure_in_stages")
    return _release_of(plan, stages)
