"""The command report: one page to decide from.

Reads: a plan, or a release folder.  Gives: an HTML page, a folder of figures, messages.
"""

from pathlib import Path

from residualplanner.cli.messages.failures import require_folder_around, telling_outputs
from residualplanner.cli.messages.output import Output
from residualplanner.cli.wanted import REPORTED, require_file
from residualplanner.reporting import figures_folder, require_free_report, write_report


def make_report(source: Path, page: Path, *, level: float, force: bool, output: Output) -> None:
    """Write the report on ``source``, and say where it is."""
    if not source.exists():
        raise FileNotFoundError(f"there is no file or folder {source}; check the name and the folder you are in")
    require_file(source, "report", REPORTED)
    require_folder_around(page)
    _require_place(page, force=force)
    figures = figures_folder(page)
    with telling_outputs(page, figures):
        with output.progress("writing the report"):
            write_report(source, page, level=level, replace=force)
        output.wrote(page, ": the workload, its privacy cost, how accurate every table is; it needs no network.")
        output.wrote(figures, ": each figure as SVG, its data as CSV, and the whole error table.")
        output.say(f"Next: open {page} in a browser; it prints, and can be sent as it is.", event="next")


def _require_place(page: Path, *, force: bool) -> None:
    """Refuse to replace files, and say so where --force would replace them."""
    try:
        require_free_report(page, replace=force)
    except FileExistsError as error:
        if force:
            raise
        try:
            require_free_report(page, replace=True)
        except FileExistsError:
            raise error from None
        text = f"{page} or its folder {figures_folder(page)} exists already and is not overwritten"
        raise FileExistsError(f"{text}; replace both with --force, or name another page") from None
