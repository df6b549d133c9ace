"""What the commands that see no data do: plans from specs, and pages on what there is."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import MissingExtraError
from residualplanner.ground.file_kinds import LEDGER, PLAN, RELEASE, kind_of_path
from residualplanner.method.plan.error_table_file import error_format, write_error_table
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.maps import require_shapes
from residualplanner.publish.style import require_exportable
from residualplanner.shell.cli.failures import naming, telling_outputs
from residualplanner.shell.cli.gates import AT_ONCE, Gate
from residualplanner.shell.cli.ledgers import wanted_ledger
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.sizes import require_writable, say_search
from residualplanner.shell.cli.spec.adjustments import WantedOutput
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.hierarchies import maps_of_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec, plan_of_spec, workload_of_spec
from residualplanner.shell.cli.spec.output import OutputTable
from residualplanner.shell.cli.words import say_errors, say_means, say_plan, say_workload

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
            ledger = wanted_ledger(None, changed, spec)
            adjustments = WantedOutput(changed.output, spec).adjustments(domain_of_spec(changed))
            plan = make_plan(changed, output)
            adjustments.require_fit(plan)  # what this machine lacks for the tables themselves is no reason to refuse
            if adjustments:
                with output.progress("checking what is known anyway") as progress:
                    adjustments.require_possible(plan, progress)
        with output.progress("computing the error table"):
            table = plan.error_table(changed.output.chosen_level)
            rows = table.frame(0, len(table))
        say_errors(rows, output)
        say_means(plan, changed.output.chosen_level, output)
        with output.progress("writing the plan"), write_atomically(errors) as file:  # both files, or neither
            write_error_table(table, file, error_format(errors))
            plan.save(path)
        output.wrote(path, f", and the error of every table to {errors}.", also=[errors])
        beginning, option = (None, ()) if ledger is None else (ledger.beginning, ledger.option)
        people = () if changed.people is None else changed.people.options
        measuring = command_text("measure", path, "DATA", "-o", path.with_suffix(".measurement"), *people, *option)
        output.next(
            (command_text("report", path), "a page to decide from"),
            *([] if beginning is None else [(beginning, "the budget of all releases from these records")]),
            (measuring, "reads the records and spends the budget"),
        )


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
    """Refuse tables that could not be written, before anything is spent on them."""
    require_writable(workload)
    _require_exportable(workload, wanted)


def _require_exportable(workload: Workload, wanted: OutputTable) -> None:
    require_exportable(workload, wanted.file_format(workload), wanted.profile, quality=wanted.chosen_quality)


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
