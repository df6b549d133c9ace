"""What the commands that see no data do: plans from specs, plans side by side, and pages on what there is."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import MissingExtraError, WorkloadError
from residualplanner.ground.file_kinds import PLAN, RELEASE, kind_of_path
from residualplanner.ground.words import count_text, listed, number_text, rounded_up, table_text
from residualplanner.method.plan.error_table import write_error_table
from residualplanner.method.plan.files import load_plan
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files import csv
from residualplanner.publish.files.formats import require_exportable
from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.choropleths import areas_without_shape, require_shapes
from residualplanner.shell.cli.ledgers import wanted_ledger
from residualplanner.shell.cli.output import Output, command_text, naming, telling_outputs
from residualplanner.shell.cli.spec.file import SpecFile, read_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec, maps_of_spec, plan_of_spec, workload_of_spec
from residualplanner.shell.cli.spec.output_tables import OutputTable
from residualplanner.shell.cli.spec.wanted import WantedOutput
from residualplanner.shell.cli.steps import require_writable
from residualplanner.shell.cli.words import say_errors, say_means, say_plan, say_workload
from residualplanner.shell.questions import Comparison, compare

#: What a page is about, by what it is made from.
_ON_PAGES = {
    PLAN: "the workload, its privacy cost, how accurate every table is",
    RELEASE: "the tables, how accurate each is, how they were made and at what privacy cost",
}


def run_plan(spec: SpecFile, path: Path, errors: Path, output: Output) -> None:
    """Write the plan of a spec, and its error table."""
    with telling_outputs(path, errors):
        with naming(spec.path):
            ledger = wanted_ledger(None, spec)
            adjustments = WantedOutput(spec.output, spec).adjustments(domain_of_spec(spec))
            plan = make_plan(spec, output)
            adjustments.require_fit(plan)  # what this machine lacks for the tables themselves is no reason to refuse
            if adjustments:
                with output.progress("checking what is known anyway") as progress:
                    adjustments.require_possible(plan, progress)
        with output.progress("computing the error table"):
            table = plan.error_table(spec.output.chosen_level)
            rows = table.frame(0, len(table))
        say_errors(rows, output)
        say_means(plan, spec.output.chosen_level, output)
        with output.progress("writing the plan"), write_atomically(errors) as file:  # both files, or neither
            write_error_table(table, file, "csv")
            plan.save(path)
        output.wrote(path, f", and the error of every table to {errors}.", also=[errors])
        beginning, option = (None, ()) if ledger is None else (ledger.beginning, ("--ledger", ledger.path))
        people = {} if spec.people is None else spec.people.model_dump(exclude={"keep"}, exclude_none=True)
        given = [word for name, value in people.items() for word in (f"--{name}", value)]
        measuring = command_text("measure", path, "DATA", "-o", path.with_suffix(".measurement"), *given, *option)
        output.next(
            (command_text("report", path), "a page to decide from"),
            *([] if beginning is None else [(beginning, "the budget of all releases from these records")]),
            (measuring, "reads the records and spends the budget"),
        )


def make_plan(spec: SpecFile, output: Output, *, is_written: bool = False, memory: int | None = None) -> Plan:
    """The plan of a spec, which is described; tables that are to be written next are refused if that is impossible."""
    workload = workload_of_spec(spec, domain_of_spec(spec))
    require_tables(workload, spec.output, is_here=is_written)  # else they may be written on another machine
    maps = maps_of_spec(spec)
    require_shapes(workload, maps)
    say_workload(workload, output, memory=memory, bases=spec.bases)
    say_maps(workload, maps, output)
    with output.progress("choosing the noise") as progress:
        plan = plan_of_spec(spec, workload, progress)
    say_plan(plan, output)
    return plan


def say_maps(workload: Workload, maps: Mapping[str, Boundaries], output: Output) -> None:
    """Say which areas of maps have no shape."""
    for name, codes in areas_without_shape(workload, maps).items():
        areas = f"{count_text(len(codes), 'area')} of {name} without a shape: {listed(codes, 8)}"
        output.fact("Maps", areas, attribute=name, areas=list(codes))


def require_tables(workload: Workload, wanted: OutputTable, *, is_here: bool = True) -> None:
    """Refuse tables that could not be written, before anything is spent on them; unless it is this machine's fault."""
    if is_here:
        require_writable(workload)
    with nullcontext() if is_here else suppress(MissingExtraError):
        require_exportable(workload, wanted.file_format(workload), wanted.profile, quality=wanted.chosen_quality)


def run_report(source: Path, page: Path, spec: Path | None, output: Output, **options: Any) -> None:
    """Write the report on a plan or on a release folder, with its figures."""
    from residualplanner.publish.report.report import figures_folder, write_report

    if spec is not None:
        read = read_spec(spec)
        maps = maps_of_spec(read)
        options |= {"publication": read.output.publication.publication, "maps": maps}
    figures = figures_folder(page)
    with telling_outputs(page, figures):
        with output.progress("writing the report"):
            write_report(source, page, **options)
        if options.get("maps"):
            plan = source / "release.plan" if source.is_dir() else source
            say_maps(load_plan(plan).workload, options["maps"], output)
        output.wrote(page, f": {_ON_PAGES[kind_of_path(source) or PLAN]}; it needs no network.")
        output.wrote(figures, ": each figure as SVG, its data as CSV, and the whole error table.")
        output.say(f"Next: open {page} in a browser; it prints, and can be sent as it is.", event="next")


def run_compare(paths: Sequence[Path], path: Path | None, level: float, output: Output) -> None:
    """Say what plans cost and how accurate they are, and write the accuracy of every table to ``path``."""
    if len(paths) < 2 or len(set(paths)) < len(paths):
        raise WorkloadError("compare takes two or more different plans, such as: compare one.plan other.plan")
    names = [each.stem for each in paths]
    if max(Counter(names).values()) > 1:
        names = [str(each) for each in paths]
    plans = dict(zip(names, map(load_plan, paths), strict=True))
    with output.progress("comparing"):
        comparison = compare(plans, level)
    _say_totals(comparison, output)
    _say_margins(comparison, level, output)
    if path is not None:
        with telling_outputs(path):
            queries = comparison.queries.copy()
            queries.columns = queries.columns.map(":".join)  # such as moe:even
            with write_atomically(path) as file:
                file.write(csv.write(queries.reset_index()))
            output.wrote(path, ": the error of every table under each plan.")


def _say_totals(comparison: Comparison, output: Output) -> None:
    totals = comparison.totals.rename_axis("plan").reset_index().to_dict("records")
    facts = [{str(key): value for key, value in total.items()} for total in totals]
    texts = {"queries": number_text, "rho": rounded_up, "rmse": number_text, "max_std_err": number_text}
    rows = [(str(each["plan"]), each["loss"], *(of(each[name]) for name, of in texts.items())) for each in facts]
    columns = ["plan", "minimized", "tables", "rho", "typical error", "worst cell"]
    output.table(columns, rows, texts=2, event="plan", facts=facts)


def _say_margins(comparison: Comparison, level: float, output: Output) -> None:
    margins = comparison.queries["moe"]
    values = margins.to_numpy()
    order = np.argsort(-np.nanmax(values, axis=1) / np.nanmin(values, axis=1), kind="stable")[:10]
    shown = f"the {len(order)} of {len(values):,} tables that differ most" if len(order) < len(values) else "all tables"
    output.say(f"Margin of error of a cell ({level:.0%}), {shown}:", event="heading")
    names = [str(name) for name in margins.columns]
    rows, facts = [], []
    for number in order.tolist():
        query, kinds, cells = margins.index[number]
        given = values[number].tolist()
        texts = ["–" if math.isnan(margin) else f"± {number_text(margin)}" for margin in given]
        rows.append((table_text(query, kinds), number_text(cells), *texts))
        facts.append({"query": query, "kinds": kinds, "cells": int(cells), "plans": names, "moe": given})
    output.table(["table", "cells", *names], rows, event="margins-of-table", facts=facts)
