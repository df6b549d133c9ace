"""CSV files: the checks made before anything is counted, and their records as codes.

PyArrow parses the lines that have the form of a record; nothing is guessed.  Any other line is a record with an unknown
value in every column, so that the schema's rules decide what becomes of it.  A record is a line, whatever it holds, so
that no record can spoil another: a quote that is not closed spoils its own line.  Only where newlines in values are
allowed do quotes decide where a record ends.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.coding import coded_blocks, names_of_columns, require_columns
from residualplanner.gate.sources.frames import require_regular
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.gate.sources.records import source_of_blocks
from residualplanner.gate.sources.rules import Part
from residualplanner.gate.sources.source import Source
from residualplanner.gate.sources.tally import Tally
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.ground.words import separators
from residualplanner.method.domain.domain import Domain

_UNCLOSED = "the file has a quote that does not close, or a record of more than 16 MiB; write it again"
_MARK = b"\xef\xbb\xbf"
_HEADER = "the first line of {name!r} is not a line of column names"
_UNSOUND = {
    False: (
        "lines in which a quote does not close or stands inside a field, or a carriage return stands outside quotes, "
        "or that are longer than 16 MiB (values that contain newlines are read on request only: "
        "CsvFile(path, newlines_in_values=True), on the command line --newlines-in-values)"
    ),
    True: "quotes or carriage returns inside fields without quotes, or records of more than 16 MiB",
}
_UNEQUAL = "lines with more or fewer fields than its first line (an empty line counts as one)"
_REMEDY = (
    "repair the file, or declare unknown= for every attribute, so that lines that are not records follow these rules"
)


#: How many bytes are read at a time.
PIECE = 2**20
#: How many bytes a record may have, its newline included.
LONGEST = 2**24
_QUOTE, _COMMA, _RETURN, _NEWLINE = b'",\r\n'


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file whose quoted values may contain newlines, which a path alone does not allow.

    Attributes:
        path: of a file in UTF-8 with commas, double quotes and a header line; gzipped if its name ends in .gz.
        newlines_in_values: whether a newline between quotes belongs to the value.  Then one quote too many could join
            many records into one, so a file with misplaced quotes is refused, whatever the schema's rules are.

    Example:
        >>> CsvFile("people.csv", newlines_in_values=True)
        CsvFile(path='people.csv', newlines_in_values=True)
    """

    path: str | Path
    newlines_in_values: bool = False


def source_of(data: Any, domain: Domain, contributions: Contributions, watch: Tally | None) -> Source:
    """The records of a CSV file whose header has been checked; its lines are when they are counted.

    DataError where there is no such file, no header, or one without the domain's columns.  Whoever counts gets one
    where lines are not records, and an attribute's rule for unknown values is "error", or values may have newlines.
    """
    file, found = _opened(data)
    used, names = separators(found), names_of_columns(domain, contributions)
    if used is not None and not set(names) <= set(found):
        raise DataError(
            f"the first line of {Path(file.path).name!r} is separated by {used}, not by commas; write the "
            "file with commas, or in Python give a frame in which all columns are strings"
        )
    require_columns(names, found)
    is_strict = watch is None and any(attribute.unknown == "error" for attribute in domain.attributes)
    parts = partial(_parts, file, found, names, domain, is_strict=is_strict)
    return source_of_blocks(domain, lambda: coded_blocks(domain, contributions, parts(), watch=watch))


def names_of(data: Any) -> tuple[str, ...]:
    """The names in the first line; DataError where there is no such file, or that is not a line of names."""
    return _opened(data)[1]


def _opened(data: str | Path | CsvFile) -> tuple[CsvFile, tuple[str, ...]]:
    file = data if isinstance(data, CsvFile) else CsvFile(data)
    path = Path(file.path)
    require_regular(path)
    with _open(path) as stream:
        return file, _header(stream, path.name)


def _parts(
    file: CsvFile, found: tuple[str, ...], names: Sequence[str], domain: Domain, *, is_strict: bool
) -> Iterator[Part]:
    """The records, piece by piece; DataError at the end where some line is not a record and that is an error."""
    indices = [found.index(name) for name in names]
    with_empty = {each.name for each in domain.attributes if each.numeric is None and "" in each.values.labels}
    has_unsound = has_unequal = False
    with _open(Path(file.path)) as stream:
        stream.readline()
        for text in pieces_of_records(stream, newlines_in_values=file.newlines_in_values):
            ends, fields, is_sound = forms_of_records(text, newlines_in_values=file.newlines_in_values)
            fits = is_sound & (fields == len(found))
            has_unsound |= not is_sound.all()
            has_unequal |= not fits[is_sound].all()
            kept = text
            if not fits.all():
                kept = np.frombuffer(text, dtype=np.uint8)[np.repeat(fits, np.diff(ends, prepend=-1))].tobytes()
            parsed = _parsed(kept, int(fits.sum()), len(found), indices)
            pairs = zip(names, parsed, strict=True)
            columns = [_with_empty_text(column) if name in with_empty else column for name, column in pairs]
            yield Part(columns, len(fits), (is_sound, fits))
    can_be_joined = file.newlines_in_values  # which line it is is as secret as the records
    problems = [_UNSOUND[can_be_joined]] * (has_unsound and (is_strict or can_be_joined))
    problems += [_UNEQUAL] * (has_unequal and is_strict)
    if problems:
        remedy = "write it again" if has_unsound and can_be_joined else _REMEDY
        raise DataError(f"the file {Path(file.path).name!r} has {', and '.join(problems)}; {remedy}")


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked; DataError where they cannot be unpacked to the end."""
    try:
        with cast("IO[bytes]", gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")) as stream:
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error):
        message = f"the file {path.name!r} is not gzipped, or damaged or cut off; copy or write it again"
        raise DataError(message) from None


def _header(stream: IO[bytes], name: str) -> tuple[str, ...]:
    """The names in the first line, which must be one in either kind of file."""
    line = stream.readline(LONGEST)
    if not line:
        raise DataError(f"the file {name!r} is empty; its first line must hold the names of its columns")
    line = line.removeprefix(_MARK).removesuffix(b"\n") + b"\n"
    if not forms_of_records(line, newlines_in_values=False)[2].all():
        used = separators([line.decode(errors="replace")]) if b"," not in line else None
        problem = "a quote does not close or stands inside a name, or lines end with carriage returns alone"
        problem = problem if used is None else f"it is separated by {used}, not by commas; write it with commas"
        raise DataError(f"{_HEADER.format(name=name)}: {problem}")
    try:
        names = next(csv.reader([line.decode()], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{_HEADER.format(name=name)} in UTF-8; save the file as UTF-8") from None
    return tuple(names) or ("",)


def _parsed(text: bytes, records: int, columns: int, indices: list[int]) -> list[Any]:
    """The columns with these indices, as strings that need not be valid Unicode."""
    import pyarrow as pa
    from pyarrow import csv as reader

    names, kind = list(map(str, indices)), pa.dictionary(pa.int32(), pa.string())
    if not names or records == 0:
        return [pa.chunked_array([], kind) for _ in names]
    if text.startswith(_MARK):  # part of a value, wherever a piece begins; PyArrow leaves out the first one
        text = _MARK + text
    table = reader.read_csv(
        pa.BufferReader(text),
        read_options=reader.ReadOptions(column_names=list(map(str, range(columns))), block_size=len(text) + 1),
        parse_options=reader.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=reader.ConvertOptions(
            check_utf8=False,
            include_columns=names,
            column_types=dict.fromkeys(names, kind),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    if table.num_rows != records:
        raise DataError("PyArrow sees other records in the CSV file; give the frame of a library that reads it")
    return [table.column(name) for name in names]


def _with_empty_text(column: Any) -> Any:
    """A column whose empty fields are the empty text, which is a value of its attribute."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = [
        pa.DictionaryArray.from_arrays(
            pc.fill_null(chunk.indices, len(chunk.dictionary)), pa.concat_arrays([chunk.dictionary, pa.array([""])])
        )
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)


def pieces_of_records(file: IO[bytes], *, newlines_in_values: bool) -> Iterator[bytes]:
    """The bytes of a file in pieces of whole records, each ended by a newline, even if the file does not end with one.

    DataError where ``newlines_in_values``, and a quote does not close: that record has no end.
    """
    rest = b""
    while block := file.read(PIECE):
        rest += block
        stop = _after_last_record(rest, newlines_in_values=newlines_in_values)
        if stop > 0:
            yield rest[:stop]
            rest = rest[stop:]
        elif len(rest) > LONGEST:
            if newlines_in_values:
                raise DataError(_UNCLOSED)
            rest = b'x"'  # a misplaced quote, whatever follows
    if rest:
        rest += b"\n"
        if _after_last_record(rest, newlines_in_values=newlines_in_values) == 0:
            raise DataError(_UNCLOSED)
        yield rest


def forms_of_records(text: bytes, *, newlines_in_values: bool) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    r"""Of each of some whole records where its newline is, how many fields it has, and whether it is sound.

    In a sound record quotes, if any, open and close whole fields, and no carriage return stands outside them but before
    the newline; it is not too long.  It takes some ten passes over the bytes, without a Python step per record.

    Example:
        >>> _, fields, is_sound = forms_of_records(b'F,"x, y"\nM,"y\nM,5" tall\n\n', newlines_in_values=False)
        >>> fields.tolist(), is_sound.tolist()
        ([2, 2, 2, 1], [True, False, False, True])
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    is_open = _is_open(letters)
    ends = _ends(letters, is_open, newlines_in_values=newlines_in_values)
    starts = np.append(0, ends[:-1] + 1)
    was_open = np.append(np.uint8(0), is_open[ends[:-1]])  # by quotes of earlier lines that do not close
    is_sound = (is_open[ends] == was_open) & (ends - starts < LONGEST)

    commas, record = _occurrences(letters, _COMMA, ends)
    outside = record[is_open[commas] == was_open[record]]
    fields = np.bincount(outside, minlength=len(ends)) + 1

    quotes, record = _occurrences(letters, _QUOTE, ends)
    opens = is_open[quotes] != was_open[record]
    before, after = letters[quotes - 1], letters[quotes + 1]
    after_that = letters[np.minimum(quotes + 2, len(letters) - 1)]
    opens_well = (quotes == starts[record]) | (before == _COMMA) | (before == _QUOTE)
    ends_line = (after == _NEWLINE) | ((after == _RETURN) & (after_that == _NEWLINE))
    closes_well = ends_line | (after == _COMMA) | (after == _QUOTE)
    is_sound[record[~np.where(opens, opens_well, closes_well)]] = False

    returns, record = _occurrences(letters, _RETURN, ends)
    is_bare = (is_open[returns] == was_open[record]) & (letters[returns + 1] != _NEWLINE)
    is_sound[record[is_bare]] = False
    return ends, fields, is_sound


def _is_open(letters: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """1 where the number of quotes up to here, this letter included, is odd."""
    return np.asarray(np.cumsum(letters == _QUOTE, dtype=np.uint8) & 1)  # counts modulo 256


def _ends(letters: NDArray[np.uint8], is_open: NDArray[np.uint8], *, newlines_in_values: bool) -> IntArray:
    newlines = np.flatnonzero(letters == _NEWLINE)
    return newlines[is_open[newlines] == 0] if newlines_in_values else newlines


def _after_last_record(text: bytes, *, newlines_in_values: bool) -> int:
    if not newlines_in_values:
        return text.rfind(b"\n") + 1
    letters = np.frombuffer(text, dtype=np.uint8)
    ends = _ends(letters, _is_open(letters), newlines_in_values=True)
    return int(ends[-1]) + 1 if ends.size else 0


def _occurrences(letters: NDArray[np.uint8], letter: int, ends: IntArray) -> tuple[IntArray, NDArray[Any]]:
    positions = np.flatnonzero(letters == letter)
    each = np.diff(np.searchsorted(positions, ends), prepend=0)
    return positions, np.repeat(np.arange(len(ends)), each)
