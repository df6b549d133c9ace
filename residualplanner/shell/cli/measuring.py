"""The step that sees records: they are counted and charged for, and the noisy answers are on the disk at once.

What has been paid for is kept: errors say what is on the disk by then, and what to do about it.
"""

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from residualplanner.gate.ledger import Ledger
from residualplanner.gate.measurement.measure import measure, require_measurable
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.resource_estimate import resource_estimate
from residualplanner.ground.errors import ArgumentError, FileFormatError, NoLedgerWarning, ResidualPlannerError
from residualplanner.ground.words import CHARGE_UNKNOWN, bytes_text, charged_text, decimal_text_up, listed
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import require_discrete
from residualplanner.shell.cli.budgets import typed_text
from residualplanner.shell.cli.ledgers import WantedLedger, left_text, say_balance, say_charge
from residualplanner.shell.cli.options import MeasuringOptions
from residualplanner.shell.cli.output import Output, command_text, notes_of
from residualplanner.shell.cli.records import RecordsFile
from residualplanner.shell.cli.steps import measurement_bytes, require_space, say_writing
from residualplanner.shell.cli.words import say_spending

T = TypeVar("T")


def memory_of(typed: MeasuringOptions) -> int | None:
    """The most bytes of counts and noise at once that were typed, above 0; None for all."""
    from pydantic import ByteSize, TypeAdapter, ValidationError

    if typed.scratch is not None and typed.memory is None:
        raise ArgumentError("--scratch is the folder for answers of --memory; give both, or leave it out")
    if typed.scratch is not None and not typed.scratch.is_dir():
        raise NotADirectoryError(f"--scratch {typed.scratch} is not a folder; make it first, or name another")
    if typed.memory is None:
        return None
    try:
        size = int(TypeAdapter(ByteSize).validate_python(typed.memory))
    except ValidationError:
        size = 0
    if size < 1:
        forms = "4GB, 512MiB or 4000000000"
        raise ArgumentError(f"--memory is a number of bytes, such as {forms}; got {typed.memory[:40]!r}")
    return size


def measured(gate: Callable[..., T], plan: Any, records: object, output: Output, **options: Any) -> T:
    """What a gate makes of a plan and records, with exact noise."""
    with output.progress("measuring", is_private=True) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoLedgerWarning)  # the command says so itself
        return gate(plan, records, progress=progress, **options)


@dataclass(slots=True)
class Measure:
    """The step that measures a plan, and writes the measurement; without a ledger nothing adds up what is spent."""

    plan: Plan
    data: RecordsFile
    path: Path
    ledger: WantedLedger | None
    typed: MeasuringOptions
    output: Output
    until: str = ""  # what becomes of the file, in words
    done: Measurement = field(init=False)
    _found: Ledger | None = field(init=False)
    _cost: Fraction = field(init=False)

    @property
    def _options(self) -> dict[str, Any]:
        return {"again": self.typed.again, "memory": memory_of(self.typed), "scratch": self.typed.scratch}

    def check(self) -> None:
        """Refuse a plan, records or a ledger that do not fit one another, and a disk without room for the answers."""
        require_discrete(self.plan.budget, spelled=typed_text)
        self.data.require_readable(self.plan)
        require_space(self.path, measurement_bytes(self.plan))
        self._found = None if self.ledger is None else self.ledger.rehearsed()
        self._cost = require_measurable(self.plan, ledger=self._found, **self._options)

    def say(self) -> tuple[float, float, int]:
        """Say which columns would be read, what would be charged, and what would be written."""
        data, output, people = self.data, self.output, self.data.people
        every = [*(column.name for column in self.plan.domain.columns), *(() if people is None else people.columns)]
        names = list(dict.fromkeys(every))
        known = "names" if data.is_csv and not data.path.is_dir() else "names and types"
        columns = f"column{'' if len(names) == 1 else 's'} {listed(names, 6)}; only the {known} have been read"
        output.fact("Would read", f"{data.path}: {columns}", event="would-read", path=data.path, columns=names)
        data.say_people(self.plan, output)
        words, left = "no ledger is named, so nothing adds up what is spent", None
        if self.ledger is not None and self._found is not None:
            balance, entries = self._found.balance, self._found.entries
            say_balance(self.ledger.path, balance, output, ", to be begun" if self.ledger.is_to_be_begun else "")
            after = balance.after(self._cost)
            words, left = f"entry {len(entries) + 1} of the ledger; then {left_text(after)}", after.remaining
        text = f"pcost {decimal_text_up(self._cost)}; {words}"
        output.fact("Would spend", text, event="would-spend", pcost=self._cost, left=left)
        size, memory = measurement_bytes(self.plan), memory_of(self.typed)
        answers = f"the noisy answers, some {bytes_text(size)}"
        estimate = resource_estimate(self.plan.workload, memory=memory)
        if memory is not None:
            where = self.typed.scratch or tempfile.gettempdir()
            say_writing(where, f"{answers}, in a file without a name that vanishes", output, size=size)
        say_writing(self.path, f"{answers}{self.until}", output, size=size)
        return estimate.measuring_seconds, estimate.measuring_bytes, size

    def do(self) -> None:
        """Measure, and write the measurement before anything else is done with it."""
        self.data.say_people(self.plan, self.output)
        ledger = None if self.ledger is None else self.ledger.opened(self.output)
        before = 0 if ledger is None else len(ledger.entries)
        with _telling_charge(ledger, before):
            options = self._options | {"ledger": ledger, "charge": self.typed.charge}
            self.done = measured(measure, self.plan, self.data.records, self.output, **options)
            try:
                self.done.save(self.path)
            except BaseException as error:
                if not self.path.exists():
                    charged = "" if ledger is None else ", and stays charged to the ledger"
                    error.add_note(f"The measurement is lost; its cost counts as spent{charged}.")
                raise
        say_spending(self.done, self.output)
        say_charge(ledger, self.output)


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
            entries = () if ledger is None else ledger.entries[before:]
            charges = [charged_text(entry.cost, entry.sequence) for entry in entries]
        except (OSError, FileFormatError):
            charges = [] if "charged" in told else [CHARGE_UNKNOWN]
        for charge in charges:
            if charge not in told:
                error.add_note(charge)
        raise


@contextmanager
def telling_measurement(
    measurement: Path,
    folder: Path,
    ledger: WantedLedger | None,
    *,
    is_release: bool,
    options: Sequence[str] = (),
) -> Iterator[None]:
    """Add to whatever the block raises what is on the disk by then, and what comes next.

    Nothing is at ``measurement`` before; a release writes tables to ``folder``, too, as reconstruct would with options.
    """
    begins = ledger is not None and ledger.is_to_be_begun
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
        elif begins and ledger is not None and ledger.path.exists():
            error.add_note(f"Nothing was written but the ledger {ledger.path}, which this run has begun.")
        elif not is_refusal:
            error.add_note("Nothing was written.")
        raise
