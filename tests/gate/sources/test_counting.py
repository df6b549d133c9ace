"""Counting coded records, against collections.Counter."""

import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residualplanner.gate.sources import counting as module
from residualplanner.gate.sources import covering
from residualplanner.gate.sources.counting import count_groups

reproducible = settings(derandomize=True, deadline=None)


def tables_by_counter(records, sizes, rows):
    """The tables over each row of attribute positions, cell by cell."""
    tables = []
    for row in rows:
        counter = Counter(tuple(record[i] for i in row) for record in records)
        shape = [sizes[i] for i in row]
        tables.append(np.array([counter[cell] for cell in product(*map(range, shape))], dtype=int).reshape(shape))
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
    return sizes, records, groups_of_equal_shape(sizes, rows)


@given(
    problem=problems(),
    dtype=st.sampled_from([np.uint8, np.uint16, np.uint32, np.int64]),
    block=st.sampled_from([1, 3, 99]),
)
@reproducible
def test_tables_are_those_of_a_counter(problem, dtype, block):
    sizes, records, groups = problem
    codes = np.array(records, dtype=dtype).reshape(len(records), len(sizes)).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        stacks = count_groups(codes, sizes, groups)
    for rows, stack in zip(groups, stacks, strict=True):
        expected = tables_by_counter(records, sizes, rows.tolist())
        assert stack.dtype == np.int64
        assert stack.shape == expected.shape
        assert (stack == expected).all()


@pytest.mark.parametrize("size", [10, 500])  # a hundred records: many and few for the cells of a table of pairs
def test_sparse_and_dense_tables_hold_the_same_counts(size):
    codes = np.random.default_rng(7).integers(0, size, (3, 100)).astype(np.uint16)
    codes[:, 50:] = codes[:, :50]
    (stack,) = count_groups(codes, (size,) * 3, [np.array([[0, 1], [1, 2]])])
    for table, (i, j) in zip(stack, [(0, 1), (1, 2)], strict=True):
        expected = Counter(zip(codes[i].tolist(), codes[j].tolist(), strict=True))
        cells = np.argwhere(table)
        assert {tuple(cell): table[tuple(cell)] for cell in cells.tolist()} == expected


def test_codes_in_narrow_types_do_not_wrap():
    codes = np.full((4, 300), 255, dtype=np.uint8)
    (stack,) = count_groups(codes, (256,) * 4, [np.array([[0, 1, 2]])])
    assert stack[0, 255, 255, 255] == 300
    assert stack.sum() == 300


def test_an_attribute_of_one_value_and_no_attribute_leave_the_total():
    codes = np.zeros((2, 5), dtype=np.uint8)
    single, total = count_groups(codes, (1, 3), [np.array([[0]]), np.empty((2, 0), dtype=int)])
    assert single.tolist() == [[5]]
    assert total.tolist() == [5, 5]


@pytest.mark.parametrize("group", [np.array([[0], [1]]), np.empty((0, 2), dtype=int)])
def test_a_group_of_different_shapes_or_of_nothing_is_refused(group):
    with pytest.raises(ValueError, match="all of the same shape"):
        count_groups(np.zeros((2, 1), dtype=np.uint8), (2, 3), [group])


def counted_in_larger_tables(codes, sizes, groups, **constants):
    """The counts by way of larger tables, however few sets and records there are, with some constants changed."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_LEAST_SETS": 1, "_LEAST_RECORDS": 0, **constants}.items():
            patch.setattr(covering, name, value)
        patch.setattr(module, "is_worth_it", lambda *_: True)
        return count_groups(codes, sizes, groups)


@given(problem=problems(), dtype=st.sampled_from([np.uint8, np.uint16, np.uint32, np.int64]), most=st.integers(1, 500))
@reproducible
def test_tables_that_are_summed_from_larger_ones_are_those_of_a_counter(problem, dtype, most):
    sizes, records, groups = problem
    codes = np.array(records, dtype=dtype).reshape(len(records), len(sizes)).T
    stacks = counted_in_larger_tables(codes, sizes, groups, MOST_CELLS=most, _RECORDS=5, _CHUNK=2)
    for rows, stack in zip(groups, stacks, strict=True):
        assert stack.dtype == np.int64
        assert (stack == tables_by_counter(records, sizes, rows.tolist())).all()


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
    groups = groups_of_equal_shape(sizes, rows)
    stacks = counted_in_larger_tables(np.array(records, dtype=dtype).T, sizes, groups)
    assert math.prod(sizes) <= covering.MOST_CELLS  # one larger table holds them all
    for same, stack in zip(groups, stacks, strict=True):
        assert (stack == tables_by_counter(records, sizes, same.tolist())).all()


def test_larger_tables_that_begin_alike_and_end_in_different_sizes_are_counted_right():
    sizes, rows = (2, 3, 4, 5), [(0, 1, 2), (0, 1, 3)]
    records = list(product(range(2), range(3), range(4), range(5)))[::7]
    stacks = counted_in_larger_tables(np.array(records).T, sizes, groups_of_equal_shape(sizes, rows), MOST_CELLS=1)
    for row, (table,) in zip(rows, stacks, strict=True):
        assert (table == tables_by_counter(records, sizes, [row])[0]).all()


@pytest.mark.parametrize("code", [-1, 3])
def test_codes_of_no_cell_are_refused_where_they_would_be_written_outside_a_larger_table(code):
    codes = np.array([[0, 1], [2, code], [0, 0]])
    with pytest.raises(ValueError, match="codes must lie in"):
        counted_in_larger_tables(codes, (2, 3, 4), [np.array([[0, 1]])])


@given(problem=problems(), most=st.integers(1, 200))
@reproducible
def test_a_cover_holds_each_set_once_in_tables_that_are_not_too_large(problem, most):
    sizes, _, groups = problem
    for order in {rows.shape[1] for rows in groups} - {0, 1}:
        rows = np.concatenate([rows for rows in groups if rows.shape[1] == order])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(covering, "MOST_CELLS", most)
            larger = covering.cover(sizes, rows)
        assert sorted(number for table in larger for number in table.sets) == list(range(len(rows)))
        for table in larger:
            assert len(set(table.attributes)) == len(table.attributes)
            assert all(set(rows[number].tolist()) <= set(table.attributes) for number in table.sets)
            assert len(table.attributes) == order or np.prod(np.array(sizes)[list(table.attributes)]) <= most


def test_many_records_in_many_sets_are_counted_in_larger_tables():
    sizes, rng = (4,) * 12, np.random.default_rng(0)
    rows = np.array([(a, b, c) for c in range(12) for b in range(c) for a in range(b)])
    codes = rng.integers(0, 4, (12, 2**16)).astype(np.uint8)
    larger = covering.cover(sizes, rows)
    assert len(larger) < len(rows) / 5
    assert covering.may_be_worth_it(12, 3, len(rows), 2**16)
    assert covering.is_worth_it(larger, sizes, len(rows), 2**16)
    assert not covering.is_worth_it(larger, sizes, len(rows), 2**10)
    (stack,) = count_groups(codes, sizes, [rows])
    for row, table in zip(rows.tolist(), stack, strict=True):
        assert (table == np.bincount(np.ravel_multi_index(codes[row], (4,) * 3), minlength=64).reshape(4, 4, 4)).all()
