"""What --force may replace: a plan and its error table, and nothing else.

Reads: paths, and the beginnings of files.  Gives: refusals before any work.
"""

from collections.abc import Callable
from pathlib import Path

from residualplanner.cli.messages.failures import require_folder_around, require_free_file
from residualplanner.cli.steps import errors_path
from residualplanner.errors import ResidualPlannerError
from residualplanner.plan import load_plan

_HEADINGS = (b'"query"', b'"std_err"')


def require_place_for_plan(path: Path, *, force: bool) -> None:
    """Raise FileExistsError or FileNotFoundError unless a plan and its error table can be written.

    Args:
        path: the plan to write.
        force: whether an existing plan and error table are replaced.  Another file, such as a measurement, a ledger or
            records, never is.
    """
    require_folder_around(path)
    _require_place(path, "a plan", _is_plan, force=force)
    _require_place(errors_path(path), "an error table", _is_error_table, force=force)


def _require_place(path: Path, kind: str, is_ours: Callable[[Path], bool], *, force: bool) -> None:
    if not (path.exists() or path.is_symlink()):
        return
    is_kind = path.is_file() and not path.is_symlink() and is_ours(path)
    if force and not is_kind:
        raise FileExistsError(
            f"{path} exists already and is not {kind}; --force does not replace it, name another file"
        )
    if not force and is_kind:
        raise FileExistsError(
            f"{path} exists already and is not overwritten; replace it with --force, or name another file"
        )
    if not force:
        require_free_file(path)


def _is_plan(path: Path) -> bool:
    try:
        load_plan(path)
    except (ResidualPlannerError, OSError):
        return False
    return True


def _is_error_table(path: Path) -> bool:
    with open(path, "rb") as file:
        headings = file.readline(4096)
    return all(heading in headings for heading in _HEADINGS)
