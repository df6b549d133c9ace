"""The commands that see no data: demo, init, plan, compare and schema.

Reads: arguments.  Gives: specs, plans, comparisons.
"""

import json
from pathlib import Path

import typer

from residualplanner.ground import file_kinds as kinds
from residualplanner.ground.atomic import write_atomically
from residualplanner.shell.cli import options as opt
from residualplanner.shell.cli.expected_files import PLAN, SOURCE, SPEC, require_file
from residualplanner.shell.cli.messages.failures import require_free_file, require_new_folder, telling_outputs
from residualplanner.shell.cli.messages.output import Output
from residualplanner.shell.cli.option_groups import Messages, PlanChanges, with_groups
from residualplanner.shell.cli.output_names import require_kind_of_name


def demo(
    folder: opt.Folder = Path("residualplanner-demo"),
    order: opt.Order = 3,
    max_cells: opt.MaxCells = 50_000,
    quiet: opt.Quiet = False,
) -> None:
    """See the whole flow on the Adult data, which ship with the package."""
    require_new_folder(folder)
    from residualplanner.shell.cli.demo import run_demo

    with telling_outputs(folder):
        run_demo(folder, order=order, max_cells=max_cells, output=Output(quiet))


@with_groups
def init(
    source: opt.Source,
    spec: opt.NewSpec = None,
    *,
    is_dictionary: opt.IsDictionary = False,
    has_header: opt.HasHeader = False,
    table: opt.TableName = None,
    messages: Messages,
) -> None:
    """Write a commented spec to start from.

    SOURCE is a domain as JSON ({"age": 85, "sex": ["F", "M"]}), a public schema (Frictionless, JSON Schema, CSV on the
    Web), another spec, a data file, or, with --dictionary, a CSV file that lists names and values.

    Of a data file only the names of the columns are read, of a CSV file with --header: its first line is written into
    the spec, so it must hold names. The values they can take are declared by hand, never read from the records.
    """
    require_file(source, "init", SOURCE)
    path = Path(Path(source.name.removesuffix(".gz")).stem + ".toml") if spec is None else spec
    require_kind_of_name(path, kinds.SPEC, "end the name of a spec in .toml")
    require_free_file(path)
    from residualplanner.shell.cli.starting.starting_spec import say_start, starting_spec

    start = starting_spec(source, is_dictionary=is_dictionary, has_header=has_header, table=table)
    start = start.with_ledger(f"{path.stem}.ledger")
    with telling_outputs(path):
        with write_atomically(path) as file:
            file.write(start.text.encode("utf-8"))
        say_start(start, source, path, messages.output)


@with_groups
def plan(
    spec: opt.Spec,
    path: opt.NewPlan = None,
    *,
    errors: opt.ErrorsFile = None,
    changes: PlanChanges,
    level: opt.SpecLevel = None,
    force: opt.ForcePlan = False,
    messages: Messages,
) -> None:
    """Choose the noise and compute how accurate every table will be, without data.

    Writes the plan, and beside it the error table as CSV, or where --errors-file says. After a change of the spec,
    --force writes both again.

    Budget, loss and level can be given here in place of the spec's, to compare plans without editing it.
    """
    from residualplanner.shell.cli.replacing import errors_path, require_free_plan_path
    from residualplanner.shell.cli.runs import run_plan
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.overrides import TypedOutput, overridden

    require_file(spec, "plan", SPEC)
    path = spec.with_suffix(".plan") if path is None else path
    errors = errors_path(path) if errors is None else errors
    require_free_plan_path(path, errors, force=force)
    output, typed = messages.output, changes.typed(TypedOutput(level))
    run_plan(overridden(read_spec(spec), spec, typed, output), spec, path, errors, output)


@with_groups
def compare_plans(
    plans: opt.Plans,
    path: opt.NewCsv = None,
    level: opt.Level = 0.95,
    *,
    messages: Messages,
) -> None:
    """Put plans side by side, without data: what they cost, and which tables each makes more accurate."""
    for each in plans:
        require_file(each, "compare", PLAN)
    if path is not None:
        require_free_file(path)
    from residualplanner.shell.cli.comparing import run_compare

    run_compare(plans, path, level, messages.output)


def schema() -> None:
    """Print the JSON Schema of a spec, for editors that complete and check TOML."""
    from residualplanner.shell.cli.spec.file import spec_schema

    typer.echo(json.dumps(spec_schema(), indent=2))
