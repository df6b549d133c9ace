"""The command report: one page to decide from.

Reads: a plan, or a release folder.  Gives: an HTML page, a folder of figures, messages.
"""

from pathlib import Path

from residualplanner.cli.failures import require_folder_around, telling_outputs
from residualplanner.cli.output import Output
from residualplanner.reporting import figures_folder, require_free_report, write_report


def make_report(source: Path, page: Path, *, level: float, output: Output) -> None:
    """Write the report on ``source``, and say where it is."""
    if not source.exists():
        raise FileNotFoundError(f"there is no file or folder {source}; check the name and the folder you are in")
    require_folder_around(page)
    require_free_report(page)
    figures = figures_folder(page)
    with telling_outputs(page, figures):
        with output.progress("writing the report"):
            write_report(source, page, level=level)
        output.wrote(page, ": what is asked, what it costs, how accurate every table is; it needs no network.")
        output.wrote(figures, ": each figure as SVG, its data as CSV, and the whole error table.")
        output.say(f"Next: open {page} in a browser; it prints, and can be sent as it is.", event="next")
