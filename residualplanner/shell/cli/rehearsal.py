"""What a command would do, said without doing it: --dry-run.

Reads: specs, plans, measurements, ledgers, and the names of the columns of records.  Gives: messages, or the refusal
that the command itself would end with.  No record is read, nothing is spent, nothing is written.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from residualplanner.fits.adjusted.adjustments import Adjustments
from residualplanner.gate.measurement.resource_estimate import bytes_text, resource_estimate, seconds_text
from residualplanner.ground.words import count_text, decimal_text_up, listed
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.export_files import PARTS_FORMAT
from residualplanner.shell.cli.gates import Gate
from residualplanner.shell.cli.ledgers import WantedLedger, left_text, say_balance
from residualplanner.shell.cli.messages.failures import naming
from residualplanner.shell.cli.messages.output import Output
from residualplanner.shell.cli.messages.summary import say_measured, say_workload
from residualplanner.shell.cli.paid import measurement_beside, measurement_bytes
from residualplanner.shell.cli.records_file import RecordsFile
from residualplanner.shell.cli.runs import make_plan_and_adjustments, release_of_paths, require_tables, say_format
from residualplanner.shell.cli.spec.adjustments import WantedOutput
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.output import OutputTable
from residualplanner.shell.cli.spec.typed_budget import require_drawable_budget

#: The memory of the program before it works on anything, in bytes: measured, and rounded up.
_AT_REST = 2**28
#: How many times as large tables are as CSV or workbooks as they are as Parquet, at least.
_AS_TEXT = 4
#: How many bytes a cell takes in parts.
_IN_PARTS = 8.25


def rehearse_measure(
    plan: Plan, data: RecordsFile, path: Path, *, ledger: WantedLedger | None, gate: Gate, output: Output
) -> None:
    """Say what `runs.run_measure` would do."""
    say_workload(plan.workload, output, gate.estimate(plan.workload))
    _measuring(plan, data, ledger, gate, output)
    size = measurement_bytes(plan)
    _say_writing(f"{path}: the noisy answers, some {bytes_text(size)}", output, path=path, size=size)
    _say_memory(plan, output, Adjustments(), gate, is_written=False)
    _end(path, size, output)


def rehearse_reconstruct(paths: Sequence[Path], folder: Path, wanted: WantedOutput, output: Output) -> None:
    """Say what `runs.run_reconstruct` would do."""
    release = release_of_paths(paths)
    plan = release.plan
    require_tables(plan.workload, wanted.table)
    with wanted.naming():
        adjustments = wanted.adjustments(plan.domain)
        adjustments.require_for(plan)
        adjustments.require_possible(plan)
    say_workload(plan.workload, output)
    say_measured(release.noise, output)
    for path in paths:
        output.fact("Would read", f"{path}: noisy answers, no records", event="would-read", path=path)
    output.fact("Would spend", "nothing: this is post-processing", event="would-spend", pcost=0)
    size = _say_tables(plan, folder, wanted.table, output)
    _say_memory(plan, output, adjustments)
    _end(folder, size, output)


def rehearse_release(
    changed: SpecFile,
    spec: Path,
    data: RecordsFile,
    folder: Path,
    *,
    ledger: WantedLedger | None,
    gate: Gate,
    output: Output,
) -> None:
    """Say what `runs.run_release` would do; it plans, since that needs no records."""
    if ledger is not None:
        ledger.rehearsed()
    with naming(spec):
        plan, adjustments = make_plan_and_adjustments(changed, spec, output, gate=gate)
    _measuring(plan, data, ledger, gate, output)
    size, measured = measurement_bytes(plan), measurement_beside(folder)
    text = f"{measured}: the noisy answers, some {bytes_text(size)}, until {folder} holds them"
    _say_writing(text, output, path=measured, size=size)
    size += _say_tables(plan, folder, changed.output, output)
    _say_memory(plan, output, adjustments, gate)
    _end(folder, size, output)


def _measuring(plan: Plan, data: RecordsFile, wanted: WantedLedger | None, gate: Gate, output: Output) -> None:
    """Check and say what measuring would read, spend and write besides its result."""
    require_drawable_budget(plan.budget)
    data.require_readable(plan)
    ledger = None if wanted is None else wanted.rehearsed()
    found = gate.foreseen(plan, data.records, ledger)
    cost, names = found.cost, data.columns(plan) if found.has_records else []
    columns = f"column{'' if len(names) == 1 else 's'} {listed(names, 6)}" if names else "no record"
    text = f"{data.path}: {columns}; only the {data.what_is_read} have been read"
    output.fact("Would read", text, event="would-read", path=data.path, columns=names)
    data.say_people(plan, output)
    if wanted is None or ledger is None:
        words, left = "no ledger is named, so nothing adds up what is spent", None
    else:
        balance = ledger.balance
        say_balance(wanted.path, balance, output, ", to be begun" if wanted.is_to_be_begun else "")
        left = balance.after(cost).remaining
        if found.entry is not None:
            words = f"entry {found.entry.sequence} of the ledger is for the release in the store"
        else:
            words = f"entry {len(ledger.entries) + 1} of the ledger; then {left_text(balance.after(cost))}"
    output.fact("Would spend", f"pcost {decimal_text_up(cost)}; {words}", event="would-spend", pcost=cost, left=left)
    if found.text:
        _say_writing(f"{found.where}: {found.text}", output, path=found.where, size=found.size)


def _say_tables(plan: Plan, folder: Path, wanted: OutputTable, output: Output) -> int:
    workload = plan.workload
    estimated, file_format = resource_estimate(workload), say_format(workload, wanted, output)
    sizes = {"parquet": estimated.disk_bytes, PARTS_FORMAT: _IN_PARTS * estimated.cells}
    size = int(sizes.get(file_format, _AS_TEXT * estimated.disk_bytes)) + measurement_bytes(plan)
    tables = count_text(len(workload), "table")
    text = f"{folder}: {tables} as {file_format}, some {bytes_text(size)} with the measurement and their metadata"
    _say_writing(text, output, path=folder, size=size)
    return size


def _say_writing(text: str, output: Output, *, path: Path | str, size: int) -> None:
    output.fact("Would write", text, event="would-write", path=path, bytes=size)


def _say_memory(
    plan: Plan, output: Output, adjustments: Adjustments, gate: Gate | None = None, *, is_written: bool = True
) -> None:
    """Say the time and memory; the time of the counting depends on the records, and is left out."""
    is_measured = gate is not None
    estimate = resource_estimate(plan.workload) if gate is None else gate.estimate(plan.workload)
    steps = [(estimate.measuring_seconds, estimate.measuring_bytes)] * is_measured
    steps += [(estimate.writing_seconds, estimate.writing_bytes)] * is_written
    seconds, size = sum(step[0] for step in steps), max(*(step[1] for step in steps), adjustments.bytes_for(plan))
    size += _AT_REST
    counting = " in addition to the counting" if is_measured else ""
    text = f"{seconds_text(seconds)}{counting}, and some {bytes_text(size)} of memory"
    output.fact("Would take", text, event="would-take", seconds=seconds, bytes=int(size))


def _end(path: Path, size: int, output: Output) -> None:
    """Say that it was a rehearsal, and whether the disk has room."""
    free = shutil.disk_usage(path.absolute().parent).free
    if free < size:
        output.say(
            f"Warning: the disk has {bytes_text(free)} free, and some {bytes_text(size)} are to be written.",
            event="warning",
            free=free,
        )
    output.say(
        "No record was read, and nothing was spent or written.  All that can be checked without that is in order"
        f"{'' if free >= size else ', except for the disk'}.",
        event="dry-run",
    )
    output.say("Next: the same command without --dry-run", event="next")
