"""The two gates that a command measures by: this process, at once or block by block, and a store that keeps answers.

A store is gone on from: the command that was killed is typed again, and charges nothing twice.
"""

import tempfile
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from residualplanner.gate.ledger import Ledger, LedgerEntry
from residualplanner.gate.measurement.measure import measure, require_measurable
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.resource_estimate import ResourceEstimate, resource_estimate
from residualplanner.gate.spend import ChargeTime
from residualplanner.ground.errors import ArgumentError, BudgetError, NoLedgerWarning, ResidualPlannerError
from residualplanner.ground.stores import path_at
from residualplanner.ground.words import bytes_text, count_text
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.scale.stored import (
    StoreState,
    measure_in_store,
    require_storable,
    resume_measuring,
    state_of_store,
)
from residualplanner.shell.cli.output import Output
from residualplanner.shell.cli.paths import require_folder_around
from residualplanner.shell.cli.sizes import measurement_bytes

#: What measuring into a store holds at once, in bytes: counts of one pass, answers of a task; and of a larger table,
#: for each cell.
_PASS, _CELL = 2**28 + 2**26, 40


class Foreseen(NamedTuple):
    """What measuring would do, found without a record.

    Attributes:
        cost: the exact pcost that would be charged now.
        text: what would be written besides the measurement, in words; "" for nothing.
        where: the folder or address of that.
        size: about how many bytes.
        has_records: whether records would be read.
        entry: of the ledger, if the release was charged before.
    """

    cost: Fraction
    text: str = ""
    where: str = ""
    size: int = 0
    has_records: bool = True
    entry: LedgerEntry | None = None


@dataclass(frozen=True, slots=True)
class LocalGate:
    """Measuring in this process, which keeps the answers until they are written.

    Attributes:
        memory: the most bytes of counts and noise at once; None for all.
        scratch: with it, the folder where answers are kept until then; None for that of temporary files.
        charge: when the ledger is charged.
        again: whether a plan that it holds already is charged again.
    """

    memory: int | None = None
    scratch: Path | None = None
    charge: ChargeTime = "counted"
    again: bool = False

    @property
    def folders(self) -> list[Path]:
        """Those of this machine that it makes: none."""
        return []

    @property
    def kept(self) -> str | None:
        """What is told of a measurement that was paid for, and could not be written: nothing, as it is lost."""
        return None

    @property
    def repeated(self) -> str:
        """What the same command spends when it is typed again, in words."""
        return "measuring again spends it again"

    def estimate(self, workload: Workload) -> ResourceEstimate:
        """What measuring takes."""
        return resource_estimate(workload, memory=self.memory)

    def foreseen(self, plan: Plan, records: object, ledger: Ledger | None) -> Foreseen:
        """What measuring would do; its refusals.  No record is read, nothing charged or written."""
        del records
        cost = require_measurable(plan, ledger=ledger, again=self.again, memory=self.memory, scratch=self.scratch)
        if self.memory is None:
            return Foreseen(cost)
        where, size = str(self.scratch or tempfile.gettempdir()), measurement_bytes(plan)
        text = f"the noisy answers, some {bytes_text(size)}, in a file without a name that vanishes"
        return Foreseen(cost, text, where, size)

    def measured(self, plan: Plan, records: object, ledger: Ledger | None, output: Output) -> Measurement:
        """Measure, with exact noise."""
        with output.progress("measuring", is_private=True) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLedgerWarning)  # the command says so itself
            return measure(
                plan,
                records,
                ledger=ledger,
                charge=self.charge,
                again=self.again,
                memory=self.memory,
                scratch=self.scratch,
                progress=progress,
            )


#: The gate where no option says otherwise: all counts are held at once.
AT_ONCE = LocalGate()


@dataclass(frozen=True, slots=True)
class StoreGate:
    """Measuring into a store, where what is in it already is not measured again.

    Attributes:
        store: a folder, or an address.
        scratch: the folder where answers are put together; None for that of temporary files.
        charge: when the ledger is charged.
        again: whether a plan that it holds already is charged again.
    """

    store: str
    scratch: Path | None = None
    charge: ChargeTime = "counted"
    again: bool = False

    @property
    def folders(self) -> list[Path]:
        """The store, if it is a folder."""
        path = path_at(self.store)
        return [path] if isinstance(path, Path) else []

    @property
    def kept(self) -> str | None:
        """What is in the store, and how it is gone on from."""
        return f"What was drawn is in {self.store}: the same command again goes on from there, for the same charge."

    @property
    def repeated(self) -> str:
        """As `LocalGate.repeated`."""
        return f"the same command again reads the answers from {self.store}, and spends nothing"

    def estimate(self, workload: Workload) -> ResourceEstimate:
        """As `LocalGate.estimate`."""
        return resource_estimate(workload, memory=_PASS + _CELL * int(workload.cells.max()))

    def foreseen(self, plan: Plan, records: object, ledger: Ledger | None) -> Foreseen:
        """As `LocalGate.foreseen`."""
        state = self._own(plan, ledger)
        if state is not None and state.is_complete:
            return Foreseen(Fraction(0), has_records=False, entry=state.entry(ledger))
        again, entry = (self.again, None) if state is None else (state.again, state.entry(ledger))
        is_to_be_charged = ledger if entry is None else None
        cost, tasks, size = require_storable(plan, records, self.store, ledger=is_to_be_charged, again=again)
        text = f"the noisy answers of {count_text(tasks, 'task')}, some {bytes_text(size)}, which stay there"
        return Foreseen(cost if entry is None else Fraction(0), text, self.store, size, entry=entry)

    def measured(self, plan: Plan, records: object, ledger: Ledger | None, output: Output) -> Measurement:
        """As `LocalGate.measured`."""
        state = self._own(plan, ledger)
        if state is not None:
            done = "complete; no record is read" if state.is_complete else "not complete; what is missing is drawn"
            output.fact("Store", f"{self.store}: a release of this plan, {done}", path=self.store)
        with output.progress("measuring", is_private=True) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLedgerWarning)
            try:
                if state is None:
                    return measure_in_store(
                        plan,
                        records,
                        self.store,
                        ledger=ledger,
                        charge=self.charge,
                        again=self.again,
                        scratch=self.scratch,
                        progress=progress,
                    )
                return resume_measuring(
                    self.store, records, ledger=ledger, charge=self.charge, scratch=self.scratch, progress=progress
                )
            except BaseException as error:
                self._tell(error)
                raise

    def _own(self, plan: Plan, ledger: Ledger | None) -> StoreState | None:
        """The release of this plan and ledger that the store holds, if any; BudgetError where it holds another."""
        for folder in self.folders:
            require_folder_around(folder)
        state = state_of_store(self.store)
        if state is None:
            return None
        if state.plan_sha256 != plan_hash(plan):
            raise BudgetError(
                f"{self.store} holds a release of another plan; name another store, or measure the plan that it is of"
            )
        if self.again and not state.again:
            raise BudgetError(
                f"{self.store} holds a release of this plan already; to go on with it leave out --again, to measure "
                "once more name another store"
            )
        if ledger is None and state.has_ledger and not state.is_complete:
            raise BudgetError(f"the release in {self.store} is charged to a ledger; name that one with --ledger")
        is_paid = state.is_complete or (state.has_ledger and state.is_drawn)
        if ledger is not None and is_paid and state.entry(ledger) is None:
            raise BudgetError(
                f"the release in {self.store} was not charged to this ledger; name the one that was charged"
                + (", or none, since it is complete" if state.is_complete else "")
            )
        return state

    def _tell(self, error: BaseException) -> None:
        """Add to an error that the store holds a release, if so, or that nobody knows."""
        try:
            is_there = state_of_store(self.store) is not None
        except (ResidualPlannerError, OSError):
            is_there = True
        if is_there and self.kept is not None:
            error.add_note(self.kept)


Gate = LocalGate | StoreGate


def gate_of_options(
    memory: str | None, scratch: Path | None, store: str | None, charge: ChargeTime, *, again: bool
) -> Gate:
    """The gate that was typed."""
    if memory is not None and store is not None:
        raise ArgumentError(
            "--memory and --store exclude each other: a store is measured into task by task, in little memory anyway; "
            "give one of them"
        )
    if scratch is not None and memory is None and store is None:
        raise ArgumentError(
            "--scratch is the folder for answers that are kept on disk, with --memory or --store; give one of them, or "
            "leave it out"
        )
    if scratch is not None and not scratch.is_dir():
        raise NotADirectoryError(f"--scratch {scratch} is not a folder; make it first, or name another")
    if store is None:
        return LocalGate(None if memory is None else bytes_of_text(memory), scratch, charge, again)
    path_at(store)
    return StoreGate(store, scratch, charge, again)


def bytes_of_text(text: str) -> int:
    """The number of bytes that was typed; ArgumentError where it is none, or 0.

    Example:
        >>> bytes_of_text("4GB"), bytes_of_text("1.5 MiB"), bytes_of_text("70000")
        (4000000000, 1572864, 70000)
    """
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        size = int(TypeAdapter(ByteSize).validate_python(text))
    except ValidationError:
        size = 0
    if size < 1:
        raise ArgumentError(f"--memory is a number of bytes, such as 4GB, 512MiB or 4000000000; got {text[:40]!r}")
    return size
