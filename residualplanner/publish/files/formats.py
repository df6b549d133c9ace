"""The formats of a release: which tables can be in which, what writes the file of a table, and what reads it again.

A new one with a file for each table is a module with the two, and a line in `FORMATS`; its name is the ending of files.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from residualplanner.ground.checks import entry_named
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.ground.words import MOST_FILES, FormatName
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files import csv, parquet, workbook
from residualplanner.publish.files.columns import described_table
from residualplanner.publish.files.file_names import BOOK_FORMAT, PARTS_FORMAT, written_queries
from residualplanner.publish.files.sidecar import Description
from residualplanner.publish.files.workbook import require_workbooks
from residualplanner.release.profiles import Profile, clash_text, profile_named, require_free_names
from residualplanner.release.quality import Publication, Quality
from residualplanner.release.statistic_forms import kinds_of_statistics, statistic_form
from residualplanner.release.tidy_form import label_column_names


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
    beside: Callable[[Description], Mapping[str, bytes]] = lambda _described: {}
    #: Raises WorkloadError where a table cannot be in such a file.
    require: Callable[[Workload], None] = lambda _workload: None


def _write_workbook(table: Any, words: TableWords) -> bytes:
    book = workbook.Book(words.number_formats, words.publication)
    book.add_table(workbook.TABLE_SHEET, table, words.title)
    book.add_texts(workbook.ABOUT_SHEET, [*words.about, ("", ""), ("column", "unit", "meaning"), *words.columns])
    return book.close()


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


__all__ = ["Publication", "Quality", "chosen_format", "require_exportable"]


def chosen_format(
    workload: Workload, format: FormatName | None, profile: str = "default", *, quality: Quality | None = None
) -> FormatName:
    """The format given, or else "parquet", or "parts" for very many tables; WorkloadError where it is no format."""
    if format is None:
        return "parts" if len(workload) > MOST_FILES and profile == "default" and quality is None else "parquet"
    entry_named("format", format, dict.fromkeys(format_names()))
    return format


def require_exportable(
    workload: Workload, format: FormatName | None = None, profile: str = "default", *, quality: Quality | None = None
) -> None:
    """Raise unless the tables of a workload can be written in a format and profile; to call before they are measured.

    Args:
        workload: the tables to save.
        format: "parquet", "csv", "xlsx", "workbook" or "parts"; by default what ``Release.save`` chooses.
        profile: "default", "acs" or "gls".
        quality: which estimates are reliable, if tables are to say it.

    Raises:
        WorkloadError: there is no such format or profile, the profile or the quality is not for "parts", an attribute
            has the name of a column of the profile, or Excel cannot hold a table, or all of them in one workbook.
        MissingExtraError: the format is "xlsx" or "workbook", and XlsxWriter is not installed.
    """
    found = profile_named(profile)
    format = chosen_format(workload, format, found.name, quality=quality)
    if format == PARTS_FORMAT and quality is not None:
        raise WorkloadError('"parts" has estimates and standard errors only: quality= is for other formats')
    if format == PARTS_FORMAT and found.name != "default":
        raise WorkloadError(f'"parts" has estimates and standard errors only: profile={profile!r} is for other formats')
    require_free_columns(workload, found.graded(quality))
    if format == BOOK_FORMAT:
        require_workbooks(workload, is_one=True)
    elif format in FORMATS:
        FORMATS[format].require(workload)


def require_free_columns(workload: Workload, profile: Profile) -> None:
    """Raise WorkloadError if an attribute has the name of a column of the tables, or of their statistics."""
    axes = groupby((pair for pair in workload.attribute_kinds if pair[1].is_axis), itemgetter(0))
    kinds = ((workload.domain.attributes[position], [kind for _, kind in own]) for position, own in axes)
    require_free_names(label_column_names(kinds), profile)
    queries = written_queries(workload) if kinds_of_statistics(workload) else ()
    for form in filter(None, (statistic_form(workload.domain, profile, query) for query in queries)):
        columns = {column.name for column in form.columns}.union(*form.axes[len(form.groups) :])
        clashes = sorted(columns.intersection(label_column_names((group, [kind]) for group, kind in form.groups)))
        if clashes:
            raise WorkloadError(
                f"{clash_text(clashes)} of the {form.kind.name} of {form.attribute.name!r}; rename them in the domain"
            )
