"""The statistics of a release as files of their own, beside the tables that they are made of.

Where numbers were made from unbiased estimates, such as non-negative ones, counts and sums are those numbers, as in
tables; means, quantiles, errors and intervals are those of the unbiased estimates.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.publish.files.columns import TidyWriter, cell_indices
from residualplanner.publish.files.file_names import BOOK_FORMAT, PARTS_FORMAT, file_stem, written_queries
from residualplanner.publish.files.sidecar import NUMBER, TRUTH, Description, label_type
from residualplanner.release.profiles import Profile, clash_text
from residualplanner.release.statistic_table import Column
from residualplanner.release.statistics import (
    StatisticForm,
    columns_in,
    kinds_of_statistics,
    statistic_form,
)
from residualplanner.release.table import Table
from residualplanner.release.tidy_form import label_column_names

#: The folder of the files of statistics.
FOLDER = "statistics"


def tidy_statistic(described: Description, writer: TidyWriter, table: Table) -> Any:
    """The statistic that a table is for, as a PyArrow table; None where there is none; the writer knows the labels."""
    import pyarrow as pa

    form = form_of(described, WrittenQuery(table.positions, table.kinds))
    if form is None:
        return None
    shape = form.shape
    keys = zip(form.positions, (kind for _, kind in form.groups), strict=True)
    columns = {name: column for axis, key in enumerate(keys) for name, column in writer.label_arrays(shape, axis, key)}
    for axis, (name, labels) in enumerate(form.kind.more_axes.items(), start=len(form.groups)):
        columns[name] = pa.array(labels).take(cell_indices(shape, axis))
    numbers = values_of(form, table, described.level)
    return pa.table(columns | {name: pa.array(values, from_pandas=True) for name, values in numbers.items()})


def values_of(form: StatisticForm, table: Table, level: float) -> dict[str, FloatArray]:
    """The numbers of the statistic of a table that knows the unbiased estimates that it was made from, (rows,) each."""
    return form.values(table.estimate, table.unbiased.estimate, table.variance, level)


def labels_of(form: StatisticForm) -> dict[str, Any]:
    """The columns of labels by name, as PyArrow arrays, (rows,)."""
    import pyarrow as pa

    return {
        name: pa.array(labels).take(cell_indices(form.shape, axis))
        for axis, columns in enumerate(form.axes)
        for name, labels in columns.items()
    }


def types_of(form: StatisticForm) -> dict[str, str]:
    """The type of each column of a file by its name, in their order."""
    labels = {name: label_type(values) for columns in form.axes for name, values in columns.items()}
    return labels | {column.name: datatype_of(column) for column in form.columns}


def datatype_of(column: Column) -> str:
    """The type of a column of numbers, in the vocabulary of CSV on the Web."""
    return TRUTH if column.of == "truth" else NUMBER


def form_of(described: Description, query: WrittenQuery) -> StatisticForm | None:
    """The form of the statistic that a query is for; None where it is for none."""
    return statistic_form(described.plan.domain, described.profile, query)


def statistic_forms(workload: Workload, profile: Profile) -> Iterator[tuple[WrittenQuery, StatisticForm]]:
    """Each query for a statistic, with the form of it."""
    if kinds_of_statistics(workload):
        for query in written_queries(workload):
            form = statistic_form(workload.domain, profile, query)
            if form is not None:
                yield query, form


def statistic_columns(described: Description, query: WrittenQuery) -> list[tuple[str, str, str]]:
    """Name, unit and meaning of the columns of numbers of a query's statistic; none where it is for none."""
    form = form_of(described, query)
    return [] if form is None else form.described(described.plan.domain.unit, described.level)


def statistic_file(described: Description, query: WrittenQuery) -> str:
    """The path of the file of a query's statistic within the folder of the release."""
    return f"{FOLDER}/{file_stem(described.parts_of(*query))}.{described.file_format}"


def statistic_sheet(sheet: str) -> str:
    """The name of the sheet of a statistic, after that of its table, as "3 statistics"."""
    return f"{sheet.partition(' ')[0]} {FOLDER}"


def with_statistics(
    rows: Sequence[tuple[Any, ...]], described: Description, queries: Sequence[WrittenQuery]
) -> Iterator[tuple[Any, ...]]:
    """The rows of a workbook's index, that of each table followed by that of the sheet of its statistic, if any."""
    for row, query in zip(rows, queries, strict=True):
        yield row
        if form_of(described, query) is not None:
            sheet, words, kinds, _, *title = row
            yield (statistic_sheet(sheet), words, f"{kinds}, with intervals", None, *title)


def about_statistics(described: Description) -> dict[str, Any]:
    """The entry of the metadata on statistics: of each file its columns; none where there are no files."""
    files = [
        {
            **({} if described.file_format == BOOK_FORMAT else {"file": statistic_file(described, query)}),
            "query": query.words(described.plan.domain),
            "columns": about_columns(form.described(described.plan.domain.unit, described.level)),
        }
        for query, form in statistic_forms(described.plan.workload, described.profile)
    ]
    return {"statistics": files} if files else {}


def about_columns(columns: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    """Name, unit and meaning of columns as JSON values."""
    return [dict(zip(("name", "unit", "meaning"), column, strict=True)) for column in columns]


def statistic_formats(described: Description) -> dict[str, str]:
    """By the name of a column of statistics how spreadsheets show its numbers; the cells hold every digit."""
    kinds = (kind for kind in described.plan.workload.kinds if isinstance(kind, Statistic))
    columns = (column for kind in kinds for column in columns_in(described.profile, kind))
    return {column.name: "#,##0.00" for column in columns if column.of != "truth"}


def queries_with(workload: Workload, codes: Sequence[int]) -> IntArray:
    """The numbers of the queries with one of some kinds, ascending."""
    return np.flatnonzero(np.concatenate([np.isin(block.kinds, codes).any(axis=1) for block in workload.blocks]))


def statistics_name(word: str) -> str:
    """The file of all statistics of a sort within the folder of a release in parts, as ``means.parquet``."""
    return f"{word}.parquet"


def statistics_sentence(workload: Workload, file_format: str) -> str:
    """Where a release of a workload has which statistics; empty where it has none.

    Example:
        >>> from residualplanner import Domain, Identity, Mean, Numeric
        >>> domain = Domain({"job": 2, "pay": Numeric(0, 10)})
        >>> workload = Workload(domain, [{"pay": Mean()}, {"job": Identity(), "pay": Mean()}])
        >>> statistics_sentence(workload, "csv"), statistics_sentence(workload, "parts")
        ('statistics/ has the means of 2 tables', 'means.parquet has the means of 2 tables')
        >>> statistics_sentence(workload, "workbook")
        'sheets such as "1 statistics" have the means of 2 tables'
    """
    rows = {word: queries_with(workload, codes) for word, codes in kinds_of_statistics(workload).items()}
    if not rows:
        return ""
    what = " and ".join(f"the {word} of {count_text(len(numbers), 'table')}" for word, numbers in rows.items())
    if file_format == PARTS_FORMAT:
        where = " and ".join(map(statistics_name, rows)) + (" have" if len(rows) > 1 else " has")
    elif file_format == BOOK_FORMAT:
        first = 1 + min(int(numbers[0]) for numbers in rows.values())
        where = f'sheets such as "{first} {FOLDER}" have'
    else:
        where = f"{FOLDER}/ has"
    return f"{where} {what}"


def require_free_statistic_names(workload: Workload, profile: Profile) -> None:
    """Raise WorkloadError if an attribute that makes groups has the name of a column of their statistic."""
    for _, form in statistic_forms(workload, profile):
        columns = {column.name for column in form.columns} | set(form.kind.more_axes)
        clashes = sorted(columns.intersection(label_column_names((group, [kind]) for group, kind in form.groups)))
        if clashes:
            raise WorkloadError(
                f"{clash_text(clashes)} of the {form.kind.name} of {form.attribute.name!r}; rename them in the domain"
            )
