"""What a file or folder in the wrong place is, in words for messages: by its format field, its name or first bytes."""

import os
import re
import zipfile
from pathlib import Path

#: How many bytes of a file are read, and how many of a member of an archive at most.
_HEAD, _LONGEST = 2**16, 2**25
#: In our files the last such field in the JSON, which no string in it can imitate, since strings escape quotes.
_FORMAT = re.compile(rb'"format": ?"residualplanner/([a-z]+)"')

PLAN, MEASUREMENT, LEDGER, RELEASE = "a plan", "a measurement", "a ledger", "the folder of a release"
SPEC, PAGE, CSV, JSON, PARQUET = "a spec", "a web page", "a CSV file", "a JSON file", "a Parquet file"
PACKAGE = "a file of SPSS, Stata or SAS"
_MANIFEST = "the manifest of a release; name its folder"
_OURS = {b"plan": PLAN, b"measurement": MEASUREMENT, b"ledger": LEDGER, b"release": _MANIFEST}
_BY_NAME = {
    SPEC: (".toml",),
    CSV: (".csv", ".csv.gz"),
    PARQUET: (".parquet",),
    JSON: (".json",),
    PAGE: (".html", ".htm"),
    "a PDF": (".pdf",),
    "an Excel workbook; save it as CSV": (".xlsx", ".xls"),
    PACKAGE: (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt"),
}
_MAGIC = {b"PAR1": PARQUET, b"\x1f\x8b": "a gzipped file"}


def kind_of_path(path: str | os.PathLike[str]) -> str | None:
    """What is at ``path``: by its content if that is ours, else by its name, else by a magic number."""
    file = Path(path)
    try:
        if file.is_dir():
            return RELEASE if _format_of(_head(file / "manifest.json")) is _MANIFEST else "a folder"
        if not file.is_file():
            return None
        head = _head(file)
        ours = _format_of(_header(file) if head.startswith(b"PK") else head)
    except (OSError, ValueError):
        return None
    return ours or kind_of_name(file) or next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def kind_of_name(path: Path) -> str | None:
    """The kind that the ending of a name promises, whether or not there is such a file; None if it promises none."""
    name = path.name.lower()
    return next((kind for kind, endings in _BY_NAME.items() if name.endswith(endings)), None)


def _head(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with open(path, "rb") as file:
        return file.read(_HEAD)


def _header(path: Path) -> bytes:
    """The JSON of one of our archives; nothing of another one, or of a damaged one."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("header.json") as header:
            return header.read(_LONGEST)
    except (zipfile.BadZipFile, KeyError, RuntimeError, EOFError):  # the third for an unknown compression
        return b""


def _format_of(content: bytes) -> str | None:
    found = _FORMAT.findall(content)
    return _OURS.get(found[-1]) if found else None
