"""What may be replaced: with --force a plan and its error table, or a report and its figures, and nothing else.

Reads: paths, and the beginnings of files.  Gives: refusals before any work.
"""

from collections.abc import Callable
from pathlib import Path

from residualplanner.ground.errors import ResidualPlannerError
from residualplanner.method.plan.error_table_file import error_format
from residualplanner.method.plan.files import load_plan
from residualplanner.shell.cli.messages.failures import require_folder_around, require_free_file
from residualplanner.shell.cli.output_names import require_different

_HEADINGS = (b'"query"', b'"std_err"')


def errors_path(plan_path: Path) -> Path:
    """The path of the error table of a plan: beside it.

    Example:
        >>> errors_path(Path("census.plan")).name
        'census.plan.errors.csv'
    """
    return plan_path.parent / f"{plan_path.name}.errors.csv"


def require_free_plan_path(path: Path, errors: Path, *, force: bool) -> None:
    """Raise FileExistsError, FileNotFoundError or FileFormatError unless a plan and its error table can be written.

    With ``force`` they may replace others; another file, such as a measurement, a ledger or records, never is replaced.
    """
    error_format(errors)
    require_different(path, errors)
    require_folder_around(path)
    require_folder_around(errors)
    _require_free_path(path, "a plan", _is_plan, force=force)
    _require_free_path(errors, "an error table", _is_error_table, force=force)


def require_free_report_path(page: Path, *, force: bool) -> None:
    """Raise FileExistsError or FileNotFoundError unless a report can be written; say whether --force helps."""
    from residualplanner.publish.report import figures_folder, require_free_report

    require_folder_around(page)
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


def require_free_records_path(path: Path) -> None:
    """Raise ArgumentError, FileExistsError or FileNotFoundError unless records and the file beside them can be written.

    A run that was killed between the two leaves the latter alone, which is replaced.
    """
    from residualplanner.fits.synthesis import is_sidecar, require_records_file, sidecar_path

    require_records_file(path)
    require_free_file(path)
    beside = sidecar_path(path)
    if (beside.exists() or beside.is_symlink()) and (beside.is_symlink() or not is_sidecar(beside)):
        require_free_file(beside)


def _require_free_path(path: Path, kind: str, is_ours: Callable[[Path], bool], *, force: bool) -> None:
    if not (path.exists() or path.is_symlink()):
        return
    is_kind = path.is_file() and not path.is_symlink() and is_ours(path)
    if force and is_kind:
        return
    if force:
        raise FileExistsError(
            f"{path} exists already and is not {kind}; --force does not replace it, name another file"
        )
    if is_kind:
        raise FileExistsError(
            f"{path} exists already and is not overwritten; replace it with --force, or name another file"
        )
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
    return all(heading in headings for heading in _HEADINGS) or _is_parquet_of_errors(path)


def _is_parquet_of_errors(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return bool(pq.read_schema(path).names[:2] == ["query", "kinds"])
    except (pa.ArrowException, OSError):
        return False
