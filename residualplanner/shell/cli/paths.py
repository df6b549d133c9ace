"""The paths that commands read and write: what may be read there, and whether something can be made there.

Everything is refused before any work.  Messages say what a file is and what is expected there, never what it holds.
"""

import os
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from residualplanner.ground import file_kinds as kinds
from residualplanner.ground.atomic import require_free_folder
from residualplanner.ground.errors import ArgumentError, FileFormatError, ResidualPlannerError
from residualplanner.ground.file_kinds import FileKind, kind_of_name, kind_of_path

#: The files that one argument may name: in words, and which kinds pass, whatever else may be wrong with them.
Expected = tuple[str, tuple[FileKind, ...]]

SPEC: Expected = ("a spec in TOML, such as init writes", (kinds.SPEC, kinds.TEXT, kinds.OTHER))
PLAN: Expected = ("a plan, as the command plan writes it", (kinds.PLAN, kinds.OTHER))
ANSWERS: Expected = (
    "a measurement, as measure writes it, or the folder of a release",
    (kinds.MEASUREMENT, kinds.RELEASE, kinds.OTHER),
)
LEDGER: Expected = ("a ledger, as ledger --create begins it", (kinds.LEDGER, kinds.TEXT, kinds.OTHER))
SOURCE: Expected = (
    "a schema (.json), a spec (.toml), a data dictionary (.csv) or records (.csv, .csv.gz, .parquet)",
    (kinds.JSON, kinds.SPEC, kinds.CSV, kinds.PARQUET, kinds.TEXT, kinds.OTHER),
)
RECORDS: Expected = ("records: a .csv, .csv.gz or .parquet file, or a folder of Parquet files", ())
REPORTED: Expected = (
    "a plan, the folder of a release, or a ledger",
    (kinds.PLAN, kinds.RELEASE, kinds.LEDGER, kinds.OTHER),
)


def require_files(command: str, expected: Expected, *paths: Path | None) -> None:
    """Raise FileNotFoundError or FileFormatError unless all that are given can be opened and may be what is wanted."""
    for path in filter(None, paths):
        if not path.is_dir():
            _require_readable(path)
        _require_kind(path, kind_of_path(path), command, expected)


def require_records(path: Path, command: str) -> None:
    """As `require_files` for records, by the name alone: the content of files of records is not looked at."""
    if not path.is_dir():
        _require_readable(path)
        if not is_csv(path) and not is_parquet(path):
            _require_kind(path, kind_of_path(path), command, RECORDS)
        return
    if not os.access(path, os.R_OK | os.X_OK):
        raise FileFormatError(f"{path} cannot be read; check its permissions")
    if kind_of_path(path) is kinds.RELEASE:
        _require_kind(path, kinds.RELEASE, command, RECORDS)


def is_csv(path: Path) -> bool:
    """Whether a file is CSV, gzipped or not, by its name."""
    return path.name.lower().endswith((".csv", ".csv.gz"))


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its name."""
    return path.suffix.lower() == ".parquet"


def _require_kind(path: Path, found: FileKind, command: str, expected: Expected) -> None:
    words, kinds_that_pass = expected
    if found not in kinds_that_pass:
        purpose = f", which is for {found.command}" if found.command else ""
        raise FileFormatError(f"{path} is {found.name}{purpose}; {command} wants {words}")


def _require_readable(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; check the name and the folder you are in")
    if not os.access(path, os.R_OK):
        raise FileFormatError(f"{path} cannot be read; check its permissions")


def require_free_file(path: Path) -> None:
    """Raise FileExistsError or FileNotFoundError unless a file can be made at ``path``."""
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder; name a file in it, or elsewhere")
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists already and is not overwritten; name another file, or remove it first")
    require_folder_around(path)


def require_new_folder(path: Path) -> None:
    """Raise FileExistsError, FileNotFoundError or FileFormatError unless a folder can be made at ``path``."""
    if path.name in ("", ".."):
        raise FileExistsError(f"{path} is the folder you are in, or one around it; name a new folder")
    require_free_folder(path)
    require_folder_around(path)


def require_folder_around(path: Path) -> None:
    """Raise FileNotFoundError or FileFormatError unless a file can be made in the folder of ``path``."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileFormatError(f"the folder {path.parent} may not be written to; check its permissions")


def require_different(*paths: Path) -> None:
    """Raise ArgumentError if two outputs have the same path."""
    for one, other in combinations(paths, 2):
        if one.resolve() == other.resolve():
            raise ArgumentError(f"{other} would be two things at once; give each a name of its own")


def require_apart(folder: Path, *files: Path) -> None:
    """Raise ArgumentError unless a new folder and files have paths of their own, and no file is to be in the folder.

    The folder is made at once with all that is in it, after the files: it could not be made if one were there.
    """
    require_different(folder, *files)
    for path in files:
        if folder.resolve() in path.resolve().parents:
            raise ArgumentError(
                f"{path} is in the folder {folder}, which has to be new or empty; name a file elsewhere"
            )


def require_kind_of_name(path: Path, kind: FileKind, remedy: str) -> None:
    """Raise ArgumentError if the ending of a name promises another kind of file than is written there."""
    promised = kind_of_name(path)
    if promised not in (None, kind):
        raise ArgumentError(f"{path} would be taken for {promised.name.partition(';')[0]}; {remedy}")


def require_free_plan_path(path: Path, errors: Path, *, force: bool) -> None:
    """Raise FileExistsError, FileNotFoundError or FileFormatError unless a plan and its error table can be written.

    With ``force`` they may replace others; another file, such as a measurement, a ledger or records, never is replaced.
    """
    from residualplanner.method.plan.error_table import error_format

    error_format(errors)
    require_different(path, errors)
    for each, kind, is_ours in ((path, "a plan", _is_plan), (errors, "an error table", _is_error_table)):
        require_folder_around(each)
        _require_free_path(each, kind, is_ours, force=force)


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
    if force and not is_kind:
        text = f"{path} exists already and is not {kind}; --force does not replace it, name another file"
        raise FileExistsError(text)
    if is_kind and not force:
        text = f"{path} exists already and is not overwritten; replace it with --force, or name another file"
        raise FileExistsError(text)
    if not is_kind:
        require_free_file(path)


def _is_plan(path: Path) -> bool:
    from residualplanner.method.plan.files import load_plan

    try:
        load_plan(path)
    except (ResidualPlannerError, OSError):
        return False
    return True


def _is_error_table(path: Path) -> bool:
    """Whether a file is one by its first line as CSV, or its first columns as Parquet."""
    with open(path, "rb") as file:
        headings = file.readline(4096)
    if all(heading in headings for heading in (b'"query"', b'"std_err"')):
        return True
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return bool(pq.read_schema(path).names[:2] == ["query", "kinds"])
    except (pa.ArrowException, OSError):
        return False
