"""What the commands that plan, measure, reconstruct and report do, in order.

Reads: checked arguments; through a gate alone, records.  Gives: files, and messages about them.

Whatever can be refused is refused before the records are opened and before anything is spent.  What has been paid for
is on the disk, whole, before any table is computed from it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from residualplanner.fits.adjusted.adjustments import Adjustments
from residualplanner.fits.nonnegative.published_errors_simulation import published_errors
from residualplanner.gate.measurement.measurement import Measurement, load_measurement
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import MissingExtraError
from residualplanner.ground.file_kinds import LEDGER, PLAN, RELEASE, kind_of_path
from residualplanner.method.plan.error_table_file import error_format, write_error_table
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.export import require_exportable
from residualplanner.publish.files.export_files import MOST_FILES, PARTS_FORMAT, FormatName
from residualplanner.publish.files.reading import load_tables
from residualplanner.publish.maps import require_shapes
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.release import Release
from residualplanner.shell.cli.gates import AT_ONCE, Gate
from residualplanner.shell.cli.ledgers import WantedLedger, say_charge, wanted_ledger
from residualplanner.shell.cli.messages.failures import naming, telling_outputs
from residualplanner.shell.cli.messages.output import Output, command_text
from residualplanner.shell.cli.messages.sizes import require_writable, say_search
from residualplanner.shell.cli.messages.statistics import say_means
from residualplanner.shell.cli.messages.summary import (
    say_errors,
    say_measured,
    say_plan,
    say_release,
    say_spending,
    say_workload,
)
from residualplanner.shell.cli.paid import (
    measurement_beside,
    measurement_bytes,
    reconstructing,
    require_room_for_tables,
    require_space,
    telling_charge,
    telling_loss,
    telling_measurement,
)
from residualplanner.shell.cli.records_file import RecordsFile
from residualplanner.shell.cli.spec.adjustments import WantedOutput
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.hierarchies import maps_of_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec, plan_of_spec, workload_of_spec
from residualplanner.shell.cli.spec.output import OutputTable
from residualplanner.shell.cli.spec.typed_budget import require_drawable_budget

#: What a page is about, by what it is made from.
_ON_PAGES = {
    PLAN: "the workload, its privacy cost, how accurate every table is",
    RELEASE: "the tables, how accurate each is, how they were made and at what privacy cost",
    LEDGER: "what was charged and what is left, for the curator",
}


def run_plan(changed: SpecFile, spec: Path, path: Path, errors: Path, output: Output) -> None:
    """Write the plan of a spec, and its error table."""
    with telling_outputs(path, errors):
        with naming(spec):
            wanted = wanted_ledger(None, changed, spec)
            plan, _ = make_plan_and_adjustments(changed, spec, output, is_written=False)
        with output.progress("computing the error table"):
            table = plan.error_table(changed.output.chosen_level)
            rows = table.frame(0, len(table))
        say_errors(rows, output)
        say_means(plan, changed.output.chosen_level, output)
        with output.progress("writing the plan"), write_atomically(errors) as file:  # both files, or neither
            write_error_table(table, file, error_format(errors))
            plan.save(path)
        output.wrote(path, f", and the error of every table to {errors}.", also=[errors])
        beginning, option = (None, ()) if wanted is None else (wanted.beginning, wanted.option)
        people = () if changed.people is None else changed.people.options
        measuring = command_text("measure", path, "DATA", "-o", path.with_suffix(".measurement"), *people, *option)
        output.next(
            (command_text("report", path), "a page to decide from"),
            *([] if beginning is None else [(beginning, "the budget of all releases from these records")]),
            (measuring, "reads the records and spends the budget"),
        )


def run_measure(
    plan: Plan,
    data: RecordsFile,
    path: Path,
    *,
    ledger: WantedLedger | None,
    gate: Gate,
    output: Output,
) -> None:
    """Write the measurement of the records."""
    folder = path.with_suffix(".tables")
    with telling_measurement(path, folder, is_release=False, kept=gate.kept):
        say_workload(plan.workload, output, gate.estimate(plan.workload))
        _measure_to(path, plan, data, ledger=ledger, gate=gate, output=output)
        output.wrote(path, ": the noisy answers, and nothing else of the records.")
        output.next((reconstructing(path, folder), "at no further cost, as often as you like"))


def run_reconstruct(
    paths: Sequence[Path], folder: Path, wanted: WantedOutput, output: Output, *, workers: int = 1
) -> None:
    """Write the tables of a measurement, or of several; where they may be in parts the answers stay on disk."""
    with telling_outputs(folder):
        is_mapped = wanted.table.format in (PARTS_FORMAT, None)
        tables = release_of_paths(paths, mapped=is_mapped)
        require_tables(tables.plan.workload, wanted.table)
        with wanted.naming():
            adjustments = wanted.adjustments(tables.plan.domain)
            adjustments.require_for(tables.plan)
            say_workload(tables.plan.workload, output)
            say_measured(tables.noise, output)
            say_format(tables.plan.workload, wanted.table, output)
            _write_tables(tables, folder, wanted, adjustments, output, workers=workers)


def release_of_paths(paths: Sequence[Path], *, mapped: bool = False) -> Release:
    """The release of a measurement, or of several averaged; the folder of a release stands for its own.

    Raises:
        BudgetError, FileFormatError, OSError, WorkloadError: as `load_measurement`, `load_tables` and `reconstruct`.
    """
    return reconstruct(
        [load_tables(path) if path.is_dir() else load_measurement(path, mapped=mapped) for path in paths]
    )


def run_release(
    changed: SpecFile,
    spec: Path,
    data: RecordsFile,
    folder: Path,
    *,
    ledger: WantedLedger | None,
    gate: Gate,
    output: Output,
) -> None:
    """Plan, measure and reconstruct; the measurement is beside the folder until that is complete, and then in it."""
    measured, options = measurement_beside(folder), WantedOutput(changed.output, spec).options
    with telling_measurement(measured, folder, is_release=True, options=options, kept=gate.kept):
        if ledger is not None:
            ledger.rehearsed()
        with naming(spec):
            plan, adjustments = make_plan_and_adjustments(changed, spec, output, gate=gate)
        size, file_format = measurement_bytes(plan), say_format(plan.workload, changed.output, output)
        require_room_for_tables(folder, plan.workload, file_format, measurement=measured, size=size)
        measurement = _measure_to(measured, plan, data, ledger=ledger, gate=gate, output=output)
        _write_tables(reconstruct(measurement), folder, WantedOutput(changed.output, spec), adjustments, output)
        measured.unlink()


def run_report(source: Path, page: Path, options: Mapping[str, Any], output: Output) -> None:
    """Write the report on a plan or on a release folder, with its figures, or on a ledger, which has none."""
    from residualplanner.publish.report import figures_folder, write_report

    figures = figures_folder(page)
    with telling_outputs(page, figures):
        with output.progress("writing the report"):
            write_report(source, page, **options)
        kind = kind_of_path(source)
        output.wrote(page, f": {_ON_PAGES.get(kind, _ON_PAGES[PLAN])}; it needs no network.")
        if kind is LEDGER:
            return
        output.wrote(figures, ": each figure as SVG, its data as CSV, and the whole error table.")
        output.say(f"Next: open {page} in a browser; it prints, and can be sent as it is.", event="next")


def make_plan_and_adjustments(
    changed: SpecFile, spec: Path, output: Output, *, is_written: bool = True, gate: Gate = AT_ONCE
) -> tuple[Plan, Adjustments]:
    """The plan of a spec, which is described, and what is done to its tables.

    What could not be written is refused, maps without areas, and facts that cannot be true together: all of it before
    anything is spent.  Where tables are not written next, what this machine lacks for them is no reason.
    """
    adjustments = WantedOutput(changed.output, spec).adjustments(domain_of_spec(changed))
    plan = make_plan(changed, output, is_written=is_written, gate=gate)
    if is_written:
        adjustments.require_for(plan)
    else:
        adjustments.require_fit(plan)
    if adjustments:
        with output.progress("checking what is known anyway") as progress:
            adjustments.require_possible(plan, progress)
    return plan, adjustments


def make_plan(spec: SpecFile, output: Output, *, is_written: bool = False, gate: Gate = AT_ONCE) -> Plan:
    """The plan of a spec, which is described; tables that are to be written next are refused if that is impossible."""
    domain = domain_of_spec(spec)
    workload = workload_of_spec(spec, domain)
    if is_written:
        require_tables(workload, spec.output)
    else:
        with suppress(MissingExtraError):  # tables may be written on another machine
            _require_exportable(workload, spec.output)
    require_shapes(workload, maps_of_spec(spec))
    say_workload(workload, output, gate.estimate(workload))
    if spec.bases == "optimal_by_set":
        say_search(workload, output)
    with output.progress("choosing the noise"):
        plan = plan_of_spec(spec, workload)
    say_plan(plan, output)
    return plan


def require_tables(workload: Workload, wanted: OutputTable) -> None:
    """Refuse tables that could not be written, before anything is spent on them.

    Raises:
        WorkloadError: a table is too large for a file, or an attribute has the name of a column of estimates.
        MissingExtraError: the format is "xlsx", and XlsxWriter is not installed.
    """
    require_writable(workload)
    _require_exportable(workload, wanted)


def _require_exportable(workload: Workload, wanted: OutputTable) -> None:
    """Refuse what cannot be written as the [output] of a spec says, whatever the sizes of tables."""
    require_exportable(workload, wanted.file_format(workload), wanted.profile, quality=wanted.chosen_quality)


def say_format(workload: Workload, wanted: OutputTable, output: Output) -> FormatName:
    """The format of the tables; where none is given and they are too many for a file each, it is said."""
    found = wanted.file_format(workload)
    if found == PARTS_FORMAT and wanted.format is None:
        words = f"parts, of many tables each, since there are more than {MOST_FILES:,}"
        output.fact("Format", f"{words}; --format parquet writes a file for each", format=found)
    return found


def save_tables(tables: Release, folder: Path, wanted: OutputTable, output: Output, *, workers: int = 1) -> None:
    """Write the tables of a release, its error table and its manifest to a new folder."""
    require_writable(tables.plan.workload)
    more = {} if tables.product.is_unbiased else _beside(tables, wanted, output)
    with output.progress("writing the tables") as progress:
        tables.save(
            folder,
            wanted.file_format(tables.plan.workload),
            profile=wanted.profile,
            level=wanted.level,
            quality=wanted.chosen_quality,
            publication=wanted.publication.publication,
            workers=workers,
            progress=progress,
            **more,
        )


def _beside(tables: Release, wanted: OutputTable, output: Output) -> dict[str, Any]:
    """What is written beside numbers that are not unbiased."""
    errors = None
    if wanted.published_errors is not None:
        with output.progress("simulating the errors of the published numbers") as progress:
            errors = published_errors(tables, simulations=wanted.published_errors, progress=progress)
    return {"with_unbiased": wanted.with_unbiased, "errors": errors}


def _measure_to(
    path: Path, plan: Plan, data: RecordsFile, *, ledger: WantedLedger | None, gate: Gate, output: Output
) -> Measurement:
    """Measure, and write the measurement at once, where there is known to be space for it."""
    require_drawable_budget(plan.budget)
    data.require_readable(plan)
    require_space(path, measurement_bytes(plan))
    data.say_people(plan, output)
    records = data.records
    charged = None if ledger is None else ledger.opened(lambda found: gate.foreseen(plan, records, found), output)
    before = 0 if charged is None else len(charged.entries)
    with telling_charge(charged):
        measurement = gate.measured(plan, records, charged, output)
        with telling_loss(path, charged, gate.kept):
            measurement.save(path)
    say_spending(measurement, output, repeated=gate.repeated)
    say_charge(charged, output, before=before)
    return measurement


def _write_tables(
    release: Release, folder: Path, wanted: WantedOutput, adjustments: Adjustments, output: Output, *, workers: int = 1
) -> None:
    tables = release
    if adjustments:
        with output.progress("adjusting the tables") as progress:
            tables = adjustments.of(release, progress)
    save_tables(tables, folder, wanted.table, output, workers=workers)
    file_format = wanted.table.file_format(release.plan.workload)
    say_release(tables, folder, output, file_format=file_format, options=wanted.report_options)
