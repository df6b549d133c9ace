"""The gate where one process sees the records: it counts them, and adds noise with which answers may be published.

Reads: a plan, confidential records.  Gives: Measurement.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from residualplanner._atomic import PathLike
from residualplanner._checks import is_integer, type_refusal, value_text
from residualplanner._words import suggestion
from residualplanner.discrete_gaussian import ByteSource, OperatingSystemBits
from residualplanner.errors import BudgetError, DataError, ResourceError
from residualplanner.ledger import Ledger
from residualplanner.measurement.blocks import AllAtOnce, AnswerCollector, Blocks, Residuals, Room, room_for
from residualplanner.measurement.charging import charge_plan, require_room_for_plan, run_charged, warn_without_ledger
from residualplanner.measurement.counting import Parents, count_tables, records_of_table
from residualplanner.measurement.exact_noise import ExactNoise, exact_noise
from residualplanner.measurement.gaussian import ContinuousNoise, continuous_noise
from residualplanner.measurement.measurement import Measurement
from residualplanner.measurement.noise_record import NoiseRecord
from residualplanner.measurement.shielding import WatchedProgress, shielded, without_history
from residualplanner.plan import Plan
from residualplanner.sources import (
    Progress,
    Source,
    is_read_once,
    kept_records,
    open_source,
    require_public_number,
    require_ready_engine,
    require_result_room,
)
from residualplanner.workers import require_guarded_main


def measure(  # noqa: PLR0913
    plan: Plan,
    data: object,
    *,
    noise: str = "discrete",
    seed: int | None = None,
    ledger: Ledger | None = None,
    again: bool = False,
    memory: int | None = None,
    scratch: PathLike | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Count the records and add the plan's noise: every call spends the plan's privacy budget once more.

    Args:
        plan: the sets of attributes to measure, and their noise.
        data: the records: code array, data frame (of Dask, Ibis and PySpark too), path to a CSV or Parquet file or to a
            folder of Parquet files, `CsvFile`, or ready counts; or `LimitedRecords`, of which as many records of each
            person count as the plan protects.
        noise: "discrete": discrete Gaussian noise, exact in distribution, from the operating system's random bits;
            "gaussian": continuous noise in floating point, for research: the result carries no guarantee.
        seed: of continuous noise, for research.
        ledger: it is charged the cost before the first record is counted; a failure after that keeps the charge.
            Without one nothing adds up what is spent, which a `NoLedgerWarning` says once in a process.
        again: measure a plan that the ledger holds already once more, and charge it again; without it that is refused,
            since other tables, or non-negative ones, follow from what was measured at no further cost.
        memory: how many bytes of counts and noise may be held at once.  The tables are then measured block by block,
            the records are read once for each block, and the answers are kept in a file, not in memory.
        scratch: with ``memory``, the folder of that file; by default the one for temporary files.  It has no name
            there, and vanishes with the measurement.
        progress: called with the number of steps done and their total, which depend on the plan alone: one for each
            table that is counted, and one for each that gets noise.

    Returns:
        The noisy answers.  They contain neither the number of records nor their origin.

    Raises:
        ArgumentError: ``plan`` is not a plan; or the script that calls has no guard, and this is a process that it has
            started itself.
        BudgetError: ``noise`` or ``seed`` is invalid; the plan's budget was stated for continuous noise and does not
            hold for discrete noise; the exact cost of the noise exceeds the budget, or what the ledger has left;
            or the ledger holds the plan already.
        FileFormatError, OSError: the ledger's file is damaged, or cannot be locked or written.
        WorkloadError: the tables are too large to hold.
        ResourceError: there is less memory than measuring needs, or Spark's limit on results is too low, both found
            before the charge; or memory ran out all the same.
        DataError: the records do not fit the schema; no noise has been drawn.  Columns that are missing or of an
            impossible type, and lines of a CSV file that are not records, are found before the charge.
        NoiseError: the random bytes or the machine's arithmetic failed a check; nothing may be released.
        UnexpectedError: a defect.

    Whatever is raised after the charge, interrupts and errors of ``progress`` included, has a note that says what was
    charged, and leads to no record: its traceback is that of this function alone.

    Guarantees: zCDP at half the exact cost that the result states, which is at most the plan's rho, for neighbors as
        the plan says.
    Source: spec eqs. (34) to (36) and (44), paper Algorithm 3; for "gaussian" eqs. (7) and (26), Algorithm 1.
    """
    try:
        outcome = _measured(
            plan, data, noise, seed, ledger, room_for(memory, scratch), WatchedProgress(progress), again=again
        )
    except BaseException as error:  # noqa: BLE001 - it passes, without the frames that hold the records
        outcome = without_history(error)
    finally:
        del plan, data  # nor must the frame of this function lead to them; either may be the records
    if isinstance(outcome, Measurement):
        return outcome
    raise outcome


def require_countable(plan: Plan, records: object) -> None:
    """Check what `measure` checks of the records themselves before it charges: names and types of columns.

    Of a Parquet file or a folder of them nothing but footers is read; a CSV file is searched for lines that are no
    records.

    Raises:
        DataError: as `measure`.
    """
    open_source(records, plan.domain, records_per_person=plan.neighbors.records_per_person)


def require_measurable(plan: Plan, *, ledger: Ledger | None = None, again: bool = False) -> Fraction:
    """Check what `measure` checks before it opens the records and charges the ledger; nothing is charged or read.

    Args:
        plan: to be measured with discrete noise.
        ledger: to be charged the cost.
        again: as for `measure`.

    Returns:
        The exact pcost that measuring will have.

    Raises:
        BudgetError: the budget does not hold for discrete noise; the exact cost exceeds it, or what the ledger has
            left; or the ledger holds the plan already.
        FileFormatError, OSError: the ledger's file is damaged, or cannot be locked or read.
        WorkloadError: the tables are too large to hold.
        ResourceError: there is less memory than measuring needs.

    Example:
        >>> from residualplanner.domain import Domain
        >>> from residualplanner.plan import select
        >>> from residualplanner.privacy import pcost
        >>> from residualplanner.workload import marginals
        >>> plan = select(marginals(Domain({"sex": 2}), up_to=1), budget=pcost(1))
        >>> cost = require_measurable(plan, ledger=Ledger(pcost(2)))
        >>> 1 - cost < Fraction(1, 10**6)
        True
    """
    job = _discrete_job(plan, OperatingSystemBits(), AllAtOnce(), None)
    job.require_room(ledger, again=again)
    return job.cost


def measure_with_bits(plan: Plan, data: object, source: ByteSource, *, progress: Progress | None = None) -> Measurement:
    """`measure` with discrete noise from any source of bytes, whose mark the result keeps; for tests."""
    watched = WatchedProgress(progress)
    job = _discrete_job(plan, source, AllAtOnce(), watched.report)
    try:
        return job.run(open_source(data, plan.domain, records_per_person=plan.neighbors.records_per_person))
    except BaseException as error:  # noqa: BLE001 - it has been where the records are
        outcome = shielded(error, watched)
    finally:
        del data
    raise outcome


def _measured(
    plan: Plan,
    data: object,
    noise: str,
    seed: int | None,
    ledger: Ledger | None,
    room: Room,
    progress: WatchedProgress,
    *,
    again: bool,
) -> Measurement | BaseException:
    """The result of `measure`, or the error for it to raise; an error that refuses the plan is raised here."""
    wrong = type_refusal("measure", "plan", plan, Plan, "write measure(plan, records); load_plan(path) reads a plan")
    if wrong is not None:
        return wrong
    require_guarded_main("measure")
    _require_options(noise, seed)
    if noise == "discrete":
        job = _discrete_job(plan, OperatingSystemBits(), room, progress.report)
    else:
        continuous = continuous_noise(plan, None if seed is None else int(seed))
        job = _job(continuous, continuous.record, continuous.answers, room, progress.report)
    job.require_room(ledger, again=again)
    require_public_number(data, plan.neighbors)
    if ledger is None and noise == "discrete":
        warn_without_ledger()
    require_result_room(data, job.counted_cells)
    if is_read_once(data) and len(job.blocks) > 1:
        return ResourceError(
            f"the records can be read only once, and would be {len(job.blocks):,} times, once for each block; give "
            "a table or a file, or allow more memory.  Nothing was charged or read"
        )
    try:
        source = open_source(data, plan.domain, records_per_person=plan.neighbors.records_per_person)
    except BaseException as error:  # noqa: BLE001 - it has been where the records are
        return shielded(error, progress)
    require_ready_engine(data)

    def run() -> Measurement:
        found = job.run(source)
        record = found.noise if ledger is None else found.noise.charged_to(ledger)
        return replace(found, noise=replace(record, kept=kept_records(data, plan.neighbors)))

    return run_charged(
        lambda: None if ledger is None else charge_plan(ledger, plan, job.cost, again=again), run, progress
    )


class _Job(NamedTuple):
    """Everything that can be decided and checked before a record is read."""

    plan: Plan
    cost: Fraction
    record: NoiseRecord
    family: Parents
    blocks: Blocks
    collector: AnswerCollector
    progress: Progress | None
    answer: Callable[..., Residuals]

    @property
    def counted_cells(self) -> int:
        """How many cells the tables have that the records are counted in at a time."""
        return max(
            sum(
                math.prod(shape) * int(self.family.is_maximal[members].sum())
                for shape, members in zip(block.groups.shapes, block.groups.members, strict=True)
            )
            for block in self.blocks
        )

    def require_room(self, ledger: Ledger | None, *, again: bool) -> None:
        """Raise what charging would raise now, so that records are not opened where the ledger refuses the cost."""
        if ledger is not None:
            require_room_for_plan(ledger, self.plan, self.cost, again=again)

    def run(self, source: Source) -> Measurement:
        """The noisy answers; the history of whatever is raised leads to the records."""
        done, records = 0, None
        for block in self.blocks:
            counted = sum(int(self.family.is_maximal[members].sum()) for members in block.groups.members)
            tables = count_tables(source, self.plan.closure, block.groups, self.family, progress=self._progress(done))
            found = records_of_table(tables[0][0], block.groups, 0)
            if records not in (None, found):
                raise DataError("the records changed while they were read; measure again, with records that stay")
            records = found
            self.collector.put(block, self.answer(block, tables, progress=self._progress(done + counted)))
            done += counted + sum(map(len, block.groups.members))
        return Measurement(self.plan, self.collector.answers(), self.record)

    def _progress(self, before: int) -> Progress | None:
        """Report the steps of one part of the work as steps of all of it."""
        report, total = self.progress, int(self.family.is_maximal.sum()) + len(self.plan.closure)
        return None if report is None else lambda done, _: report(before + done, total)


def _discrete_job(plan: Plan, source: ByteSource, room: Room, progress: Progress | None) -> _Job:
    noise = exact_noise(plan)
    return _job(noise, noise.record(source.mark), partial(noise.answers, source=source), room, progress)


def _job(
    noise: ExactNoise | ContinuousNoise,
    record: NoiseRecord,
    answer: Callable[..., Residuals],
    room: Room,
    progress: Progress | None,
) -> _Job:
    blocks = room.blocks(noise.groups, noise.family)
    collector = room.collector(noise.groups, noise.dtype, noise.join)
    return _Job(noise.plan, noise.cost, record, noise.family, blocks, collector, progress, answer)


def _require_options(noise: str, seed: int | None) -> None:
    if not isinstance(noise, str) or noise not in ("discrete", "gaussian"):
        meant = suggestion(noise, ("discrete", "gaussian"))
        raise BudgetError(f'noise must be "discrete" or "gaussian", got {value_text(noise)}{meant}')
    if seed is None:
        return
    if not is_integer(seed):
        raise BudgetError(f"seed must be an integer, at least 0, or None for a release; got {value_text(seed)}")
    if noise == "discrete":
        raise BudgetError('only noise="gaussian", which is for research, takes a seed; leave it out for a release')
