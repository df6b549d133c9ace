"""The kind of a file or folder by its name and first bytes, for messages about files in the wrong place."""

import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

#: How many bytes of a file are read, and how many of a member of an archive at most.
_HEAD, _LONGEST = 2**16, 2**25
_FORMAT = re.compile(rb'"format": ?"residualplanner/([a-z]+)"')


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file, and what reads it, if anything does."""

    name: str  # with its article
    command: str = ""  # the commands that read it, in words
    function: str = ""  # of Python


PLAN = FileKind("a plan", "measure, compare and report", "load_plan")
MEASUREMENT = FileKind("a measurement", "reconstruct and synthesize", "load_measurement")
LEDGER = FileKind("a ledger", "ledger, report, and for --ledger of measure and release", "Ledger.open")
RELEASE = FileKind("the folder of a release", "report and synthesize", "load_tables")
MANIFEST = FileKind("the manifest of a release; name its folder")
SPEC = FileKind("a spec", "plan, check and release")
CSV = FileKind("a CSV file", "init, and as records for check, measure and release")
PARQUET = FileKind("a Parquet file", "init, and as records for check, measure and release")
JSON = FileKind("a JSON file", "init, if it is a schema")
WORKBOOK = FileKind("an Excel workbook; save it as CSV")
STATA = FileKind("a Stata file; save it as CSV, or in Python give pandas.read_stata(path)")
SPSS = FileKind("an SPSS file; save it as CSV, or in Python give pandas.read_spss(path)")
SAS = FileKind("a SAS file; save it as CSV, or in Python give pandas.read_sas(path, encoding=...)")
PAGE = FileKind("a web page")
PDF = FileKind("a PDF")
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
    ".pdf": PDF,
    ".xlsx": WORKBOOK,
    ".xls": WORKBOOK,
    ".dta": STATA,
    ".sav": SPSS,
    ".zsav": SPSS,
    ".por": SPSS,
    ".sas7bdat": SAS,
    ".xpt": SAS,
}


def kind_of_path(path: str | os.PathLike[str]) -> FileKind:
    """The kind of the file at ``path``: by its content if that is ours, else by its name, else whether it is text."""
    file = Path(path)
    try:
        if file.is_dir():
            return RELEASE if _format_of(_head(file / "manifest.json")) is MANIFEST else FOLDER
        return _kind_of_file(file) if file.is_file() else OTHER
    except (OSError, ValueError):
        return OTHER


def kind_of_name(path: Path) -> FileKind | None:
    """The kind that the ending of a name promises, whether or not there is such a file; None if it promises none."""
    name = path.name.lower()
    return next((kind for ending, kind in _BY_NAME.items() if name.endswith(ending)), None)


def _kind_of_file(path: Path) -> FileKind:
    head = _head(path)
    if not head:
        return EMPTY
    known = (_kind_in_archive(path) if head.startswith(b"PK") else _format_of(head)) or kind_of_name(path)
    if known is not None:
        return known
    if head.startswith(b"PAR1"):
        return PARQUET
    return TEXT if _is_text(head) else OTHER


def _head(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with open(path, "rb") as file:
        return file.read(_HEAD)


def _format_of(content: bytes) -> FileKind | None:
    """The kind of our file by the last format field in its JSON, which no string in it can imitate."""
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
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError):
        return None  # all that zipfile raises for a damaged archive; the fourth for an unknown compression


def _is_text(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > _HEAD - 4 and b"\0" not in head  # a character may be cut in two
    return b"\0" not in head
