"""The commands that tell what there is: report and ledger.

Reads: arguments.  Gives: pages; messages about a ledger.
"""

from pathlib import Path

import typer

from residualplanner.ground.file_kinds import PAGE
from residualplanner.shell.cli import options as opt
from residualplanner.shell.cli.expected_files import REPORTED, SPEC, require_file
from residualplanner.shell.cli.option_groups import Messages, with_groups
from residualplanner.shell.cli.output_names import require_kind_of_name


@with_groups
def report(
    source: opt.Reported,
    page: opt.NewPage = Path("report.html"),
    level: opt.Level = 0.95,
    *,
    spec: opt.PublicationSpec = None,
    cells: opt.PageCells = 20_000,
    force: opt.ForceReport = False,
    messages: Messages,
) -> None:
    """Write one page to decide from, or to publish: privacy, the error of every table, and of a release its tables.

    The page is self-contained and needs no network. Beside it comes a folder with its figures and their data. The page
    on a release links to the files of its folder. That on a ledger is for the curator: what was charged, what is left.
    """
    if not source.exists():
        raise FileNotFoundError(f"there is no file or folder {source}; check the name and the folder you are in")
    require_file(source, "report", REPORTED)
    require_kind_of_name(page, PAGE, "end the name of a page in .html; browsers print it as PDF")
    from residualplanner.shell.cli.replacing import require_free_report_path
    from residualplanner.shell.cli.runs import run_report
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.hierarchies import maps_of_spec

    require_free_report_path(page, force=force)
    publication, maps = None, {}
    if spec is not None:
        require_file(spec, "report", SPEC)
        read = read_spec(spec)
        publication, maps = read.output.publication.publication, maps_of_spec(read)
    options = {"level": level, "publication": publication, "cells": cells, "replace": force, "maps": maps}
    run_report(source, page, options, messages.output)


@with_groups
def show_ledger(
    path: opt.ExistingLedger,
    *,
    name: opt.DataSetName = None,
    budget: opt.LedgerBudget = None,
    unlimited: opt.NoBudgetReason = None,
    neighbors: opt.LedgerNeighbors = "add-remove",
    records_per_person: opt.RecordsPerPerson = 1,
    cost: opt.TornCost = None,
    messages: Messages,
) -> None:
    """Show what has been charged to a ledger; or begin one with --create."""
    from residualplanner.shell.cli.ledgers import begin_ledger, cost_of_text, existing_ledger, say_ledger

    if name is None:
        if (budget, unlimited) != (None, None):
            raise typer.BadParameter("--budget and --unlimited belong to --create NAME")
        opened = existing_ledger(path, "ledger")
    else:
        options = {"data_set": name, "neighbors": neighbors, "records_per_person": records_per_person}
        opened = begin_ledger(path, budget, unlimited, options)
    if cost is not None:
        opened.settle(cost_of_text(cost))
    say_ledger(opened, messages.output)
