"""The commands: what can be typed, and what each does in order.

Reads: arguments.  Gives: calls of `steps`, messages.  typer's home.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from residualplanner._version import __version__
from residualplanner._whole import require_free_folder, write_whole
from residualplanner.cli.failures import (
    naming,
    reported_failures,
    require_folder_around,
    require_free_file,
    require_readable,
)
from residualplanner.cli.output import Output


class _Commands(TyperGroup):
    """The group of commands; whatever one of them raises becomes a message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        with reported_failures():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Publish the most accurate differentially private tables that a privacy budget allows.\n\n"
    "New here? Run: residualplanner demo\n\n"
    "With data of your own: init, then fill in the spec, then plan, and last release. "
    "Exit status: 0, 1 (the run failed), 2 (the input is wrong).",
)

Spec = Annotated[Path, typer.Argument(help="A spec, as init writes it.", metavar="SPEC")]
Data = Annotated[Path, typer.Argument(help="The records (.csv, .csv.gz, .parquet).", metavar="DATA")]
Folder = Annotated[Path, typer.Option("-o", "--output", help="The folder to make.", metavar="DIR")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Format = Annotated[
    Literal["parquet", "csv", "xlsx"],
    typer.Option("--format", help="The type of the tables' files; xlsx are Excel workbooks."),
]
Profile = Annotated[
    Literal["default", "acs", "gls"],
    typer.Option(
        "--profile",
        help="What stands beside the labels: 95% margins and intervals; 90% margins, as E and M (acs); standard "
        "deviations, for generalized least squares (gls).",
    ),
]
SpecFormat = Annotated[
    Literal["parquet", "csv", "xlsx"] | None,
    typer.Option("--format", help="The type of the tables' files, in place of the spec's."),
]
SpecProfile = Annotated[
    Literal["default", "acs", "gls"] | None,
    typer.Option("--profile", help="What stands beside the labels, in place of the spec's profile."),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger to charge before the records are read.", metavar="LEDGER"),
]
Level = Annotated[float, typer.Option("--level", help="The confidence level of margins of error, such as 0.95.")]


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
    require_free_folder(folder)
    require_folder_around(folder)
    from residualplanner.cli.demo import run_demo

    run_demo(folder, order=order, max_cells=max_cells, output=Output(quiet))


@app.command()
def init(
    source: Annotated[
        Path,
        typer.Argument(
            help="A domain (.json), a spec (.toml), or records (.csv, .csv.gz, .parquet).", metavar="SOURCE"
        ),
    ],
    spec: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The spec to write; SOURCE's name with .toml if not given.", metavar="SPEC"
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a commented spec to start from.

    SOURCE is a domain as JSON ({"age": 85, "sex": ["F", "M"]}), another spec, or a data file.

    Of a data file only the names of the columns are read. What values they can take is declared by hand, never taken
    from the records.
    """
    require_readable(source)
    path = Path(Path(source.name.removesuffix(".gz")).stem + ".toml") if spec is None else spec
    require_free_file(path)
    from residualplanner.cli.starting_spec import starting_spec

    text, is_complete = starting_spec(source)
    with write_whole(path) as file:
        file.write(text.encode("utf-8"))
    output = Output(quiet)
    output.say(f"Wrote {path}: a spec with a comment for each choice.")
    if not is_complete:
        output.say('Only the names of the columns were read.  Write what values each can take in place of "?".')
    output.say(f"Next: look through it, then run  residualplanner plan {path}")


@app.command()
def plan(
    spec: Spec,
    path: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The plan to write; SPEC's name with .plan if not given.", metavar="PLAN"),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Choose the noise and tell how accurate every table will be, without data.

    Writes the plan, and beside it the error table as CSV.
    """
    from residualplanner.cli import steps
    from residualplanner.cli.spec_file import read_spec

    require_readable(spec)
    path = spec.with_suffix(".plan") if path is None else path
    require_free_file(path)
    require_free_file(steps.errors_path(path))
    output, asked = Output(quiet), read_spec(spec)
    with naming(spec):
        made = steps.make_plan(asked, output)
    steps.write_plan(made, path, level=asked.output.chosen_level, output=output)
    output.say(f"Wrote {path}, and the error of every table to {steps.errors_path(path)}.")
    output.say(f"Next: residualplanner measure {path} DATA -o {path.with_suffix('.measurement')}")


@app.command()
def measure(
    plan: Annotated[Path, typer.Argument(help="A plan, as the command plan writes it.", metavar="PLAN")],
    data: Data,
    path: Annotated[Path, typer.Option("-o", "--output", help="The measurement to write.", metavar="FILE")],
    ledger: LedgerFile = None,
    quiet: Quiet = False,
) -> None:
    """Read the records and add the plan's noise: the only step that sees them.

    Every run spends the plan's budget once more, and is charged to the ledger if one is named.
    """
    require_readable(plan)
    require_readable(data)
    require_free_file(path)
    from residualplanner.cli import steps
    from residualplanner.cli.ledgers import open_ledger, say_charge
    from residualplanner.cli.summary import say_spending
    from residualplanner.plan import load_plan

    output, charged = Output(quiet), open_ledger(ledger)
    loaded = load_plan(plan)
    measurement = steps.measure_records(loaded, data, ledger=charged, output=output)
    measurement.save(path)
    say_spending(measurement, output)
    say_charge(charged, output)
    output.say(f"Wrote {path}: the noisy answers, and nothing else of the records.")
    output.say(f"Next: residualplanner reconstruct {path} -o {path.with_suffix('.tables')}")


@app.command()
def reconstruct(
    path: Annotated[Path, typer.Argument(help="A measurement, as measure writes it.", metavar="FILE")],
    folder: Folder,
    format: Format = "parquet",
    profile: Profile = "default",
    level: Annotated[
        float | None,
        typer.Option("--level", help="The confidence level of margins of error; that of the profile if not given."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Turn a measurement into tables with margins of error, as often as you like, at no further cost."""
    require_readable(path)
    require_free_folder(folder)
    require_folder_around(folder)
    from residualplanner.cli import steps
    from residualplanner.cli.summary import say_release
    from residualplanner.measurement import load_measurement
    from residualplanner.reconstruction import reconstruct as make_release

    output = Output(quiet)
    tables = make_release(load_measurement(path))
    steps.save_tables(tables, folder, format=format, profile=profile, level=level, output=output)
    say_release(tables, folder, output)


@app.command()
def release(
    spec: Spec,
    data: Data,
    folder: Folder,
    kept: Annotated[
        Path | None,
        typer.Option("--keep", help="Write the measurement, too, to make other tables of later.", metavar="FILE"),
    ] = None,
    ledger: LedgerFile = None,
    format: SpecFormat = None,
    profile: SpecProfile = None,
    quiet: Quiet = False,
) -> None:
    """Plan, measure and reconstruct in one go.

    Every run spends the budget of the spec once more, and is charged to the ledger if one is named.
    """
    require_readable(spec)
    require_readable(data)
    require_free_folder(folder)
    require_folder_around(folder)
    if kept is not None:
        require_free_file(kept)
    from residualplanner.cli import steps
    from residualplanner.cli.ledgers import open_ledger, say_charge
    from residualplanner.cli.spec_file import read_spec
    from residualplanner.cli.summary import say_release, say_spending
    from residualplanner.reconstruction import reconstruct as make_release

    output, charged = Output(quiet), open_ledger(ledger)
    asked = read_spec(spec).written_as(format=format, profile=profile)
    with naming(spec):
        made = steps.make_plan(asked, output, is_written=True)
    measurement = steps.measure_records(made, data, ledger=charged, output=output)
    say_spending(measurement, output)
    say_charge(charged, output)
    if kept is not None:
        measurement.save(kept)
        output.say(f"Wrote {kept}: the noisy answers, of which reconstruct makes tables at no further cost.")
    tables = make_release(measurement)
    steps.save_tables(tables, folder, **dict(asked.output), output=output)
    say_release(tables, folder, output)


@app.command()
def report(
    source: Annotated[
        Path, typer.Argument(help="A plan, or the folder of a release, as release writes it.", metavar="DIR_OR_PLAN")
    ],
    page: Annotated[Path, typer.Option("-o", "--output", help="The page to write.", metavar="HTML")] = Path(
        "report.html"
    ),
    level: Level = 0.95,
    quiet: Quiet = False,
) -> None:
    """Write one page to decide from: privacy, the error of every table, where the budget goes.

    The page stands alone and needs no network. Beside it comes a folder with its figures and their data.
    """
    from residualplanner.cli.report import make_report

    make_report(source, page, level=level, output=Output(quiet))


@app.command("ledger")
def show_ledger(
    path: Annotated[Path, typer.Argument(help="A ledger.", metavar="LEDGER")],
    name: Annotated[
        str | None, typer.Option("--create", help="Begin a ledger for the data set of this name.", metavar="NAME")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="With --create: zcdp=1, gdp=1, pcost=1 or epsilon=1,delta=1e-9.", metavar="BUDGET"),
    ] = None,
    unlimited: Annotated[
        str | None, typer.Option(help="With --create, in place of --budget: why there is none.", metavar="REASON")
    ] = None,
    neighbors: Annotated[
        Literal["add-remove", "replace"], typer.Option(help="With --create: the neighbors that all costs are for.")
    ] = "add-remove",
    records_per_person: Annotated[
        int, typer.Option(help="With --create: how many records one person has at most.", min=1)
    ] = 1,
    cost: Annotated[
        str | None, typer.Option("--settle", help="The pcost that a torn last line counts for.", metavar="COST")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Show what has been charged to a ledger; or begin one with --create."""
    from residualplanner.cli.ledgers import begin_ledger, cost_of_text, say_ledger
    from residualplanner.measurement import Ledger

    if name is None:
        if (budget, unlimited) != (None, None):
            raise typer.BadParameter("--budget and --unlimited belong to --create NAME")
        opened = Ledger.open(path)
    else:
        options = {"data_set": name, "neighbors": neighbors, "records_per_person": records_per_person}
        opened = begin_ledger(path, budget, unlimited, options)
    if cost is not None:
        opened.settle(cost_of_text(cost))
    say_ledger(opened, Output(quiet))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a spec, for editors that complete and check TOML."""
    from residualplanner.cli.spec_file import spec_schema

    typer.echo(json.dumps(spec_schema(), indent=2))
