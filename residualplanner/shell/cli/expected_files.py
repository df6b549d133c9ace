"""The kinds of file that each command reads, and the message for a file of another kind.

Reads: paths.  Gives: errors that say what a file is and what is expected there; never what it holds.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from residualplanner.ground import file_kinds as kinds
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.file_kinds import FileKind, kind_of_path
from residualplanner.shell.cli.messages.failures import require_readable


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """The files that one argument may name.

    Attributes:
        words: what they are, and where they come from.
        kinds: which pass; whatever else may be wrong with one is found when it is read.
    """

    words: str
    kinds: tuple[FileKind, ...]


SPEC = ExpectedFile("a spec in TOML, such as init writes", (kinds.SPEC, kinds.TEXT, kinds.OTHER))
PLAN = ExpectedFile("a plan, as the command plan writes it", (kinds.PLAN, kinds.OTHER))
ANSWERS = ExpectedFile(
    "a measurement, as measure writes it, or the folder of a release", (kinds.MEASUREMENT, kinds.RELEASE, kinds.OTHER)
)
LEDGER = ExpectedFile("a ledger, as ledger --create begins it", (kinds.LEDGER, kinds.TEXT, kinds.OTHER))
SOURCE = ExpectedFile(
    "a schema (.json), a spec (.toml), a data dictionary (.csv) or records (.csv, .csv.gz, .parquet)",
    (kinds.JSON, kinds.SPEC, kinds.CSV, kinds.PARQUET, kinds.TEXT, kinds.OTHER),
)
RECORDS = ExpectedFile("records: a .csv, .csv.gz or .parquet file, or a folder of Parquet files", ())
REPORTED = ExpectedFile(
    "a plan, the folder of a release, or a ledger", (kinds.PLAN, kinds.RELEASE, kinds.LEDGER, kinds.OTHER)
)


def require_file(path: Path, command: str, expected: ExpectedFile) -> None:
    """Raise an error with a remedy unless ``path`` can be opened and may be what ``command`` wants there.

    Raises:
        FileNotFoundError: there is nothing.
        FileFormatError: it is something else, or cannot be read; the message says what.
    """
    if not path.is_dir():
        require_readable(path)
    _require_kind(path, kind_of_path(path), command, expected)


def require_records(path: Path, command: str) -> None:
    """As `require_file` for records, by the name alone: the content of files of records is not looked at."""
    from residualplanner.shell.cli.columns import is_csv, is_parquet

    if not path.is_dir():
        require_readable(path)
        if not is_csv(path) and not is_parquet(path):
            _require_kind(path, kind_of_path(path), command, RECORDS)
        return
    if not os.access(path, os.R_OK | os.X_OK):
        raise FileFormatError(f"{path} cannot be read; check its permissions")
    if kind_of_path(path) is kinds.RELEASE:
        _require_kind(path, kinds.RELEASE, command, RECORDS)


def _require_kind(path: Path, found: FileKind, command: str, expected: ExpectedFile) -> None:
    if found in expected.kinds:
        return
    purpose = f", which is for {found.command}" if found.command else ""
    raise FileFormatError(f"{path} is {found.name}{purpose}; {command} wants {expected.words}")
