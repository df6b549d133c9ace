"""What a file or folder is, told from its name and its first bytes, for messages about files in the wrong place.

Reads: a path.  Gives: FileKind.  Nothing of what a file holds is ever told but which of these it is.
"""

import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

#: How much of a file is read; what is packed in archives may be longer, up to the second number.
_HEAD, _LONGEST = 2**16, 2**25
_FORMAT = re.compile(rb'"format": ?"residualplanner/([a-z]+)"')


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file may be.

    Attributes:
        name: with its article.
        command: which commands take it, in words; empty if none does.
        function: what reads it in Python; empty if nothing does.
    """

    name: str
    command: str = ""
    function: str = ""


PLAN = FileKind("a plan", "measure, compare and report", "load_plan")
MEASUREMENT = FileKind("a measurement", "reconstruct", "load_measurement")
LEDGER = FileKind("a ledger", "ledger, and for --ledger of measure and release", "Ledger.open")
RELEASE = FileKind("the folder of a release", "report", "load_tables")
MANIFEST = FileKind("the manifest of a release; name its folder")
SPEC = FileKind("a spec", "plan and release")
CSV = FileKind("a CSV file", "init, and as records for measure and release")
PARQUET = FileKind("a Parquet file", "init, and as records for measure and release")
JSON = FileKind("a JSON file", "init, if it is a schema")
WORKBOOK = FileKind("an Excel workbook; save it as CSV")
PAGE = FileKind("a web page")
FOLDER = FileKind("a folder")
EMPTY = FileKind("an empty file")
TEXT = FileKind("a text file")
OTHER = FileKind("a file of another kind")

_OURS = {b"plan": PLAN, b"measurement": MEASUREMENT, b"ledger": LEDGER, b"release": MANIFEST}
_BY_NAME = {
    ".toml": SPEC,
    ".csv": CSV,
    ".csv.gz": CSV,
    ".parquet": PARQUET,
    ".json": JSON,
    ".html": PAGE,
    ".htm": PAGE,
    ".xlsx": WORKBOOK,
    ".xls": WORKBOOK,
}


def kind_of_path(path: str | os.PathLike[str]) -> FileKind:
    """What stands at ``path``: by what it holds if that is one of ours, else by its name, else whether it is text.

    Example:
        >>> kind_of_path("no/such/file.csv").name
        'a file of another kind'
    """
    place = Path(path)
    try:
        if place.is_dir():
            return RELEASE if _format_of(_head(place / "manifest.json")) is MANIFEST else FOLDER
        if not place.is_file():
            return OTHER
        return _kind_of_file(place)
    except (OSError, ValueError):
        return OTHER


def _kind_of_file(path: Path) -> FileKind:
    head = _head(path)
    if not head:
        return EMPTY
    ours = _kind_in_archive(path) if head.startswith(b"PK") else _format_of(head)
    if ours is not None:
        return ours
    name = path.name.lower()
    by_name = next((kind for ending, kind in _BY_NAME.items() if name.endswith(ending)), None)
    if by_name is not None:
        return by_name
    if head.startswith(b"PAR1"):
        return PARQUET
    return TEXT if _is_text(head) else OTHER


def _head(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with open(path, "rb") as file:
        return file.read(_HEAD)


def _format_of(content: bytes) -> FileKind | None:
    """Which of our files says so of itself, by the last such word in some JSON; texts in it cannot look like one."""
    found = _FORMAT.findall(content)
    return _OURS.get(found[-1]) if found else None


def _kind_in_archive(path: Path) -> FileKind | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename: info for info in archive.infolist()}
            if "xl/workbook.xml" in names:
                return WORKBOOK
            header = names.get("header.json")
            if header is None or header.compress_type != zipfile.ZIP_STORED or header.file_size > _LONGEST:
                return None
            return _format_of(archive.read(header))
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError, EOFError):
        return None


def _is_text(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > _HEAD - 4 and b"\0" not in head  # a character may be cut in two
    return b"\0" not in head
