"""Integer maps are the explicit matrices, to the last digit, in int64 and in Python integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inner_parts import Scratch, differences_of_tables
from residualplanner.method.kron.exact_products import exact_product

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


def python_product(matrix, tables):
    return np.matmul(matrix.astype(object), tables.astype(object))


def largest_tables(chance, shape, total):
    """Tables whose entries along the middle axis add up, in absolute value, to exactly ``total``."""
    a, n, r = shape
    cuts = np.sort(chance.integers(0, total, (a, r, n - 1), endpoint=True))
    edges = np.concatenate([np.zeros((a, r, 1), np.int64), cuts, np.full((a, r, 1), total)], axis=2)
    return np.swapaxes(np.diff(edges), 1, 2) * chance.choice([-1, 1], shape)


@given(
    n=st.integers(1, 70),
    m=st.integers(1, 5),
    rest=st.integers(1, 4),
    bits=st.integers(0, 62),
    share=st.integers(0, 62),
    seed=st.integers(0, 999),
)
def test_products_are_those_of_python_integers(n, m, rest, bits, share, seed):
    """The largest entry and the total together have up to 63 bits, split between them in every way."""
    chance = np.random.default_rng(seed)
    share = min(share, bits)
    entry, total = 2**share, 2 ** (bits - share)
    matrix = chance.integers(-entry, entry, (m, n), endpoint=True)
    matrix[0, 0] = entry
    tables = largest_tables(chance, (3, n, rest), total)
    found = exact_product(matrix, tables, total)
    assert found.dtype == np.int64
    assert (found == python_product(matrix, tables)).all()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("bits", [0, 1, 20, 40, 52, 53, 54, 61])
@pytest.mark.parametrize("n", [2, 8, 33, 64, 200])
def test_the_largest_sums_there_can_be_are_exact(n, bits, sign):
    """All of the total in one cell, or spread evenly; entries of one sign, so that nothing cancels; odd, not round."""
    total = 2**62 - 2 ** (62 - bits) + 1 if bits > 53 else 2**bits + 1
    for entry in (1, 3, 2**20 + 1):
        if entry * total >= 2**63:
            continue
        matrix = np.full((2, n), entry)
        matrix[1] -= np.arange(n) % 2
        tables = np.zeros((2, n, 2), dtype=np.int64)
        tables[0, n // 2] = sign * total
        tables[1] = sign * (total // n)
        assert (exact_product(matrix, tables, total) == python_product(matrix, tables)).all()
