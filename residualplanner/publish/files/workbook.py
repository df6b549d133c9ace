"""Tables as Excel workbooks: strings stay strings, numbers keep every digit.  XlsxWriter's home."""

import datetime as dt
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from residualplanner.ground.errors import MissingExtraError, WorkloadError
from residualplanner.method.workload.workload import Workload
from residualplanner.release.publication import Publication
from residualplanner.release.tidy_form import label_columns

#: The most rows of a sheet, the first of which holds the names, and the most letters of a cell.
ROW_LIMIT, LETTER_LIMIT = 1_048_576, 32_767
#: Excel holds integers as floating-point numbers: above this they are written as strings.
INTEGER_LIMIT = 2**53
#: The sheet of the table, and the one that describes it; in a workbook of many tables, the list of these.
TABLE_SHEET, ABOUT_SHEET, INDEX_SHEET = "table", "about", "index"
#: The most tables of one workbook: each is a file until the workbook is complete, and systems limit open files.
MOST_SHEETS = 200

#: Characters that XML cannot hold, and the beginning of strings that XlsxWriter reads as tags.
_FORBIDDEN = re.compile("[\ufffe\uffff]|^<r>")
_DATE = dt.datetime(1980, 1, 1)  # a time would make each file differ from the last
_WIDTHS, _FILTER_WIDTH = (10, 44), 4
_ABOUT_WIDTHS, _INDEX_WIDTHS = (26, 12, 84), (34, 36, 30, 10, 60)
#: Points of a line of text, and how many letters of a sentence fit a line for each unit of a column's width.
_LINE_HEIGHT, _LETTERS_PER_WIDTH = 15.0, 1.0
_HEADER_LIMIT = 120
_BATCH = 2**14


#: The format of columns of words among the numbers, how these are aligned, and the letters of the longest word.
_TEXT_FORMAT, _WORDS_WIDTH = "@", 18
_ALIGNED: dict[str, dict[str, object]] = {_TEXT_FORMAT: {"align": "left", "indent": 1}}


class _Exact(float):
    """A number that is written in the fewest digits that tell it from all others; XlsxWriter writes 16."""

    def __format__(self, _: str) -> str:
        return float.__repr__(self)


def require_workbooks(workload: Workload) -> None:
    """Raise unless every table of the workload fits a sheet and XlsxWriter is there.

    Raises:
        WorkloadError: a table has too many rows, or a name or label has too many letters, or some that XML cannot hold.
        MissingExtraError: XlsxWriter is not installed.
    """
    _xlsxwriter()
    cells = workload.cells
    if cells.max() >= ROW_LIMIT:
        (query,) = workload.take(np.array([int(cells.argmax())]))
        raise WorkloadError(
            f"the table of {', '.join(query)} has {int(cells.max()):,} cells; a sheet of Excel holds no more than "
            f"{ROW_LIMIT - 1:,} and a row of names; write parquet or csv, or choose coarser bins"
        )
    limit = LETTER_LIMIT // (2 * max(1, int(workload.orders.max())))  # for a cell in words: all of them in one
    for position, kind in workload.attribute_kinds:
        for name, labels in label_columns(workload.domain.attributes[position], kind).items():
            _require_texts(name, labels, limit)


def require_one_workbook(workload: Workload) -> None:
    """Raise WorkloadError if there are too many tables for one workbook; errors else as in `require_workbooks`."""
    if len(workload) > MOST_SHEETS:
        raise WorkloadError(
            f"{len(workload):,} tables are too many for one workbook, which holds up to {MOST_SHEETS}; write "
            'format="xlsx", a workbook for each table, or parquet or csv'
        )
    require_workbooks(workload)


@dataclass(frozen=True, eq=False, slots=True)
class Book:
    """A workbook as it is written, sheet after sheet.

    Every sheet prints on pages as wide as it is, with its headings, the title and the page's number on each of them.

    Attributes:
        formats: by the name of a column of numbers how they are shown.
        publication: title and author of the workbook.
        stream: the bytes of the workbook, once it is closed.
    """

    formats: Mapping[str, str]
    publication: Publication = field(default_factory=Publication)
    stream: io.BytesIO = field(init=False, default_factory=io.BytesIO)
    _book: Any = field(init=False)
    _styles: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        book = _xlsxwriter().Workbook(self.stream, {"constant_memory": True})
        about = {"title": self.publication.title, "author": self.publication.author}
        book.set_properties({"created": _DATE, **{name: text for name, text in about.items() if text}})
        object.__setattr__(self, "_book", book)
        head = {"bold": True, "text_wrap": True, "valign": "bottom", "bottom": 1}
        self._styles["head of text"] = book.add_format(head)
        self._styles["bold"] = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        self._styles["text"] = book.add_format({"text_wrap": True, "valign": "top", "align": "left"})
        self._styles["link"] = book.get_default_url_format()
        for style in set(self.formats.values()):
            aligned = _ALIGNED.get(style, {"align": "right"})
            self._styles[style] = book.add_format({"num_format": style, "valign": "top"} | aligned)
            self._styles[f"head of {style}"] = book.add_format(head | aligned)

    def add_table(self, name: str, table: Any, title: str = "") -> None:
        """Add a sheet with a table, as PyArrow's: row after row, since rows that are done leave memory.

        Args:
            name: of the sheet.
            table: the table.
            title: on top of each printed page, beside the title of the workbook.
        """
        sheet = self._sheet(name, title, heads=table.column_names)
        writers = [_writer(sheet, column) for column in table.columns]
        for index, (head, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
            shown = self.formats.get(head, "text")
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
        sheet.ignore_errors({"number_stored_as_text": f"A2:XFD{ROW_LIMIT}"})

    def add_texts(self, name: str, rows: Iterable[Sequence[str]]) -> None:
        """Add a sheet with rows of two or three strings, the first of each in bold; long ones run over several lines.

        Of two strings the second has the width of two columns.
        """
        sheet = self._sheet(name, "")
        for column, width in enumerate(_ABOUT_WIDTHS):
            sheet.set_column(column, column, width, self._styles["text"])
        for row, (head, *texts) in enumerate(rows):
            widths = [*_ABOUT_WIDTHS[1 : len(texts)], sum(_ABOUT_WIDTHS[max(1, len(texts)) :])]
            shown = [text[:LETTER_LIMIT] for text in texts]
            pairs = [(head, _ABOUT_WIDTHS[0]), *zip(shown, widths, strict=True)]
            sheet.set_row(row, _LINE_HEIGHT * max(_lines(text, width) for text, width in pairs))
            sheet.write_string(row, 0, head, self._styles["bold"])
            if len(shown) == 1 and shown[0]:
                sheet.merge_range(row, 1, row, len(_ABOUT_WIDTHS) - 1, "", self._styles["text"])
            for column, text in enumerate(shown, start=1):
                sheet.write_string(row, column, text, self._styles["text"])

    def add_index(self, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add the list of the tables: of each its sheet, which is linked, query, kinds, cells, if any, and texts."""
        sheet = self._sheet(INDEX_SHEET, "", heads=heads)
        for column, width in zip(range(len(heads)), _INDEX_WIDTHS, strict=False):
            sheet.set_column(column, column, width, self._styles["text"])
        row = 0
        for row, (name, query, kinds, cells, *texts) in enumerate(rows, start=1):
            sheet.write_url(row, 0, f"internal:'{name}'!A1", self._styles["link"], name)
            sheet.write_string(row, 1, query[:LETTER_LIMIT])
            sheet.write_string(row, 2, kinds[:LETTER_LIMIT])
            if cells is not None:
                sheet.write_number(row, 3, cells)
            for column, text in enumerate(texts, start=4):
                sheet.write_string(row, column, text[:LETTER_LIMIT])
        sheet.autofilter(0, 0, row, len(heads) - 1)

    def close(self) -> bytes:
        """The bytes of the workbook, to which nothing more is added."""
        self._book.close()
        return self.stream.getvalue()

    def _sheet(self, name: str, title: str, *, heads: Sequence[str] = ()) -> Any:
        """A new sheet, set up to be printed; its ``heads`` stay in view, and are repeated on each page."""
        sheet = self._book.add_worksheet(name)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.set_margins(left=0.5, right=0.5, top=0.8, bottom=0.7)
        header = {"&L": self.publication.title, "&R": title}
        sheet.set_header("".join(f"{side}{_header_text(text)}" for side, text in header.items() if text))
        sheet.set_footer("&L&A&R&P / &N")
        for column, head in enumerate(heads):
            sheet.write_string(0, column, head, self._styles[f"head of {self.formats.get(head, 'text')}"])
        if heads:
            sheet.repeat_rows(0)
            sheet.freeze_panes(1, 0)
        return sheet


def workbook_bytes(
    table: Any,
    about: Iterable[Sequence[str]],
    formats: Mapping[str, str] | None = None,
    *,
    title: str = "",
    publication: Publication | None = None,
) -> bytes:
    """A workbook whose first sheet is a table, and whose second describes it.

    Args:
        table: the table, as PyArrow's.
        about: rows of strings for the second sheet.
        formats: by the name of a column of numbers how they are shown.
        title: of the table, on top of each printed page.
        publication: title and author of the workbook.
    """
    book = Book(formats or {}, publication or Publication())
    book.add_table(TABLE_SHEET, table, title)
    book.add_texts(ABOUT_SHEET, about)
    return book.close()


def _header_text(text: str) -> str:
    """A text as it stands in the header of a printed page, where ``&`` begins a command."""
    short = text if len(text) <= _HEADER_LIMIT else f"{text[: _HEADER_LIMIT - 1]}…"
    return short.replace("&", "&&")


def _lines(text: str, width: float) -> int:
    """How many lines a text needs in a column of a width in letters, with some to spare."""
    letters = max(1, int(_LETTERS_PER_WIDTH * width))
    return sum(max(1, -(-len(line) // letters)) for line in text.split("\n"))


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
        if -INTEGER_LIMIT <= least <= most <= INTEGER_LIMIT:
            return sheet.write_number  # type: ignore[no-any-return]
        return lambda row, index, value: sheet.write_string(row, index, str(value))
    return sheet.write_string  # type: ignore[no-any-return]


def _width(name: str, column: Any) -> int:
    """The width of a column in letters, by its name and its labels."""
    import pyarrow as pa

    texts = column.chunk(0).dictionary.to_pylist() if pa.types.is_dictionary(column.type) else []
    least, most = _WIDTHS
    return max(len(name) + _FILTER_WIDTH, min(most, max(least, 2 + max(map(len, ["", *texts])))))


def _require_texts(name: str, labels: Sequence[object], limit: int) -> None:
    """Raise WorkloadError where Excel cannot hold a name or one of its labels; `limit` letters are UTF-16's."""
    for text in (name, *(label for label in labels if isinstance(label, str))):
        if _FORBIDDEN.search(text):
            raise WorkloadError(
                f"column {name!r} has a name or label that Excel's files cannot hold; write parquet or csv"
            )
        if len(text.encode("utf-16-le")) > 2 * limit:
            raise WorkloadError(
                f"column {name!r} has a name or label of more than {limit:,} letters, too long for Excel; write "
                "parquet or csv, or shorten it"
            )


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter  # type: ignore[import-untyped]
    except ImportError:
        message = "workbooks need XlsxWriter: pip install 'residualplanner[report]', or write parquet or csv"
        raise MissingExtraError(message, extra="report") from None
    return xlsxwriter
