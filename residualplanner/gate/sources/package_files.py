"""Files of SPSS, Stata and SAS as pandas frames, and what they say of their columns: pyreadstat's home.

Of a column with value labels the codes are read.  What a user of SPSS has declared as missing is missing, and so is a
string without letters.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from residualplanner.ground.errors import DataError, needing

#: By the ending of a name the function of pyreadstat that reads the file.
READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
#: How many records are read at a time: each part is found from the beginning of the file.
_RECORDS = 2**18
#: The formats of plain numbers; those of others say dates and times, of which the entries are.
_NUMBERS = re.compile(r"(F|E|N|Z|COMMA|DOT|DOLLAR|PCT|BEST|%-?0?[0-9])[0-9.]*[a-z]*", re.IGNORECASE)


class PackageColumn(NamedTuple):
    """What a file says of a column."""

    name: str
    title: str  # what it is called for people; empty if nothing
    meanings: Mapping[object, str]  # of its codes
    kind: str  # "text", "number", or "other" for dates and times


def columns_of_file(path: Path) -> tuple[PackageColumn, ...]:
    """The columns, of which no entry is read; DataError where the file is another one."""
    reader = _reader(path)
    try:
        _, about = reader(str(path), metadataonly=True)
    except Exception:  # noqa: BLE001 - whatever its parsers stumble over; all of it means one thing
        raise DataError(f"{path.name!r} is no such file as its name says, or it is damaged") from None
    return tuple(
        PackageColumn(name, about.column_names_to_labels.get(name) or "", _meanings(about, name), _kind(about, name))
        for name in about.column_names
    )


def types_of_columns(path: Path, names: Sequence[str]) -> list[Any]:
    """Arrow types of columns, None where the file does not say it."""
    import pyarrow as pa

    types = {"text": pa.string(), "number": pa.float64(), "other": None}
    kinds = {column.name: column.kind for column in columns_of_file(path)}
    return [types[kinds[name]] for name in names]


def frames_of_file(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """The named columns as pandas frames, of some records at a time."""
    pyreadstat = _package()
    parts = pyreadstat.read_file_in_chunks(_reader(path), str(path), chunksize=_RECORDS, usecols=list(names))
    for frame, _ in parts:
        texts = [name for name in names if frame[name].dtype.kind not in "biufM"]
        yield frame.assign(**{name: frame[name].where(frame[name] != "", None) for name in texts})


def _meanings(about: Any, name: str) -> dict[object, str]:
    found = about.variable_value_labels.get(name) or {}
    return {int(code) if isinstance(code, float) and code.is_integer() else code: text for code, text in found.items()}


def _kind(about: Any, name: str) -> str:
    if about.readstat_variable_types[name] == "string":
        return "text"
    return "number" if _NUMBERS.fullmatch(about.original_variable_types[name] or "F") else "other"


def _reader(path: Path) -> Any:
    return getattr(_package(), READERS[path.suffix.lower()])


def _package() -> Any:
    with needing("files of SPSS, Stata and SAS are read with pyreadstat", "spss"):
        import pyreadstat
    return pyreadstat
