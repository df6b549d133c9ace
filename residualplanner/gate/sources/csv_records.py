"""The records of a CSV file: where each of them ends, and whether it has the form of one.

A record is a line, whatever it holds, so that no record can spoil another: a quote that is not closed spoils its own
line.  Only where newlines in values are allowed do quotes decide where a record ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError

#: How many bytes are read at a time.
PIECE = 2**20
#: How many bytes a record may have, its newline included.
LONGEST = 2**24
_QUOTE, _COMMA, _RETURN, _NEWLINE = b'",\r\n'
#: What replaces the rest of a record that is too long: a misplaced quote, whatever follows.
_TOO_LONG = b'x"'

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """The forms of the records of a piece of a file."""

    ends: IntArray  # (records,): where each record's newline is
    fields: IntArray  # (records,): how many fields each has
    #: (records,): whether each record's quotes, if any, open and close whole fields, no carriage return stands outside
    #: them but before the newline, and it is not too long
    is_sound: Flags

    def fitting(self, columns: int) -> Flags:
        """Which records are sound and have a field for each column."""
        return np.asarray(self.is_sound & (self.fields == columns))


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
                raise unclosed_error()
            rest = _TOO_LONG
    if rest:
        rest += b"\n"
        if _after_last_record(rest, newlines_in_values=newlines_in_values) == 0:
            raise unclosed_error()
        yield rest


def forms_of_records(text: bytes, *, newlines_in_values: bool) -> Forms:
    r"""The form of each record of a piece.

    Args:
        text: whole records, at least one, each ended by a newline.
        newlines_in_values: whether newlines between quotes belong to values.

    Cost: some ten passes over the bytes, without a Python step per record.

    Example:
        >>> forms = forms_of_records(b'F,"x, y"\nM,"y\nM,5" tall\n\n', newlines_in_values=False)
        >>> forms.fields.tolist(), forms.is_sound.tolist()
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
    return Forms(ends, fields, is_sound)


def unclosed_error() -> DataError:
    """The error for quotes that are never closed, where newlines in values are allowed."""
    return DataError("the file has a quote that does not close, or a record of more than 16 MiB; write it again")


def _is_open(letters: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """1 where the number of quotes up to here, this letter included, is odd."""
    return np.asarray(np.cumsum(letters == _QUOTE, dtype=np.uint8) & 1)  # counts modulo 256


def _ends(letters: NDArray[np.uint8], is_open: NDArray[np.uint8], *, newlines_in_values: bool) -> IntArray:
    newlines = np.flatnonzero(letters == _NEWLINE)
    return newlines[is_open[newlines] == 0] if newlines_in_values else newlines


def _after_last_record(text: bytes, *, newlines_in_values: bool) -> int:
    """How many bytes the whole records at the beginning have."""
    if not newlines_in_values:
        return text.rfind(b"\n") + 1
    letters = np.frombuffer(text, dtype=np.uint8)
    ends = _ends(letters, _is_open(letters), newlines_in_values=True)
    return int(ends[-1]) + 1 if ends.size else 0


def _occurrences(letters: NDArray[np.uint8], letter: int, ends: IntArray) -> tuple[IntArray, NDArray[Any]]:
    """The positions of a letter, and the record that each is in."""
    positions = np.flatnonzero(letters == letter)
    each = np.diff(np.searchsorted(positions, ends), prepend=0)
    return positions, np.repeat(np.arange(len(ends)), each)
