"""The gate where one process sees the records: it counts them, and adds noise with which answers may be published."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from residualplanner.gate import spend as spending
from residualplanner.gate.discrete_gaussian import ByteSource
from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.blocks import AnswersOnDisk, SetBlock, blocks_held, require_room_given
from residualplanner.gate.measurement.counting import count_tables, rows_to_count
from residualplanner.gate.measurement.discrete import ExactNoise, exact_noise
from residualplanner.gate.measurement.gaussian import ContinuousNoise, continuous_noise
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.sources.limited_records import require_public_number
from residualplanner.gate.sources.opening import engines, open_source, require_several_readings
from residualplanner.gate.sources.source import Progress, Source
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import IntArray, is_integer, require_type, value_text
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.words import ChargeTime, count_text, suggestion
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan

if TYPE_CHECKING:
    from residualplanner.gate.ledger import Ledger


@spending.entrance
def measure(  # noqa: PLR0913
    plan: Plan,
    data: object,
    *,
    noise: str = "discrete",
    seed: int | None = None,
    ledger: "Ledger | None" = None,
    charge: ChargeTime = "counted",
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
        ledger: it is charged the cost when the records have been counted, before any noise is drawn; so records that
            cannot be counted cost nothing.  Without one nothing adds up what is spent, which a `NoLedgerWarning` says
            once in a process.
        charge: "first": charge before the first record is counted, and keep the charge whatever fails.  It is for
            services whose callers may not see the records, and could learn of them from failures that cost nothing.
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
        BudgetError: ``noise``, ``seed`` or ``charge`` is invalid; the plan's budget was stated for continuous noise and
            does not hold for discrete noise; the exact cost of the noise exceeds the budget, or what the ledger has
            left; or the ledger holds the plan already.
        FileFormatError, OSError: the ledger's file is damaged, or cannot be locked or written.
        WorkloadError: the tables are too large to hold.
        ResourceError: there is less memory than measuring needs, or Spark's limit on results is too low, both found
            before anything is read; or memory ran out all the same.
        DataError: the records do not fit the schema; nothing was charged, and no noise has been drawn.  Or they changed
            between two readings, which is found out after the charge where ``memory`` asks for several.
        NoiseError: the random bytes or the machine's arithmetic failed a check; nothing may be released.
        UnexpectedError: a defect.

    Whatever is raised once records are read, interrupts and errors of ``progress`` included, has a note that says what
    was charged, and leads to no record: its traceback is that of this function alone.

    Guarantees: zCDP at half the exact cost that the result states, which is at most the plan's rho, for neighbors as
        the plan says.
    Source: eqs. (34) to (36) and (44), paper Algorithm 3; for "gaussian" eqs. (7) and (26), paper Algorithm 1.
    """
    require_type("measure", "plan", plan, Plan, "write measure(plan, records); load_plan(path) reads a plan")
    require_guarded_main("measure")
    require_noise(noise, seed)
    spending.require_charge_time(charge)
    watched = spending.WatchedProgress(progress)
    require_room_given(memory, scratch)
    job = _Measuring(noise_named(noise, plan, seed), watched.report, memory, scratch)
    job.bill(again=again).require_room(ledger)  # so that records are not opened where the ledger refuses the cost
    job.require_readable(data)
    if ledger is None and noise == "discrete":
        spending.warn_without_ledger()
    return spending.spend(job.steps(data, ledger, again=again), ledger=ledger, charge=charge, progress=watched)


def require_countable(plan: Plan, records: object) -> None:
    """Check what `measure` checks of the records before it counts them: names and types of columns (DataError)."""
    require_public_number(records, plan.neighbors)
    open_source(records, plan.domain, records_per_person=plan.neighbors.records_per_person)


def require_measurable(
    plan: Plan, *, ledger: "Ledger | None", again: bool, memory: int | None = None, scratch: PathLike | None = None
) -> Fraction:
    """The exact pcost of measuring with discrete noise; raises what `measure` would before it opens the records."""
    require_room_given(memory, scratch)
    job = _Measuring(exact_noise(plan), None, memory, scratch)
    job.bill(again=again).require_room(ledger)
    return job.noise.cost


@spending.entrance
def measure_with_bits(plan: Plan, data: object, source: ByteSource, *, progress: Progress | None = None) -> Measurement:
    """`measure` with discrete noise from any source of bytes, whose mark the result keeps; for tests."""
    watched = spending.WatchedProgress(progress)
    job = _Measuring(exact_noise(plan, source), watched.report)
    return spending.spend(job.steps(data, None, again=False), ledger=None, charge="counted", progress=watched)


Noise = ExactNoise | ContinuousNoise
#: A block, its counts, and how many steps are done then.
_Counted = tuple[SetBlock, list[IntArray], int]


class _Measuring:
    """Everything that can be decided and checked before a record is read.

    No more bytes are held at once than ``memory``; the answers are then in a file in ``scratch``, else in memory.
    """

    def __init__(
        self, noise: Noise, progress: Progress | None, memory: int | None = None, scratch: PathLike | None = None
    ) -> None:
        self.noise, self.progress = noise, progress
        self.blocks = blocks_held(noise.groups, noise.family, memory)
        self.collector = None if memory is None else AnswersOnDisk(noise.groups, noise.divisors, scratch)

    def bill(self, *, again: bool) -> spending.Bill:
        return bill_of_plan(self.noise.plan, self.noise.cost, again=again)

    def require_readable(self, data: object) -> None:
        """Raise what keeps the records from being counted as often as they must be, which their form tells."""
        require_public_number(data, self.noise.plan.neighbors)
        if len(self.blocks) > 1:
            require_several_readings(data, f"once for each of {len(self.blocks):,} blocks, which more memory joins")

    def steps(
        self, data: object, ledger: "Ledger | None", *, again: bool
    ) -> spending.Steps[Source, tuple[_Counted, Iterator[_Counted]], Measurement]:
        domain, neighbors = self.noise.plan.domain, self.noise.plan.neighbors
        record, bill = self.noise.record.of_run(ledger, data, neighbors), self.bill(again=again)

        def opened() -> Source:
            source = open_source(data, domain, records_per_person=neighbors.records_per_person)
            engines().require_ready_engine(data)
            return source

        def first(source: Source) -> tuple[_Counted, Iterator[_Counted]]:
            counted = self._counted(source)
            return next(counted), counted

        return spending.Steps(
            opened,
            first,
            partial(bill.charge, ledger),
            lambda counted: Measurement(self.noise.plan, self._answers(chain(counted[:1], counted[1])), record),
        )

    def _counted(self, source: Source) -> Iterator[_Counted]:
        """The blocks, one after another; with the first all columns of all records are checked, for all blocks."""
        closure, family, done = self.noise.plan.closure, self.noise.family, 0
        later = rows_to_count(closure, self.noise.groups, family) if len(self.blocks) > 1 else []
        for block in self.blocks:
            tables = count_tables(source, closure, block.groups, family, progress=self._progress(done), later=later)
            done, later = done + sum(int(family.is_maximal[sets].sum()) for sets in block.groups.members), []
            yield block, tables, done
            done += sum(map(len, block.groups.members))

    def _answers(self, counted: Iterable[_Counted]) -> Residuals:
        for block, tables, done in counted:
            answers = self.noise.answers(block, tables, progress=self._progress(done))
            if self.collector is None:  # there is one block
                return answers
            self.collector.put(block, answers)
        assert self.collector is not None
        return self.collector.answers()

    def _progress(self, before: int) -> Progress | None:
        report, total = self.progress, int(self.noise.family.is_maximal.sum()) + len(self.noise.plan.closure)
        return None if report is None else lambda done, _: report(before + done, total)


def bill_of_plan(plan: Plan, cost: Fraction, *, purpose: str = "", again: bool = False) -> spending.Bill:
    """The bill for measuring a plan at this exact cost; ``purpose`` is what the entry's label starts with."""
    what = f"{purpose}{count_text(len(plan.workload), 'table')}"
    return spending.Bill(cost, plan_hash(plan), what, plan.budget, plan.neighbors, again)


def noise_named(noise: str, plan: Plan, seed: int | None) -> Noise:
    """The noise of a plan; errors as those of `exact_noise` and `continuous_noise`."""
    return exact_noise(plan) if noise == "discrete" else continuous_noise(plan, None if seed is None else int(seed))


def require_noise(noise: object, seed: object) -> None:
    """Raise BudgetError unless there is such noise, and it may have this seed."""
    if not isinstance(noise, str) or noise not in ("discrete", "gaussian"):
        meant = suggestion(noise, ("discrete", "gaussian"))
        raise BudgetError(f'noise must be "discrete" or "gaussian", got {value_text(noise)}{meant}')
    if seed is None:
        return
    if not is_integer(seed):
        raise BudgetError(f"seed must be an integer, at least 0, or None for a release; got {value_text(seed)}")
    if noise == "discrete":
        raise BudgetError('only noise="gaussian", which is for research, takes a seed; leave it out for a release')
