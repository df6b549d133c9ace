"""What the commands that plan, measure and reconstruct do, in order.

Reads: checked arguments.  Gives: files, and messages about them.

Whatever can be refused is refused before the records are opened and before anything is spent.  What has been paid for
is on the disk, whole, before any table is computed from it.
"""

from pathlib import Path

from residualplanner.cli import steps
from residualplanner.cli.columns import require_columns
from residualplanner.cli.ledgers import open_ledger, say_charge
from residualplanner.cli.messages.failures import naming, telling_outputs
from residualplanner.cli.messages.output import Output, command_text
from residualplanner.cli.messages.summary import say_release, say_spending, say_workload
from residualplanner.cli.paid import (
    measurement_beside,
    measurement_bytes,
    reconstructing,
    require_room_for_tables,
    require_space,
    telling_loss,
    telling_measurement,
)
from residualplanner.cli.spec.file import OutputTable, SpecFile
from residualplanner.cli.spec.typed_budget import require_drawable_budget
from residualplanner.ledger import Ledger
from residualplanner.measurement import Measurement, load_measurement
from residualplanner.plan import Plan
from residualplanner.reconstruction import Release, reconstruct


def run_plan(changed: SpecFile, spec: Path, path: Path, output: Output) -> None:
    """Write the plan of a spec, and its error table."""
    errors = steps.errors_path(path)
    with telling_outputs(path, errors):
        with naming(spec):
            plan = steps.make_plan(changed, output)
        steps.write_plan(plan, path, level=changed.output.chosen_level, output=output)
        output.wrote(path, f", and the error of every table to {errors}.", also=[errors])
        measuring = command_text("measure", path, "DATA", "-o", path.with_suffix(".measurement"))
        output.next(
            (command_text("report", path), "a page to decide from"),
            (measuring, "reads the records and spends the budget"),
        )


def run_measure(
    plan: Plan, data: Path, path: Path, ledger: Path | None, output: Output, *, newlines_in_values: bool = False
) -> None:
    """Write the measurement of the records."""
    folder = path.with_suffix(".tables")
    with telling_measurement(path, folder, is_release=False):
        say_workload(plan.workload, output)
        _measure_to(path, plan, data, ledger=open_ledger(ledger), output=output, newlines_in_values=newlines_in_values)
        output.wrote(path, ": the noisy answers, and nothing else of the records.")
        output.next((reconstructing(path, folder), "at no further cost, as often as you like"))


def run_reconstruct(path: Path, folder: Path, wanted: OutputTable, output: Output) -> None:
    """Write the tables of a measurement."""
    with telling_outputs(folder):
        tables = reconstruct(load_measurement(path))
        steps.require_tables(tables.plan.workload, wanted)
        say_workload(tables.plan.workload, output)
        _write_tables(tables, folder, wanted, output)


def run_release(
    changed: SpecFile,
    spec: Path,
    data: Path,
    folder: Path,
    *,
    kept: Path | None,
    ledger: Path | None,
    output: Output,
    newlines_in_values: bool = False,
) -> None:
    """Plan, measure and reconstruct; the measurement is kept beside the folder until that is complete, or for good."""
    measured = kept or measurement_beside(folder)
    with telling_measurement(measured, folder, is_release=True):
        charged = open_ledger(ledger)
        with naming(spec):
            plan = steps.make_plan(changed, output, is_written=True)
        size = measurement_bytes(plan)
        require_room_for_tables(folder, plan.workload, changed.output.format, measurement=measured, size=size)
        measurement = _measure_to(
            measured, plan, data, ledger=charged, output=output, newlines_in_values=newlines_in_values
        )
        if kept is not None:
            output.wrote(kept, ": the noisy answers, from which reconstruct makes tables at no further cost.")
        _write_tables(reconstruct(measurement), folder, changed.output, output)
        if kept is None:
            measured.unlink()


def _measure_to(
    path: Path, plan: Plan, data: Path, *, ledger: Ledger | None, output: Output, newlines_in_values: bool
) -> Measurement:
    """Measure, and write the measurement at once, where there is known to be space for it."""
    require_drawable_budget(plan.budget)
    require_columns(data, plan.domain)
    require_space(path, measurement_bytes(plan))
    measurement = steps.measure_records(plan, data, ledger=ledger, output=output, newlines_in_values=newlines_in_values)
    with telling_loss(path, ledger):
        measurement.save(path)
    say_spending(measurement, output)
    say_charge(ledger, output)
    return measurement


def _write_tables(release: Release, folder: Path, wanted: OutputTable, output: Output) -> None:
    steps.save_tables(release, folder, wanted, output)
    say_release(release, folder, output)
