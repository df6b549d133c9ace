"""Records that count several times, against records that are there several times, and Python's own integers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Attribute, Domain
from residualplanner.gate.sources import counting as module
from residualplanner.gate.sources import covering
from residualplanner.gate.sources.counting import count_groups
from residualplanner.gate.sources.multiplicities import MOST, Once, Several, exact_total, several
from residualplanner.gate.sources.rules import block_of_columns, joined
from residualplanner.method.domain.families import MISSING, UNKNOWN
from residualplanner.scale.engines.partitions import (
    CountingTask,
    PartialSum,
    PartitionRow,
    Work,
    error_of_problems,
    rows_of_tables,
)

few = settings(derandomize=True, deadline=None, max_examples=40)
SIZES, ROWS = (2, 3, 4), [(0, 1, 2), (0, 1), (1, 2), (2,), ()]
RECORDS = st.lists(
    st.tuples(*(st.integers(0, size - 1) for size in SIZES), st.sampled_from([0, 1, 2, 2**31, 2**53 + 1, 2**58])),
    max_size=30,
)


def tables_by_hand(records):
    """The tables, in integers that have no width."""
    stacks = []
    for row in ROWS:
        cells = dict.fromkeys(product(*(range(SIZES[i]) for i in row)), 0)
        for *codes, often in records:
            cells[tuple(codes[i] for i in row)] += often
        stacks.append(np.array([*cells.values()], dtype=np.int64).reshape([SIZES[i] for i in row]))
    return stacks


@given(records=RECORDS, larger=st.booleans(), block=st.sampled_from([1, 7, 99]))
@few
def test_tables_hold_the_exact_sums(records, larger, block):
    *codes, often = np.array(records, dtype=np.int64).reshape(-1, 4).T
    groups = [np.array([row], dtype=int) for row in ROWS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        if larger:
            for name, value in {"_LEAST_SETS": 1, "_LEAST_RECORDS": 0, "_RECORDS": 5}.items():
                patch.setattr(covering, name, value)
            patch.setattr(module, "is_worth_it", lambda *_: True)
        stacks = count_groups(np.array(codes), SIZES, groups, several(often))
    for (table,), expected in zip(stacks, tables_by_hand(records), strict=True):
        assert table.dtype == np.int64
        assert (table == expected).all()


@given(left=st.lists(st.integers(0, MOST), max_size=5), right=st.lists(st.integers(0, 2**40), min_size=5, max_size=5))
@few
def test_products_are_exact_or_refused(left, right):
    exact = [a * b for a, b in zip(left, right, strict=False)]
    if sum(left) > MOST:
        with pytest.raises(rp.errors.DataError, match="more than 64-bit integers hold"):
            several(np.array(left, dtype=np.int64))
        return
    first, second = Several(np.array(left, dtype=np.int64)), Several(np.array(right[: len(left)], dtype=np.int64))
    assert exact_total(first.entries) == first.total == sum(left)
    if sum(exact) > MOST:
        with pytest.raises(rp.errors.DataError, match="more than 64-bit integers hold"):
            first.times(second)
    else:
        assert first.times(second).entries.tolist() == exact
    assert Once(len(left)).times(first).entries.tolist() == left
    assert first.times(Once(len(left))).entries.tolist() == left


def test_records_keep_their_multiplicities_where_others_leave():
    domain = Domain({"x": 3, "z": Attribute("z", 2, unknown="drop")})
    block = block_of_columns(domain, np.array([[0, 1, 2], [0, UNKNOWN, 1]]), Several(np.array([1, 5, 10])))
    assert (block.codes.tolist(), block.multiplicities.entries.tolist()) == ([[0, 2], [0, 1]], [1, 10])
    assert not block.breaches


def test_what_breaks_a_rule_is_a_breach():
    assert block_of_columns(Domain({"x": 2}), [np.array([0, MISSING])], Once(2)).breaches == {(0, "missing")}


def test_joined_blocks_count_as_they_did():
    domain = Domain({"x": 2})
    blocks = [
        block_of_columns(domain, [np.array(codes)], several(np.array(often)))
        for codes, often in [([0, 1], [5, 6]), ([1], [7])]
    ]
    block = joined(blocks)
    assert (block.codes.tolist(), block.multiplicities.entries.tolist()) == ([[0, 1, 1]], [5, 6, 7])
    ones = joined([block_of_columns(domain, [np.array([0])], Once(1))] * 3)
    assert (ones.multiplicities.total, len(ones.multiplicities)) == (3, 3)


@pytest.mark.parametrize("counts", [([2**62, 0], [2**62, 0]), ([2**62, 0], [0, 2**62])])
def test_workers_whose_counts_are_too_large_together_are_refused(counts):
    """In one cell, and in the sum over all."""
    work = Work(Domain({"x": 2}), (CountingTask(0, (np.array([[0]]),)),))
    total = PartialSum(work, 0)
    for table in counts:
        for row in rows_of_tables(0, [np.array([table])]):
            total.add(PartitionRow(*row))
    assert "more than 64-bit integers hold" in str(error_of_problems(work.domain, total.problems))
