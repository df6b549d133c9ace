"""Tables as Excel workbooks: strings stay strings, numbers keep every digit.  XlsxWriter's and openpyxl's home."""

import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from residualplanner.ground.errors import WorkloadError, needing
from residualplanner.ground.stores import AnyPath
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.columns import not_the_table
from residualplanner.publish.files.parquet import EXPANSION, TEXT_ROOM
from residualplanner.publish.files.sidecar import INTEGER, TEXT, TRUTH
from residualplanner.release.quality import Publication
from residualplanner.release.tidy_form import label_columns

#: The sheet of the table, and the one that describes it; in a workbook of many tables, the list of these.
TABLE_SHEET, ABOUT_SHEET, _INDEX_SHEET = "table", "about", "index"
#: The most rows of a sheet, the first of which holds the names, and the most letters of a cell.
_ROW_LIMIT, _LETTER_LIMIT = 1_048_576, 32_767
#: Excel holds integers as floating-point numbers: above this they are written as strings.
_INTEGER_LIMIT = 2**53
#: The most tables of one workbook: each is a file until the workbook is complete, and systems limit open files.
_MOST_SHEETS = 200

#: Characters that XML cannot hold, and the beginning of strings that XlsxWriter reads as tags.
_FORBIDDEN = re.compile("[\ufffe\uffff]|^<r>")
#: How Excel writes a letter that XML cannot hold.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_DATE = dt.datetime(1980, 1, 1)  # a time would make each file differ from the last
_WIDTHS, _FILTER_WIDTH = (10, 44), 4
_ABOUT_WIDTHS, _INDEX_WIDTHS = (26, 12, 84), (34, 36, 30, 10, 60)
#: Points of a line of text, of which a letter fits for each unit of a column's width, with some to spare.
_LINE_HEIGHT = 15.0
_HEADER_LIMIT = 120
_BATCH = 2**14
#: The format of columns of words among the numbers, how these are aligned, and the letters of the longest word.
_TEXT_FORMAT, _WORDS_WIDTH = "@", 18
_ALIGNED: dict[str, dict[str, object]] = {_TEXT_FORMAT: {"align": "left", "indent": 1}}


class _Exact(float):
    """A number that is written in the fewest digits that tell it from all others; XlsxWriter writes 16."""

    def __format__(self, _: str) -> str:
        return float.__repr__(self)


def require_workbooks(workload: Workload, *, is_one: bool) -> None:
    """Raise WorkloadError unless every table fits a sheet; MissingExtraError, where XlsxWriter is not installed."""
    if is_one and len(workload) > _MOST_SHEETS:
        raise WorkloadError(
            f"{len(workload):,} tables are too many for one workbook, which holds up to {_MOST_SHEETS}; write "
            'format="xlsx", a workbook for each table, or parquet or csv'
        )
    _xlsxwriter()
    cells = workload.cells
    if cells.max() >= _ROW_LIMIT:
        (query,) = workload.take(np.array([int(cells.argmax())]))
        raise WorkloadError(
            f"the table of {', '.join(query)} has {int(cells.max()):,} cells; a sheet of Excel holds no more than "
            f"{_ROW_LIMIT - 1:,} and a row of names; write parquet or csv, or choose coarser bins"
        )
    limit = _LETTER_LIMIT // (2 * max(1, int(workload.orders.max())))  # for a cell in words: all of them in one
    for position, kind in workload.attribute_kinds:
        for name, labels in label_columns(workload.domain.attributes[position], kind).items():
            texts = [name, *(label for label in labels if isinstance(label, str))]
            if any(map(_FORBIDDEN.search, texts)):
                message = f"column {name!r} has a name or label that Excel's files cannot hold; write parquet or csv"
                raise WorkloadError(message)
            if max(len(text.encode("utf-16-le")) for text in texts) > 2 * limit:  # its letters are UTF-16's
                raise WorkloadError(
                    f"column {name!r} has a name or label of more than {limit:,} letters, too long for Excel; write "
                    "parquet or csv, or shorten it"
                )


class Book:
    """A workbook as it is written: sheets print as wide as they are, with headings, title and number on each page."""

    def __init__(self, formats: Mapping[str, str], publication: Publication) -> None:
        self._formats = formats  # by the name of a column of numbers how they are shown
        self._title = publication.title
        self._stream = io.BytesIO()
        self._book = book = _xlsxwriter().Workbook(self._stream, {"constant_memory": True})
        about = {"title": publication.title, "author": publication.author}
        book.set_properties({"created": _DATE, **{name: text for name, text in about.items() if text}})
        self._styles: dict[str, Any] = {"link": book.get_default_url_format()}
        head = {"bold": True, "text_wrap": True, "valign": "bottom", "bottom": 1}
        self._styles["head of text"] = book.add_format(head)
        self._styles["bold"] = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        self._styles["text"] = book.add_format({"text_wrap": True, "valign": "top", "align": "left"})
        for style in set(self._formats.values()):
            aligned = _ALIGNED.get(style, {"align": "right"})
            self._styles[style] = book.add_format({"num_format": style, "valign": "top"} | aligned)
            self._styles[f"head of {style}"] = book.add_format(head | aligned)

    def add_table(self, name: str, table: Any, title: str) -> None:
        """Add a sheet with a PyArrow table, and its title on each printed page: row after row, to save memory."""
        sheet = self._sheet(name, title, heads=table.column_names)
        writers = [_writer(sheet, column) for column in table.columns]
        for index, (head, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
            shown = self._formats.get(head, "text")
            width = _WORDS_WIDTH if shown == _TEXT_FORMAT else _width(head, column)
            sheet.set_column(index, index, width, self._styles[shown])
        row = 0
        for batch in table.to_batches(_BATCH):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                row += 1
                for index, value in enumerate(values):
                    if value is not None:
                        writers[index](row, index, value)
        sheet.autofilter(0, 0, row, len(writers) - 1)
        sheet.ignore_errors({"number_stored_as_text": f"A2:XFD{_ROW_LIMIT}"})

    def add_texts(self, name: str, rows: Iterable[Sequence[str]]) -> None:
        """Add a sheet with rows of two or three strings, the first in bold; of two the second has two columns."""
        sheet = self._sheet(name, "")
        for column, width in enumerate(_ABOUT_WIDTHS):
            sheet.set_column(column, column, width, self._styles["text"])
        for row, (head, *texts) in enumerate(rows):
            widths = [*_ABOUT_WIDTHS[1 : len(texts)], sum(_ABOUT_WIDTHS[max(1, len(texts)) :])]
            shown = [text[:_LETTER_LIMIT] for text in texts]
            pairs = [(head, _ABOUT_WIDTHS[0]), *zip(shown, widths, strict=True)]
            sheet.set_row(row, _LINE_HEIGHT * max(_lines(text, width) for text, width in pairs))
            sheet.write_string(row, 0, head, self._styles["bold"])
            if len(shown) == 1 and shown[0]:
                sheet.merge_range(row, 1, row, len(_ABOUT_WIDTHS) - 1, "", self._styles["text"])
            for column, text in enumerate(shown, start=1):
                sheet.write_string(row, column, text, self._styles["text"])

    def add_index(self, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add the list of the tables: of each its sheet, which is linked, query, kinds, cells, if any, and texts."""
        sheet = self._sheet(_INDEX_SHEET, "", heads=heads)
        for column, width in zip(range(len(heads)), _INDEX_WIDTHS, strict=False):
            sheet.set_column(column, column, width, self._styles["text"])
        row = 0
        for row, (name, *values) in enumerate(rows, start=1):
            sheet.write_url(row, 0, f"internal:'{name}'!A1", self._styles["link"], name)
            for column, value in enumerate(values, start=1):
                if isinstance(value, str):
                    sheet.write_string(row, column, value[:_LETTER_LIMIT])
                elif value is not None:
                    sheet.write_number(row, column, value)
        sheet.autofilter(0, 0, row, len(heads) - 1)

    def close(self) -> bytes:
        """The bytes of the workbook, to which nothing more is added."""
        self._book.close()
        return self._stream.getvalue()

    def _sheet(self, name: str, title: str, *, heads: Sequence[str] = ()) -> Any:
        """A new sheet, set up to be printed; its ``heads`` stay in view, and are repeated on each page."""
        sheet = self._book.add_worksheet(name)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.set_margins(left=0.5, right=0.5, top=0.8, bottom=0.7)

        def shown(text: str) -> str:
            short = text if len(text) <= _HEADER_LIMIT else f"{text[: _HEADER_LIMIT - 1]}…"
            return short.replace("&", "&&")  # an "&" begins a command

        header = {"&L": self._title, "&R": title}
        sheet.set_header("".join(f"{side}{shown(text)}" for side, text in header.items() if text))
        sheet.set_footer("&L&A&R&P / &N")
        for column, head in enumerate(heads):
            sheet.write_string(0, column, head, self._styles[f"head of {self._formats.get(head, 'text')}"])
        if heads:
            sheet.repeat_rows(0)
            sheet.freeze_panes(1, 0)
        return sheet


def read(
    content: bytes, path: AnyPath, types: Mapping[str, str], cells: int, sheet: str = TABLE_SHEET
) -> dict[str, list[Any]]:
    """The columns of a sheet of a workbook; integers that are too large for Excel are strings in it."""
    with needing("workbooks are read with openpyxl", "report"):
        import openpyxl  # type: ignore[import-untyped]  # noqa: F401
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
        if unpacked > TEXT_ROOM + EXPANSION * len(content):
            raise not_the_table(path)
        rows = list(islice(_opened(content)[sheet].iter_rows(max_col=len(types) + 1, values_only=True), cells + 2))
    except Exception:  # noqa: BLE001 - openpyxl raises whatever its parsers stumble over; all of it means one thing
        raise not_the_table(path) from None
    width = len(types)
    if len(rows) != cells + 1 or any(len(row) < width or any(row[width:]) for row in rows):
        raise not_the_table(path)
    if _converted(rows[0][:width], TEXT, path) != list(types):
        raise not_the_table(path)
    columns = zip(types, zip(*(row[:width] for row in rows[1:]), strict=True), strict=True)
    return {name: _converted(column, types[name], path) for name, column in columns}


@lru_cache(maxsize=1)  # the tables of a release may be sheets of one workbook, whose strings are read once
def _opened(content: bytes) -> Any:
    import openpyxl

    return openpyxl.load_workbook(io.BytesIO(content), read_only=True, keep_links=False)


def _converted(values: tuple[Any, ...], word: str, path: AnyPath) -> list[Any]:
    try:
        if word == TEXT:
            texts = ["" if value is None else value for value in values]  # an empty string is read as None
            return [_ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) for text in texts]
        if word == TRUTH:
            return [{True: True, False: False}[value] for value in values]
        return [None if value is None else (int if word == INTEGER else float)(value) for value in values]
    except (TypeError, ValueError, KeyError):
        raise not_the_table(path) from None


def _lines(text: str, width: int) -> int:
    return sum(max(1, -(-len(line) // width)) for line in text.split("\n"))


def _writer(sheet: Any, column: Any) -> Callable[[int, int, Any], object]:
    """The function that writes a cell of a column: by its type, never by what a string looks like."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return lambda row, index, value: sheet.write_number(row, index, _Exact(value))
    if pa.types.is_boolean(column.type):
        return sheet.write_boolean  # type: ignore[no-any-return]
    if pa.types.is_integer(column.type):
        least, most = pc.min_max(column).as_py().values()
        if -_INTEGER_LIMIT <= least <= most <= _INTEGER_LIMIT:
            return sheet.write_number  # type: ignore[no-any-return]
        return lambda row, index, value: sheet.write_string(row, index, str(value))
    return sheet.write_string  # type: ignore[no-any-return]


def _width(name: str, column: Any) -> int:
    import pyarrow as pa

    texts = column.chunk(0).dictionary.to_pylist() if pa.types.is_dictionary(column.type) else []
    least, most = _WIDTHS
    return max(len(name) + _FILTER_WIDTH, min(most, max(least, 2 + max(map(len, ["", *texts])))))


def _xlsxwriter() -> Any:
    with needing("workbooks need XlsxWriter, parquet and csv do not", "report"):
        import xlsxwriter  # type: ignore[import-untyped]
    return xlsxwriter
