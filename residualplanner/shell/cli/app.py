"""The program: its commands, what each checks of the words that were typed, and what is done about errors.

The library is imported within the functions, so that help and wrong arguments do not wait for it.
"""

import inspect
import itertools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from residualplanner.ground import file_kinds as kinds
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import ArgumentError
from residualplanner.shell.cli import options as opt
from residualplanner.shell.cli import paths
from residualplanner.shell.cli.output import Output, Quiet, reported_failures, telling_outputs
from residualplanner.shell.cli.paths import require_files, require_free_file, require_new_folder


class _Commands(TyperGroup):
    """The group of commands; whatever one of them raises becomes a message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        options = itertools.takewhile(lambda word: word != "--", ctx.args)
        with reported_failures(as_json="--json" in options):
            if any(word in ("", "--output=") for word in ctx.args):
                raise ArgumentError("an argument is empty; if it is a variable of the shell, it is not set")
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: frames of a terminal's width would cut the names of options off
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Publish the most accurate differentially private tables that a privacy budget allows.\n\n"
    "New here? Run: residualplanner demo\n\n"
    "With data of your own: start, which leads through it, or init, then fill in the spec; then plan, check, release. "
    'For shares (percentages), a query of the spec has the kind "proportions". '
    "Exit status: 0, 1 (the run failed), 2 (the input is wrong).",
)


@app.callback()
def _options(version: opt.Version = False) -> None:
    """Options that come before a command."""


def _command(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command of its name; a list of commands has the first paragraph of its docstring."""
    summary = " ".join((inspect.getdoc(command) or "").split("\n\n")[0].split())  # on one line, which the list wraps
    app.command(short_help=summary)(opt.with_groups(command))
    return command


@_command
def demo(
    folder: opt.Folder = Path("residualplanner-demo"),
    order: opt.Order = 3,
    max_cells: opt.MaxCells = 50_000,
    quiet: Quiet = False,
) -> None:
    """See the whole flow on the Adult data, which ship with the package."""
    require_new_folder(folder)
    from residualplanner.shell.cli.demo import run_demo

    with telling_outputs(folder):
        run_demo(folder, order=order, max_cells=max_cells, output=Output(quiet))


@_command
def init(
    source: opt.Source,
    spec: opt.NewSpec = None,
    *,
    is_dictionary: opt.IsDictionary = False,
    has_header: opt.HasHeader = False,
    output: Output,
) -> None:
    """Write a commented spec to start from.

    SOURCE is a domain as JSON ({"age": 85, "sex": ["F", "M"]}), another spec, a data file, or, with --dictionary, a CSV
    file that lists names and values.

    Of a data file only the names of the columns are read, of a CSV file with --header: its first line is written into
    the spec, so it must hold names. The values they can take are declared by hand, never read from the records.
    """
    require_files("init", paths.SOURCE, source)
    path = paths.path_of_spec(source, spec)
    require_free_file(path)
    from residualplanner.shell.cli.spec.starting import say_start, starting_spec, with_ledger

    start = starting_spec(source, is_dictionary=is_dictionary, has_header=has_header)
    text = with_ledger(start.text, f"{path.stem}.ledger")
    with telling_outputs(path):
        with write_atomically(path) as file:
            file.write(text.encode("utf-8"))
        say_start(start, source, path, output)


@_command
def start(
    source: opt.Source,
    spec: opt.NewSpec = None,
    *,
    choices: opt.GuideOptions,
    is_dictionary: opt.IsDictionary = False,
    has_header: opt.HasHeader = False,
    output: Output,
) -> None:
    """Be led from a codebook or a header to a spec, a first plan and its page; every question is explained.

    SOURCE is as for init. What is given as an option is not asked for; with --quiet or --json nothing is, and defaults
    are taken, but columns without declared values need --values then. No record is read.
    """
    require_files("start", paths.SOURCE, source)
    path = paths.path_of_spec(source, spec)
    written = path, path.with_suffix(".plan"), path.with_suffix(".html")
    require_free_file(*written)
    from residualplanner.shell.cli.guide import run_start

    with telling_outputs(*written):
        run_start(source, path, choices, output, is_dictionary=is_dictionary, has_header=has_header)


@_command
def plan(
    spec: opt.Spec,
    path: opt.NewPlan = None,
    *,
    changes: opt.PlanOptions,
    level: opt.OwnLevel = None,
    force: opt.ForcePlan = False,
    output: Output,
) -> None:
    """Choose the noise and compute how accurate every table will be, without data.

    Writes the plan, and beside it the error table as CSV. After a change of the spec, --force writes both again.

    Budget, loss and level can be given here in place of the spec's, to compare plans without editing it.
    """
    from residualplanner.shell.cli.planning import run_plan
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.wanted import overridden

    require_files("plan", paths.SPEC, spec)
    path = spec.with_suffix(".plan") if path is None else path
    errors = path.parent / f"{path.name}.errors.csv"
    paths.require_free_plan_path(path, errors, force=force)
    run_plan(overridden(read_spec(spec), changes, opt.TableOptions(level=level), output), path, errors, output)


@_command
def check(
    spec: opt.Spec,
    data: opt.Data,
    path: opt.NewCheck = None,
    *,
    newlines_in_values: opt.NewlinesInValues = False,
    output: Output,
) -> None:
    """List what of the records does not fit a spec, for whoever holds them: it costs nothing, and shows values.

    It reads the records as measure does and prints each column's values that do not fit, with hints, and how many
    records each rule leaves out. Nothing is charged or published, and no file is written unless -o names one. The exit
    status is 1 where measure would refuse the records.
    """
    require_files("check", paths.SPEC, spec)
    require_files("check", paths.RECORDS, data)
    require_free_file(path)
    from residualplanner.shell.cli.records import RecordsFile, run_check
    from residualplanner.shell.cli.spec.file import read_spec

    read = read_spec(spec)
    run_check(read, RecordsFile(data, newlines_in_values, read.people), path, output)


@_command
def measure(  # noqa: PLR0913
    plan: opt.PlanFile,
    data: opt.Data,
    path: opt.NewMeasurement,
    *,
    measuring: opt.MeasuringOptions,
    person: opt.Person = None,
    order: opt.PersonOrder = None,
    key: opt.PersonKey = None,
    dry_run: opt.DryRun = False,
    output: Output,
) -> None:
    """Read the records and add the plan's noise: the only step that sees them.

    Every run spends the plan's budget once more, and is charged to the ledger if one is named.
    """
    require_files("measure", paths.PLAN, plan)
    require_files("measure", paths.RECORDS, data)
    require_free_file(path)
    from residualplanner.shell.cli.records import RecordsFile
    from residualplanner.shell.cli.releasing import run_measure
    from residualplanner.shell.cli.spec.file import typed_people

    read = RecordsFile(data, measuring.newlines_in_values, typed_people(person, order, key))
    run_measure(plan, read, path, measuring, output, dry_run=dry_run)


@_command
def reconstruct(
    files: opt.MeasurementFiles,
    folder: opt.Folder,
    *,
    tables: opt.TableOptions,
    spec: opt.OutputSpec = None,
    workers: opt.Workers = 1,
    dry_run: opt.DryRun = False,
    output: Output,
) -> None:
    """Turn a measurement into tables with margins of error, as often as you like, at no further cost.

    The folder of a release holds its measurement, whatever its tables are. Several measurements of the same records are
    averaged, each weighted by its precision; their costs add up.
    """
    require_files("reconstruct", paths.ANSWERS, *files)
    require_files("reconstruct", paths.SPEC, spec)
    require_new_folder(folder)
    from residualplanner.shell.cli.releasing import run_reconstruct
    from residualplanner.shell.cli.spec.wanted import output_of

    run_reconstruct(files, folder, output_of(spec, tables), output, workers=workers, dry_run=dry_run)


@_command
def release(
    spec: opt.Spec,
    data: opt.Data,
    folder: opt.Folder,
    *,
    measuring: opt.MeasuringOptions,
    changes: opt.PlanOptions,
    tables: opt.TableOptions,
    dry_run: opt.DryRun = False,
    output: Output,
) -> None:
    """Plan, measure and reconstruct in one go.

    Every run spends the budget of the spec once more, and is charged to the ledger that the spec names, or --ledger.

    DIR holds the measurement, too: reconstruct DIR makes other tables of it, such as non-negative ones, at no cost. It
    is written before any table, beside DIR as DIR.measurement, which is removed once DIR is complete.
    """
    require_files("release", paths.SPEC, spec)
    require_files("release", paths.RECORDS, data)
    require_new_folder(folder)
    from residualplanner.shell.cli.releasing import run_release
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.wanted import overridden

    changed = overridden(read_spec(spec), changes, tables, output)
    run_release(changed, data, folder, measuring, output, dry_run=dry_run)


@_command
def synthesize(
    files: opt.SynthesisFiles,
    path: opt.NewRecords,
    *,
    wanted: opt.RecordsOptions,
    staging: opt.StagingOptions,
    spec: opt.OutputSpec = None,
    dry_run: opt.DryRun = False,
    output: Output,
) -> None:
    """Make synthetic records: from a spec and confidential records, or from what was released before.

    From SPEC and DATA, what records are made of is measured in stages, each by what those before it have shown; it is
    kept beside the records, in FILE.stages, and a run that was stopped goes on from there. Tables of the spec are not
    measured. From such a folder, or from a release, records are made as often as you like, at no further cost.

    No record is that of a person. Beside the records comes a JSON file that says what they are. What is printed tells
    how well their tables fit what was measured.
    """
    made = asdict(wanted)
    paths.require_free_records_path(path)
    from residualplanner.shell.cli import releasing
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.wanted import output_of

    if len(files) == 2 and kinds.kind_of_path(files[0]) == kinds.SPEC:
        require_files("synthesize", paths.RECORDS, files[1])
        releasing.run_stages(read_spec(files[0]), files[1], path, staging, output, dry_run=dry_run, **made)
        return
    require_files("synthesize", paths.SPEC, spec)
    if len(files) == 1 and (files[0] / "run.json").is_file():
        releasing.run_kept_stages(files[0], path, output_of(spec), output, dry_run=dry_run, **made)
        return
    require_files("synthesize", paths.ANSWERS, *files)
    releasing.run_synthesize(files, path, output_of(spec), output, dry_run=dry_run, **made)


@_command
def compare(plans: opt.Plans, path: opt.NewCsv = None, level: opt.Level = 0.95, *, output: Output) -> None:
    """Put plans side by side, without data: what they cost, and which tables each makes more accurate."""
    require_files("compare", paths.PLAN, *plans)
    require_free_file(path)
    from residualplanner.shell.cli.planning import run_compare

    run_compare(plans, path, level, output)


@_command
def report(
    source: opt.Reported,
    page: opt.NewPage = Path("report.html"),
    level: opt.Level = 0.95,
    *,
    spec: opt.OutputSpec = None,
    cells: opt.PageCells = 20_000,
    force: opt.ForceReport = False,
    output: Output,
) -> None:
    """Write one page to decide from, or to publish: privacy, the error of every table, and of a release its tables.

    The page is self-contained and needs no network. Beside it comes a folder with its figures and their data. The page
    on a release links to the files of its folder.
    """
    require_files("report", paths.REPORTED, source)
    require_files("report", paths.SPEC, spec)
    paths.require_kind_of_name(page, kinds.PAGE, "end the name of a page in .html; browsers print it as PDF")
    paths.require_free_report_path(page, force=force)
    from residualplanner.shell.cli.planning import run_report

    run_report(source, page, spec, output, level=level, cells=cells, replace=force)


@_command
def verify(source: opt.Reported, tables: opt.VerifiedTables = None, *, output: Output) -> None:
    """Check what a plan or a release states, by a program of 400 lines that shares no code with the others."""
    from residualplanner.shell.cli.verifying import run_verify

    run_verify(source, tables or [], output)


@_command
def sdmx(
    source: opt.ReleaseFolder,
    folder: opt.Folder,
    *,
    agency: opt.Agency = "UNSPECIFIED",
    version: opt.StructureVersion = "1.0.0",
    output: Output,
) -> None:
    """Write the tables of a release, and its means, quantiles, proportions and standard deviations, as SDMX-CSV.

    structure.json, a structure message, defines them. Comparisons, the report and errors.csv are left out.
    """
    require_files("sdmx", paths.RELEASE, source)
    require_new_folder(folder)
    from residualplanner.publish.sdmx import write_sdmx

    with telling_outputs(folder), output.progress("writing the tables"):
        write_sdmx(source, folder, agency=agency, version=version)
    output.wrote(folder, ": the tables as SDMX-CSV, and structure.json, which defines them.")


@_command
def ledger(
    path: opt.ExistingLedger,
    *,
    name: opt.DataSetName = None,
    budget: opt.LedgerBudget = None,
    unlimited: opt.NoBudgetReason = None,
    neighbors: opt.LedgerNeighbors = "add-remove",
    records_per_person: opt.RecordsPerPerson = 1,
    cost: opt.TornCost = None,
    output: Output,
) -> None:
    """Show what has been charged to a ledger; or begin one with --create."""
    from residualplanner.shell.cli.ledgers import begin_ledger, cost_of_text, existing_ledger, say_ledger

    if name is None:
        if (budget, unlimited) != (None, None):
            raise typer.BadParameter("--budget and --unlimited belong to --create NAME")
        opened = existing_ledger(path, "ledger")
    else:
        terms = {"data_set": name, "neighbors": neighbors, "records_per_person": records_per_person}
        opened = begin_ledger(path, budget, unlimited, terms)
    if cost is not None:
        opened.settle(cost_of_text(cost))
    say_ledger(opened, output)
