"""The commands: what each checks, and the function that runs it.

Reads: arguments.  Gives: calls of `runs`, messages.  typer's home, with `options`.
"""

import itertools
import json
from functools import partial
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from residualplanner._atomic import write_atomically
from residualplanner.cli import options as opt
from residualplanner.cli.expected_files import MEASUREMENT, PLAN, REPORTED, SOURCE, SPEC, require_file, require_records
from residualplanner.cli.messages.failures import (
    reported_failures,
    require_free_file,
    require_new_folder,
    telling_outputs,
)
from residualplanner.cli.messages.output import Output


class _Commands(TyperGroup):
    """The group of commands; whatever one of them raises becomes a message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        options = itertools.takewhile(lambda word: word != "--", ctx.args)
        with reported_failures(as_json="--json" in options):
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Publish the most accurate differentially private tables that a privacy budget allows.\n\n"
    "New here? Run: residualplanner demo\n\n"
    "With data of your own: init, then fill in the spec, then plan, and last release. "
    "Exit status: 0, 1 (the run failed), 2 (the input is wrong).",
)


@app.callback()
def _options(version: opt.Version = False) -> None:
    """Options that come before a command."""


@app.command()
def demo(
    folder: opt.Folder = Path("residualplanner-demo"),
    order: opt.Order = 3,
    max_cells: opt.MaxCells = 50_000,
    quiet: opt.Quiet = False,
) -> None:
    """See the whole flow on the Adult data, which ship with the package."""
    require_new_folder(folder)
    from residualplanner.cli.demo import run_demo

    with telling_outputs(folder):
        run_demo(folder, order=order, max_cells=max_cells, output=Output(quiet))


@app.command()
def init(
    source: opt.Source,
    spec: opt.NewSpec = None,
    *,
    is_dictionary: opt.IsDictionary = False,
    has_header: opt.HasHeader = False,
    table: opt.TableName = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write a commented spec to start from.

    SOURCE is a domain as JSON ({"age": 85, "sex": ["F", "M"]}), a public schema (Frictionless, JSON Schema, CSV on the
    Web), another spec, a data file, or, with --dictionary, a CSV file that lists names and values.

    Of a data file only the names of the columns are read, of a CSV file with --header: its first line is written into
    the spec, so it must hold names. The values they can take are declared by hand, never read from the records.
    """
    require_file(source, "init", SOURCE)
    path = Path(Path(source.name.removesuffix(".gz")).stem + ".toml") if spec is None else spec
    require_free_file(path)
    from residualplanner.cli.starting.starting_spec import say_start, starting_spec

    start = starting_spec(source, is_dictionary=is_dictionary, has_header=has_header, table=table)
    with telling_outputs(path):
        with write_atomically(path) as file:
            file.write(start.text.encode("utf-8"))
        say_start(start, source, path, Output(quiet, as_json))


@app.command()
def plan(  # noqa: PLR0913
    spec: opt.Spec,
    path: opt.NewPlan = None,
    *,
    errors: opt.ErrorsFile = None,
    budget: opt.BudgetText = None,
    at_most: opt.AtMost = None,
    loss: opt.LossWord = None,
    level: opt.SpecLevel = None,
    force: opt.ForcePlan = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Choose the noise and compute how accurate every table will be, without data.

    Writes the plan, and beside it the error table as CSV, or where --errors-file says. After a change of the spec,
    --force writes both again.

    Budget, loss and level can be given here in place of the spec's, to compare plans without editing it.
    """
    from residualplanner.cli.replacing import errors_path, require_free_plan_path
    from residualplanner.cli.runs import run_plan
    from residualplanner.cli.spec.file import read_spec
    from residualplanner.cli.spec.overrides import Typed, overridden

    require_file(spec, "plan", SPEC)
    path = spec.with_suffix(".plan") if path is None else path
    errors = errors_path(path) if errors is None else errors
    require_free_plan_path(path, errors, force=force)
    output, typed = Output(quiet, as_json), Typed(budget, at_most, loss, level)
    run_plan(overridden(read_spec(spec), spec, typed, output), spec, path, errors, output)


@app.command()
def measure(
    plan: opt.PlanFile,
    data: opt.Data,
    path: opt.NewMeasurement,
    ledger: opt.LedgerFile = None,
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
    from residualplanner.plan import load_plan

    run = rehearse_measure if dry_run else partial(run_measure, newlines_in_values=newlines_in_values)
    run(load_plan(plan), data, path, ledger, Output(quiet, as_json))


@app.command()
def reconstruct(  # noqa: PLR0913, PLR0917
    paths: opt.MeasurementFiles,
    folder: opt.Folder,
    format: opt.Format = None,
    profile: opt.Profile = None,
    level: opt.ProfileLevel = None,
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
    from residualplanner._margins import require_level
    from residualplanner.cli.rehearsal import rehearse_reconstruct
    from residualplanner.cli.runs import run_reconstruct
    from residualplanner.cli.spec.file import OutputTable, read_spec

    typed = {"format": format, "profile": profile, "level": None if level is None else require_level(level)}
    output_of = OutputTable() if spec is None else read_spec(spec).output
    wanted = output_of.model_copy(update={name: value for name, value in typed.items() if value is not None})
    run = rehearse_reconstruct if dry_run else partial(run_reconstruct, workers=workers)
    run(paths, folder, wanted, Output(quiet, as_json))


@app.command()
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
    from residualplanner.cli.spec.file import read_spec
    from residualplanner.cli.spec.overrides import Typed, overridden

    if kept is None:
        require_no_measurement(measurement_beside(folder), folder)
    output, typed = Output(quiet, as_json), Typed(budget, at_most, loss, level, format, profile)
    changed = overridden(read_spec(spec), spec, typed, output)
    run = rehearse_release if dry_run else partial(run_release, newlines_in_values=newlines_in_values)
    run(changed, spec, data, folder, kept=kept, ledger=ledger, output=output)


@app.command("compare")
def compare_plans(
    plans: opt.Plans,
    path: opt.NewCsv = None,
    level: opt.Level = 0.95,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Put plans side by side, without data: what they cost, and which tables each makes more accurate."""
    for each in plans:
        require_file(each, "compare", PLAN)
    if path is not None:
        require_free_file(path)
    from residualplanner.cli.comparing import run_compare

    run_compare(plans, path, level, Output(quiet, as_json))


@app.command()
def report(
    source: opt.Reported,
    page: opt.NewPage = Path("report.html"),
    level: opt.Level = 0.95,
    *,
    spec: opt.PublicationSpec = None,
    cells: opt.PageCells = 20_000,
    force: opt.ForceReport = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write one page to decide from, or to publish: privacy, the error of every table, and of a release its tables.

    The page is self-contained and needs no network. Beside it comes a folder with its figures and their data. The page
    on a release links to the files of its folder. That on a ledger is for the curator: what was charged, what is left.
    """
    if not source.exists():
        raise FileNotFoundError(f"there is no file or folder {source}; check the name and the folder you are in")
    require_file(source, "report", REPORTED)
    from residualplanner.cli.replacing import require_free_report_path
    from residualplanner.cli.runs import run_report
    from residualplanner.cli.spec.file import read_spec

    require_free_report_path(page, force=force)
    publication = None
    if spec is not None:
        require_file(spec, "report", SPEC)
        publication = read_spec(spec).output.publication.publication
    options = {"level": level, "publication": publication, "cells": cells, "replace": force}
    run_report(source, page, options, Output(quiet, as_json))


@app.command("ledger")
def show_ledger(  # noqa: PLR0913
    path: opt.ExistingLedger,
    *,
    name: opt.DataSetName = None,
    budget: opt.LedgerBudget = None,
    unlimited: opt.NoBudgetReason = None,
    neighbors: opt.LedgerNeighbors = "add-remove",
    records_per_person: opt.RecordsPerPerson = 1,
    cost: opt.TornCost = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Show what has been charged to a ledger; or begin one with --create."""
    from residualplanner.cli.ledgers import begin_ledger, cost_of_text, existing_ledger, say_ledger

    if name is None:
        if (budget, unlimited) != (None, None):
            raise typer.BadParameter("--budget and --unlimited belong to --create NAME")
        opened = existing_ledger(path, "ledger")
    else:
        options = {"data_set": name, "neighbors": neighbors, "records_per_person": records_per_person}
        opened = begin_ledger(path, budget, unlimited, options)
    if cost is not None:
        opened.settle(cost_of_text(cost))
    say_ledger(opened, Output(quiet, as_json))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a spec, for editors that complete and check TOML."""
    from residualplanner.cli.spec.file import spec_schema

    typer.echo(json.dumps(spec_schema(), indent=2))
