"""The step that sees records: they are counted and charged for, and the noisy answers are on the disk at once.

What has been paid for is kept: errors say what is on the disk by then, and what to do about it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from residualplanner.gate.ledger import Ledger
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.ground.errors import FileFormatError, ResidualPlannerError
from residualplanner.ground.words import CHARGE_UNKNOWN, bytes_text, charged_text, decimal_text_up, listed
from residualplanner.method.plan.plan import Plan
from residualplanner.shell.cli.failures import notes_of
from residualplanner.shell.cli.gates import Foreseen, Gate
from residualplanner.shell.cli.ledgers import WantedLedger, left_text, say_balance, say_charge
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.records import RecordsFile
from residualplanner.shell.cli.sizes import measurement_bytes, require_space
from residualplanner.shell.cli.spec.budgets import require_drawable_budget
from residualplanner.shell.cli.steps import Effort, say_writing
from residualplanner.shell.cli.words import say_spending


@dataclass(slots=True)
class Measure:
    """The step that measures a plan.

    Attributes:
        plan: what is measured.
        data: the records.
        path: of the measurement.
        ledger: what is charged; None where nothing adds up what is spent.
        gate: what it is measured by.
        output: where messages go.
        until: what becomes of the file, in words.
    """

    plan: Plan
    data: RecordsFile
    path: Path
    ledger: WantedLedger | None
    gate: Gate
    output: Output
    until: str = ""
    _measurement: Measurement | None = field(default=None, init=False)
    _found: Ledger | None = field(default=None, init=False)
    _foreseen: Foreseen | None = field(default=None, init=False)

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
        text = f"{data.path}: {columns}; only the {data.what_is_read} have been read"
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
        with _telling_charge(ledger):
            self._measurement = self.gate.measured(self.plan, self.data.records, ledger, self.output)
            with _telling_loss(self.path, ledger, self.gate.kept):
                self._measurement.save(self.path)
        say_spending(self._measurement, self.output, repeated=self.gate.repeated)
        say_charge(ledger, self.output, before=before)

    @property
    def done(self) -> Measurement:
        """The measurement, once the step is done."""
        assert self._measurement is not None
        return self._measurement


def measurement_beside(folder: Path) -> Path:
    """The path of the measurement of a release until its tables are written: beside their folder."""
    return folder.with_name(f"{folder.name}.measurement")


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
def _telling_charge(ledger: Ledger | None) -> Iterator[None]:
    """Add to whatever the block raises what it has charged, even where it is left between two of its steps."""
    before = 0 if ledger is None else len(ledger.entries)
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
def _telling_loss(measurement: Path, ledger: Ledger | None, kept: str | None) -> Iterator[None]:
    """Add to an error, where the block fails to write a measurement, that it is lost, though paid for; or is kept."""
    try:
        yield
    except BaseException as error:
        if not measurement.exists():
            charged = "" if ledger is None else ", and stays charged to the ledger"
            error.add_note(kept or f"The measurement is lost; its cost counts as spent{charged}.")
        raise


@contextmanager
def telling_measurement(
    measurement: Path, folder: Path, *, is_release: bool, options: Sequence[str] = (), kept: str | None = None
) -> Iterator[None]:
    """Add to whatever the block raises what is on the disk by then, and what comes next.

    Args:
        measurement: the path of the measurement; nothing is there before.
        folder: the folder of its tables, now or later.
        is_release: whether the block writes these tables, too.
        options: of the command that makes them.
        kept: the note on an error that says that answers are kept elsewhere.
    """
    try:
        yield
    except BaseException as error:
        found = _found(measurement, folder, options, is_release=is_release)
        is_refusal = isinstance(error, ResidualPlannerError) and not notes_of(error)
        for note in found or ([] if is_refusal or kept in notes_of(error) else ["Nothing was written."]):
            error.add_note(note)
        raise


def _found(measurement: Path, folder: Path, options: Sequence[str], *, is_release: bool) -> list[str]:
    """What is on the disk, if anything: files and folders appear whole or not at all."""
    if is_release and folder.is_dir() and any(folder.iterdir()):
        also = f"; the measurement is safe in {measurement}" if measurement.exists() else ""
        return [f"All tables are in {folder}, whole{also}."]
    if not measurement.exists():
        return []
    tables = "; no tables were written" if is_release else ""
    return [
        f"The measurement, which has been paid for, is safe in {measurement}{tables}.",
        f"Next: {reconstructing(measurement, folder, options)}",
    ]
