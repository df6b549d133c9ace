"""Integer maps are the explicit matrices, to the last digit, in int64 and in Python integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from residualplanner.method.kron import Scratch, differences_of_tables, integer_products

SHAPES = [(), (2,), (100,), (3, 4), (4, 1, 2), (2, 2, 2, 2), (35, 2, 3)]
shapes = st.lists(st.integers(1, 6), max_size=4).map(tuple)


def subtraction(size):
    return [[int(column == 0) - int(column == row + 1) for column in range(size)] for row in range(size - 1)]


def applied(matrices, tables):
    """The product of the matrices with each table, entry by entry, in Python integers."""
    result = tables.astype(object)
    for axis, matrix in enumerate(matrices, start=1):
        moved = np.moveaxis(result, axis, 0)
        rows = [sum(entry * moved[j] for j, entry in enumerate(row)) for row in matrix]
        result = np.moveaxis(np.array(rows, dtype=object).reshape(len(matrix), *moved.shape[1:]), 0, axis)
    return result


def whole_tables(seed, *shape, most=10**6):
    return np.random.default_rng(seed).integers(-most, most, shape)


@given(shape=shapes, batch=st.integers(1, 5), axes=st.none() | st.sets(st.integers(1, 4)), wide=st.booleans())
def test_differences_are_the_product_with_sub_of_eq_35_along_all_axes_or_some(shape, batch, axes, wide):
    tables = whole_tables(len(shape) + batch, batch, *shape)
    tables = tables.astype(object) * 10**40 + 1 if wide else tables
    chosen = None if axes is None else [axis for axis in sorted(axes) if axis <= len(shape)]
    kept = [
        subtraction(size) if chosen is None or axis in chosen else np.eye(size, dtype=int).tolist()
        for axis, size in enumerate(shape, 1)
    ]
    expected = applied(kept, tables)
    for scratch in (None, Scratch()):
        found = differences_of_tables(tables, axes=chosen, scratch=scratch)
        assert found.dtype == tables.dtype
        assert found.shape == expected.shape
        assert (found == expected).all()
        assert not wide or all(type(number) is int for number in found.ravel().tolist())


@given(shape=st.lists(st.integers(1, 12), max_size=3).map(tuple), seed=st.integers(0, 99), data=st.data())
def test_integer_products_apply_a_matrix_along_some_axes(shape, seed, data):
    tables = whole_tables(seed, 2, *shape)
    matrices = {
        axis: whole_tables(seed + axis, data.draw(st.integers(1, 4)), size, most=9)
        for axis, size in enumerate(shape, start=1)
        if data.draw(st.booleans())
    }
    each = [matrices.get(axis, np.eye(size, dtype=int)).tolist() for axis, size in enumerate(shape, start=1)]
    expected = applied(each, tables)
    total = int(abs(tables).sum())
    found = integer_products(tables, matrices, total=total)
    assert found.dtype == np.int64
    assert (found == expected).all()
    assert (integer_products(tables.astype(object), matrices, total=total) == expected).all()


def test_products_become_python_integers_once_they_could_be_too_large():
    """All of a total of ``2**40`` in one cell, and entries of ``2**30``: int64 for one axis, not for two."""
    tables, matrix = np.zeros((1, 9, 10), dtype=np.int64), np.full((2, 10), -(2**30))
    tables[0, 4, 7] = 2**32
    one = integer_products(tables, {2: matrix}, total=2**32)
    assert (one.dtype, one.min()) == (np.int64, -(2**62))
    both = integer_products(tables, {1: np.full((2, 9), 2**30), 2: matrix}, total=2**32)
    assert both.dtype == object
    assert both.ravel().tolist() == [-(2**92)] * 4
