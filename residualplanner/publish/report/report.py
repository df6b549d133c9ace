"""A report: one page to decide from, and its figures and data beside it, whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from residualplanner.ground.atomic import (
    PathLike,
    rename,
    require_free_folder,
    write_atomically,
    write_folder_atomically,
)
from residualplanner.ground.checks import is_integer, require_path, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.sidecar import PUBLISHED_ERRORS_FILE
from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.choropleths import require_shapes
from residualplanner.publish.pictures.drawing import require_package
from residualplanner.publish.report.estimates import estimates_of
from residualplanner.publish.report.figures import figures_of
from residualplanner.publish.report.maps import maps_of
from residualplanner.publish.report.page import page_of
from residualplanner.publish.report.subject import Subject, subject_of
from residualplanner.publish.report.tables import CELLS, error_rows, page_tables
from residualplanner.release.published_errors import PublishedErrors
from residualplanner.release.quality import Publication
from residualplanner.release.release import Release

if TYPE_CHECKING:
    import pandas as pd

#: What a page says of what wrote it, near its beginning.
_GENERATOR = b'<meta name="generator" content="residualplanner '


def write_report(
    source: Plan | Release | PathLike,
    path: PathLike,
    *,
    level: float = 0.95,
    publication: Publication | None = None,
    cells: int = CELLS,
    replace: bool = False,
    errors: PublishedErrors | None = None,
    maps: Mapping[str, Boundaries] | None = None,
) -> None:
    """Write a report on a plan or a release as one self-contained HTML page.

    Beside the page NAME.html comes the folder NAME-figures, with each figure as SVG, its data as CSV, and the whole
    error table; the page does not need it.

    The page on a release holds its smallest tables, to search and sort.  Where the release is a folder, the page links
    to the files of all tables, by their way from the page, so both can be moved together.

    Args:
        source: a plan, a release of any sort, or the path of a plan file or a release's folder.
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
    if not is_integer(cells):
        raise WorkloadError(f"cells must be how many cells a page holds at most, 0 or more, got {value_text(cells)}")
    require_package("jinja2")
    require_package("matplotlib")
    page = Path(path)
    figures = figures_folder(page)
    require_free_report(page, replace=replace)
    subject = subject_of(source, level=level, publication=publication, errors=errors)
    if maps and subject.tables is None:
        raise WorkloadError("maps are for the report on a release, not on a plan")
    require_shapes(subject.plan.workload, maps or {})
    every = {
        "figures": tuple(figures_of(subject)),
        "estimates": tuple(estimates_of(subject)),
        "maps": tuple(maps_of(subject, maps or {})),
    }
    rows = error_rows(subject, _links_of(subject, page))
    text = page_of(subject, rows, page_tables(subject, limit=cells), every, figures.name)
    with _aside(figures), write_atomically(page) as file, write_folder_atomically(figures) as folder:
        for figure in chain.from_iterable(every.values()):
            (folder / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8", newline="\n")
            _write_csv(figure.data, folder / f"{figure.name}.csv")
        subject.plan.save_errors(folder / "errors.csv", level)
        if subject.published is not None:
            _write_csv(subject.published, folder / PUBLISHED_ERRORS_FILE)
        file.write(text.encode("utf-8"))


def _links_of(subject: Subject, page: Path) -> list[str]:
    """For each query of the workload the URL of the file of its table, from the page; none where there are no files."""
    saved = subject.saved
    if saved is None or not isinstance(saved.folder, Path):
        return []
    try:
        way = Path(os.path.relpath(saved.folder.resolve(), page.absolute().parent.resolve()))
    except ValueError:  # as on Windows, from one drive to another
        return []
    start = "./" + quote(way.as_posix())
    files = map(saved.file_of, range(len(subject.plan.workload)))
    return [f"{start}/{quote(file)}" for file in files]


def _write_csv(data: "pd.DataFrame", path: Path) -> None:
    data.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")


def figures_folder(page: Path) -> Path:
    """The folder of the figures of a page, beside it: ``census-figures`` of ``census.html``."""
    return page.with_name(f"{page.stem}-figures")


def require_free_report(page: Path, *, replace: bool = False) -> None:
    """Raise FileExistsError if the page or its folder is there, or, if replaced, were no report and its figures."""
    figures = figures_folder(page)
    is_there = os.path.lexists(page)
    if is_there and not replace:
        raise FileExistsError(f"{page} exists already and is not overwritten; name another file, or remove it first")
    if is_there and (page.is_symlink() or not page.is_file() or _GENERATOR not in page.read_bytes()[:4096]):
        raise FileExistsError(f"{page} exists already and is not a report, so it is not replaced; name another file")
    if not replace:
        require_free_folder(figures)
    elif os.path.lexists(figures):
        is_folder = figures.is_dir() and not figures.is_symlink()
        if not is_folder or not all(path.is_file() and path.suffix in (".svg", ".csv") for path in figures.iterdir()):
            raise FileExistsError(f"{figures} holds more than figures, so it is not replaced; name another page")


@contextmanager
def _aside(folder: Path) -> Iterator[None]:
    """Move a folder out of the way of a new one, and back if the block raises."""
    if not folder.exists():
        yield
        return
    old = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(4)}.partial")
    rename(os.rename, folder, old)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        rename(os.rename, old, folder)
        raise
    shutil.rmtree(old)
