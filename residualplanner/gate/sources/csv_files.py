"""CSV files: the checks made before anything is counted, and their records as codes.

PyArrow parses the lines that have the form of a record; nothing is guessed.  Any other line is a record with an unknown
value in every column, so that the schema's rules decide what becomes of it.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from residualplanner.gate.sources.coding import names_of_columns, require_columns
from residualplanner.gate.sources.columns import ArrowColumn
from residualplanner.gate.sources.csv_records import LONGEST, forms_of_records, pieces_of_records
from residualplanner.gate.sources.frames import require_regular
from residualplanner.gate.sources.limited_records import Contributions, PersonReader
from residualplanner.gate.sources.multiplicities import Once
from residualplanner.gate.sources.records import source_of_blocks
from residualplanner.gate.sources.rules import CodedBlock, block_of_columns
from residualplanner.gate.sources.source import Source
from residualplanner.gate.sources.tally import NOT_WATCHED, Watch
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.ground.words import separators
from residualplanner.method.domain.domain import Domain

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


def source_of(data: Any, domain: Domain, contributions: Contributions, watch: Watch | None) -> Source:
    """The records of a CSV file whose header has been checked; its lines are when they are counted.

    Raises:
        DataError: there is no such file; it has no header, or one without the domain's columns.  Whoever counts gets
            one where lines are not records, and an attribute's rule for unknown values is "error", or newlines in
            values are allowed.
    """
    table = _CsvTable.opened(data)
    table.require_columns(domain, contributions)
    return source_of_blocks(domain, lambda: table.blocks(domain, contributions, watch or NOT_WATCHED))


def names_of(data: Any) -> tuple[str, ...]:
    """The names in the first line; DataError where there is no such file, or that is not a line of names."""
    return _CsvTable.opened(data).names


def first_bad_byte(file: CsvFile) -> tuple[int, int, int] | None:
    """The first byte of a file that is not UTF-8, its line, and its place in the line, from 1; None if all are."""
    with _open(Path(file.path)) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST), b""), start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return line[error.start], number, error.start + 1
    return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _CsvTable:
    """A file whose header has been read."""

    file: CsvFile
    names: tuple[str, ...]

    @classmethod
    def opened(cls, data: str | Path | CsvFile) -> "_CsvTable":
        file = data if isinstance(data, CsvFile) else CsvFile(data)
        path = Path(file.path)
        require_regular(path)
        with _open(path) as stream:
            return cls(file, _header(stream, path.name))

    def require_columns(self, domain: Domain, contributions: Contributions) -> None:
        used, names = separators(self.names), names_of_columns(domain, contributions)
        if used is not None and not set(names) <= set(self.names):
            raise DataError(
                f"the first line of {Path(self.file.path).name!r} is separated by {used}, not by commas; write the "
                "file with commas, or read it with another library, all columns as strings, and give the frame"
            )
        require_columns(names, self.names)

    def blocks(self, domain: Domain, contributions: Contributions, watch: Watch) -> Iterator[CodedBlock]:
        """The records, piece by piece: a line that is not a record has an unknown value in each column."""
        reader = contributions.reader()
        return watch.kept(reader.kept(self._coded(domain, contributions, reader, watch)))

    def _coded(
        self, domain: Domain, contributions: Contributions, reader: PersonReader, watch: Watch
    ) -> Iterator[CodedBlock]:
        columns, names = [ArrowColumn(column) for column in domain.columns], names_of_columns(domain, contributions)
        indices = [self.names.index(name) for name in names]
        with_empty = [each.name for each in domain.attributes if each.numeric is None and "" in each.values.labels]
        has_unsound = has_unequal = False
        for text in self._pieces():
            forms = forms_of_records(text, newlines_in_values=self.file.newlines_in_values)
            fits = forms.fitting(len(self.names))
            has_unsound |= not forms.is_sound.all()
            has_unequal |= not fits[forms.is_sound].all()
            parsed = _parsed(_kept(text, forms.ends, fits), int(fits.sum()), len(self.names), indices)
            arrays = dict(zip(names, parsed, strict=True))
            arrays |= {name: _with_empty_text(arrays[name]) for name in with_empty}
            others = int((~fits).sum())
            watch.begin(len(fits))
            watch.lines(forms, fits)
            coded = (
                watch.column(i, arrays[column.name], column.coded(arrays[column.name], unknown=others))
                for i, column in enumerate(columns)
            )
            people = [arrays[name] for name in contributions.columns]
            persons = reader.of_arrays(people, unknown=others)
            block = block_of_columns(domain, coded, Once(len(fits)), persons)
            watch.people(people, persons)
            yield block
        is_strict = watch is NOT_WATCHED and any(attribute.unknown == "error" for attribute in domain.attributes)
        self._require_records(has_unsound=has_unsound, has_unequal=has_unequal, is_strict=is_strict)

    def _require_records(self, *, has_unsound: bool, has_unequal: bool, is_strict: bool) -> None:
        """DataError if some line is not a record where that is an error.

        Which line it is is as secret as the records.
        """
        can_be_joined = self.file.newlines_in_values
        problems = [_UNSOUND[can_be_joined]] * (has_unsound and (is_strict or can_be_joined))
        problems += [_UNEQUAL] * (has_unequal and is_strict)
        if problems:
            remedy = "write it again" if has_unsound and can_be_joined else _REMEDY
            raise DataError(f"the file {Path(self.file.path).name!r} has {', and '.join(problems)}; {remedy}")

    def _pieces(self) -> Iterator[bytes]:
        with _open(Path(self.file.path)) as stream:
            stream.readline()
            yield from pieces_of_records(stream, newlines_in_values=self.file.newlines_in_values)


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked; DataError where they cannot be unpacked to the end."""
    try:
        with cast("IO[bytes]", gzip.open(path) if _is_zipped(path) else path.open("rb")) as stream:
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error):
        message = f"the file {path.name!r} is not gzipped, or damaged or cut off; copy or write it again"
        raise DataError(message) from None


def _is_zipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _header(stream: IO[bytes], name: str) -> tuple[str, ...]:
    """The names in the first line, which must be one in either kind of file."""
    line = stream.readline(LONGEST)
    if not line:
        raise DataError(f"the file {name!r} is empty; its first line must hold the names of its columns")
    line = line.removeprefix(_MARK).removesuffix(b"\n") + b"\n"
    if not forms_of_records(line, newlines_in_values=False).is_sound.all():
        used = separators([line.decode(errors="replace")]) if b"," not in line else None
        problem = "a quote does not close or stands inside a name, or lines end with carriage returns alone"
        problem = problem if used is None else f"it is separated by {used}, not by commas; write it with commas"
        raise DataError(f"{_HEADER.format(name=name)}: {problem}")
    try:
        names = next(csv.reader([line.decode()], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{_HEADER.format(name=name)} in UTF-8; save the file as UTF-8") from None
    return tuple(names) or ("",)


def _kept(text: bytes, ends: IntArray, fits: Any) -> bytes:
    if fits.all():
        return text
    lengths = np.diff(ends, prepend=-1)
    return bytes(np.frombuffer(text, dtype=np.uint8)[np.repeat(fits, lengths)].data)


def _parsed(text: bytes, records: int, columns: int, indices: list[int]) -> list[Any]:
    """The columns with these indices, as strings that need not be valid Unicode."""
    import pyarrow as pa
    from pyarrow import csv as reader

    names, kind = list(map(str, indices)), pa.dictionary(pa.int32(), pa.string())
    if not names or records == 0:
        return [pa.array([], kind) for _ in names]
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
