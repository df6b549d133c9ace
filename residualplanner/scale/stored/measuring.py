"""Measuring into a store: beginning, resuming and aborting it; one run with its checks, its charge, its work."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial

from residualplanner.gate import spend as spending
from residualplanner.gate.discrete_gaussian import ByteSource, OperatingSystemBits
from residualplanner.gate.ledger import Ledger, LedgerEntry
from residualplanner.gate.measurement.blocks import AnswersOnDisk
from residualplanner.gate.measurement.discrete import ExactNoise, exact_noise
from residualplanner.gate.measurement.measure import bill_of_plan
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.sources.limited_records import require_public_number
from residualplanner.gate.sources.opening import require_several_readings
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import BudgetError, ResourceError
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.stores import ObjectStore, open_store
from residualplanner.ground.stores.object_store import require_create_if_absent
from residualplanner.ground.words import ChargeTime, bytes_text
from residualplanner.method.plan.plan import Plan
from residualplanner.scale.engines.cluster import Cluster
from residualplanner.scale.engines.engines import open_cluster, require_ready_engine
from residualplanner.scale.stored import reading
from residualplanner.scale.stored import release as stored
from residualplanner.scale.stored.generations import Driver, close
from residualplanner.scale.stored.tasks import TASK_CELLS, Tasks, require_rooms, tasks_of_release, tasks_within

_REST = (
    "The answers that were published are in the store: resume_measuring(store, records) has the others drawn, for the "
    "same charge, and abort_measuring(store) removes them."
)


@dataclass(frozen=True, eq=False, slots=True)
class Options:
    """What a run is given besides plan, records and store; two count only when a release is begun."""

    ledger: Ledger | None = None
    again: bool = False  # whether a plan that the ledger holds already may be charged again; when it is begun
    scratch: PathLike | None = None  # the folder of the file in which answers are put together
    progress: spending.WatchedProgress = field(default_factory=lambda: spending.WatchedProgress(None))
    source: ByteSource = field(default_factory=OperatingSystemBits)
    task_cells: int = TASK_CELLS  # how many cells the tables of a task may have together; when it is begun
    charge: ChargeTime = "counted"


def _measured(
    data: object,
    opening: Callable[[], stored.StoredRelease],
    tasks: Tasks,
    collector: AnswersOnDisk,
    options: Options,
    *,
    is_drawn: bool = False,
) -> Measurement:
    """Check the records, charge, unless that was done before, and have everything drawn that is missing.

    ``opening`` gives the release, and opens it in the store if it is begun; before that nothing is there.  Where some
    tasks were drawn before, there is nothing to check any more.
    """
    release, noise = cache(opening), replace(tasks.noise, source=options.source)
    plan, record = noise.plan, noise.record.of_run(options.ledger, data, noise.plan.neighbors)

    def opened() -> Cluster:
        require_several_readings(data, "for other tasks, and after a failure")
        persons, progress = plan.neighbors.records_per_person, options.progress.report
        return open_cluster(data, plan.domain, records_per_person=persons, progress=progress)

    def checked(cluster: Cluster) -> Cluster:
        if not is_drawn:
            cluster.check([tasks.counting(number) for number in range(len(tasks))])
        return cluster

    def drawn(cluster: Cluster) -> Measurement:
        receipts = Driver(release(), tasks, cluster, options.source, options.ledger).receipts()
        reading.write_manifest(release(), plan, record, receipts)
        release().store.remove_unfinished()
        return reading.measurement_of(release(), tasks, lambda: collector)

    steps = spending.Steps(opened, checked, lambda: _charged(release(), noise, options.ledger), drawn)
    try:
        return spending.spend(steps, ledger=options.ledger, charge=options.charge, progress=options.progress)
    except BaseException as error:
        if release.cache_info().currsize:
            error.add_note(_REST)
        raise


def _charged(release: stored.StoredRelease, noise: ExactNoise, ledger: Ledger | None) -> LedgerEntry | None:
    """The entry of a release in the ledger: the one that is there if it was charged before, else a new one."""
    if ledger is None:
        return None
    bill = bill_of_plan(noise.plan, noise.cost, purpose=release.purpose, again=release.again)
    return release.entry(ledger, least=noise.cost) or bill.charge(ledger)


@spending.entrance
def measure_in_store(
    plan: Plan,
    data: object,
    store: object,
    *,
    ledger: Ledger | None = None,
    charge: ChargeTime = "counted",
    again: bool = False,
    scratch: PathLike | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Count the records where they are, have the noise drawn there, and keep the answers in a store.

    The cost and the distribution of the noise are those of `measure`.  Frames of PySpark and Dask are counted by their
    workers, which draw the noise and write the answers to the store; no count comes here.  All other records are
    counted by this process, several tasks in one pass.

    `resume_measuring` completes a run that ended early, for whatever reason: for the same charge, and without drawing
    again what was published.

    Args:
        plan: the sets of attributes to measure, and their noise.
        data: the records, as for `measure`.  They must be the same each time they are read.
        store: the path of a folder, on a file system that all workers share, or ``s3://bucket/prefix``; nothing else
            may be in it.  Until the release is published it is for its curator alone.
        ledger: it is charged the cost when all columns of all records have been checked, before any noise is drawn.
        charge: as for `measure`.
        again: as for `measure`.
        scratch: the folder of the file in which the answers are put together for the result.
        progress: called with the number of tasks done and their total: of this library's where this
            process or Dask counts, of Spark's own where Spark does.

    Returns:
        The noisy answers, mapped from a file without a name, as of `load_stored_measurement`.

    Raises:
        ArgumentError: ``plan`` is not a plan, or ``store`` is not a store.
        BudgetError: as by `measure`.
        ResourceError: memory or disk are too small, the store does not create objects only where none are, or the
            engine's settings or workers do not serve; all found before the charge.
        StoreError: the store holds a release already, or failed; or some tasks could not be drawn.
        WorkloadError, FileFormatError, OSError, DataError, NoiseError, UnexpectedError: as by `measure`.

    Guarantees: as `measure`.  Of each set of attributes at most one draw is ever readable, whatever dies or is run
        twice, and whatever goes on running after it was given up; none is readable before all are there.
    """
    watched = spending.WatchedProgress(progress)
    options = Options(ledger, again, scratch, watched, charge=charge)
    return begun(plan, data, store, options)


@spending.entrance
def resume_measuring(
    store: object,
    data: object,
    *,
    ledger: Ledger | None = None,
    charge: ChargeTime = "counted",
    scratch: PathLike | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Complete a release that `measure_in_store` began: the tasks that have no answers are drawn.

    Only one run may draw a release at a time.

    Args:
        store: where it was begun.
        data: the same records.
        ledger: the one that was charged, if one was; it is charged now if the first run ended before it could be.
        charge: as for `measure`, if it is charged now.
        scratch: as in `measure_in_store`.
        progress: as there.

    Returns:
        The noisy answers.  If all had been drawn, no record is read.

    Raises:
        FileFormatError: the store holds no release, or something in it was altered.
        BudgetError: the ledger is missing, is not the one that was charged, or has too little left; or the store is a
            copy of one that has gone on.
        ResourceError, StoreError, DataError, NoiseError, UnexpectedError: as by `measure_in_store`.
    """
    watched = spending.WatchedProgress(progress)
    options = Options(ledger, scratch=scratch, progress=watched, charge=charge)
    return resumed(store, data, options)


def abort_measuring(store: object) -> None:
    """Give up a release that is not complete: its answers are removed, and there will never be others.

    What was charged stays charged.  The store keeps a note that the release was given up, which workers that are
    still at work must find; remove the folder when none can be at work.

    Args:
        store: where it was begun.

    Raises:
        FileFormatError: the store holds no release.
        StoreError: the release is complete, or the store failed.
    """
    release = stored.opened_release(open_store(store))
    reading.end_without_answers(release)
    objects, tasks = release.store, tasks_of_release(release)
    generations = map(stored.generation_of, stored.numbered_names(objects, stored.GENERATIONS))
    close(release, range(len(tasks)), generations)
    for name in stored.numbered_names(objects, stored.ANSWERS):
        if objects.read(name) != stored.CLOSED:
            objects.remove(name)
    objects.remove_unfinished()


def begun(plan: Plan, data: object, store: object, options: Options) -> Measurement:
    """The result of `measure_in_store`, also with options that users do not have."""
    require_type("measure_in_store", "plan", plan, Plan, "write measure_in_store(plan, records, store)")
    require_guarded_main("measure_in_store")
    spending.require_charge_time(options.charge)
    objects, ledger = open_store(store), options.ledger
    if ledger is None:
        spending.warn_without_ledger()
    if stored.RELEASE in objects.names(stored.RELEASE):
        raise stored.in_use(objects)
    noise = exact_noise(plan)
    bill_of_plan(plan, noise.cost, again=options.again).require_room(ledger)
    require_public_number(data, plan.neighbors)
    tasks, task_cells = tasks_within(noise, options.task_cells, require_ready_engine(data, objects))
    opening = partial(
        stored.open_release,
        objects,
        plan,
        task_cells=task_cells,
        source=options.source.mark,
        has_ledger=ledger is not None,
        again=options.again,
    )
    return _measured(data, opening, tasks, _require_room(tasks, objects, options.scratch), options)


def resumed(store: object, data: object, options: Options) -> Measurement:
    """The result of `resume_measuring`, also with options that users do not have."""
    require_guarded_main("resume_measuring")
    spending.require_charge_time(options.charge)
    objects = open_store(store)
    release = stored.opened_release(objects)
    if release.is_complete:
        return reading.load_stored_measurement(objects, scratch=options.scratch)
    is_drawn = bool(stored.numbered_names(objects, stored.GENERATIONS))
    _require_same_ledger(release, options.ledger, is_drawn=is_drawn)
    if release.source != options.source.mark:
        raise BudgetError("this release was begun with random bytes of another source; begin another release")
    tasks = tasks_of_release(release)
    require_public_number(data, tasks.noise.plan.neighbors)
    require_rooms(tasks, require_ready_engine(data, objects))
    collector = _require_room(tasks, objects, options.scratch)
    return _measured(data, lambda: release, tasks, collector, options, is_drawn=is_drawn)


def _require_same_ledger(release: stored.StoredRelease, ledger: Ledger | None, *, is_drawn: bool) -> None:
    """BudgetError unless a release goes on with the ledger that it began with: what was drawn was charged there."""
    if not release.has_ledger:
        return
    if ledger is None:
        raise BudgetError("this release is charged to a ledger; give the same one again")
    if is_drawn and release.entry(ledger) is None:
        raise BudgetError(
            "this release was charged to another ledger, which has an entry for it; give that one, so that nothing is "
            "charged twice.  Where it is lost, as one in memory is with its process, give the release up with "
            "abort_measuring, and measure into another store"
        )


def _require_room(tasks: Tasks, store: ObjectStore, scratch: PathLike | None) -> AnswersOnDisk:
    """A file for all answers, if disks have room for the work, and the store creates objects only where none are."""
    # first, since it may take room on the store's own disk
    collector = AnswersOnDisk(tasks.noise.groups, tasks.noise.divisors, scratch)
    require_create_if_absent(store)
    free, needed = store.free_bytes(), tasks.stored_bytes
    is_begun = bool(stored.numbered_names(store, stored.ANSWERS))  # it was charged; what is left of it may fit
    if not is_begun and free is not None and free < needed:
        raise ResourceError(
            f"too little room: the answers and what belongs to them take {bytes_text(needed)}, and {store} has "
            f"{bytes_text(free)} left; nothing was charged or read.  Name another store"
        )
    return collector
