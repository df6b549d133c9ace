"""Data frames of any library as public tables of text."""

from typing import Any

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.entries import is_missing
from residualplanner.more.classifications.text_table import TableOrigin, TextColumn, TextTable, seen_text


def table_of_frame(frame: Any) -> TextTable:
    """A data frame as a table of text: columns of strings and of integers; others are left out.

    Raises:
        WorkloadError: it is not a frame, has two columns of one name, or has no rows.
        FileFormatError: an entry has a character that cannot be seen.
    """
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
    found = {str(name): _column(str(name), eager[name].to_list()) for name in eager.columns}
    columns = {name: column for name, column in found.items() if column is not None}
    unread = tuple(name for name in found if name not in columns)
    return TextTable(TableOrigin(), "row", range(1, 1 + len(eager)), columns, unread)


def _column(name: str, entries: list[Any]) -> TextColumn | None:
    """A column of strings, or of integers; what is missing is empty text; None where there are other entries."""
    present = [entry for entry in entries if not is_missing(entry)]
    if all(isinstance(entry, str) for entry in present):
        texts = ["" if is_missing(entry) else str(entry) for entry in entries]
        locations = (f"the frame, row {number}, column {name!r}" for number in range(1, 1 + len(texts)))
        return TextColumn(tuple(map(seen_text, locations, texts)))
    if all(_is_integer(entry) for entry in present):
        return TextColumn(tuple("" if is_missing(entry) else str(int(entry)) for entry in entries), is_number=True)
    return None


def _is_integer(entry: object) -> bool:
    """Whether it is an integer, or such a number as integers become beside missing entries."""
    return not isinstance(entry, bool) and (isinstance(entry, int) or (isinstance(entry, float) and entry.is_integer()))
