"""What the table of a query's means or quantiles looks like in a release: its labels and columns."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.kind import Kind, statistic_among
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.publish.files.columns import cell_indices
from residualplanner.publish.files.file_names import BOOK_FORMAT, PARTS_FORMAT, written_queries
from residualplanner.publish.files.sidecar import NUMBER, TRUTH, label_type
from residualplanner.release.profiles import Profile, clash_text
from residualplanner.release.statistics import Column, StatisticTable, published_columns, table_of_statistic, unit_of
from residualplanner.release.tidy_form import label_column_names, label_columns

#: The folder of the files of statistics.
FOLDER = "statistics"


@dataclass(frozen=True)
class StatisticForm:
    """The table of the means or quantiles that a query is for, with a row for each group, and for each probability.

    Attributes:
        kind: the statistic.
        attribute: whose statistic it is.
        groups: the attributes that make the groups, with the kinds of query on them.
        positions: of these attributes in the domain.
        columns: those of numbers.
    """

    kind: Statistic
    attribute: Attribute
    groups: tuple[tuple[Attribute, Kind], ...]
    positions: tuple[int, ...]
    columns: tuple[Column, ...]

    @property
    def table(self) -> type[StatisticTable]:
        """The sort of table that it is."""
        return table_of_statistic(self.kind)

    @property
    def title(self) -> str:
        """What it holds, in words."""
        return self.table.title_of(self.attribute.name, unit_of(self.attribute))

    @property
    def more_axes(self) -> dict[str, tuple[float, ...]]:
        """The labels of axes after those of the groups, by the names of their columns."""
        return self.table.axes_of(self.kind)

    @cached_property
    def axes(self) -> tuple[dict[str, tuple[object, ...]], ...]:
        """The columns of labels along each axis, by name."""
        more = ({name: tuple[object, ...](labels)} for name, labels in self.more_axes.items())
        return (*(label_columns(*group) for group in self.groups), *more)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many labels there are along each axis."""
        return tuple(len(next(iter(columns.values()))) for columns in self.axes)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return math.prod(self.shape)

    @property
    def labels(self) -> dict[str, Any]:
        """The columns of labels by name, as PyArrow arrays, (rows,)."""
        import pyarrow as pa

        return {
            name: pa.array(labels).take(cell_indices(self.shape, axis))
            for axis, columns in enumerate(self.axes)
            for name, labels in columns.items()
        }

    @property
    def types(self) -> dict[str, str]:
        """The type of each column by its name, in their order."""
        labels = {name: label_type(values) for columns in self.axes for name, values in columns.items()}
        return labels | {column.name: datatype_of(column) for column in self.columns}

    def described(self, count_unit: str, level: float) -> list[tuple[str, str, str]]:
        """Name, unit and meaning of the columns of numbers."""
        return [column.described(self.attribute, count_unit, level) for column in self.columns]


def datatype_of(column: Column) -> str:
    """The type of a column of numbers, in the vocabulary of CSV on the Web."""
    return TRUTH if column.of == "neither" else NUMBER


def columns_in(profile: Profile, kind: Statistic) -> tuple[Column, ...]:
    """The columns of numbers of a statistic in files of a profile, which says what the numbers are."""
    return published_columns(table_of_statistic(kind).columns, profile.product, with_unbiased=profile.with_unbiased)


def statistic_form(domain: Domain, profile: Profile, query: WrittenQuery) -> StatisticForm | None:
    """The form of the statistic that a query is for; None where it is for none."""
    positions, kinds = query.table_axes
    axis = statistic_among(kinds)
    if axis is None:
        return None
    kind = kinds[axis]
    assert isinstance(kind, Statistic)
    others = [number for number in range(len(kinds)) if number != axis]
    groups = tuple((domain.attributes[positions[number]], kinds[number]) for number in others)
    places = tuple(positions[number] for number in others)
    return StatisticForm(kind, domain.attributes[positions[axis]], groups, places, columns_in(profile, kind))


def statistic_forms(workload: Workload, profile: Profile) -> Iterator[tuple[int, WrittenQuery, StatisticForm]]:
    """Of each query for a statistic its number in the workload, itself, and the form of its statistic."""
    if not kinds_of_statistics(workload):
        return
    for number, query in enumerate(written_queries(workload)):
        form = statistic_form(workload.domain, profile, query)
        if form is not None:
            yield number, query, form


def kinds_of_statistics(workload: Workload) -> dict[str, list[int]]:
    """By the sort of statistic the numbers of the kinds of query for it."""
    found: dict[str, list[int]] = {}
    for code, kind in enumerate(workload.kinds):
        if isinstance(kind, Statistic):
            found.setdefault(table_of_statistic(kind).word, []).append(code)
    return found


def queries_with(workload: Workload, codes: Sequence[int]) -> IntArray:
    """The numbers of the queries with one of some kinds, ascending."""
    return np.flatnonzero(np.concatenate([np.isin(block.kinds, codes).any(axis=1) for block in workload.blocks]))


def statistics_name(word: str) -> str:
    """The file of all statistics of a sort within the folder of a release in parts.

    Example:
        >>> statistics_name("means")
        'means.parquet'
    """
    return f"{word}.parquet"


def statistics_sentence(workload: Workload, file_format: str) -> str:
    """Where a release of a workload has which statistics; empty where it has none.

    Example:
        >>> from residualplanner import Identity, Mean, Numeric
        >>> domain = Domain({"job": 2, "pay": Numeric(0, 10)})
        >>> workload = Workload(domain, [{"pay": Mean()}, {"job": Identity(), "pay": Mean()}])
        >>> statistics_sentence(workload, "csv"), statistics_sentence(workload, "parts")
        ('statistics/ has the means of 2 tables', 'means.parquet has the means of 2 tables')
    """
    rows = {word: queries_with(workload, codes) for word, codes in kinds_of_statistics(workload).items()}
    counts = {word: len(numbers) for word, numbers in rows.items()}
    what = " and ".join(f"the {word} of {count_text(count, 'table')}" for word, count in counts.items())
    if file_format == PARTS_FORMAT:
        where = " and ".join(map(statistics_name, counts)) + (" have" if len(counts) > 1 else " has")
    else:
        where = f"{FOLDER}/ has"
        if counts and file_format == BOOK_FORMAT:
            first = 1 + min(int(numbers[0]) for numbers in rows.values())
            where = f'sheets such as "{first} {FOLDER}" have'
    return f"{where} {what}" if counts else ""


def require_free_statistic_names(workload: Workload, profile: Profile) -> None:
    """Raise WorkloadError if an attribute that makes groups has the name of a column of their statistic."""
    for _, _, form in statistic_forms(workload, profile):
        columns = {column.name for column in form.columns} | set(form.more_axes)
        clashes = sorted(columns.intersection(label_column_names((group, [kind]) for group, kind in form.groups)))
        if clashes:
            raise WorkloadError(
                f"{clash_text(clashes)} of the {form.kind.name} of {form.attribute.name!r}; rename them in the domain"
            )
