"""The means and quantiles of a release in parts: a file for all means, and one for all quantiles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.stores import AnyPath
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import statistic_among
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.publish.files.columns import described_table
from residualplanner.publish.files.sidecar import Description
from residualplanner.publish.files.statistic_form import columns_in, kinds_of_statistics, queries_with, statistics_name
from residualplanner.publish.files.statistics import about_columns
from residualplanner.publish.parts.writing import batch_variances, write_tables
from residualplanner.release.batches import TableBatch
from residualplanner.release.layout import TABLE_ID, Layout
from residualplanner.release.numbers import UNBIASED_NUMBERS, Estimates, Numbers
from residualplanner.release.statistics import (
    StatisticAnswers,
    StatisticTable,
    statistic_of_answers,
    table_of_statistic,
)

#: The column of the number of a group in C order.
GROUP = "group_id"


def write_statistics(
    described: Description,
    measurement: NoisyAnswers,
    numbers: Numbers,
    folder: AnyPath,
    *,
    layout: Layout,
    parts: Sequence[int],
) -> dict[str, str]:
    """Write the statistics that tables of some parts are for; the hashes of the files, by name."""
    wanted, found = layout.tables_of(parts), dict[str, str]()
    kinds = kinds_of_statistics(described.plan.workload)
    if not kinds:
        return found
    writer = _StatisticRows(described, numbers.of(measurement), UNBIASED_NUMBERS.of(measurement))
    for word, codes in kinds.items():
        tables = np.intersect1d(queries_with(described.plan.workload, codes), wanted)
        if len(tables):
            rows = chain.from_iterable(writer.of_run(*run) for run in _runs(tables, layout))
            found[statistics_name(word)] = write_tables(folder / statistics_name(word), rows)
    return found


def about_statistics(described: Description, files: Mapping[str, str]) -> dict[str, Any]:
    """The entry of the metadata on statistics in parts: of each file its columns, with the units of all attributes."""
    found = []
    for word, codes in kinds_of_statistics(described.plan.workload).items():
        if statistics_name(word) in files:
            columns = about_columns(_columns(described, codes))
            found.append({"file": statistics_name(word), "columns": columns})
    return {"statistics": found} if found else {}


@dataclass(frozen=True, eq=False)
class _StatisticRows:
    """Makes the rows of statistics of runs of tables.

    Attributes:
        described: the release as it is written.
        adjusted: gives the numbers that are published.
        unbiased: gives the unbiased estimates that they were made from, which errors and intervals are those of.
    """

    described: Description
    adjusted: Estimates
    unbiased: Estimates
    _accuracy: Accuracy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        plan = self.described.plan
        object.__setattr__(self, "_accuracy", Accuracy(plan.workload, plan.strategy, plan.noise_variances))

    def of_run(self, first: int, last: int) -> Iterator[Any]:
        """The rows of the tables from one number on up to another, as PyArrow tables."""
        own = {number: table for batch in _batches(self.adjusted, first, last) for number, table in _tables(batch)}
        for batch in _batches(self.unbiased, first, last):
            yield self._rows(batch, np.stack([own[number] for number in batch.queries.tolist()]))

    def _rows(self, batch: TableBatch, adjusted: FloatArray) -> Any:
        """The rows of some tables of the same kinds of query, whose published numbers are ``adjusted`` (b, q_1, ..)."""
        import pyarrow as pa

        plan, level = self.described.plan, self.described.level
        variances = batch_variances(self._accuracy, batch)
        kind, own = _statistic(plan, batch, adjusted, variances, level)
        _, unbiased = _statistic(plan, batch, batch.estimates, variances, level)
        axes, tables = unbiased.more_axes, len(batch.queries)
        columns = columns_in(self.described.profile, kind)
        numbers = unbiased.values_of(columns, own)
        rows = len(numbers[columns[0].name])
        entries = int(np.prod([len(labels) for labels in axes.values()], dtype=np.int64))
        groups = rows // (tables * entries)
        found = {
            TABLE_ID: pa.array(np.repeat(batch.queries, rows // tables), pa.int32()),
            GROUP: pa.array(np.tile(np.repeat(np.arange(groups), entries), tables), pa.int32()),
            **{name: pa.array(np.tile(labels, tables * groups)) for name, labels in axes.items()},
            **{name: pa.array(values, from_pandas=True) for name, values in numbers.items()},
        }
        codes = kinds_of_statistics(plan.workload)[table_of_statistic(kind).word]
        return described_table(pa.table(found), self.described.about_every, _columns(self.described, codes))


def _statistic(
    plan: Plan, batch: TableBatch, numbers: FloatArray, variances: FloatArray, level: float
) -> tuple[Statistic, StatisticTable]:
    """The statistic that the tables of a batch are for, of these numbers, with a group for each table and group."""
    axis = statistic_among(batch.kinds)
    assert axis is not None
    kind = batch.kinds[axis]
    assert isinstance(kind, Statistic)
    attribute = plan.domain.attributes[int(batch.attributes[0, axis])]
    arrays = (np.moveaxis(np.broadcast_to(each, numbers.shape), axis + 1, 0) for each in (numbers, variances))
    return kind, statistic_of_answers(StatisticAnswers(kind, attribute, (), (), *arrays), level)


def _columns(described: Description, codes: Sequence[int]) -> list[tuple[str, str, str]]:
    """Name, unit and meaning of the columns of the statistics of some kinds; the units of all attributes together."""
    workload = described.plan.workload
    found: dict[str, tuple[dict[str, None], str]] = {}
    for position, code in np.argwhere(workload.uses).tolist():
        kind = workload.kinds[code]
        if code not in codes or not isinstance(kind, Statistic):
            continue
        attribute = workload.domain.attributes[position]
        for column in columns_in(described.profile, kind):
            name, unit, meaning = column.described(attribute, workload.domain.unit, described.level)
            found.setdefault(name, ({}, meaning))[0][unit] = None
    return [(name, " or ".join(units), meaning) for name, (units, meaning) in found.items()]


def _batches(estimates: Estimates, first: int, last: int) -> Iterator[TableBatch]:
    return chain.from_iterable(estimates.chunks(first, last))


def _tables(batch: TableBatch) -> Iterator[tuple[int, FloatArray]]:
    """The number of each table of a batch, and its estimates."""
    return zip(batch.queries.tolist(), batch.estimates, strict=True)


def _runs(tables: IntArray, layout: Layout) -> Iterator[tuple[int, int]]:
    """Tables as runs of consecutive numbers, none longer than a row group: the first, and the one after the last."""
    group = np.searchsorted(layout.groups, tables, side="right")
    breaks = 1 + np.flatnonzero((np.diff(tables) > 1) | (np.diff(group) > 0))
    for run in np.split(tables, breaks):
        yield int(run[0]), int(run[-1]) + 1
