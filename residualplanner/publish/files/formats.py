"""The formats in which each table has a file of its own: what writes the file, and what reads it again.

A new one is a module with the two, and a line in `FORMATS`; its name is the ending of its files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from residualplanner.ground.stores import AnyPath
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files import csv, parquet, workbook
from residualplanner.publish.files.columns import described_table
from residualplanner.publish.files.file_names import BOOK_FORMAT, PARTS_FORMAT
from residualplanner.publish.files.sidecar import Description
from residualplanner.release.quality import Publication


class TableWords(NamedTuple):
    """What can be said in a file about its table."""

    title: str
    about: Sequence[tuple[str, str]]  # what the table is, in pairs
    columns: Sequence[Sequence[str]]  # name, unit and meaning of those that something is said about
    number_formats: Mapping[str, str]  # how spreadsheets show the numbers of a column
    publication: Publication


class TableFormat(NamedTuple):
    """A format of files."""

    #: The bytes of the file of a PyArrow table, the same ones for the same table, with what is said about it.
    write: Callable[[Any, TableWords], Any]
    #: The columns of a file by name: PyArrow's, or lists with None where there is nothing.  What they hold is compared
    #: afterwards; of bytes that are no such file, whoever made them, it raises `not_the_table`.
    read: Callable[[bytes, AnyPath, Mapping[str, str], int], Mapping[str, Any]]
    #: Further files in the folder of a release, by their paths.
    beside: Callable[[Description], Mapping[str, Iterable[Any]]] = lambda _described: {}
    #: Raises WorkloadError where a table cannot be in such a file.
    require: Callable[[Workload], None] = lambda _workload: None


def _write_workbook(table: Any, words: TableWords) -> bytes:
    about = [*words.about, ("", ""), ("column", "unit", "meaning"), *words.columns]
    return workbook.write(table, about, words.number_formats, title=words.title, publication=words.publication)


def _columns_of(table: Any) -> Mapping[str, Any]:
    """The columns of a PyArrow table by name; of two of one name one is left, so that their number tells."""
    return dict(zip(table.column_names, table.columns, strict=True))


FORMATS: dict[str, TableFormat] = {
    "parquet": TableFormat(
        lambda table, words: parquet.write(described_table(table, words.about, words.columns)),
        lambda content, path, types, cells: _columns_of(parquet.read(content, path, types, cells)),
    ),
    "csv": TableFormat(
        lambda table, _: csv.write(table),
        lambda content, path, types, _: _columns_of(csv.read(content, path, types)),
        csv.metadata_files,
    ),
    "xlsx": TableFormat(_write_workbook, workbook.read, require=partial(workbook.require_workbooks, is_one=False)),
}


def format_names() -> tuple[str, ...]:
    """All formats: these, that of one workbook for all tables, and that of files with very many tables each."""
    return (*FORMATS, BOOK_FORMAT, PARTS_FORMAT)
