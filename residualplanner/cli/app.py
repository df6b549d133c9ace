"""The commands: their arguments and options, and what each does in order.

Reads: arguments.  Gives: calls of `steps`, messages.  typer's home.
"""

import itertools
import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from residualplanner._atomic import write_atomically
from residualplanner._version import __version__
from residualplanner.cli.messages.failures import (
    reported_failures,
    require_free_file,
    require_new_folder,
    telling_outputs,
)
from residualplanner.cli.messages.output import Output
from residualplanner.cli.options import (
    AtMost,
    BudgetText,
    Data,
    DryRun,
    Folder,
    Format,
    Json,
    LedgerFile,
    Level,
    LossWord,
    NewlinesInValues,
    Profile,
    Quiet,
    Spec,
    SpecFormat,
    SpecLevel,
    SpecProfile,
)
from residualplanner.cli.wanted import MEASUREMENT, PLAN, SOURCE, SPEC, require_file, require_records


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


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"residualplanner {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that come before a command."""


@app.command()
def demo(
    folder: Folder = Path("residualplanner-demo"),
    order: Annotated[int, typer.Option(help="Tables of up to this many columns.", min=1, max=4)] = 3,
    max_cells: Annotated[
        int,
        typer.Option(help="Leave out tables with more cells, to spare your disk; 1000000 leaves out none.", min=100),
    ] = 50_000,
    quiet: Quiet = False,
) -> None:
    """See the whole flow on the Adult data, which ship with the package."""
    require_new_folder(folder)
    from residualplanner.cli.demo import run_demo

    with telling_outputs(folder):
        run_demo(folder, order=order, max_cells=max_cells, output=Output(quiet))


@app.command()
def init(
    source: Annotated[
        Path,
        typer.Argument(
            help="A schema (.json), a spec (.toml), a data dictionary (.csv), or records (.csv, .csv.gz, .parquet).",
            metavar="SOURCE",
        ),
    ],
    spec: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The spec to write; SOURCE's name with .toml if not given.", metavar="SPEC"
        ),
    ] = None,
    *,
    is_dictionary: Annotated[
        bool,
        typer.Option("--dictionary", help="SOURCE describes columns and holds no records: read all of it."),
    ] = False,
    has_header: Annotated[
        bool,
        typer.Option("--header", help="SOURCE is a CSV file of records whose first line holds names, not a record."),
    ] = False,
    table: Annotated[
        str | None, typer.Option(help="Which table of a schema that describes several.", metavar="NAME")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
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
    spec: Spec,
    path: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The plan to write; SPEC's name with .plan if not given.", metavar="PLAN"),
    ] = None,
    *,
    budget: BudgetText = None,
    at_most: AtMost = None,
    loss: LossWord = None,
    level: SpecLevel = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing plan and error table; never another file.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose the noise and compute how accurate every table will be, without data.

    Writes the plan, and beside it the error table as CSV. After a change of the spec, --force writes both again.

    Budget, loss and level can be given here in place of the spec's, to compare plans without editing it.
    """
    from residualplanner.cli.replacing import require_place_for_plan
    from residualplanner.cli.runs import run_plan
    from residualplanner.cli.spec.file import read_spec
    from residualplanner.cli.spec.overrides import Typed, overridden

    require_file(spec, "plan", SPEC)
    path = spec.with_suffix(".plan") if path is None else path
    require_place_for_plan(path, force=force)
    output, typed = Output(quiet, as_json), Typed(budget, at_most, loss, level)
    run_plan(overridden(read_spec(spec), spec, typed, output), spec, path, output)


@app.command()
def measure(
    plan: Annotated[Path, typer.Argument(help="A plan, as the command plan writes it.", metavar="PLAN")],
    data: Data,
    path: Annotated[Path, typer.Option("-o", "--output", help="The measurement to write.", metavar="FILE")],
    ledger: LedgerFile = None,
    newlines_in_values: NewlinesInValues = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
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
def reconstruct(
    path: Annotated[Path, typer.Argument(help="A measurement, as measure writes it.", metavar="FILE")],
    folder: Folder,
    format: Format = "parquet",
    profile: Profile = "default",
    level: Annotated[
        float | None,
        typer.Option("--level", help="The confidence level of margins of error; the profile's if not given."),
    ] = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn a measurement into tables with margins of error, as often as you like, at no further cost."""
    require_file(path, "reconstruct", MEASUREMENT)
    require_new_folder(folder)
    from residualplanner._margins import require_level
    from residualplanner.cli.rehearsal import rehearse_reconstruct
    from residualplanner.cli.runs import run_reconstruct
    from residualplanner.cli.spec.file import OutputTable

    wanted = OutputTable(format=format, profile=profile, level=None if level is None else require_level(level))
    run = rehearse_reconstruct if dry_run else run_reconstruct
    run(path, folder, wanted, Output(quiet, as_json))


@app.command()
def release(  # noqa: PLR0913
    spec: Spec,
    data: Data,
    folder: Folder,
    kept: Annotated[
        Path | None,
        typer.Option("--keep", help="Keep the measurement, for other tables later.", metavar="FILE"),
    ] = None,
    *,
    ledger: LedgerFile = None,
    budget: BudgetText = None,
    at_most: AtMost = None,
    loss: LossWord = None,
    level: SpecLevel = None,
    format: SpecFormat = None,
    profile: SpecProfile = None,
    newlines_in_values: NewlinesInValues = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
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
    plans: Annotated[list[Path], typer.Argument(help="Two or more plans over one domain.", metavar="PLAN PLAN")],
    path: Annotated[
        Path | None, typer.Option("-o", "--output", help="A CSV file to write, of all tables.", metavar="CSV")
    ] = None,
    level: Level = 0.95,
    quiet: Quiet = False,
    as_json: Json = False,
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
    source: Annotated[
        Path, typer.Argument(help="A plan, or the folder of a release, as release writes it.", metavar="DIR_OR_PLAN")
    ],
    page: Annotated[Path, typer.Option("-o", "--output", help="The page to write.", metavar="HTML")] = Path(
        "report.html"
    ),
    level: Level = 0.95,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing report and its figures; never other files.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write one page to decide from: privacy, the error of every table, where the budget goes.

    The page is self-contained and needs no network. Beside it comes a folder with its figures and their data.
    """
    from residualplanner.cli.report import make_report

    make_report(source, page, level=level, force=force, output=Output(quiet, as_json))


@app.command("ledger")
def show_ledger(  # noqa: PLR0913
    path: Annotated[Path, typer.Argument(help="A ledger.", metavar="LEDGER")],
    *,
    name: Annotated[
        str | None, typer.Option("--create", help="Begin a ledger for the data set of this name.", metavar="NAME")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="With --create: zcdp=1, pcost=1 or epsilon=1,delta=1e-9.", metavar="BUDGET"),
    ] = None,
    unlimited: Annotated[
        str | None,
        typer.Option(help="With --create, in place of --budget: the reason for having none.", metavar="REASON"),
    ] = None,
    neighbors: Annotated[
        Literal["add-remove", "replace"], typer.Option(help="With --create: the definition of neighbors for all costs.")
    ] = "add-remove",
    records_per_person: Annotated[int, typer.Option(help="With --create: the most records of one person.", min=1)] = 1,
    cost: Annotated[
        str | None, typer.Option("--settle", help="The pcost to count for a torn last line.", metavar="COST")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
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
