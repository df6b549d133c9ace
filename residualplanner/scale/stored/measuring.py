"""Measuring into a store: beginning, resuming and aborting it."""

from fractions import Fraction

from residualplanner.gate.ledger import Ledger
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.sources.source import Progress
from residualplanner.gate.spend import ChargeTime, WatchedProgress, entrance
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.stores import open_store
from residualplanner.method.plan.plan import Plan
from residualplanner.scale.stored.answer_objects import CLOSED
from residualplanner.scale.stored.generations import close
from residualplanner.scale.stored.job import Options, begun, foreseen, resumed
from residualplanner.scale.stored.reading import end_without_answers
from residualplanner.scale.stored.release import ANSWERS, GENERATIONS, generation_of, numbered_names, opened_release
from residualplanner.scale.stored.tasks import tasks_of_release


@entrance
def measure_in_store(  # noqa: PLR0913
    plan: Plan,
    data: object,
    store: object,
    *,
    ledger: Ledger | None = None,
    charge: ChargeTime = "counted",
    checked: bool = False,
    is_strict: bool = False,
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
        checked: say that the records were checked, so that Spark and Dask need not read them once more for that, before
            the charge.  If they do not fit after all, the charge stays.
        is_strict: charge a task's cost again before it is drawn again, because the first draw may have survived
            somewhere, in the memory of a machine or on its disk.
        again: as for `measure`.
        scratch: the folder of the file in which the answers are put together for the result.
        progress: called with the number of tasks done and their total: of this library's where this
            process or Dask counts, of Spark's own where Spark does.

    Returns:
        The noisy answers, mapped from a file without a name, as of `load_stored_measurement`.

    Raises:
        ArgumentError: ``plan`` is not a plan, or ``store`` is not a store.
        BudgetError: as by `measure`; or it is strict without a ledger.
        ResourceError: memory or disk are too small, the store does not create objects only where none are, or the
            engine's settings or workers do not serve; all found before the charge.
        StoreError: the store holds a release already, or failed; or some tasks could not be drawn.
        WorkloadError, FileFormatError, OSError, DataError, NoiseError, UnexpectedError: as by `measure`.

    Guarantees: as `measure`.  Of each set of attributes at most one draw is ever readable, whatever dies or is run
        twice, and whatever goes on running after it was given up; none is readable before all are there.
    """
    watched = WatchedProgress(progress)
    options = Options(ledger, is_strict, again, scratch, watched, charge=charge, is_checked=checked)
    return begun(plan, data, store, options)


def require_storable(
    plan: Plan, data: object, store: object, *, ledger: Ledger | None = None, again: bool = False
) -> tuple[Fraction, int, int]:
    """Check what `measure_in_store` checks before it opens the records, but for what has to be written to find out.

    Nothing is charged, read or written.  Whether the store holds a release already is not looked at.

    Returns:
        The exact pcost, the number of tasks, and about how many bytes the store will hold.

    Raises:
        ArgumentError, BudgetError, FileFormatError, OSError, ResourceError, StoreError: as `measure_in_store`.
    """
    return foreseen(plan, data, store, Options(ledger, again=again))


@entrance
def resume_measuring(
    store: object,
    data: object,
    *,
    ledger: Ledger | None = None,
    charge: ChargeTime = "counted",
    checked: bool = False,
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
        checked: as in `measure_in_store`, if nothing was drawn yet.
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
    watched = WatchedProgress(progress)
    options = Options(ledger, scratch=scratch, progress=watched, charge=charge, is_checked=checked)
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
    release = opened_release(open_store(store))
    end_without_answers(release)
    objects = release.store
    close(release, range(len(tasks_of_release(release))), map(generation_of, numbered_names(objects, GENERATIONS)))
    for name in numbered_names(objects, ANSWERS):
        if objects.read(name) != CLOSED:
            objects.remove(name)
    objects.remove_unfinished()
