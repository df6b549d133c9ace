"""The paths that commands read and write: what may be read there, and whether something can be made there.

Everything is refused before any work.  Messages say what a file is and what is expected there, never what it holds.
"""

import os
from itertools import combinations
from pathlib import Path

from residualplanner.ground import file_kinds as kinds
from residualplanner.ground.atomic import require_free_folder
from residualplanner.ground.errors import ArgumentError, FileFormatError
from residualplanner.ground.file_kinds import kind_of_name, kind_of_path

#: The files that one argument may name: in words, and which kinds pass; what is of no known kind passes, too.
Expected = tuple[str, tuple[str, ...]]

SPEC: Expected = ("a spec in TOML, such as init writes", (kinds.SPEC,))
PLAN: Expected = ("a plan, as the command plan writes it", (kinds.PLAN,))
ANSWERS: Expected = (
    "a measurement, as measure writes it, or the folder of a release",
    (kinds.MEASUREMENT, kinds.RELEASE),
)
LEDGER: Expected = ("a ledger, as ledger --create begins it", (kinds.LEDGER,))
SOURCE: Expected = (
    "a domain (.json), a spec (.toml), a data dictionary (.csv) or records (.csv, .csv.gz, .parquet, .sav, .dta)",
    (kinds.JSON, kinds.SPEC, kinds.CSV, kinds.PARQUET, kinds.PACKAGE),
)
RECORDS: Expected = (
    "records: a .csv, .csv.gz or .parquet file, one of SPSS, Stata or SAS, or a folder of Parquet files",
    ("a folder",),
)
RELEASE: Expected = ("the folder of a release", (kinds.RELEASE,))
REPORTED: Expected = ("a plan, or the folder of a release", (kinds.PLAN, kinds.RELEASE))


def require_files(command: str, expected: Expected, *paths: Path | None) -> None:
    """Raise FileNotFoundError or FileFormatError unless all that are given can be opened and may be what is wanted."""
    words, kinds_that_pass = expected
    for path in filter(None, paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}; check the name and the folder you are in")
        if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
            raise FileFormatError(f"{path} cannot be read; check its permissions")
        if expected is RECORDS and kind_of_name(path) in (kinds.CSV, kinds.PARQUET, kinds.PACKAGE):
            continue  # the content of files of records is not looked at
        found = kind_of_path(path) or ("a file of another kind" if expected is RECORDS else None)
        if found is not None and found not in kinds_that_pass:
            raise FileFormatError(f"{path} is {found}; {command} wants {words}")


def path_of_spec(source: Path, spec: Path | None) -> Path:
    """The spec to write, named after its source unless it has a name; FileFormatError where that does not end so."""
    path = Path(Path(source.name.removesuffix(".gz")).stem + ".toml") if spec is None else spec
    require_kind_of_name(path, kinds.SPEC, "end the name of a spec in .toml")
    return path


def require_free_file(*paths: Path | None) -> None:
    """Raise FileExistsError or FileNotFoundError unless a file can be made at each path that is given."""
    for path in filter(None, paths):
        if path.is_dir():
            raise FileExistsError(f"{path} is a folder; name a file in it, or elsewhere")
        if os.path.lexists(path):
            message = f"{path} exists already and is not overwritten; name another file, or remove it first"
            raise FileExistsError(message)
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


def require_apart(output: Path, *others: Path) -> None:
    """Raise ArgumentError unless outputs have paths of their own, and none is to be in the first, a new folder."""
    for one, other in combinations((output, *others), 2):
        if one.resolve() == other.resolve():
            raise ArgumentError(f"{other} would be two things at once; give each a name of its own")
    for path in others:  # they are written first, and the folder has to be empty then
        if output.resolve() in path.resolve().parents:
            message = f"{path} is in the folder {output}, which has to be new or empty; name a file elsewhere"
            raise ArgumentError(message)


def require_kind_of_name(path: Path, kind: str, remedy: str) -> None:
    """Raise ArgumentError if the ending of a name promises another kind of file than is written there."""
    promised = kind_of_name(path)
    if promised not in (None, kind):
        raise ArgumentError(f"{path} would be taken for {promised.partition(';')[0]}; {remedy}")
    if kind == kinds.PAGE and promised is None:
        raise ArgumentError(f"{path} is not the name of a web page; {remedy}")


def require_free_plan_path(path: Path, errors: Path, *, force: bool) -> None:
    """Raise FileExistsError, FileNotFoundError or FileFormatError unless a plan and its error table can be written."""
    for each, kind, is_ours in (
        (path, kinds.PLAN, lambda file: kind_of_path(file) == kinds.PLAN),
        (errors, "an error table", _is_error_table),
    ):
        require_folder_around(each)
        is_kind = each.is_file() and not each.is_symlink() and is_ours(each)
        if not (is_kind or force):
            require_free_file(each)
        elif os.path.lexists(each) and not (is_kind and force):
            remedy = "overwritten; replace it with --force, or" if is_kind else f"{kind}; --force does not replace it;"
            raise FileExistsError(f"{each} exists already and is not {remedy} name another file")


def _is_error_table(path: Path) -> bool:
    with open(path, "rb") as file:
        headings = file.readline(4096)
    return b'"query"' in headings and b'"std_err"' in headings


def require_free_report_path(page: Path, *, force: bool) -> None:
    """Raise FileExistsError or FileNotFoundError unless a report can be written; by ``force`` in place of one."""
    from residualplanner.publish.report.report import require_free_report

    require_folder_around(page)
    try:
        require_free_report(page, replace=force)
    except FileExistsError as error:
        raise FileExistsError(f"{error}{'' if force else '; --force replaces a report and its figures'}") from None


def require_free_records_path(path: Path) -> None:
    """Raise ArgumentError, FileExistsError or FileNotFoundError unless records and their sidecar can be written."""
    from residualplanner.fits.synthesis.saving import is_sidecar, require_records_file, sidecar_path

    require_records_file(path)
    require_free_file(path)
    beside = sidecar_path(path)  # which a run that was killed leaves alone
    if beside.is_symlink() or not is_sidecar(beside):
        require_free_file(beside)
