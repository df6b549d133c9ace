"""A report: one page to decide from, and its figures and data beside it.

Reads: a plan, a release, or the path of one.  Gives: an HTML file and a folder, whole or not at all.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residualplanner.gate.ledger import Ledger
from residualplanner.ground.atomic import PathLike, write_atomically, write_folder_atomically
from residualplanner.ground.checks import is_integer, require_path, value_text
from residualplanner.ground.errors import ArgumentError, FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath, BucketPath, path_at
from residualplanner.method.plan.files import load_plan
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.sidecar import PUBLISHED_ERRORS_FILE
from residualplanner.publish.loading import load_tables
from residualplanner.publish.maps import Boundaries
from residualplanner.publish.pictures import require_package
from residualplanner.publish.report.cells import CELLS, page_tables
from residualplanner.publish.report.estimates import estimates_of
from residualplanner.publish.report.figures import figures_of, total_texts
from residualplanner.publish.report.ledger_page import ledger_of, write_ledger_page
from residualplanner.publish.report.links import links_of
from residualplanner.publish.report.maps import maps_of, require_mapped
from residualplanner.publish.report.page import Contents, page_of
from residualplanner.publish.report.pages import aside, figures_folder, require_free_report
from residualplanner.publish.report.rows import error_rows
from residualplanner.publish.report.subject import Subject
from residualplanner.release.publication import Publication
from residualplanner.release.published_errors import PublishedErrors, require_errors_of
from residualplanner.release.release import Release

if TYPE_CHECKING:
    import pandas as pd


def write_report(
    source: Plan | Release | Ledger | PathLike,
    path: PathLike,
    *,
    level: float = 0.95,
    publication: Publication | None = None,
    cells: int = CELLS,
    replace: bool = False,
    errors: PublishedErrors | None = None,
    maps: Mapping[str, Boundaries] | None = None,
) -> None:
    """Write a report on a plan, a release or a ledger as one self-contained HTML page.

    Beside the page NAME.html comes the folder NAME-figures, with each figure as SVG, its data as CSV, and the whole
    error table; the page does not need it.  The page on a ledger is for its curator, and has no such folder.

    The page on a release holds its smallest tables, to search and sort.  Where the release is a folder, the page links
    to the files of all tables, by their way from the page, so both can be moved together.

    Args:
        source: a plan, a release of any sort, a ledger, or the path of a plan file, a release's folder or a ledger.
        path: the page to write; neither it nor the folder may exist, unless they are to be replaced.
        level: the confidence level of margins and intervals, between 0 and 1.
        publication: title, author, date, contact and source; those that the folder was saved with if not given.
        cells: the most cells of tables that the page holds, all together; 0 for none.
        replace: whether an existing report and its folder of figures are replaced; other files never are.
        errors: of the published numbers, from `published_errors` of the release; a folder has its own.
        maps: of a release, the boundaries of the areas that the values of an attribute are, by its name: for each level
            with shapes a map of the estimates, and one of how noisy they are.

    Raises:
        ArgumentError: ``path`` is not a path, as when the two arguments are swapped.
        FileExistsError: the page or the folder exists already, or is not a report that could be replaced.
        FileFormatError: ``source`` is a file or folder of another kind, or was altered since it was written.
        BudgetError: ``level`` is not between 0 and 1.
        MissingExtraError: matplotlib or jinja2 is not installed.
        WorkloadError: ``source`` is none of these, ``cells`` no integer of 0 or more, ``errors`` are of another
            release, or no table has areas with a shape in ``maps``.
        DomainError: ``maps`` names an attribute that the domain lacks.
        OSError: the page cannot be written.

    Guarantees: equal input gives equal bytes.  A plan's report is computed from the schema and the budget alone; a
        release's is post-processing.
    Cost: about two seconds, more where there are very many tables or other weightings are planned for comparison.
    """
    require_path("write_report", path, 'write_report(plan, "plan.html")')
    require_cells(cells)
    require_package("jinja2")
    page, ledger = Path(path), ledger_of(source)
    if ledger is not None:
        write_ledger_page(ledger, page, publication, replace=replace)
        return
    require_package("matplotlib")
    figures = figures_folder(page)
    require_free_report(page, replace=replace)
    subject = _with_errors(subject_of(source, level=level, publication=publication), errors)
    require_mapped(subject, maps or {})
    contents = Contents(
        subject,
        error_rows(subject, links_of(subject.tables, page)),
        page_tables(subject, limit=cells),
        tuple(figures_of(subject)),
        tuple(estimates_of(subject)),
        tuple(maps_of(subject, maps or {})),
        total_texts(subject),
    )
    text = page_of(contents, figures.name)
    with aside(figures), write_atomically(page) as file, write_folder_atomically(figures) as folder:
        for figure in (*contents.figures, *contents.estimates, *contents.maps):
            (folder / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8", newline="\n")
            _write_csv(figure.data, folder / f"{figure.name}.csv")
        subject.plan.save_errors(folder / "errors.csv", level)
        if subject.published is not None:
            _write_csv(subject.published, folder / PUBLISHED_ERRORS_FILE)
        file.write(text.encode("utf-8"))


def _with_errors(subject: Subject, errors: PublishedErrors | None) -> Subject:
    """A subject with the errors of its published numbers: those given, or those in its folder."""
    if errors is None:
        return subject
    if subject.tables is None:
        raise WorkloadError("errors of published numbers are for the report on a release, not on a plan")
    require_errors_of(subject.plan, subject.product, errors)
    return dataclasses.replace(subject, published=errors.to_frame())


def subject_of(source: Any, *, level: float, publication: Publication | None = None) -> Subject:
    """The subject of a report on ``source``; errors as in `write_report`."""
    about = publication or Publication()
    if isinstance(source, Plan):
        return Subject(name="this plan", level=level, plan=source, publication=about)
    if isinstance(source, Release):
        folder = source.numbers.folder
        name = "this release" if folder is None else _name_of(folder)
        about = publication or source.numbers.publication or about
        return Subject(
            name=name,
            level=level,
            plan=source.plan,
            tables=source,
            publication=about,
            published=source.numbers.published_errors,
        )
    try:
        path = path_at(source)
    except ArgumentError:
        message = f"a report is about a Plan, a Release, a Ledger or the path of one, got {type(source).__name__}"
        raise WorkloadError(message) from None
    if isinstance(path, BucketPath) or path.is_dir():
        return _subject_of_folder(path, level, publication)
    return Subject(name=path.name, level=level, plan=load_plan(path), publication=about)


def require_cells(cells: object) -> None:
    """Raise WorkloadError unless it is a number of cells that a page can hold."""
    if not is_integer(cells):
        raise WorkloadError(f"cells must be how many cells a page holds at most, 0 or more, got {value_text(cells)}")


def _name_of(folder: AnyPath) -> str:
    return folder.resolve().name if isinstance(folder, Path) else folder.name


def _subject_of_folder(folder: AnyPath, level: float, publication: Publication | None) -> Subject:
    if not (folder / "manifest.json").is_file():
        raise FileFormatError(f"{folder} holds no manifest.json; name a plan file, or the folder of a release")
    saved = load_tables(folder)
    _ = saved.numbers.errors  # an altered file is refused, though the numbers of the plan are used
    return subject_of(saved, level=level, publication=publication)


def _write_csv(data: "pd.DataFrame", path: Path) -> None:
    data.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")
