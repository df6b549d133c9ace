"""The names of the columns of a file of records, and nothing else in it.

Reads: the first line of a CSV file, or the footer of a Parquet file.  Gives: names, and types where they are stored.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote

from residualplanner.ground.checks import open_regular
from residualplanner.ground.errors import DataError, FileFormatError
from residualplanner.ground.words import SEPARATORS, names_text
from residualplanner.shell.cli.spec.file import SIZE_LIMIT


def is_csv(path: Path) -> bool:
    """Whether a file is CSV, gzipped or not, by its name."""
    return path.name.lower().endswith((".csv", ".csv.gz"))


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its name."""
    return path.suffix.lower() == ".parquet"


def csv_names(path: Path) -> list[str]:
    """The names in the first line of a CSV file; no other line is looked at.

    Raises:
        FileFormatError: the first line holds no names, may be a record, or is not separated by commas; it is not shown.
        OSError: the file cannot be opened.
    """
    names = _first_line(path)
    _require_commas(path)
    if not names or not all(map(_is_name, names)) or len(set(names)) < len(names):
        raise FileFormatError(
            f"{path}: its first line must hold the names of its columns, all different, none empty or a number; "
            "add such a line"
        )
    return names


def _require_commas(path: Path) -> None:
    """Raise FileFormatError if another sign separates the first line into more columns than commas do."""
    line = _text_of_first_line(path)
    columns = {sign: _columns_at(line, sign) for sign in (",", *SEPARATORS)}
    sign = max(columns, key=lambda sign: columns[sign])
    if columns[sign] > max(1, columns[","]):
        raise FileFormatError(
            f"{path}: its columns are separated by {SEPARATORS[sign]}; records are read from files separated by "
            "commas. Convert it, in Python with "
            f"pandas.read_csv({path.name!r}, sep={sign!r}, dtype=str, keep_default_na=False)"
            ".to_csv('commas.csv', index=False)"
        )


def _columns_at(line: str, sign: str) -> int:
    """How many columns a line has if this sign separates them; 0 if its quotes do not fit."""
    try:
        return len(next(csv.reader([line], delimiter=sign, strict=True), []))
    except csv.Error:
        return 0


def parquet_types(path: Path) -> dict[str, str | None]:
    """The names and types of a Parquet file's columns, from its footer.

    Raises:
        FileFormatError: it is not a Parquet file, or its columns do not have different names.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise FileFormatError(f"{path}: this is not a Parquet file, or it is damaged") from None
    types = {field.name: re.sub(r"[^ -~]+|<.*", "", str(field.type))[:40] for field in schema}
    if len(types) < len(schema) or not types or not all(types):
        raise FileFormatError(f"{path}: its columns must have names, all different")
    return dict(types)


def require_columns(path: Path, names: Sequence[str]) -> None:
    """Check that a file of records has columns of these names, before anything is spent on it.

    Raises:
        DataError: a column is missing, or in CSV twice; the columns found are not listed, as they may be a record.
        FileFormatError: the file is not what its name says.
        OSError: the file cannot be opened.
    """
    if path.exists() and not (path.is_dir() or path.is_file()):  # whose content is gone when it has been looked at
        raise DataError(f"{path} is a pipe or the like; write the records to a file")
    if path.is_dir():
        found: Sequence[str] = _folder_names(path)
    elif is_csv(path):
        found = _first_line(path)
    elif is_parquet(path):
        found = list(parquet_types(path))
    else:
        raise DataError(f"records are read from .csv, .csv.gz and .parquet files, not from {path.name!r}")
    missing = sorted(set(names).difference(found), key=names.index)
    if missing:
        if is_csv(path):
            _require_commas(path)
        raise DataError(
            f"{names_text('column', missing, 'is', 'are')} missing from {path}; {_remedy(path, missing, found)}",
            column=missing[0],
        )
    twice = [name for name in names if found.count(name) > 1]
    if twice:
        words = names_text("column", twice, "is", "are")
        raise DataError(f"{words} more than once in {path}; keep one of each", column=twice[0])


def _remedy(path: Path, missing: Sequence[str], found: Iterable[str]) -> str:
    """What to do about missing columns; nothing of the first line is told but that it has the names of the schema."""
    folded = {name.strip().casefold() for name in found}
    if all(name.strip().casefold() in folded for name in missing):
        return "it has them in other letters, capital or small, or with spaces; columns are matched by exact name"
    if is_csv(path):
        return (
            "columns are matched by exact name with its first line; if that is empty or a record, write the names there"
        )
    return "columns are matched by exact name"


def _folder_names(folder: Path) -> list[str]:
    """The columns of the first file in a folder of Parquet files, and those in its path, such as ``year=2020``."""
    files = sorted(file for file in folder.rglob("*.parquet") if file.is_file())
    shown = (file for file in files if not any(part[0] in "_." for part in file.relative_to(folder).parts))
    first = next(shown, None)
    if first is None:
        raise DataError(f"there is no .parquet file in the folder {folder}")
    keys = [part.partition("=")[0] for part in first.relative_to(folder).parts[:-1] if "=" in part]
    return [*parquet_types(first), *map(unquote, keys)]


def _first_line(path: Path) -> list[str]:
    try:
        return next(csv.reader([_text_of_first_line(path)], strict=True), [])
    except csv.Error:
        _require_commas(path)
        raise FileFormatError(
            f"{path}: its first line is not a line of column names in UTF-8; save the file as CSV with that encoding"
        ) from None


def _text_of_first_line(path: Path) -> str:
    try:
        with open_regular(path) as packed:
            file = cast("IO[bytes]", gzip.GzipFile(fileobj=packed)) if path.suffix.lower() == ".gz" else packed
            line = file.readline(SIZE_LIMIT + 1)
        text = line.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileFormatError(f"{path} is not gzipped, or damaged or cut off; copy or write it again") from None
    except UnicodeDecodeError:
        raise FileFormatError(
            f"{path}: its first line is not a line of column names in UTF-8; save the file as CSV with that encoding"
        ) from None
    if len(line) > SIZE_LIMIT:
        raise FileFormatError(f"{path}: its first line is longer than {SIZE_LIMIT:,} bytes")
    return text


def _is_name(text: str) -> bool:
    """Whether a string may be a column's name rather than a value of the first record."""
    try:
        float(text)
    except ValueError:
        return bool(text.strip())
    return False
