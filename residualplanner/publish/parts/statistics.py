"""The statistics of a release in parts: a file for each sort, all means say, with rows as many as its tables have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.stores import AnyPath
from residualplanner.method.queries.kind import statistic_among
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.publish.files.columns import described_table
from residualplanner.publish.files.sidecar import Description, queries_with, words_json
from residualplanner.publish.parts.writing import batch_variances, write_tables
from residualplanner.release.batches import TableBatch
from residualplanner.release.layout import TABLE_ID, Layout
from residualplanner.release.numbers import UNBIASED_NUMBERS, Estimates, Numbers
from residualplanner.release.statistics import columns_in, kinds_of_statistics, statistic_form

#: The column of the number of a group in C order.
GROUP = "group_id"


def statistics_name(word: str) -> str:
    """The file of all statistics of a sort within the folder of a release in parts, as ``means.parquet``."""
    return f"{word}.parquet"


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
    plan, wanted, found = described.plan, layout.tables_of(parts), dict[str, str]()
    for word, codes in kinds_of_statistics(plan.workload).items():
        tables = np.intersect1d(queries_with(plan.workload, codes), wanted)
        if len(tables):
            about, name = (described.about_every, _columns(described, codes)), statistics_name(word)
            accuracy = Accuracy(plan.workload, plan.strategy, plan.noise_variances)
            adjusted, unbiased = numbers.of(measurement), UNBIASED_NUMBERS.of(measurement)
            rows = (
                described_table(_rows(described, batch, own, batch_variances(accuracy, batch)), *about)
                for run in _runs(tables, layout)
                for batch, own in _with_published(adjusted, unbiased, *run)
            )
            found[name] = write_tables(folder / name, rows)
    return found


def about_statistics(described: Description, files: Mapping[str, str]) -> dict[str, Any]:
    """The entry of the metadata on statistics in parts: of each file its columns, with the units of all attributes."""
    found = [
        {"file": statistics_name(word), "columns": list(map(words_json, _columns(described, codes)))}
        for word, codes in kinds_of_statistics(described.plan.workload).items()
        if statistics_name(word) in files
    ]
    return {"statistics": found} if found else {}


def _with_published(
    adjusted: Estimates, unbiased: Estimates, first: int, last: int
) -> Iterator[tuple[TableBatch, FloatArray]]:
    """Unbiased tables from one number on up to another, in batches, each with the published numbers of its tables."""
    # The two may come in batches of other sizes.
    batches = chain.from_iterable(adjusted.chunks(first, last))
    own = {
        number: table for each in batches for number, table in zip(each.queries.tolist(), each.estimates, strict=True)
    }
    for batch in chain.from_iterable(unbiased.chunks(first, last)):
        yield batch, np.stack([own[number] for number in batch.queries.tolist()])


def _rows(described: Description, batch: TableBatch, published: FloatArray, variances: FloatArray) -> Any:
    """The rows of the statistics of some tables of the same kinds of query, published as (b, q_1, ..), for PyArrow."""
    import pyarrow as pa

    query = WrittenQuery(tuple(batch.attributes[0].tolist()), batch.kinds)
    form = statistic_form(described.plan.domain, described.profile, query)
    axis = statistic_among(batch.kinds)
    assert form is not None
    assert axis is not None
    form = replace(form, axis=axis - len(batch.kinds))  # batches have axes of one cell for a universe, tables have none
    axes, tables, rows = form.kind.more_axes, len(batch.queries), form.rows
    entries = int(np.prod([len(labels) for labels in axes.values()], dtype=np.int64))
    values = form.values(published, batch.estimates, variances, described.level)
    return pa.table(
        {
            TABLE_ID: pa.array(np.repeat(batch.queries, rows), pa.int32()),
            GROUP: pa.array(np.tile(np.repeat(np.arange(rows // entries), entries), tables), pa.int32()),
            **{name: pa.array(np.tile(labels, tables * rows // entries)) for name, labels in axes.items()},
            **{name: pa.array(numbers, from_pandas=True) for name, numbers in values.items()},
        }
    )


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


def _runs(tables: IntArray, layout: Layout) -> Iterator[tuple[int, int]]:
    """Tables as runs of consecutive numbers, none longer than a row group: the first, and the one after the last."""
    group = np.searchsorted(layout.groups, tables, side="right")
    breaks = 1 + np.flatnonzero((np.diff(tables) > 1) | (np.diff(group) > 0))
    for run in np.split(tables, breaks):
        yield int(run[0]), int(run[-1]) + 1
