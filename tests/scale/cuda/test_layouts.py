"""What is launched stays within the limits of devices, and what does not fit is known before."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inner_parts import SM_80, SM_90, ProductMap, fits, keeping, launches, layout_of, matrix_map, rebuilding


def of_ones(rows, columns):
    return matrix_map(np.ones((rows, columns)))


axes = st.one_of(
    st.integers(1, 60).map(rebuilding),
    st.integers(1, 60).map(keeping),
    st.tuples(st.integers(1, 40), st.integers(1, 40)).map(lambda shape: of_ones(*shape)),
)
stacks = st.lists(axes, max_size=5).map(ProductMap)
limits = st.sampled_from([SM_80, SM_90])


def needed_numbers(maps, layout):
    """The largest tensor of a block, whose last axis is padded, before and after each pass, counted shape by shape."""
    columns, rows = list(maps.columns[layout.cut :]) or [1], list(maps.rows[layout.cut :]) or [1]
    shapes = [rows[:done] + columns[done:] for done in range(len(rows) + 1)]
    padded = max(columns[-1], rows[-1])
    padded += padded % 2 == 0
    return layout.slabs * max(math.prod(shape[:-1]) * padded for shape in shapes)


@given(maps=stacks, limits=limits, tables=st.integers(1, 10**4))
def test_every_launch_is_within_the_limits_of_its_device(maps, limits, tables):
    if not fits(maps, limits):
        with pytest.raises(ValueError, match="are not for the fused kernel; ask fits"):
            layout_of(maps, limits)
        return
    layout = layout_of(maps, limits)
    launch = launches.launch_of(layout, [(0, 1)] * 2 ** sum(n > 1 for n in maps.columns), tables)
    assert 32 <= launch.threads <= limits.threads
    assert launch.threads % 32 == 0
    has_matrix = any(axis.direct is None for axis in maps.axes[layout.cut :])
    tensors = needed_numbers(maps, layout) * (2 if has_matrix else 1)
    assert launch.shared_bytes == 8 * tensors + 16 * layout.slabs * 2 ** sum(n > 1 for n in maps.columns[layout.cut :])
    assert launch.shared_bytes <= limits.shared_bytes
    assert launch.slabs == tables * math.prod(maps.columns[: layout.cut])
    assert (launch.blocks - 1) * layout.slabs < launch.slabs <= launch.blocks * layout.slabs


def test_more_blocks_than_a_launch_can_have_are_refused():
    layout = layout_of(ProductMap([rebuilding(10)] * 3))
    sources = [(0, 1)] * 8
    assert launches.launch_of(layout, sources, 2**31 - 1).blocks == 2**31 - 1
    with pytest.raises(ValueError, match="2,147,483,647 blocks of threads, got 2,147,483,648; take fewer tables"):
        launches.launch_of(layout, sources, 2**31)


@pytest.mark.parametrize(
    ("maps", "fit_80", "fit_90"),
    [
        ([rebuilding(10)] * 3, 0, 0),
        ([rebuilding(28), rebuilding(27), rebuilding(27)], 0, 0),  # 163,424 bytes with where answers start
        ([rebuilding(30), rebuilding(30), rebuilding(31)], 1, 0),
        ([rebuilding(31)] * 3, 1, 1),
        ([of_ones(25, 25), rebuilding(20), rebuilding(27)], 1, 0),  # 2 * 108,000 bytes
        ([rebuilding(1000)] * 3, 2, 2),
        ([rebuilding(1024)], 0, 0),
        ([rebuilding(1025)], None, None),
        ([of_ones(128, 128)], 0, 0),
        ([of_ones(129, 128)], None, None),
        ([rebuilding(1025), rebuilding(2)], None, None),
        ([keeping(1025), rebuilding(2)], 0, 0),
        ([], 0, 0),
        ([keeping(30_000)], None, None),
        ([rebuilding(2)] * 13, 1, 0),
    ],
)
def test_what_fits_and_what_is_cut_is_known_by_arithmetic(maps, fit_80, fit_90):
    for limits, cut in [(SM_80, fit_80), (SM_90, fit_90)]:
        assert fits(ProductMap(maps), limits) == (cut is not None)
        if cut is not None:
            assert layout_of(ProductMap(maps), limits).cut == cut


def test_quotients_are_exact_wherever_the_kernel_takes_them():
    for divisor in [*range(1, 1000), *range(1000, launches.MOST_NUMBERS + 1, 67), launches.MOST_NUMBERS]:
        multiples = np.arange(0, launches.MOST_NUMBERS + 1, divisor, dtype=np.uint64)
        for numbers in (multiples, multiples[1:] - np.uint64(1)):
            found = (numbers * np.uint64(2) * np.uint64(launches.inverse(divisor))) >> np.uint64(32)
            assert (found == numbers // np.uint64(divisor)).all()
    assert launches.inverse(1) < 2**32
