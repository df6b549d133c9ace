"""The means and quantiles of a release as files of their own, beside the tables that they are made of.

Where numbers were made from unbiased estimates, such as non-negative ones, counts and sums are those numbers, as in
tables; means, quantiles, errors and intervals are those of the unbiased estimates.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from residualplanner.ground.checks import FloatArray
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.publish.files.columns import TidyWriter, cell_indices
from residualplanner.publish.files.file_names import BOOK_FORMAT, file_stem
from residualplanner.publish.files.sidecar import Description
from residualplanner.publish.files.statistic_form import (
    FOLDER,
    StatisticForm,
    columns_in,
    statistic_form,
    statistic_forms,
)
from residualplanner.release.statistics import Column, statistic_of
from residualplanner.release.table import Table


@dataclass(frozen=True, eq=False, slots=True)
class StatisticWriter:
    """What turns tables into the files of the statistics that they are for.

    Attributes:
        described: the release as it is written.
        writer: of its tables, which knows their labels.
    """

    described: Description
    writer: TidyWriter

    def tidy(self, table: Table) -> Any:
        """The statistic that a table is for, as a PyArrow table; None where there is none."""
        import pyarrow as pa

        form = form_of(self.described, WrittenQuery(table.positions, table.kinds))
        if form is None:
            return None
        shape = form.shape
        keys = zip(form.positions, (kind for _, kind in form.groups), strict=True)
        columns = {
            name: column for axis, key in enumerate(keys) for name, column in self.writer.label_arrays(shape, axis, key)
        }
        for axis, (name, labels) in enumerate(form.more_axes.items(), start=len(form.groups)):
            columns[name] = pa.array(labels).take(cell_indices(shape, axis))
        numbers = published_values(table, form.columns, self.described.level)
        columns |= {name: pa.array(values, from_pandas=True) for name, values in numbers.items()}
        return pa.table(columns)


def form_of(described: Description, query: WrittenQuery) -> StatisticForm | None:
    """The form of the statistic that a query is for; None where it is for none."""
    return statistic_form(described.plan.domain, described.profile, query)


def statistic_columns(described: Description, query: WrittenQuery) -> list[tuple[str, str, str]]:
    """Name, unit and meaning of the columns of numbers of the statistic that a query is for; none where it is for none.

    Those of quantiles have a column of probabilities before these.
    """
    form = form_of(described, query)
    return [] if form is None else form.described(described.plan.domain.unit, described.level)


def statistic_file(described: Description, query: WrittenQuery) -> str:
    """The path of the file of a query's statistic within the folder of the release."""
    return f"{FOLDER}/{file_stem(described.parts_of(*query))}.{described.file_format}"


def statistic_sheet(sheet: str) -> str:
    """The name of the sheet of a statistic, after that of its table.

    Example:
        >>> statistic_sheet("3 job.pay@mean")
        '3 statistics'
    """
    return f"{sheet.partition(' ')[0]} {FOLDER}"


def with_statistics(
    rows: Sequence[tuple[Any, ...]], described: Description, queries: Sequence[WrittenQuery]
) -> Iterator[tuple[Any, ...]]:
    """The rows of a workbook's index, that of each table followed by that of the sheet of its statistic, if it has one.

    Args:
        rows: of the tables: sheet, query, kinds, number of cells, and perhaps a title.
        described: the release as it is written.
        queries: that of each table.
    """
    for row, query in zip(rows, queries, strict=True):
        yield row
        if statistic_columns(described, query):
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
        for _, query, form in statistic_forms(described.plan.workload, described.profile)
    ]
    return {"statistics": files} if files else {}


def about_columns(columns: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    """Name, unit and meaning of columns as JSON values."""
    return [dict(zip(("name", "unit", "meaning"), column, strict=True)) for column in columns]


def statistic_formats(described: Description) -> dict[str, str]:
    """By the name of a column of statistics how spreadsheets show its numbers; the cells hold every digit."""
    kinds = (kind for kind in described.plan.workload.kinds if isinstance(kind, Statistic))
    columns = (column for kind in kinds for column in columns_in(described.profile, kind))
    return {column.name: "#,##0.00" for column in columns if column.of != "neither"}


def published_values(table: Table, columns: Iterable[Column], level: float) -> dict[str, FloatArray]:
    """The values of the columns of the statistic that a table is for, (rows,) each.

    Args:
        table: one of unbiased estimates, or one that knows the unbiased estimates that it was made from.
        columns: those of its product.
        level: the confidence level of intervals.
    """
    own, unbiased = statistic_of(table, level), statistic_of(table.unbiased, level)
    assert own is not None
    assert unbiased is not None
    return unbiased.values_of(columns, own)
