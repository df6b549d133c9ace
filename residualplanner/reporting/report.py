"""A report: one page to decide from, and its figures and data beside it.

Reads: a plan, a release, or the path of one.  Gives: an HTML file and a folder, whole or not at all.
"""

import dataclasses
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from residualplanner._atomic import PathLike, require_free_folder, write_atomically, write_folder_atomically
from residualplanner._checks import require_path
from residualplanner.errors import FileFormatError, WorkloadError
from residualplanner.pictures import require_package
from residualplanner.plan import Plan, load_plan
from residualplanner.postprocessing import PublishedErrors, require_errors_of
from residualplanner.reconstruction import PUBLISHED_ERRORS_FILE, Tables, load_tables
from residualplanner.reporting.figures import estimates_of, figures_of, total_texts
from residualplanner.reporting.page import Contents, page_of
from residualplanner.reporting.rows import error_rows
from residualplanner.reporting.subject import Subject

if TYPE_CHECKING:
    import pandas as pd


def write_report(
    source: Plan | Tables | PathLike,
    path: PathLike,
    *,
    level: float = 0.95,
    replace: bool = False,
    errors: PublishedErrors | None = None,
) -> None:
    """Write a report on a plan or a release as one self-contained HTML page.

    Beside the page NAME.html comes the folder NAME-figures, with each figure as SVG, its data as CSV, and the whole
    error table; the page does not need it.

    Args:
        source: a plan, a release of any sort, the path of a plan file, or a release's folder.
        path: the page to write; neither it nor the folder may exist, unless they are to be replaced.
        level: the confidence level of margins and intervals, between 0 and 1.
        replace: whether an existing report and its folder of figures are replaced; other files never are.
        errors: of the published numbers, from `published_errors` of the release; a folder has its own.

    Raises:
        ArgumentError: ``path`` is not a path, as when the two arguments are swapped.
        FileExistsError: the page or the folder exists already, or is not a report that could be replaced.
        FileFormatError: ``source`` is a file or folder of another kind, or was altered since it was written.
        BudgetError: ``level`` is not between 0 and 1.
        MissingExtraError: matplotlib or jinja2 is not installed.
        WorkloadError: ``source`` is none of these, or ``errors`` are of another release.
        OSError: the page cannot be written.

    Guarantees: equal input gives equal bytes.  A plan's report is computed from the schema and the budget alone; a
        release's is post-processing.
    Cost: about two seconds, more where there are very many tables or other weightings are planned for comparison.
    """
    require_path("write_report", path, 'write_report(plan, "plan.html")')
    require_package("matplotlib")
    require_package("jinja2")
    page = Path(path)
    figures = figures_folder(page)
    require_free_report(page, replace=replace)
    subject = _with_errors(subject_of(source, level=level), errors)
    contents = Contents(
        subject, error_rows(subject), tuple(figures_of(subject)), tuple(estimates_of(subject)), total_texts(subject)
    )
    text = page_of(contents, figures.name)
    with _aside(figures), write_atomically(page) as file, write_folder_atomically(figures) as folder:
        for figure in (*contents.figures, *contents.estimates):
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
    require_errors_of(subject.tables, errors)
    return dataclasses.replace(subject, published=errors.to_frame())


def subject_of(source: Plan | Tables | PathLike, *, level: float) -> Subject:
    """The subject of a report on ``source``; errors as in `write_report`."""
    if isinstance(source, Plan):
        return Subject(name="this plan", level=level, plan=source)
    if isinstance(source, Tables):
        published = source.published_errors
        return Subject(name="this release", level=level, plan=source.plan, tables=source, published=published)
    try:
        path = Path(source)
    except TypeError:
        message = f"a report is about a Plan, a Release or the path of one, got {type(source).__name__}"
        raise WorkloadError(message) from None
    return (
        _subject_of_folder(path, level) if path.is_dir() else Subject(name=path.name, level=level, plan=load_plan(path))
    )


def _subject_of_folder(folder: Path, level: float) -> Subject:
    if not (folder / "manifest.json").is_file():
        raise FileFormatError(f"{folder} holds no manifest.json; name a plan file, or the folder of a release")
    saved = load_tables(folder)
    _ = saved.errors  # compared with its hash: an altered folder is refused, though the numbers of the plan are used
    name, published = folder.resolve().name, saved.published_errors
    return Subject(name=name, level=level, plan=saved.plan, tables=saved, published=published)


def figures_folder(page: Path) -> Path:
    """The folder of the figures of a page, beside it.

    Example:
        >>> figures_folder(Path("census.html")).name
        'census-figures'
    """
    return page.with_name(f"{page.stem}-figures")


def require_free_report(page: Path, *, replace: bool = False) -> None:
    """Raise FileExistsError if the page exists already, or its folder with something in it.

    Args:
        page: the page to write.
        replace: whether an existing report, with a folder that holds nothing but figures, may be replaced.
    """
    figures = figures_folder(page)
    if not replace:
        if page.exists() or page.is_symlink():
            message = f"{page} exists already and is not overwritten; name another file, or remove it first"
            raise FileExistsError(message)
        require_free_folder(figures)
        return
    if (page.exists() or page.is_symlink()) and not _is_report(page):
        raise FileExistsError(f"{page} exists already and is not a report, so it is not replaced; name another file")
    if (figures.exists() or figures.is_symlink()) and not _holds_figures_only(figures):
        raise FileExistsError(f"{figures} holds more than figures, so it is not replaced; name another page")


def _is_report(page: Path) -> bool:
    """Whether this is a page that `write_report` wrote, by its beginning."""
    if page.is_symlink() or not page.is_file():
        return False
    with open(page, "rb") as file:
        return b'<meta name="generator" content="residualplanner ' in file.read(4096)


def _holds_figures_only(folder: Path) -> bool:
    """Whether this is a folder of nothing but pictures and their data."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return all(path.is_file() and path.suffix in (".svg", ".csv") for path in folder.iterdir())


@contextmanager
def _aside(folder: Path) -> Iterator[None]:
    """Move a folder out of the way of a new one, and back if the block raises."""
    if not folder.exists():
        yield
        return
    old = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(4)}.partial")
    os.rename(folder, old)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(old, folder)
        raise
    shutil.rmtree(old)


def _write_csv(data: "pd.DataFrame", path: Path) -> None:
    data.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")
