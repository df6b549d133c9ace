"""The commands on the way from records to tables: measure, reconstruct and release.

Reads: arguments.  Gives: measurements, folders of tables.
"""

from functools import partial

from residualplanner.cli import options as opt
from residualplanner.cli.expected_files import MEASUREMENT, PLAN, SPEC, require_file, require_records
from residualplanner.cli.messages.failures import require_free_file, require_new_folder
from residualplanner.cli.messages.output import Output
from residualplanner.errors import DataError


def measure(  # noqa: PLR0913, PLR0917
    plan: opt.PlanFile,
    data: opt.Data,
    path: opt.NewMeasurement,
    ledger: opt.LedgerFile = None,
    person: opt.Person = None,
    order: opt.PersonOrder = None,
    newlines_in_values: opt.NewlinesInValues = False,
    dry_run: opt.DryRun = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Read the records and add the plan's noise: the only step that sees them.

    Every run spends the plan's budget once more, and is charged to the ledger if one is named.
    """
    require_file(plan, "measure", PLAN)
    require_records(data, "measure")
    require_free_file(path)
    from residualplanner.cli.rehearsal import rehearse_measure
    from residualplanner.cli.runs import run_measure
    from residualplanner.cli.spec.records import PeopleTable
    from residualplanner.plan import load_plan

    if person is None and order is not None:
        raise DataError("--order is for the records of each person; name the column of persons with --person")
    people = None if person is None else PeopleTable(person=person, keep=None, order=order)
    run = rehearse_measure if dry_run else partial(run_measure, newlines_in_values=newlines_in_values, people=people)
    run(load_plan(plan), data, path, ledger, Output(quiet, as_json))


def reconstruct(  # noqa: PLR0913, PLR0917
    paths: opt.MeasurementFiles,
    folder: opt.Folder,
    format: opt.Format = None,
    profile: opt.Profile = None,
    level: opt.ProfileLevel = None,
    nonnegative: opt.IsNonNegative = None,
    round_to: opt.RoundTo = None,
    with_unbiased: opt.WithUnbiased = None,
    published_errors: opt.Simulations = None,
    spec: opt.OutputSpec = None,
    workers: opt.Workers = 1,
    dry_run: opt.DryRun = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Turn a measurement into tables with margins of error, as often as you like, at no further cost.

    Several measurements of the same records are averaged, each weighted by its precision; their costs add up.
    """
    for path in paths:
        require_file(path, "reconstruct", MEASUREMENT)
    if spec is not None:
        require_file(spec, "reconstruct", SPEC)
    require_new_folder(folder)
    from residualplanner.cli.rehearsal import rehearse_reconstruct
    from residualplanner.cli.runs import run_reconstruct
    from residualplanner.cli.spec.adjustments import WantedOutput
    from residualplanner.cli.spec.file import read_spec
    from residualplanner.cli.spec.output import OutputTable
    from residualplanner.cli.spec.overrides import TypedOutput

    typed = TypedOutput(level, format, profile, nonnegative, round_to, with_unbiased, published_errors)
    wanted = WantedOutput(typed.instead_of(OutputTable() if spec is None else read_spec(spec).output), spec)
    run = rehearse_reconstruct if dry_run else partial(run_reconstruct, workers=workers)
    run(paths, folder, wanted, Output(quiet, as_json))


def release(  # noqa: PLR0913
    spec: opt.Spec,
    data: opt.Data,
    folder: opt.Folder,
    kept: opt.Kept = None,
    *,
    ledger: opt.LedgerFile = None,
    budget: opt.BudgetText = None,
    at_most: opt.AtMost = None,
    loss: opt.LossWord = None,
    level: opt.SpecLevel = None,
    format: opt.SpecFormat = None,
    profile: opt.SpecProfile = None,
    nonnegative: opt.IsNonNegative = None,
    round_to: opt.RoundTo = None,
    with_unbiased: opt.WithUnbiased = None,
    published_errors: opt.Simulations = None,
    newlines_in_values: opt.NewlinesInValues = False,
    dry_run: opt.DryRun = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Plan, measure and reconstruct in one go.

    Every run spends the budget of the spec once more, and is charged to the ledger if one is named.

    The measurement is written to a file before any table: to FILE, or beside DIR as DIR.measurement, which is removed
    once the tables are written.
    """
    require_file(spec, "release", SPEC)
    require_records(data, "release")
    require_new_folder(folder)
    if kept is not None:
        require_free_file(kept)
    from residualplanner.cli.paid import measurement_beside, require_no_measurement
    from residualplanner.cli.rehearsal import rehearse_release
    from residualplanner.cli.runs import run_release
    from residualplanner.cli.spec.adjustments import WantedOutput
    from residualplanner.cli.spec.file import read_spec
    from residualplanner.cli.spec.overrides import Typed, TypedOutput, overridden

    written = TypedOutput(level, format, profile, nonnegative, round_to, with_unbiased, published_errors)
    output = Output(quiet, as_json)
    changed = overridden(read_spec(spec), spec, Typed(budget, at_most, loss, written), output)
    if kept is None:
        require_no_measurement(measurement_beside(folder), folder, WantedOutput(changed.output, spec).options)
    run = rehearse_release if dry_run else partial(run_release, newlines_in_values=newlines_in_values)
    run(changed, spec, data, folder, kept=kept, ledger=ledger, output=output)
