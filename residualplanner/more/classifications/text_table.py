"""A public table whose entries are text: a CSV file, or a data frame.

The file is public, so messages show its values.
"""

import csv
import hashlib
import io
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import limited_bytes, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.words import listed, suggestion
from residualplanner.method.domain.entries import is_missing

#: The largest file, in bytes; the longest entry, in letters.
SIZE_LIMIT, LONGEST = 2**26, 1_000
#: Kinds of character that cannot be seen: controls, and marks such as a zero-width space.
_UNSEEN = {"Cc", "Cf"}


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Where a public table is from.

    Attributes:
        file: the name of the file, without its folder; empty for a data frame.
        sha256: of its bytes, in hexadecimal digits; empty for a data frame.
    """

    file: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A public table of m rows."""

    origin: TableOrigin  # where it is from
    row_word: str  # what its rows are called in messages: "line" or "row"
    numbers: Sequence[int]  # (m,): of its rows, in messages
    columns: Mapping[str, tuple[str, ...]]  # by name the entries, (m,), without spaces around them
    integers: tuple[str, ...] = ()  # the names of columns of integers, which have no leading zeros any more

    @property
    def name(self) -> str:
        """The table in messages."""
        return self.origin.file or "the frame"

    def where(self, row: int, column: str) -> str:
        """An entry in messages, such as ``counties.csv, line 3, column 'state'``."""
        return f"{self.name}, {self.row_text(row)}, column {column!r}"

    def row_text(self, row: int) -> str:
        """A row in messages, such as ``line 3``."""
        return f"{self.row_word} {self.numbers[row]}"

    def column(self, name: str) -> tuple[str, ...]:
        """The entries of a column by its name, (m,); WorkloadError, which names all columns, if there is none."""
        if name not in self.columns:
            has = f"{listed(map(repr, self.columns), 20)}{suggestion(name, list(self.columns))}"
            raise WorkloadError(f"{self.name} has no column {name!r} of text or integers; it has {has}")
        return self.columns[name]


def table_of_file(path: PathLike, *, encoding: str = "utf-8", separator: str = ",") -> TextTable:
    """Read a CSV file as text; the first line names the columns.

    Spaces around an entry do not belong to it.  Lines without any entry are left out.
    """
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
        raise WorkloadError(f"the separator of a file must be one character such as ';', got {value_text(separator)}")
    if not isinstance(encoding, str):
        raise WorkloadError(f"the encoding of a file must be a name such as 'cp1252', got {value_text(encoding)}")
    name = Path(path).name
    content = limited_bytes(path, SIZE_LIMIT, name=name)
    reader = csv.reader(io.StringIO(_decoded(name, content, encoding), newline=""), delimiter=separator, strict=True)
    try:
        names = _checked_names(name, next(reader, []))
        rows = dict(_rows(name, reader, names))
    except csv.Error as error:
        raise FileFormatError(f"{name}, line {reader.line_num}: not CSV ({error}); check its quotes") from None
    if not rows:
        raise FileFormatError(f"{name} has no lines after the names of its columns")
    columns = dict(zip(names, zip(*rows.values(), strict=True), strict=True))
    return TextTable(TableOrigin(name, hashlib.sha256(content).hexdigest()), "line", tuple(rows), columns)


def seen_text(where: str, text: str) -> str:
    """The text without spaces around it; FileFormatError where it is too long or has an unseen character."""
    stripped = text.strip()
    if len(stripped) > LONGEST:
        raise FileFormatError(f"{where}: an entry of {len(stripped):,} letters; the limit is {LONGEST:,}; check quotes")
    if not stripped.isprintable():
        unseen = next((letter for letter in stripped if unicodedata.category(letter) in _UNSEEN), None)
        if unseen is not None:
            raise FileFormatError(f"{where}: {stripped!r} has a character that cannot be seen, {unseen!r}; remove it")
    return stripped


def _decoded(name: str, content: bytes, encoding: str) -> str:
    """The text of a file."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"{name}, line {line}: not text in {encoding}"
        raise FileFormatError(f"{problem}; save it as UTF-8, or name its encoding: encoding='cp1252'") from None
    except (LookupError, UnicodeError):
        raise FileFormatError(f"{name}: not text in the encoding {encoding!r}; write one such as 'cp1252'") from None
    return text.removeprefix("\ufeff")


def _checked_names(name: str, header: Sequence[str]) -> list[str]:
    """The names of the columns."""
    names = [seen_text(f"{name}, line 1, column {number}", text) for number, text in enumerate(header, 1)]
    if not names:
        raise FileFormatError(f"{name} is empty; its first line must name the columns")
    if not all(names) or len(set(names)) < len(names):
        raise FileFormatError(f"{name}, line 1: every column must have a name, and no two the same")
    return names


def _rows(name: str, reader: Any, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows with the numbers of their lines."""
    for row in reader:
        line = reader.line_num
        if not any(text.strip() for text in row):
            continue
        if len(row) != len(names):
            problem = f"{name}, line {line}: {len(row)} entries, expected {len(names)}, one for each column"
            raise FileFormatError(f"{problem}; a name that contains a comma needs quotes")
        pairs = zip(names, row, strict=True)
        yield line, [seen_text(f"{name}, line {line}, column {each!r}", text) for each, text in pairs]


def table_of_frame(frame: Any) -> TextTable:
    """A data frame as a table of text: columns of strings and of integers, what is missing empty, no others."""
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise WorkloadError(f"expected a data frame, got {value_text(frame)}; files are read by from_file") from None
    except nw.exceptions.DuplicateError:
        raise WorkloadError("the frame has two columns of one name; keep one of each") from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    if not len(eager):
        raise WorkloadError("the frame has no rows")
    columns: dict[str, tuple[str, ...]] = {}
    integers = []
    for given in eager.columns:
        name, entries = str(given), eager[given].to_list()
        present = [entry for entry in entries if not is_missing(entry)]
        if all(isinstance(entry, str) for entry in present):
            texts = ["" if is_missing(entry) else str(entry) for entry in entries]
            locations = (f"the frame, row {number}, column {name!r}" for number in range(1, 1 + len(texts)))
            columns[name] = tuple(map(seen_text, locations, texts))
        elif all(_is_integer(entry) for entry in present):
            columns[name] = tuple("" if is_missing(entry) else str(int(entry)) for entry in entries)
            integers.append(name)
    return TextTable(TableOrigin(), "row", range(1, 1 + len(eager)), columns, tuple(integers))


def _is_integer(entry: object) -> bool:
    """Whether it is an integer, or such a number as integers become beside missing entries."""
    return not isinstance(entry, bool) and (isinstance(entry, int) or (isinstance(entry, float) and entry.is_integer()))
