"""Residuals and tables of tensors are what explicit Kronecker products say, along every axis and for every library."""

import itertools
import math

import array_api_strict
import numpy as np
import pytest

import dense
from inner_parts import ProductMap, namespace, rebuilding, subtracting, tables_of_residuals

LIBRARIES = [np, array_api_strict]
#: Short axes, axes that are merged, and axes beyond the limit of matrix products.
SHAPES = [(), (2,), (5,), (40,), (2, 2, 2), (3, 4, 3), (33, 2), (2, 35, 3), (3, 2, 64), (2,) * 7]


def residuals_of_tables(tables, **how):
    return ProductMap([subtracting(size) for size in tables.shape[1:]]).apply(tables, **how)


def tables_of_tensors(tensors, **how):
    return back(*tensors.shape[1:]).apply(tensors, **how)


def back(*shape):
    return ProductMap([rebuilding(size) for size in shape])


def random_tables(*shape):
    return np.random.default_rng(math.prod(shape) + len(shape)).standard_normal(shape)


def apply(matrices, tables):
    """The Kronecker product of ``matrices`` times each table."""
    matrices = list(matrices)
    flat = tables.reshape(len(tables), -1) @ dense.product(matrices).T
    return flat.reshape(len(tables), *(len(matrix) for matrix in matrices))


def sum_and_subtraction(size):
    return np.vstack([np.ones((1, size)), dense.subtraction(size)])


@pytest.mark.parametrize("xp", LIBRARIES, ids=lambda xp: xp.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_residuals_are_the_subtraction_matrix_along_every_axis_and_tables_come_back_from_tensors(xp, shape):
    tables = random_tables(3, *shape)
    found = residuals_of_tables(xp.asarray(tables))
    assert type(found) is type(xp.asarray(tables))
    np.testing.assert_allclose(np.asarray(found), apply(map(dense.subtraction, shape), tables), atol=1e-12)
    tensors = apply([sum_and_subtraction(size) for size in shape], tables)
    np.testing.assert_allclose(np.asarray(tables_of_tensors(xp.asarray(tensors))), tables, atol=1e-12)


@pytest.mark.parametrize("xp", LIBRARIES, ids=lambda xp: xp.__name__)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (3, 2, 35)], ids=str)
@pytest.mark.parametrize("rows", ["run", "any"])
def test_tables_of_residuals_are_the_sum_over_subsets_of_eq_10(xp, shape, rows):
    members = tuple(range(len(shape)))
    subsets = [
        tuple(itertools.compress(members, (number >> i & 1 for i in members))) for number in range(2 ** len(shape))
    ]
    blocks = [random_tables(7, *(shape[i] - 1 for i in subset)) for subset in subsets]
    chance = np.random.default_rng(3)
    chosen = np.stack([chance.integers(0, 7, 4) for _ in blocks], axis=1)
    if rows == "run":
        chosen[:, -1] = np.arange(2, 6)
    expected = np.zeros((4, math.prod(shape)))
    for block, column, subset in zip(blocks, chosen.T, subsets, strict=True):
        expected += block[column].reshape(4, -1) @ dense.reconstruction(shape, members, subset).T
    found = tables_of_residuals([xp.asarray(block) for block in blocks], chosen, maps=back(*shape))
    np.testing.assert_allclose(np.asarray(found), expected.reshape(4, *shape), atol=1e-12)


@pytest.mark.parametrize("shape", [*SHAPES, (4, 8), (31,), (10, 10), (7, 3)], ids=str)
def test_a_table_is_the_same_to_the_last_bit_whatever_it_is_stacked_with(shape):
    tensors = random_tables(67, *shape)
    together = tables_of_tensors(tensors)
    for size in (1, 3):
        parts = [tables_of_tensors(tensors[start : start + size]) for start in range(0, 67, size)]
        assert (np.concatenate(parts) == together).all()


def test_arrays_of_no_or_of_several_libraries_are_refused():
    with pytest.raises(TypeError, match="list does not follow the array API standard; use a NumPy array"):
        namespace([1.0])
    with pytest.raises(TypeError, match=r"from one library, got \['array_api_strict', 'numpy'\]"):
        namespace(np.ones(1), array_api_strict.ones(1))
