"""Counting coded records, once or several times each, against a loop in Python's own integers."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from inner_parts import counting, partitions

reproducible = settings(derandomize=True, deadline=None)
TYPES = st.sampled_from([np.uint8, np.uint16, np.uint32, np.int64])


def tables_by_hand(records, sizes, rows, often=None):
    tables = []
    for row in rows:
        cells = dict.fromkeys(product(*(range(sizes[i]) for i in row)), 0)
        for number, record in enumerate(records):
            cells[tuple(record[i] for i in row)] += 1 if often is None else often[number]
        tables.append(np.array([*cells.values()], dtype=np.int64).reshape([sizes[i] for i in row]))
    return np.array(tables)


def groups_of_equal_shape(sizes, rows):
    shapes = {}
    for row in rows:
        shapes.setdefault(tuple(sizes[i] for i in row), []).append(row)
    return [np.array(same, dtype=int).reshape(len(same), len(shape)) for shape, same in shapes.items()]


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(1, 5), max_size=5))
    records = draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), max_size=40))
    sets = st.sets(st.sampled_from(range(len(sizes)))) if sizes else st.just(set())
    rows = draw(st.lists(sets.map(sorted), min_size=1, max_size=12))
    often = st.sampled_from([0, 1, 2, 2**31, 2**53 + 1, 2**57])
    return sizes, records, rows, draw(st.none() | st.lists(often, min_size=len(records), max_size=len(records)))


def codes_of(records, sizes, dtype):
    return np.array(records, dtype=dtype).reshape(len(records), len(sizes)).T


def count_groups(codes, sizes, groups, often=None):
    counts = counting.CountedTables(sizes, groups)
    counts.add(codes, often)
    return counts.tables


def as_integers(often):
    return None if often is None else np.array(often, dtype=np.int64)


@given(problem=problems(), dtype=TYPES)
@reproducible
def test_tables_hold_the_exact_sums(problem, dtype):
    sizes, records, rows, often = problem
    groups = groups_of_equal_shape(sizes, rows)
    stacks = count_groups(codes_of(records, sizes, dtype), sizes, groups, as_integers(often))
    for same, stack in zip(groups, stacks, strict=True):
        assert stack.dtype == np.int64
        assert (stack == tables_by_hand(records, sizes, same.tolist(), often)).all()


def from_larger(records, sizes, rows, dtype=np.int64, often=None, **most):
    """The counts of sets of one order, each summed down from a larger table."""
    rows, codes = np.array(rows), codes_of(records, sizes, dtype)
    found = [np.zeros([sizes[i] for i in row], dtype=np.int64) for row in rows.tolist()]
    larger = counting.cover(sizes, rows, **most)
    counted = counting.tables_from_larger(codes, sizes, rows, larger, as_integers(often))
    for number, table in counted:
        found[number] += table
    return found


@given(problem=problems(), dtype=TYPES, most=st.integers(1, 500))
@reproducible
def test_tables_that_are_summed_from_larger_ones_hold_them_too(problem, dtype, most):
    sizes, records, rows, often = problem
    for order in {len(row) for row in rows} - {0, 1}:
        same = [row for row in rows if len(row) == order]
        found = from_larger(records, sizes, same, dtype, often, most_cells=most)
        for row, table in zip(same, found, strict=True):
            assert (table == tables_by_hand(records, sizes, [row], often)[0]).all()


@pytest.mark.parametrize("size", [10, 500])  # a hundred records: many and few for the cells of a table of pairs
def test_sparse_and_dense_tables_hold_the_same_counts(size):
    codes = np.random.default_rng(7).integers(0, size, (3, 100)).astype(np.uint16)
    codes[:, 50:] = codes[:, :50]
    rows = [(0, 1), (1, 2)]
    (stack,) = count_groups(codes, (size,) * 3, [np.array(rows)])
    assert (stack == tables_by_hand(codes.T.tolist(), (size,) * 3, rows)).all()


@pytest.mark.parametrize("group", [np.array([[0], [1]]), np.empty((0, 2), dtype=int)])
def test_a_group_of_different_shapes_or_of_nothing_is_refused(group):
    with pytest.raises(ValueError, match="all of the same shape"):
        count_groups(np.zeros((2, 1), dtype=np.uint8), (2, 3), [group])


@pytest.mark.parametrize(
    "sizes",
    [
        (1, 1, 255, 2),
        (1, 1, 256, 2),
        (1, 1, 1, 256),
        (256, 256, 2),
        (2, 256, 256),
        (1, 1, 255, 257),
        (1, 1, 256, 256),
        (1, 1) + (2,) * 17,
    ],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_cells_of_larger_tables_do_not_wrap_where_integers_get_wider(sizes, dtype):
    last = [min(size - 1, np.iinfo(dtype).max) for size in sizes]
    records = [last] * 3 + [[0] * len(sizes)] + [[value * (i % 2) for i, value in enumerate(last)]]
    rows = list(combinations(range(len(sizes)), 2))
    assert math.prod(sizes) <= counting.MOST_CELLS  # one larger table holds them all
    for row, table in zip(rows, from_larger(records, sizes, rows, dtype), strict=True):
        expected = np.zeros([sizes[i] for i in row], dtype=int)
        for record in records:
            expected[tuple(record[i] for i in row)] += 1
        assert (table == expected).all()


@pytest.mark.parametrize("code", [-1, 3])
def test_codes_of_no_cell_are_refused_where_they_would_be_written_outside_a_larger_table(code):
    with pytest.raises(ValueError, match="codes must lie in"):
        from_larger([(0, 2, 0), (1, code, 0)], (2, 3, 4), [(0, 1)])


@given(problem=problems(), most=st.integers(1, 200))
@example(problem=((4,) * 6, [], list(map(list, combinations(range(6), 2))), None), most=64)
@reproducible
def test_a_cover_holds_each_set_once_in_tables_that_are_not_too_large(problem, most):
    sizes, _, sets, _ = problem
    for order in {len(row) for row in sets} - {0, 1}:
        rows = np.array([row for row in sets if len(row) == order])
        larger = counting.cover(sizes, rows, most_cells=most)
        assert sorted(number for _, numbers in larger for number in numbers) == list(range(len(rows)))
        for attributes, numbers in larger:
            assert len(set(attributes)) == len(attributes)
            assert all(set(rows[number].tolist()) <= set(attributes) for number in numbers)
            assert len(attributes) == order or np.prod(np.array(sizes)[list(attributes)]) <= most


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("records", [2**16 + 3, 2**21 + 5])
def test_many_records_are_counted_in_parts_in_larger_tables_and_in_the_sets_own(records, weighted):
    """So many that each is counted in several parts."""
    attributes = 12 if records < 2**20 else 6
    sizes, rng = (4,) * attributes, np.random.default_rng(0)
    rows = np.array([(a, b, c) for c in range(attributes) for b in range(c) for a in range(b)])
    codes = rng.integers(0, 4, (attributes, records)).astype(np.uint8)
    often = rng.integers(0, 2**40, records) if weighted else np.ones(records, dtype=np.int64)
    larger = counting.cover(sizes, rows)
    assert len(larger) < len(rows) / 5
    assert counting.may_be_worth_it(attributes, 3, len(rows), records)
    assert counting.is_worth_it(larger, sizes, len(rows), records)
    assert attributes == 6 or not counting.is_worth_it(larger, sizes, len(rows), 2**10)
    groups = [rows[::2], np.array([[0], [1]]), rows[1::2], np.empty((1, 0), dtype=int)]
    stacks = count_groups(codes, sizes, groups, often if weighted else None)
    for group, stack in zip(groups, stacks, strict=True):
        for row, table in zip(group.tolist(), stack, strict=True):
            cells = np.ravel_multi_index(tuple(codes[row]), table.shape) if row else np.zeros(records, dtype=int)
            expected = np.zeros(table.size, dtype=np.int64)
            np.add.at(expected, cells, often)
            assert (table.ravel() == expected).all()


@given(
    left=st.lists(st.integers(0, counting.MOST), max_size=5),
    right=st.lists(st.integers(0, 2**40), min_size=5, max_size=5),
)
@reproducible
def test_products_are_exact_or_refused(left, right):
    first, second = np.array(left, dtype=np.int64), np.array(right[: len(left)], dtype=np.int64)
    assert counting.exact_total(first) == sum(left)
    of_both = [a * b for a, b in zip(left, right, strict=False)]
    for often, factors, exact in ((None, first, left), (first, second, of_both)):
        if sum(exact) > counting.MOST:
            with pytest.raises(rp.errors.DataError, match="more than 64-bit integers hold"):
                counting.products(often, factors)
        else:
            assert counting.products(often, factors).tolist() == exact


@pytest.mark.parametrize("counts", [([2**62, 0], [2**62, 0]), ([2**62, 0], [0, 2**62])])
def test_workers_whose_counts_are_too_large_together_are_refused(counts):
    """In one cell, and in the sum over all."""
    work = partitions.Work(rp.Domain({"x": 2}), (partitions.CountingTask(0, (np.array([[0]]),)),))
    total = partitions.PartialSum(work, 0)
    for table in counts:
        for row in partitions.rows_of_tables(0, [np.array([table])]):
            total.add(partitions.PartitionRow(*row))
    assert "more than 64-bit integers hold" in str(partitions.error_of_problems(work.domain, total.problems))
