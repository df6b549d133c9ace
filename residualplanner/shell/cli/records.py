"""The file of records that a command names, and how many records of each person in it count.

Only the names of its columns are read here, and types where they are stored; its records by `run_check` alone.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote

from typer import Exit

from residualplanner.gate.checking import check
from residualplanner.gate.measurement.measure import require_countable
from residualplanner.gate.sources.csv_files import CsvFile
from residualplanner.gate.sources.limited_records import LimitedRecords
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.checks import open_regular
from residualplanner.ground.errors import DataError, FileFormatError
from residualplanner.ground.words import SEPARATORS, count_text, names_text
from residualplanner.method.plan.plan import Plan
from residualplanner.shell.cli.output import Output, naming
from residualplanner.shell.cli.paths import is_csv, is_parquet
from residualplanner.shell.cli.spec.file import SIZE_LIMIT, PeopleTable, SpecFile
from residualplanner.shell.cli.spec.objects import domain_of_spec

_NO_NAMES = "its first line is not a line of column names in UTF-8; save the file as CSV with that encoding"


@dataclass(frozen=True, slots=True)
class RecordsFile:
    """A file of records, as a command reads it: CSV, Parquet, or a folder of Parquet files."""

    path: Path
    newlines_in_values: bool = False  # whether, in CSV, a newline between quotes belongs to the value
    people: PeopleTable | None = None  # whose each record is; None if no column says so

    @property
    def records(self) -> object:
        """The records, as `measure` takes them; DataError where the column of persons is also that of their order."""
        records = CsvFile(self.path, newlines_in_values=True) if self.newlines_in_values else self.path
        if self.people is None:
            return records
        return LimitedRecords(
            records, person=self.people.person, keep=self.people.keep, order=self.people.order, **self.people.choice
        )

    def columns(self, plan: Plan) -> list[str]:
        """The names of the columns that are read, each once."""
        names = [column.name for column in plan.domain.columns]
        return list(dict.fromkeys([*names, *(() if self.people is None else self.people.columns)]))

    @property
    def what_is_read(self) -> str:
        """What of a file is looked at before anything is spent."""
        return "names" if is_csv(self.path) and not self.path.is_dir() else "names and types"

    def require_readable(self, plan: Plan) -> None:
        """Refuse a file by its columns, and persons that do not fit the plan, before anything is spent."""
        records = self.records
        if isinstance(records, LimitedRecords):
            records.require_public_number(plan.neighbors)
            records.number(plan.domain, plan.neighbors.records_per_person)
        if self.newlines_in_values and not is_csv(self.path):
            raise DataError(f"--newlines-in-values is for CSV files; leave it out for {self.path}")
        require_columns(self.path, self.columns(plan))
        if self.what_is_read != "names":
            require_countable(plan, records)  # reads only the footers of Parquet files

    def say_people(self, plan: Plan, output: Output) -> None:
        """Say how many records of each person count, or that nothing checks it; nothing where each record is protected.

        Nobody is protected whose records are more than the plan says, so that the latter is told, too.
        """
        most = plan.neighbors.records_per_person
        if self.people is not None:
            keep, order = self.people.keep or most, self.people.order
            chosen = "chosen at random" if order is None else f"the first by {order}"
            text = (
                f"at most {count_text(keep, 'record')} of each {self.people.person} count{'s' * (keep == 1)}, {chosen}"
            )
            output.fact("People", text, person=self.people.person, keep=keep, order=order)
        elif most > 1:
            output.fact(
                "People",
                f"that nobody has more than {most} records is a promise that nothing checks;",
                "a column that says whose each record is keeps it: --person COLUMN, or people in the spec",
                person=None,
                keep=None,
                order=None,
            )


def run_check(spec: SpecFile, file: RecordsFile, path: Path | None, output: Output) -> None:
    """Say what of the records does not fit a spec, also to a file if one is named; typer.Exit where any does not."""
    with naming(spec.path):
        domain = domain_of_spec(spec)
    found = check(domain, file.records, records_per_person=spec.most_records)
    if output.as_json:
        confidential, counts = str(found).partition("\n")[0], asdict(found) | {"findings": len(found.findings)}
        output.say(confidential, event="check", **counts)
        for finding in found.findings:
            output.say(str(finding), event="finding", **asdict(finding))
    else:
        output.say(str(found))
    if path is not None:
        with write_atomically(path) as text:
            text.write(f"{found}\n".encode())
        output.wrote(path, ", which is confidential.")
    if not found:
        raise Exit(1)


def csv_names(path: Path) -> list[str]:
    """The names in the first line of a CSV file; no other line is looked at."""
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
    """The names and types of a Parquet file's columns, from its footer."""
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
    """Check that a file of records has columns of these names, before anything is spent on it."""
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
        raise FileFormatError(f"{path}: {_NO_NAMES}") from None


def _text_of_first_line(path: Path) -> str:
    try:
        with open_regular(path) as packed:
            file = cast("IO[bytes]", gzip.GzipFile(fileobj=packed)) if path.suffix.lower() == ".gz" else packed
            line = file.readline(SIZE_LIMIT + 1)
        text = line.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileFormatError(f"{path} is not gzipped, or damaged or cut off; copy or write it again") from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: {_NO_NAMES}") from None
    if len(line) > SIZE_LIMIT:
        raise FileFormatError(f"{path}: its first line is longer than {SIZE_LIMIT:,} bytes")
    return text


def _is_name(text: str) -> bool:
    """Whether a string may be a column's name rather than a value of the first record: no number, nor empty."""
    try:
        float(text)
    except ValueError:
        return bool(text.strip())
    return False
