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
from residualplanner.ground.words import SEPARATORS, listed, separators, suggestion
from residualplanner.method.domain.entries import is_missing

#: The largest file, in bytes; the longest entry, in letters.
SIZE_LIMIT, LONGEST = 2**26, 1_000
#: Kinds of character that cannot be seen: controls, and marks such as a zero-width space.
_UNSEEN = {"Cc", "Cf"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


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
    unread: tuple[str, ...] = ()  # the names of columns that hold anything but text and integers

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

    def require_read(self, *names: str) -> None:
        """Raise WorkloadError if one of these columns is there and holds anything but text and integers."""
        for name in names:
            if name in self.unread:
                raise WorkloadError(f"{self.name}, column {name!r}: codes and names are text, or integers; convert it")

    def column(self, name: str) -> tuple[str, ...]:
        """The entries of a column by its name, (m,); WorkloadError, which names all columns, if there is none."""
        if name not in self.columns:
            self.require_read(name)
            has = listed(map(repr, self.columns), 20)
            raise WorkloadError(
                f"{self.name} has no column {name!r}; it has {has}{suggestion(name, list(self.columns))}"
            )
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
    if encoding.lower() in ("utf-8", "utf8") and content.startswith(_UTF16):
        raise FileFormatError(f"{name} is not UTF-8 but UTF-16; save it as UTF-8, or pass encoding='utf-16'")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{name}, line {line}: not text in {encoding}; save the file as UTF-8, or name its encoding, such as "
            "encoding='cp1252'"
        ) from None
    except (LookupError, UnicodeError):
        raise FileFormatError(f"{name}: not text in the encoding {encoding!r}; write one such as 'cp1252'") from None
    return text.removeprefix("\ufeff")


def _checked_names(name: str, header: Sequence[str]) -> list[str]:
    """The names of the columns."""
    if separators(header):
        (mark,) = (mark for mark, word in SEPARATORS.items() if word == separators(header))
        words = f"{name} is separated by {separators(header)}, not commas"
        raise FileFormatError(f"{words}; save it with commas, or name the separator: separator={mark!r}")
    names = [seen_text(f"{name}, line 1, column {number}", text) for number, text in enumerate(header, 1)]
    for number, each in enumerate(names, 1):
        if not each:
            raise FileFormatError(f"{name}, line 1: column {number} has no name; the first line names the columns")
        if names.index(each) < number - 1:
            raise FileFormatError(f"{name}, line 1: two columns are called {each!r}")
    if not names:
        raise FileFormatError(f"{name} is empty; its first line must name the columns")
    return names


def _rows(name: str, reader: Any, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows with the numbers of their lines."""
    for row in reader:
        line = reader.line_num
        if not any(text.strip() for text in row):
            continue
        if len(row) != len(names):
            raise FileFormatError(
                f"{name}, line {line}: {len(row)} entries, expected {len(names)}, one for each column; "
                "a name that contains a comma needs quotes"
            )
        yield (
            line,
            [seen_text(f"{name}, line {line}, column {each!r}", text) for each, text in zip(names, row, strict=True)],
        )


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
    integers, unread = [], []
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
        else:
            unread.append(name)
    return TextTable(TableOrigin(), "row", range(1, 1 + len(eager)), columns, tuple(integers), tuple(unread))


def _is_integer(entry: object) -> bool:
    """Whether it is an integer, or such a number as integers become beside missing entries."""
    return not isinstance(entry, bool) and (isinstance(entry, int) or (isinstance(entry, float) and entry.is_integer()))
