"""Counts made elsewhere."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from forms_of_records import opened
from residualplanner import Domain

DOMAIN = Domain({"a": 2, "one": 1, "b": 3, "c": ["x", "y"]})
SIZES = DOMAIN.sizes
RECORDS = np.stack([np.random.default_rng(3).integers(0, size, 60) for size in SIZES])
SUBSETS = [subset for order in range(5) for subset in combinations(range(4), order)]
reproducible = settings(derandomize=True, deadline=None)


def truth(positions):
    """The table by a counter of the records in the order of the positions."""
    table = np.zeros([SIZES[i] for i in positions], dtype=np.int64)
    for record in RECORDS.T.tolist():
        table[tuple(record[i] for i in positions)] += 1
    return table


def names(positions):
    return tuple(DOMAIN.names[i] for i in positions)


@given(
    keys=st.lists(
        st.permutations(range(4)).flatmap(lambda p: st.integers(0, 4).map(lambda k: tuple(p[:k]))), max_size=5
    )
)
@reproducible
def test_every_table_within_a_supplied_one_is_answered_and_no_other(keys):
    source = opened({names(key): truth(key).astype(np.uint16) for key in keys}, DOMAIN)
    for subset in SUBSETS:
        wide = {i for i in subset if SIZES[i] > 1}
        group = np.array([subset], dtype=int).reshape(1, -1)
        if any(wide <= set(key) for key in keys):
            (stack,) = source.count([group])
            assert stack.dtype == np.int64
            assert stack.shape == (1, *(SIZES[i] for i in subset))
            assert (stack[0] == truth(subset)).all()
        else:
            with pytest.raises(rp.errors.DataError, match=r"no table of counts (holds the attributes? |tells)"):
                source.count([group])


@given(chosen=st.lists(st.sampled_from(SUBSETS), min_size=2, max_size=5, unique=True), data=st.data())
@reproducible
def test_tables_are_accepted_exactly_when_every_two_agree_on_what_they_share(chosen, data):
    tables = {key: truth(key) for key in chosen}
    spoiled = data.draw(st.sampled_from(chosen))
    table = tables[spoiled].reshape(-1)
    gains, loses = (data.draw(st.integers(0, table.size - 1)) for _ in range(2))
    table[gains] += 1
    table[loses] -= 1 if table[loses] else 0

    def shared(key, other):
        return tables[key].sum(axis=tuple(i for i, position in enumerate(key) if position not in other))

    agree = all((shared(x, y) == shared(y, x)).all() for x, y in combinations(chosen, 2))
    supplied = {names(key): table for key, table in tables.items()}
    source = opened(supplied, DOMAIN)
    if agree:
        assert source.count([]) == []
    else:
        with pytest.raises(rp.errors.DataError, match="contradict each other"):
            source.count([])


def test_two_orders_of_one_set_must_agree():
    assert opened({("a", "b"): truth((0, 2)), ("b", "a"): truth((2, 0))}, DOMAIN).count([]) == []
    with pytest.raises(rp.errors.DataError, match="contradict each other"):
        opened({("a", "b"): truth((0, 2)), ("b", "a"): truth((2, 0))[::-1]}, DOMAIN).count([])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({("a",): np.array([1.0, 2.0])}, r"the counts of \('a',\) must be a NumPy array of integers"),
        ({("a",): np.array([True, False])}, "must be a NumPy array of integers"),
        ({("a",): [1, 2]}, "must be a NumPy array of integers"),
        ({("a",): np.array([1, 2], dtype=object)}, "must be a NumPy array of integers"),
        ({("a",): np.array([1, 2, 3])}, r"of integers, of the shape \(2,\)"),
        ({("b", "a"): np.ones((2, 3), dtype=int)}, r"of integers, of the shape \(3, 2\)"),
        ({"a": np.array([1, 2])}, "from tuples of attribute names"),
        ({("z",): np.array([1, 2])}, "unknown attribute"),
        ({("a", "a"): np.ones((2, 2), dtype=int)}, "occurs? twice"),
    ],
)
def test_tables_of_another_form_are_refused_when_they_are_opened(counts, message):
    with pytest.raises(rp.errors.DataError, match=message):
        opened(counts, DOMAIN)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({("a",): np.array([1, -2])}, "must not be negative"),
        ({("a",): np.ma.masked_array([1, 2], [False, True])}, "without a mask"),
        ({("a",): np.array([2**62, 2**62])}, "too large for 64-bit integers"),
        ({("a",): np.array([2**64 - 1, 0], dtype=np.uint64)}, "too large for 64-bit integers"),
        ({("a",): np.array([1, 2]), ("b",): np.array([1, 1, 2])}, "contradict each other"),
    ],
)
def test_tables_that_are_none_of_counts_are_refused_when_they_are_counted(counts, message):
    """So that where the charge comes first, what is in them does not decide whether it is made."""
    source = opened(counts, DOMAIN)
    for _ in range(2):
        with pytest.raises(rp.errors.DataError, match=message):
            source.count([np.array([[0]])])
