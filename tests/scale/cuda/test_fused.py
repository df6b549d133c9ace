"""What is launched on a device makes the tables that the host makes; here a twin stands in for CuPy and the device."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import residualplanner as rp
from benchmarks.kernel_twin.cases import as_floats, is_right, of_matrix, tables_of
from inner_parts import (
    ProductMap,
    fits,
    fused_tables,
    kernel_source,
    rebuilding,
    tables_of_residuals,
    tables_on_cuda,
)


def made_by(function, cupy, case):
    blocks = [cupy.asarray(block) for block in case.blocks]
    return np.asarray(function(blocks, case.rows, maps=case.maps, divisors=case.divisors))


CASES = {
    "no attribute": tables_of([], 3),
    "small tables together": tables_of([rebuilding(3), rebuilding(4)], 200),
    "three-way": tables_of([rebuilding(10)] * 3, 4),
    "matrices": tables_of([of_matrix(5, 3), rebuilding(4), of_matrix(2, 6)], 7),
    "one entry": tables_of([of_matrix(3, 1), rebuilding(3)], 6),
    "numbers that are no integers": as_floats(tables_of([rebuilding(3), rebuilding(4)], 5)),
    "cut": tables_of([rebuilding(12), rebuilding(80), rebuilding(40)], 1),
    "cut, with a matrix": tables_of([of_matrix(9, 12), rebuilding(80), rebuilding(40)], 2),
    "no tables": tables_of([rebuilding(3)], 0),
}


@pytest.mark.cases(6)
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_tables_are_those_of_numpy(cupy, name):
    case = CASES[name]
    found = made_by(fused_tables, cupy, case)
    assert found.shape == case.expected.shape
    assert found.dtype == np.float64
    assert is_right(case, found) if len(found) else not cupy.launches
    later = [launch[0] for launch in cupy.launches[1:]]
    assert later == ["map_axis"] * name.startswith("cut")
    by_choice = made_by(tables_on_cuda, cupy, case)
    assert (by_choice == found).all()


def test_one_launch_makes_a_batch_and_the_source_is_compiled_once(cupy):
    case = tables_of([rebuilding(10)] * 3, 5)
    for _ in range(2):
        made_by(fused_tables, cupy, case)
    assert cupy.launches == [("fused_tables", 5, 160, 8928)] * 2
    assert cupy.compiled == [(kernel_source(), "--std=c++17")]


def test_tables_that_do_not_fit_are_made_by_products_of_matrices(cupy):
    case = replace(tables_of([rebuilding(1025)], 2), divisors=(1, 1))
    assert not fits(case.maps)
    with pytest.raises(ValueError, match=re.escape("tables of shape (1025,) are not for the fused kernel")):
        made_by(fused_tables, cupy, case)
    blocks = [block.astype(np.float64) for block in case.blocks]
    found = tables_on_cuda(blocks, case.rows, maps=case.maps)
    assert not cupy.launches
    assert (found == tables_of_residuals(blocks, case.rows, maps=case.maps)).all()


def test_answers_that_the_kernel_cannot_read_are_refused(cupy):
    case = tables_of([rebuilding(3), rebuilding(4)], 3)
    maps, (*lower, top) = case.maps, [cupy.asarray(block) for block in case.blocks]
    for wrong in (top.astype(np.int32), top.astype(np.float32), top.swapaxes(1, 2).copy().swapaxes(1, 2)):
        with pytest.raises(TypeError, match="residuals must be int64, or float64 with the divisor 1, and in C order"):
            fused_tables([*lower, wrong], case.rows, maps=maps)
    with pytest.raises(TypeError, match="float64 with the divisor 1"):
        fused_tables([*lower, top.astype(np.float64)], case.rows, maps=maps, divisors=[1, 1, 1, 2])
    with pytest.raises(ValueError, match="need blocks of shapes"):
        fused_tables(lower, case.rows, maps=maps)
    with pytest.raises(ValueError, match="rows must have 4 columns"):
        fused_tables([*lower, top], case.rows[:, :3], maps=maps)
    assert not cupy.launches


def test_without_cupy_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(rp.errors.MissingExtraError, match=re.escape("pip install 'residualplanner[gpu]'")) as refused:
        fused_tables([np.zeros(1)], np.zeros((1, 1), dtype=np.int64), maps=ProductMap([]))
    assert refused.value.extra == "gpu"
