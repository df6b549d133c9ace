"""Which files a report may be written to, or replace: a page, and its folder of figures beside it.

Reads: paths, and the beginnings of files.  Gives: refusals before any work.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from residualplanner.ground.atomic import require_free_folder


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
    require_free_page(page, replace=replace)
    figures = figures_folder(page)
    if not replace:
        require_free_folder(figures)
    elif (figures.exists() or figures.is_symlink()) and not _holds_figures_only(figures):
        raise FileExistsError(f"{figures} holds more than figures, so it is not replaced; name another page")


def require_free_page(page: Path, *, replace: bool) -> None:
    """Raise FileExistsError if the page exists already, unless it is a report that may be replaced."""
    if not (page.exists() or page.is_symlink()):
        return
    if not replace:
        raise FileExistsError(f"{page} exists already and is not overwritten; name another file, or remove it first")
    if not _is_report(page):
        raise FileExistsError(f"{page} exists already and is not a report, so it is not replaced; name another file")


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
def aside(folder: Path) -> Iterator[None]:
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
