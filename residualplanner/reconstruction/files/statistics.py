"""The means and quantiles of a release as files of their own, beside the tables that they are made of.

Reads: tables, and how a release is written.  Gives: PyArrow tables, with a row for each group; what they are, in words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from residualplanner.derived import columns_of, statistic_of
from residualplanner.errors import WorkloadError
from residualplanner.queries import Kind, Statistic, statistic_among
from residualplanner.reconstruction.files.export_files import BOOK_FORMAT, TidyWriter, cell_indices
from residualplanner.reconstruction.files.file_names import file_stem, written_queries
from residualplanner.reconstruction.files.sidecar import Description
from residualplanner.reconstruction.forms.label_columns import label_column_names
from residualplanner.reconstruction.profiles import clash_text
from residualplanner.reconstruction.table import Table
from residualplanner.workload import Workload, WrittenQuery

#: The folder of their files.
FOLDER = "statistics"


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
        """The statistic that an unbiased table is for, as a PyArrow table; None where there is none."""
        import pyarrow as pa

        if not table.product.is_unbiased:
            return None
        found = statistic_of(table, self.described.level)
        if found is None:
            return None
        keys = zip(*WrittenQuery(table.positions, table.kinds).table_axes, strict=True)
        groups = [(position, kind) for position, kind in keys if not isinstance(kind, Statistic)]
        shape = (*map(len, found.labels), *map(len, found.more_axes.values()))
        columns = {
            name: column
            for axis, key in enumerate(groups)
            for name, column in self.writer.label_arrays(shape, axis, key)
        }
        for axis, (name, labels) in enumerate(found.more_axes.items(), start=len(groups)):
            columns[name] = pa.array(labels).take(cell_indices(shape, axis))
        columns |= {name: pa.array(values, from_pandas=True) for name, values in found.values.items()}
        return pa.table(columns)


def statistic_columns(described: Description, query: WrittenQuery) -> list[tuple[str, str, str]]:
    """Name, unit and meaning of the columns of numbers of the statistic that a query is for; none where it is for none.

    Those of quantiles have a column of probabilities before these.
    """
    axis = statistic_among(query.table_axes.kinds)
    if axis is None:
        return []
    attribute = described.plan.domain.attributes[query.table_axes.positions[axis]]
    columns = columns_of(_statistic(query.table_axes.kinds[axis]))
    return [column.described(attribute, described.plan.domain.unit, described.level) for column in columns]


def statistic_file(described: Description, query: WrittenQuery) -> str:
    """The path of the file of a query's statistic within the folder of the release."""
    return f"{FOLDER}/{file_stem(described.parts_of(*query))}.{described.file_format}"


def statistic_sheet(sheet: str) -> str:
    """The name of the sheet of a statistic, which is after that of its table.

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
        if described.product.is_unbiased and statistic_columns(described, query):
            sheet, words, kinds, _, *title = row
            yield (statistic_sheet(sheet), words, f"{kinds}, with intervals", None, *title)


def about_statistics(described: Description) -> dict[str, Any]:
    """The entry of the metadata on statistics: of each file its columns; none where there are no files."""
    if not described.product.is_unbiased or not statistic_formats(described.plan.workload):
        return {}
    found = {query: statistic_columns(described, query) for query in written_queries(described.plan.workload)}
    files = [
        {
            **({} if described.file_format == BOOK_FORMAT else {"file": statistic_file(described, query)}),
            "query": query.words(described.plan.domain),
            "columns": [dict(zip(("name", "unit", "meaning"), column, strict=True)) for column in columns],
        }
        for query, columns in found.items()
        if columns
    ]
    return {"statistics": files}


def statistic_formats(workload: Workload) -> dict[str, str]:
    """By the name of a column of statistics how spreadsheets show its numbers; the cells hold every digit."""
    every = (columns_of(kind) for kind in workload.kinds if isinstance(kind, Statistic))
    return {column.name: "#,##0.00" for columns in every for column in columns if column.of != "neither"}


def require_free_statistic_names(workload: Workload) -> None:
    """Raise WorkloadError if an attribute that makes groups has the name of a column of their statistic."""
    if not any(isinstance(kind, Statistic) for kind in workload.kinds):
        return
    attributes = workload.domain.attributes
    for query in written_queries(workload):
        positions, kinds = query.table_axes
        axis = statistic_among(kinds)
        if axis is None:
            continue
        groups = [
            (attributes[position], [kind])
            for number, (position, kind) in enumerate(zip(positions, kinds, strict=True))
            if number != axis
        ]
        columns = {column.name for column in columns_of(_statistic(kinds[axis]))} | {"probability"}
        clashes = sorted(columns.intersection(label_column_names(groups)))
        if clashes:
            raise WorkloadError(
                f"{clash_text(clashes)} of the {kinds[axis].name} of "
                f"{attributes[positions[axis]].name!r}; rename them in the domain"
            )


def _statistic(kind: Kind) -> Statistic:
    assert isinstance(kind, Statistic)
    return kind
