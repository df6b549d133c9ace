"""The kernel's source, built by an ordinary compiler with threads as a block, makes the tables that NumPy makes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
from benchmarks.kernel_twin import COMPILER, PLAIN, build, run
from benchmarks.kernel_twin.cases import as_floats, is_right, long_cases, of_matrix, short_cases, tables_of
from benchmarks.kernel_twin.checks import CHECKS
from inner_parts import SM_90, keeping, kernel_source, launches, rebuilding

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the twin of the kernel is built by g++, which is not there")


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    return build(tmp_path_factory.mktemp("twin"))


axes = st.one_of(
    st.integers(1, 9).map(rebuilding),
    st.integers(1, 5).map(keeping),
    st.tuples(st.integers(1, 7), st.integers(1, 7)).map(lambda shape: of_matrix(*shape)),
)


@given(
    axes=st.lists(axes, max_size=5),
    tables=st.integers(1, 40),
    threads=st.integers(1, 9),
    bits=st.integers(1, 62),
    data=st.data(),
)
def test_tables_of_any_shape_are_those_of_numpy(twin, axes, tables, threads, bits, data):
    cut = data.draw(st.integers(0, max(0, len(axes) - 1)))
    case = tables_of(axes, tables, bits=bits, threads=threads, cut=cut, backwards=data.draw(st.booleans()))
    (found,) = run(twin, [case])
    assert is_right(case, found)


@pytest.mark.parametrize("cases", [short_cases, long_cases])
def test_tables_of_every_branch_are_those_of_numpy(twin, cases):
    for case, found in zip(cases(), run(twin, cases()), strict=True):
        assert is_right(case, found)
        assert launches.cut_layout(case.maps, case.cut).fits(SM_90)  # no case is one that is never launched


def test_tables_are_sums_over_subsets_as_eq_10_says(twin):
    """Against explicit matrices, which NumPy's operations are not."""
    shape = (3, 4, 2)
    case = tables_of([rebuilding(size) for size in shape], 6)
    (found,) = run(twin, [case])
    expected = np.zeros((6, 24))
    for number, (block, column, divisor) in enumerate(zip(case.blocks, case.rows.T, case.divisors, strict=True)):
        subset = tuple(axis for axis in range(3) if number >> axis & 1)
        answers = block[column].reshape(6, -1) / divisor
        expected += answers @ dense.reconstruction(shape, (0, 1, 2), subset).T
    np.testing.assert_allclose(found.reshape(6, 24), expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())


def test_answers_of_one_subset_are_bit_for_bit_those_of_numpy(twin):
    """Integers beyond 2**53 are rounded once and divided once, as in NumPy; numbers that are no integers stay."""
    integers = tables_of([keeping(5), keeping(4)], 8, bits=63)
    for case in (integers, as_floats(integers)):
        (found,) = run(twin, [case])
        assert (found == case.expected).all()


def test_a_table_does_not_depend_on_threads_blocks_and_neighbors(twin):
    case = tables_of([rebuilding(4), of_matrix(3, 5), rebuilding(3)], 60)
    (expected,) = run(twin, [case])
    others = [replace(case, threads=threads) for threads in (1, 3, 64)]
    for found in run(twin, [*others, replace(case, backwards=True)]):
        assert (found == expected).all()
    (found,) = run(twin, [replace(case, rows=case.rows[17:30])])
    assert (found == expected[17:30]).all()


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.cases(1)
def test_nothing_is_found_in_the_source_as_it_is_shipped(check, tmp_path):
    assert check.objection(tmp_path, kernel_source()) == ""


@pytest.mark.slow
def test_the_source_is_built_without_a_warning(tmp_path):
    build(tmp_path, options=(*PLAIN, "-Wextra", "-Werror"))
