"""One run that measures into a store: its checks, its charge, its work.

Reads: a plan, confidential records, a store.  Gives: Measurement, or the error to raise where no record is in sight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from residualplanner._atomic import PathLike
from residualplanner._checks import type_refusal
from residualplanner.discrete_gaussian import ByteSource, OperatingSystemBits
from residualplanner.errors import BudgetError, ResourceError, StoreError
from residualplanner.ledger import Ledger, LedgerEntry
from residualplanner.measurement.blocks import AnswersOnDisk
from residualplanner.measurement.charging import charge_plan, require_room_for_plan, run_charged, warn_without_ledger
from residualplanner.measurement.exact_noise import exact_noise
from residualplanner.measurement.measurement import Measurement
from residualplanner.measurement.resources import require_memory
from residualplanner.measurement.shielding import WatchedProgress, shielded
from residualplanner.measurement.stored.generations import Driver
from residualplanner.measurement.stored.manifest import has_ended, write_manifest
from residualplanner.measurement.stored.object_names import ANSWERS, numbered_names
from residualplanner.measurement.stored.reading import collected, collector_of, load_stored_measurement
from residualplanner.measurement.stored.release import StoredRelease, open_release, opened_release, require_unused
from residualplanner.measurement.stored.stages import Stages
from residualplanner.measurement.stored.tasks import TASK_CELLS, Tasks, tasks_of_noise, tasks_of_release
from residualplanner.plan import Plan, bytes_text
from residualplanner.sources import Cluster, KeptRecords, kept_records, open_cluster, require_public_number
from residualplanner.stores import ObjectStore, open_store, require_create_if_absent
from residualplanner.workers import require_guarded_main

_REST = (
    "The answers that were published are in the store: resume_measuring(store, records) has the others drawn, for the "
    "same charge, and abort_measuring(store) removes them."
)


@dataclass(frozen=True, eq=False, slots=True)
class Options:
    """What a run is given besides plan, records and store.

    Attributes:
        ledger: is charged.
        is_strict: charge tasks again that are drawn again; counts when a release is begun.
        again: whether a plan that the ledger holds already may be charged again; counts when a release is begun.
        scratch: the folder of the file in which answers are put together.
        progress: called with the number of tasks done and their total.
        source: of random bytes.
        task_cells: how many cells the tables of a task may have together; counts when a release is begun.
    """

    ledger: Ledger | None = None
    is_strict: bool = False
    again: bool = False
    scratch: PathLike | None = None
    progress: WatchedProgress = field(default_factory=lambda: WatchedProgress(None))
    source: ByteSource = field(default_factory=OperatingSystemBits)
    task_cells: int = TASK_CELLS


@dataclass(frozen=True, eq=False, slots=True)
class _Job:
    """A release that is open, and what it is measured with.

    Attributes:
        release: what is measured.
        tasks: all of them.
        cluster: counts and draws.
        collector: takes the answers.
        options: of this run.
        kept: which records of each person are counted; None for all.
    """

    release: StoredRelease
    tasks: Tasks
    cluster: Cluster
    collector: AnswersOnDisk
    options: Options
    kept: KeptRecords | None

    def finished(self) -> Measurement | BaseException:
        """Charge, unless that was done before, and have everything drawn that is missing."""
        outcome = run_charged(self._charge, self._run, self.options.progress)
        if isinstance(outcome, BaseException):
            outcome.add_note(_REST)
        return outcome

    def _charge(self) -> LedgerEntry | None:
        return self._charge_once(self.release.purpose, range(len(self.tasks)), again=self.release.terms.again)

    def _charge_once(self, purpose: str, numbers: Sequence[int], *, again: bool) -> LedgerEntry | None:
        """Charge some tasks for a purpose; the entry that is there if they were charged for it before."""
        noise = self.tasks.noise
        if self.options.ledger is None or not numbers:
            return None
        cost = noise.cost if len(numbers) == len(self.tasks) else self.tasks.cost(numbers)
        for entry in self.options.ledger.entries:
            if entry.label.startswith(purpose) and entry.cost >= cost:
                return entry
        return charge_plan(self.options.ledger, noise.plan, cost, purpose=purpose, again=again)

    def _charge_again(self, generation: int, numbers: list[int]) -> None:
        if not self.release.terms.is_strict:
            return
        try:
            self._charge_once(self.release.purpose_of_generation(generation), numbers, again=True)
        except OSError as error:
            raise StoreError(f"the ledger could not be charged again: {error.strerror or error}") from None

    def _run(self) -> Measurement:
        stages = Stages(self.release, self.options.ledger)
        driver = Driver(self.release, self.tasks, self.cluster, self.options.source, self._charge_again, stages)
        receipts, noise = driver.receipts(), self.tasks.noise
        record = replace(noise.record(self.options.source.mark), kept=self.kept)
        if self.options.ledger is not None:
            record = record.charged_to(self.options.ledger)
        manifest = write_manifest(self.release, noise.plan, record, receipts)
        self.release.store.remove_unfinished()
        return collected(manifest, self.tasks, self.collector)


def begun(plan: Plan, data: object, store: object, options: Options) -> Measurement | BaseException:
    """The result of `measure_in_store`, or the error for it to raise."""
    wrong = type_refusal("measure_in_store", "plan", plan, Plan, "write measure_in_store(plan, records, store)")
    if wrong is not None:
        return wrong
    require_guarded_main("measure_in_store")
    noise, objects, ledger = exact_noise(plan), open_store(store), options.ledger
    tasks = tasks_of_noise(noise, options.task_cells)
    if options.is_strict and ledger is None:
        raise BudgetError("to charge tasks again a ledger is needed; give one, or leave is_strict out")
    if ledger is None:
        warn_without_ledger()
    else:
        require_room_for_plan(ledger, plan, noise.cost, again=options.again)
    require_unused(objects)
    collector = _require_room(tasks, objects, options.scratch)
    cluster = _ready_cluster(data, tasks, options.progress)
    if isinstance(cluster, BaseException):
        return cluster
    release = open_release(
        objects,
        plan,
        task_cells=options.task_cells,
        source=options.source.mark,
        has_ledger=ledger is not None,
        is_strict=options.is_strict,
        again=options.again,
    )
    return _Job(release, tasks, cluster, collector, options, kept_records(data, plan.neighbors)).finished()


def resumed(store: object, data: object, options: Options) -> Measurement | BaseException:
    """The result of `resume_measuring`, or the error for it to raise."""
    require_guarded_main("resume_measuring")
    objects = open_store(store)
    release = opened_release(objects)
    if has_ended(objects):
        return load_stored_measurement(objects, scratch=options.scratch)
    terms = release.terms
    if terms.has_ledger and options.ledger is None:
        raise BudgetError("this release is charged to a ledger; give the same one again")
    if terms.source != options.source.mark:
        raise BudgetError("this release was begun with random bytes of another source; begin another release")
    tasks = tasks_of_release(release)
    collector = _require_room(tasks, objects, options.scratch)
    cluster = _ready_cluster(data, tasks, options.progress)
    if isinstance(cluster, BaseException):
        return cluster
    return _Job(release, tasks, cluster, collector, options, kept_records(data, tasks.noise.plan.neighbors)).finished()


def _ready_cluster(data: object, tasks: Tasks, progress: WatchedProgress) -> Cluster | BaseException:
    """The workers that count the records, or the error to raise if they cannot."""
    plan = tasks.noise.plan
    require_public_number(data, plan.neighbors)
    try:
        cluster = open_cluster(
            data, plan.domain, records_per_person=plan.neighbors.records_per_person, progress=progress.report
        )
        cluster.require_ready([tasks.counting(number) for number in range(len(tasks))])
    except BaseException as error:  # noqa: BLE001 - it has been where the records are
        return shielded(error, progress)
    return cluster


def _require_room(tasks: Tasks, store: ObjectStore, scratch: PathLike | None) -> AnswersOnDisk:
    """A file for all answers, if memory and disks have room for the work, and the store keeps what it must.

    Raises:
        ResourceError: memory or a disk is too small, or the store does not create objects only where none are.
        StoreError: the store cannot be written.
    """
    require_memory(tasks.largest.groups)
    collector = collector_of(tasks, scratch)  # first, since it may take room on the store's own disk
    require_create_if_absent(store)
    if numbered_names(store, ANSWERS):  # the release was charged; what is left of it may fit
        return collector
    free, needed = store.free_bytes(), tasks.stored_bytes
    if free is not None and free < needed:
        raise ResourceError(
            f"too little room: the answers and what belongs to them take {bytes_text(needed)}, and {store} has "
            f"{bytes_text(free)} left; nothing was charged or read.  Name another store"
        )
    return collector
