"""Sets of attributes as arrays are the sets that itertools and Python's own sets give."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
import residualplanner as rp
from residualplanner.method.workload.attribute_sets import AttributeSets, row_numbers, unique_rows
from residualplanner.method.workload.closure import downward_closure, subset_products

counts = st.sampled_from([4, 9, 2**16])


@st.composite
def collections(draw: st.DrawFn) -> tuple[int, list[tuple[int, ...]]]:
    """How many attributes there are, and sets of them in any order, with repetitions; some too wide for 64-bit keys."""
    count = draw(counts)
    attribute = st.integers(0, 3) | st.integers(max(0, count - 3), count - 1)
    members = st.lists(attribute, unique=True, max_size=5).map(tuple)
    return count, draw(st.lists(members, max_size=8))


def ordered(sets) -> list[tuple[int, ...]]:
    return sorted({tuple(sorted(members)) for members in sets}, key=lambda row: (len(row), row))


def sets_of(sets, count) -> AttributeSets:
    rows = ordered(sets)
    orders = range(max(map(len, rows), default=-1) + 1)
    by_size = [[row for row in rows if len(row) == k] for k in orders]
    blocks = (np.array(found, dtype=np.int32).reshape(len(found), k) for k, found in enumerate(by_size))
    return AttributeSets(tuple(blocks), count)


def by_order(rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(list(found), dtype=np.int32) for _, found in itertools.groupby(rows, key=len)]


@given(collections())
def test_sets_are_numbered_and_their_rows_made_distinct(collection):
    count, given_sets = collection
    sets, expected = sets_of(given_sets, count), ordered(given_sets)
    assert list(sets) == [sets[number] for number in range(len(sets))] == expected
    assert sets.orders.tolist() == [len(members) for members in expected]
    for k in range(6):
        rows = [sorted(members) for members in given_sets if len(members) == k]
        found = unique_rows(np.array(rows, dtype=np.int32).reshape(len(rows), k), count)
        assert list(map(tuple, found.tolist())) == [members for members in expected if len(members) == k]


def test_sets_of_any_width_are_made_distinct_also_where_their_keys_would_pass_64_bits():
    count = 2**16
    high = [(0, 1, 2, count - 2), (0, 1, 2, count - 1), (count - 4, count - 3, count - 2, count - 1)]
    assert count**4 >= 2**63
    sets = sets_of(high, count)
    assert list(downward_closure(sets)) == dense.closure(high)
    wide = [tuple(range(start, start + 10)) for start in (0, 500, 7)]
    assert list(downward_closure(sets_of(wide, 600))) == dense.closure(wide)


@given(collections(), st.sets(st.integers(0, 3)), st.lists(st.lists(st.integers(0, 8), unique=True, max_size=4)))
def test_the_closure_has_every_subset_once_without_trivial_attributes_and_finds_it(collection, trivial, others):
    count, given_sets = collection
    count, sets = max(9, count), [*given_sets, ()]
    closure = downward_closure(sets_of(sets, count), np.isin(np.arange(count), list(trivial)))
    kept = [tuple(i for i in members if i not in trivial) for members in sets]
    assert list(closure) == dense.closure(kept)
    number = {members: position for position, members in enumerate(closure)}

    def expected(row) -> int:
        return number.get(tuple(i for i in row if i not in trivial), -1)

    for rows in by_order(ordered([*sets, *others])):
        assert closure.positions_of(rows).tolist() == [expected(row) for row in rows.tolist()]
    for rows in by_order(ordered(sets)):
        found = closure.subset_positions(rows)
        assert found.shape == (len(rows), 2 ** rows.shape[1])
        for row, columns in zip(rows.tolist(), found.tolist(), strict=True):
            for j, position in enumerate(columns):  # bit i of a column's number is the i-th attribute
                assert position == expected(i for bit, i in enumerate(row) if j >> bit & 1) >= 0


@given(st.integers(0, 4), st.data())
def test_subset_products_multiply_present_over_the_subset_and_absent_over_the_rest(order, data):
    numbers = st.lists(st.floats(0.1, 10), min_size=order, max_size=order)
    absent, present = data.draw(numbers), data.draw(numbers)
    found = subset_products(np.reshape(absent, (1, order)), np.reshape(present, (1, order)))
    expected = [math.prod(present[i] if j >> i & 1 else absent[i] for i in range(order)) for j in range(2**order)]
    np.testing.assert_allclose(found, [expected], rtol=1e-14)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        *(([range(order)], f"too large: {2**order:,} .*the limit is") for order in (25, 40, 200)),
        # 38 sets of 22 attributes have 84 million subsets; a minute went by before that was said.
        (
            [range(start, start + 22) for start in range(38)],
            r"attribute sets in the downward closure, or more, the limit is 20,000,000",
        ),
    ],
)
def test_a_closure_too_large_is_refused_before_it_is_made(sets, message):
    wide = sets_of(sets, 200)
    tracemalloc.start()
    with pytest.raises(rp.errors.WorkloadError, match=message):
        downward_closure(wide)
    assert tracemalloc.get_traced_memory()[1] < 2**28
    tracemalloc.stop()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30_000), st.integers(0, 2)), max_size=12))
def test_row_numbers_are_ranks_in_lexicographic_order(rows):
    ranks = {row: rank for rank, row in enumerate(sorted(set(rows)))}
    assert row_numbers(np.array(rows, dtype=np.int16).reshape(-1, 3)).tolist() == [ranks[row] for row in rows]
