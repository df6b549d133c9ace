"""The step that sees records: they are counted and charged for, and the noisy answers are on the disk at once.

What has been paid for is kept: errors say what is on the disk by then, and what to do about it.  A command measures in
this process, at once or block by block; or into a store, which keeps answers: the command that was killed is typed
again, and charges nothing twice.
"""

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from residualplanner.gate.ledger import Ledger, LedgerEntry
from residualplanner.gate.measurement.measure import measure, require_measurable
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.resource_estimate import ResourceEstimate, resource_estimate
from residualplanner.gate.spend import ChargeTime
from residualplanner.ground.errors import (
    ArgumentError,
    BudgetError,
    FileFormatError,
    NoLedgerWarning,
    ResidualPlannerError,
)
from residualplanner.ground.stores import path_at
from residualplanner.ground.words import CHARGE_UNKNOWN, bytes_text, charged_text, count_text, decimal_text_up, listed
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.scale import stored
from residualplanner.shell.cli.ledgers import WantedLedger, left_text, say_balance, say_charge
from residualplanner.shell.cli.options import MeasuringOptions, require_drawable_budget
from residualplanner.shell.cli.output import Output, command_text, notes_of
from residualplanner.shell.cli.paths import require_folder_around
from residualplanner.shell.cli.records import RecordsFile
from residualplanner.shell.cli.steps import Effort, measurement_bytes, require_space, say_writing
from residualplanner.shell.cli.words import say_spending

#: What measuring into a store holds at once, in bytes: counts of one pass, answers of a task; and of a larger table,
#: for each cell.
_PASS, _CELL = 2**28 + 2**26, 40


class _Foreseen(NamedTuple):
    """What measuring would do, found without a record."""

    cost: Fraction  # the exact pcost that would be charged now
    text: str = ""  # what would be written besides the measurement, and where: a folder or an address
    where: str = ""
    size: int = 0  # of that, in bytes, about
    has_records: bool = True  # whether records would be read
    entry: LedgerEntry | None = None  # of the ledger, if the release was charged before


@dataclass(frozen=True, slots=True)
class Gate:
    """What measures: this process, which keeps answers until they are written; or into a store, which keeps them.

    In a store, a folder or an address, what is there already is not measured again.
    """

    memory: int | None = None  # the most bytes of counts and noise at once; None for all
    scratch: Path | None = None  # with it or a store, the folder where answers are put; None for temporary files
    store: str | None = None
    charge: ChargeTime = "counted"
    again: bool = False  # whether a plan that the ledger holds already is charged again

    @property
    def folders(self) -> tuple[Path, ...]:
        """The store, if it is a folder."""
        path = None if self.store is None else path_at(self.store)
        return (path,) if isinstance(path, Path) else ()

    @property
    def kept(self) -> str | None:
        """What is told of a measurement that could not be written, if it is in a store."""
        text = f"What was drawn is in {self.store}: the same command again goes on from there, for the same charge."
        return None if self.store is None else text

    @property
    def repeated(self) -> str:
        """What the same command does once more, in words."""
        if self.store is None:
            return "measuring again spends it again"
        return f"the same command again reads the answers from {self.store}, and spends nothing"

    def estimate(self, workload: Workload) -> ResourceEstimate:
        """What measuring takes."""
        memory = self.memory if self.store is None else _PASS + _CELL * int(workload.cells.max())
        return resource_estimate(workload, memory=memory)

    def foreseen(self, plan: Plan, records: object, ledger: Ledger | None) -> _Foreseen:
        """What measuring would do; its refusals.  No record is read, nothing charged or written."""
        if self.store is None:
            cost = require_measurable(plan, ledger=ledger, again=self.again, memory=self.memory, scratch=self.scratch)
            if self.memory is None:
                return _Foreseen(cost)
            where, size = str(self.scratch or tempfile.gettempdir()), measurement_bytes(plan)
            text = f"the noisy answers, some {bytes_text(size)}, in a file without a name that vanishes"
            return _Foreseen(cost, text, where, size)
        state = self._own(self.store, plan, ledger)
        if state is not None and state.is_complete:
            return _Foreseen(Fraction(0), has_records=False, entry=state.entry(ledger))
        again, entry = (self.again, None) if state is None else (state.again, state.entry(ledger))
        is_to_be_charged = ledger if entry is None else None
        cost, tasks, size = stored.require_storable(plan, records, self.store, ledger=is_to_be_charged, again=again)
        text = f"the noisy answers of {count_text(tasks, 'task')}, some {bytes_text(size)}, which stay there"
        return _Foreseen(cost if entry is None else Fraction(0), text, self.store, size, entry=entry)

    def measured(self, plan: Plan, records: object, ledger: Ledger | None, output: Output) -> Measurement:
        """Measure, with exact noise."""
        given: dict[str, Any] = {"ledger": ledger, "charge": self.charge, "scratch": self.scratch}
        state = None if self.store is None else self._own(self.store, plan, ledger)
        if state is not None:
            done = "complete; no record is read" if state.is_complete else "not complete; what is missing is drawn"
            output.fact("Store", f"{self.store}: a release of this plan, {done}", path=self.store)
        with output.progress("measuring", is_private=True) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLedgerWarning)  # the command says so itself
            try:
                if self.store is None:
                    return measure(plan, records, again=self.again, memory=self.memory, progress=progress, **given)
                if state is None:
                    return stored.measure_in_store(
                        plan, records, self.store, again=self.again, progress=progress, **given
                    )
                return stored.resume_measuring(self.store, records, progress=progress, **given)
            except BaseException as error:
                if self.kept is not None and self._may_hold_a_release():
                    error.add_note(self.kept)
                raise

    def _may_hold_a_release(self) -> bool:
        try:
            return stored.release_in(self.store) is not None
        except (ResidualPlannerError, OSError):
            return True  # nobody knows

    def _own(self, store: str, plan: Plan, ledger: Ledger | None) -> stored.StoredRelease | None:
        """The release of this plan and ledger that the store holds, if any; BudgetError where it holds another."""
        for folder in self.folders:
            require_folder_around(folder)
        state = stored.release_in(store)
        if state is None:
            return None
        if state.plan_sha256 != plan_hash(plan):
            raise BudgetError(
                f"{store} holds a release of another plan; name another store, or measure the plan that it is of"
            )
        if self.again and not state.again:
            raise BudgetError(
                f"{store} holds a release of this plan already; to go on with it leave out --again, to measure "
                "once more name another store"
            )
        if not state.is_complete:
            stored.require_same_ledger(state, ledger, is_drawn=state.is_drawn)
        elif ledger is not None and state.entry(ledger) is None:
            raise BudgetError(
                f"the release in {store} was not charged to this ledger; name the one that was charged, or none, since "
                "it is complete"
            )
        return state


#: The gate where no option says otherwise: all counts are held at once.
AT_ONCE = Gate()


def gate_of_options(typed: MeasuringOptions) -> Gate:
    """The gate that was typed."""
    memory, scratch, store = typed.memory, typed.scratch, typed.store
    if memory is not None and store is not None:
        raise ArgumentError(
            "--memory and --store exclude each other: a store is measured into task by task, in little memory anyway; "
            "give one of them"
        )
    if scratch is not None and memory is None and store is None:
        raise ArgumentError("--scratch is the folder for answers of --memory or --store; give one, or leave it out")
    if scratch is not None and not scratch.is_dir():
        raise NotADirectoryError(f"--scratch {scratch} is not a folder; make it first, or name another")
    if store is not None:
        path_at(store)  # refuses what is no store
    return Gate(None if memory is None else bytes_of_text(memory), scratch, store, typed.charge, typed.again)


def bytes_of_text(text: str) -> int:
    """The number of bytes that was typed; ArgumentError where it is none, or 0."""
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        size = int(TypeAdapter(ByteSize).validate_python(text))
    except ValidationError:
        size = 0
    if size < 1:
        raise ArgumentError(f"--memory is a number of bytes, such as 4GB, 512MiB or 4000000000; got {text[:40]!r}")
    return size


@dataclass(slots=True)
class Measure:
    """The step that measures a plan, and writes the measurement; without a ledger nothing adds up what is spent."""

    plan: Plan
    data: RecordsFile
    path: Path
    ledger: WantedLedger | None
    gate: Gate
    output: Output
    until: str = ""  # what becomes of the file, in words
    _measurement: Measurement | None = field(default=None, init=False)
    _found: Ledger | None = field(default=None, init=False)
    _foreseen: _Foreseen | None = field(default=None, init=False)

    def check(self) -> None:
        """Refuse a plan, records or a ledger that do not fit one another, and a disk without room for the answers."""
        require_drawable_budget(self.plan.budget)
        self.data.require_readable(self.plan)
        require_space(self.path, measurement_bytes(self.plan))
        self._found = None if self.ledger is None else self.ledger.rehearsed()
        self._foreseen = self.gate.foreseen(self.plan, self.data.records, self._found)

    def say(self) -> Effort:
        """Say which columns would be read, what would be charged, and what would be written."""
        assert self._foreseen is not None
        found, data, output = self._foreseen, self.data, self.output
        names = data.columns(self.plan) if found.has_records else []
        columns = f"column{'' if len(names) == 1 else 's'} {listed(names, 6)}" if names else "no record"
        known = "names" if data.is_csv and not data.path.is_dir() else "names and types"
        text = f"{data.path}: {columns}; only the {known} have been read"
        output.fact("Would read", text, event="would-read", path=data.path, columns=names)
        data.say_people(self.plan, output)
        words, left = "no ledger is named, so nothing adds up what is spent", None
        if self.ledger is not None and self._found is not None:
            balance, entries = self._found.balance, self._found.entries
            say_balance(self.ledger.path, balance, output, ", to be begun" if self.ledger.is_to_be_begun else "")
            after = balance.after(found.cost)
            words, left = f"entry {len(entries) + 1} of the ledger; then {left_text(after)}", after.remaining
            if found.entry is not None:
                words = f"entry {found.entry.sequence} of the ledger is for the release in the store"
        text = f"pcost {decimal_text_up(found.cost)}; {words}"
        output.fact("Would spend", text, event="would-spend", pcost=found.cost, left=left)
        if found.text:
            say_writing(found.where, found.text, output, size=found.size)
        size, estimate = measurement_bytes(self.plan), self.gate.estimate(self.plan.workload)
        say_writing(self.path, f"the noisy answers, some {bytes_text(size)}{self.until}", output, size=size)
        return Effort(estimate.measuring_seconds, estimate.measuring_bytes, size, is_counting=True)

    def do(self) -> None:
        """Measure, and write the measurement before anything else is done with it."""
        self.data.say_people(self.plan, self.output)
        ledger = None if self.ledger is None else self.ledger.opened(self.output)
        before = 0 if ledger is None else len(ledger.entries)
        with _telling_charge(ledger, before):
            self._measurement = self.gate.measured(self.plan, self.data.records, ledger, self.output)
            try:
                self._measurement.save(self.path)
            except BaseException as error:
                if not self.path.exists():
                    charged = "" if ledger is None else ", and stays charged to the ledger"
                    error.add_note(self.gate.kept or f"The measurement is lost; its cost counts as spent{charged}.")
                raise
        say_spending(self._measurement, self.output, repeated=self.gate.repeated)
        say_charge(ledger, self.output, before=before)

    @property
    def done(self) -> Measurement:
        """The measurement, once the step is done."""
        assert self._measurement is not None
        return self._measurement


def require_no_measurement(kept: Path, folder: Path, options: Sequence[str] = ()) -> None:
    """Raise FileExistsError if an earlier release was stopped after it had paid for its measurement."""
    if kept.exists() or kept.is_symlink():
        raise FileExistsError(
            f"{kept} exists already: an earlier run measured and paid for it, but wrote no tables.\n"
            f"Write them, at no further cost, with  {reconstructing(kept, folder, options)}\n"
            "or move that file elsewhere to measure again, at the full cost"
        )


def reconstructing(measurement: Path, folder: Path, options: Sequence[str] = ()) -> str:
    """The command that computes the tables of a measurement, with options where they are not to be unbiased."""
    return command_text("reconstruct", measurement, "-o", folder, *options)


@contextmanager
def _telling_charge(ledger: Ledger | None, before: int) -> Iterator[None]:
    """Add to whatever the block raises what it has charged, even where it is left between two of its steps."""
    try:
        yield
    except BaseException as error:
        told = " ".join(notes_of(error))
        try:
            charges = (
                []
                if ledger is None
                else [charged_text(entry.cost, entry.sequence) for entry in ledger.entries[before:]]
            )
        except (OSError, FileFormatError):
            charges = [] if "charged" in told else [CHARGE_UNKNOWN]
        for charge in charges:
            if charge not in told:
                error.add_note(charge)
        raise


@contextmanager
def telling_measurement(
    measurement: Path, folder: Path, *, is_release: bool, options: Sequence[str] = (), kept: str | None = None
) -> Iterator[None]:
    """Add to whatever the block raises what is on the disk by then, and what comes next.

    Nothing is at ``measurement`` before.  A release writes the tables to ``folder``, too, to which ``options`` of
    reconstruct belong.  ``kept`` is the note on an error that says that answers are kept elsewhere.
    """
    try:
        yield
    except BaseException as error:
        is_refusal = isinstance(error, ResidualPlannerError) and not notes_of(error)
        # Files and folders appear whole or not at all.
        if is_release and folder.is_dir() and any(folder.iterdir()):
            also = f"; the measurement is safe in {measurement}" if measurement.exists() else ""
            error.add_note(f"All tables are in {folder}, whole{also}.")
        elif measurement.exists():
            tables = "; no tables were written" if is_release else ""
            error.add_note(f"The measurement, which has been paid for, is safe in {measurement}{tables}.")
            error.add_note(f"Next: {reconstructing(measurement, folder, options)}")
        elif not (is_refusal or kept in notes_of(error)):
            error.add_note("Nothing was written.")
        raise
