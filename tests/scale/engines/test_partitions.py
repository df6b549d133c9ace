"""Counts of partitions, packed, sent and added up, are the counts of all records."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from counted_records import DOMAIN, GROUPS, RECORDS, columns_of, naive_tables
from inner_parts import cluster, partitions
from residualplanner import Bins, Domain

few = settings(derandomize=True, deadline=None, max_examples=30)
TYPES = {"text": pa.string(), "code": pa.int8(), "integer": pa.int64(), "truth": pa.bool_(), "number": pa.float32()}


def work_of(groups, domain=DOMAIN):
    return partitions.Work(domain, (partitions.CountingTask(0, tuple(groups)),))


def test_tables_of_many_cells_go_in_pieces_of_which_those_without_counts_are_left_out():
    counts = np.zeros((5 * partitions.PIECE_CELLS // 2, 2), dtype=np.int64)
    counts[partitions.PIECE_CELLS - 1], counts[-1] = 1, 300
    work = work_of([np.array([[0, 1]])], Domain({"a": len(counts), "b": 2}))
    rows = [*partitions.rows_of_tables(0, [counts[None]])]
    assert [row.piece for row in rows] == [1, 4]
    ((_, total),) = partitions.sums_of_rows(work, [*rows, *rows])
    assert (total.tables[0] == 2 * counts).all()


@given(records=RECORDS, cut=st.integers(0, 30), kept=st.sampled_from([1, 2**28]))
@few
def test_partitions_add_up(records, cut, kept):
    """However many records are counted at a time."""
    tasks = (partitions.CountingTask(7, tuple(GROUPS[:2])), partitions.CountingTask(9, tuple(GROUPS[2:])))
    work = pickle.loads(pickle.dumps(partitions.Work(DOMAIN, tasks, codes_bytes=kept)))  # noqa: S301 - as an engine does
    table = pa.table({name: pa.array(column, TYPES[name]) for name, column in columns_of(records).items()})
    table = table.select(list(DOMAIN))
    rows = [row for part in (table[:cut], table[cut:]) for row in partitions.rows_of_batches(work, part.to_batches())]
    some = [partitions.PartitionRow(task, 0, b"") for task in range(2)]
    rows = [
        *partitions.finished(work, partitions.rows_of_tables, sorted([*some, *rows], key=lambda row: row.task))
    ]  # on the way
    found = [table for _, total in partitions.sums_of_rows(work, sorted([*some, *rows])) for table in total.tables]
    for stack, expected in zip(found, naive_tables(DOMAIN, records, GROUPS), strict=True):
        assert (stack == expected).all()


@given(limit=st.integers(1, 20), numbers=st.lists(st.integers(1, 5), min_size=1, max_size=4))
@few
def test_tasks_divide_all_tables_and_are_of_limited_size(limit, numbers):
    sizes = (1, 2, 3, 4)
    groups = [np.full((number, 1), position) for position, number in enumerate(numbers)]
    tasks = cluster.runs_of_tasks(sizes, groups, limit)
    runs = [run for task in tasks for run in task]
    assert [(group, row) for group, some in runs for row in range(some.start, some.stop)] == [
        (group, row) for group, number in enumerate(numbers) for row in range(number)
    ]
    for task in tasks:
        cells = sum(sizes[group] * (some.stop - some.start) for group, some in task)
        assert cells <= limit or [some.stop - some.start for _, some in task] == [1]


@given(numbers=st.lists(st.floats(0, 20, width=32), min_size=1, max_size=50))
@few
def test_a_column_of_distinct_numbers_leaves_the_workers_as_bins(numbers):
    work = work_of([np.array([[0]])], Domain({"x": Bins([0, 10, 20])}))
    (row,) = partitions.rows_of_pandas(work, pd.DataFrame({"x": numbers}))
    counts = np.zeros(2, dtype=np.int64)
    partitions.add_packed(row.content, counts)
    assert counts.sum() == len(numbers)
