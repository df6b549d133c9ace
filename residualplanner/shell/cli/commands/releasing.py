"""The commands on the way from records to tables: check, measure, reconstruct and release.

Reads: arguments.  Gives: lists of what does not fit, measurements, folders of tables.
"""

from functools import partial

from residualplanner.shell.cli import options as opt
from residualplanner.shell.cli.expected_files import ANSWERS, PLAN, SPEC, require_file, require_records
from residualplanner.shell.cli.messages.failures import naming, require_free_file, require_new_folder
from residualplanner.shell.cli.option_groups import Measuring, Messages, Numbers, PlanChanges, with_groups
from residualplanner.shell.cli.output_names import require_apart, require_different


@with_groups
def measure(  # noqa: PLR0913
    plan: opt.PlanFile,
    data: opt.Data,
    path: opt.NewMeasurement,
    *,
    measuring: Measuring,
    person: opt.Person = None,
    order: opt.PersonOrder = None,
    key: opt.PersonKey = None,
    dry_run: opt.DryRun = False,
    messages: Messages,
) -> None:
    """Read the records and add the plan's noise: the only step that sees them.

    Every run spends the plan's budget once more, and is charged to the ledger if one is named; but with --store the
    same command goes on with what an earlier run began, and spends nothing twice.
    """
    require_file(plan, "measure", PLAN)
    require_records(data, "measure")
    require_free_file(path)
    from residualplanner.method.plan.files import load_plan
    from residualplanner.shell.cli.ledgers import WantedLedger
    from residualplanner.shell.cli.records_file import RecordsFile
    from residualplanner.shell.cli.rehearsal import rehearse_measure
    from residualplanner.shell.cli.runs import run_measure
    from residualplanner.shell.cli.spec.records import typed_people

    ledger, gate = measuring.ledger, measuring.gate
    require_different(path, *gate.folders, *([] if ledger is None else [ledger]))
    records = RecordsFile(data, measuring.newlines_in_values, typed_people(person, order, key))
    charged = None if ledger is None else WantedLedger(ledger)
    run = rehearse_measure if dry_run else run_measure
    run(load_plan(plan), records, path, ledger=charged, gate=gate, output=messages.output)


@with_groups
def reconstruct(  # noqa: PLR0913
    paths: opt.MeasurementFiles,
    folder: opt.Folder,
    format: opt.Format = None,
    profile: opt.Profile = None,
    level: opt.ProfileLevel = None,
    *,
    numbers: Numbers,
    spec: opt.OutputSpec = None,
    workers: opt.Workers = 1,
    dry_run: opt.DryRun = False,
    messages: Messages,
) -> None:
    """Turn a measurement into tables with margins of error, as often as you like, at no further cost.

    The folder of a release holds its measurement, whatever its tables are. Several measurements of the same records are
    averaged, each weighted by its precision; their costs add up.
    """
    for path in paths:
        require_file(path, "reconstruct", ANSWERS)
    if spec is not None:
        require_file(spec, "reconstruct", SPEC)
    require_new_folder(folder)
    from residualplanner.shell.cli.rehearsal import rehearse_reconstruct
    from residualplanner.shell.cli.runs import run_reconstruct
    from residualplanner.shell.cli.spec.adjustments import WantedOutput
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.output import OutputTable

    typed = numbers.typed(level, format, profile)
    wanted = WantedOutput(typed.instead_of(OutputTable() if spec is None else read_spec(spec).output), spec)
    run = rehearse_reconstruct if dry_run else partial(run_reconstruct, workers=workers)
    run(paths, folder, wanted, messages.output)


@with_groups
def release(  # noqa: PLR0913
    spec: opt.Spec,
    data: opt.Data,
    folder: opt.Folder,
    *,
    measuring: Measuring,
    changes: PlanChanges,
    level: opt.SpecLevel = None,
    format: opt.SpecFormat = None,
    profile: opt.SpecProfile = None,
    numbers: Numbers,
    dry_run: opt.DryRun = False,
    messages: Messages,
) -> None:
    """Plan, measure and reconstruct in one go.

    Every run spends the budget of the spec once more, and is charged to the ledger that the spec names, or --ledger;
    but with --store the same command goes on with what an earlier run began, and spends nothing twice.

    DIR holds the measurement, too: reconstruct DIR makes other tables of it, such as non-negative ones, at no cost. It
    is written before any table, beside DIR as DIR.measurement, which is removed once DIR is complete.
    """
    require_file(spec, "release", SPEC)
    require_records(data, "release")
    require_new_folder(folder)
    from residualplanner.shell.cli.ledgers import wanted_ledger
    from residualplanner.shell.cli.paid import measurement_beside, require_no_measurement
    from residualplanner.shell.cli.records_file import RecordsFile
    from residualplanner.shell.cli.rehearsal import rehearse_release
    from residualplanner.shell.cli.runs import run_release
    from residualplanner.shell.cli.spec.adjustments import WantedOutput
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.overrides import overridden

    output, typed = messages.output, changes.typed(numbers.typed(level, format, profile))
    changed = overridden(read_spec(spec), spec, typed, output)
    measured, gate = measurement_beside(folder), measuring.gate
    require_no_measurement(measured, folder, WantedOutput(changed.output, spec).options)
    with naming(spec):
        charged = wanted_ledger(measuring.ledger, changed, spec)
    require_apart(folder, measured, *gate.folders, *([] if charged is None else [charged.path]))
    records = RecordsFile(data, measuring.newlines_in_values, changed.people)
    run = rehearse_release if dry_run else run_release
    run(changed, spec, records, folder, ledger=charged, gate=gate, output=output)


@with_groups
def check(
    spec: opt.Spec,
    data: opt.Data,
    path: opt.NewCheck = None,
    *,
    newlines_in_values: opt.NewlinesInValues = False,
    messages: Messages,
) -> None:
    """List what of the records does not fit a spec, for whoever holds them: it costs nothing, and shows values.

    It reads the records as measure does and prints each column's values that do not fit, with hints, and how many
    records each rule leaves out. Nothing is charged or published, and no file is written unless -o names one. The exit
    status is 1 where measure would refuse the records.
    """
    require_file(spec, "check", SPEC)
    require_records(data, "check")
    if path is not None:
        require_free_file(path)
    from residualplanner.shell.cli.records_file import RecordsFile, run_check
    from residualplanner.shell.cli.spec.file import read_spec

    read = read_spec(spec)
    run_check(read, spec, RecordsFile(data, newlines_in_values, read.people), path, messages.output)
